//! The gate: named rules, of which all that match a request must admit it, or nothing is taken.

mod fault;
mod index;
mod pattern;
mod rule;
mod text;

pub use fault::{Fault, Faults};
pub use rule::{Mode, Pattern, Rule, Rules};
pub use text::Format;
