//! Patterns, ready to be compared with values.
