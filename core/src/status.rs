//! The answers of a call, with the numbers that the C ABI pins.

use std::fmt;

/// What became of a call. Zero and above are outcomes; below zero are the caller's mistakes.
///
/// The numbers are pinned for ever: they are the return values of the C ABI.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Go ahead; the tokens or permits are taken.
    Allowed = 0,
    /// Not now; nothing was taken.
    Denied = 1,
    /// Never: more was asked for than the limiter can ever hold.
    ExceedsCapacity = 2,
    /// The wait outlasted, or would have outlasted, its timeout.
    TimedOut = 3,
    /// The limiter is closed.
    Closed = 4,
    /// As many callers wait as may.
    QueueFull = 5,
    /// No slot is free for a new key.
    KeysFull = 6,
    /// The wait was cancelled.
    Cancelled = 7,
    /// The wait goes on.
    Pending = 8,
    /// It is too late to cancel: the wait is over.
    TooLate = 9,
    /// The wait may be due sooner than was said: poll again.
    PollAgain = 10,
    /// No rule of the gate applies: go ahead.
    NoRule = 11,
    /// A required pointer is NULL.
    NullPointer = -1,
    /// A structure's size is not one that this version knows.
    StructSize = -2,
    /// An option or setting is outside of what is allowed.
    InvalidOption = -3,
    /// A key is not acceptable.
    InvalidKey = -4,
    /// A cost or number of permits is outside 1 … 2⁵³−1.
    InvalidCost = -5,
    /// A permit is spent, or of another limiter.
    InvalidPermit = -6,
    /// A decision granted nothing, is spent, or is of another limiter.
    InvalidDecision = -7,
    /// A ticket is stale, or of another limiter.
    InvalidTicket = -8,
    /// A pointer is not aligned, or memory could not be had.
    InvalidMemory = -9,
    /// This limiter cannot do that.
    Unsupported = -10,
    /// The object belongs to the parent process.
    Forked = -11,
    /// A fault inside the library, caught at its border.
    Panic = -12,
}

impl Status {
    /// The status's name: lower case, words joined by underscores. The same in every language.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::ExceedsCapacity => "exceeds_capacity",
            Self::TimedOut => "timed_out",
            Self::Closed => "closed",
            Self::QueueFull => "queue_full",
            Self::KeysFull => "keys_full",
            Self::Cancelled => "cancelled",
            Self::Pending => "pending",
            Self::TooLate => "too_late",
            Self::PollAgain => "poll_again",
            Self::NoRule => "no_rule",
            Self::NullPointer => "null_pointer",
            Self::StructSize => "struct_size",
            Self::InvalidOption => "invalid_option",
            Self::InvalidKey => "invalid_key",
            Self::InvalidCost => "invalid_cost",
            Self::InvalidPermit => "invalid_permit",
            Self::InvalidDecision => "invalid_decision",
            Self::InvalidTicket => "invalid_ticket",
            Self::InvalidMemory => "invalid_memory",
            Self::Unsupported => "unsupported",
            Self::Forked => "forked",
            Self::Panic => "panic",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
