//! The caller's mistakes.

use crate::{MAX_COST, Status};
use std::fmt;

/// A mistake of the caller: which argument, what it was, and what is allowed. Nothing was changed by the call.
///
/// Shown as `ARGUMENT: got VALUE; allowed: WHAT`.
// One pointer, so that `Result<bool, Error>` stays in registers on the hot path.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Mistake>);

#[derive(Clone, PartialEq, Eq)]
struct Mistake {
    status: Status,
    argument: &'static str,
    value: String,
    allowed: String,
}

impl Error {
    #[cold]
    pub(crate) fn new(
        status: Status,
        argument: &'static str,
        value: impl fmt::Display,
        allowed: impl fmt::Display,
    ) -> Self {
        Self(Box::new(Mistake { status, argument, value: value.to_string(), allowed: allowed.to_string() }))
    }

    #[cold]
    pub(crate) fn option(argument: &'static str, value: impl fmt::Display, allowed: impl fmt::Display) -> Self {
        Self::new(Status::InvalidOption, argument, value, allowed)
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn cost(argument: &'static str, value: u64) -> Self {
        Self::new(Status::InvalidCost, argument, value, format_args!("1 to {MAX_COST}"))
    }

    /// The same mistake, with the value as it was written.
    pub(crate) fn with_value(mut self, value: impl fmt::Display) -> Self {
        self.0.value = value.to_string();
        self
    }

    /// The argument that was wrong, such as `limit` or `cost`.
    #[must_use]
    pub fn argument(&self) -> &'static str {
        self.0.argument
    }

    /// The value that was given, as text.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.0.value
    }

    /// What would have been allowed.
    #[must_use]
    pub fn allowed(&self) -> &str {
        &self.0.allowed
    }

    /// The kind of mistake: one of the negative statuses.
    #[must_use]
    pub fn status(&self) -> Status {
        self.0.status
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: got {}; allowed: {}", self.0.argument, self.0.value, self.0.allowed)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({self})")
    }
}

impl std::error::Error for Error {}
