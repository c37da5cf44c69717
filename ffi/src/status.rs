//! # Statuses and versions

use std::ffi::{CStr, c_char};
use tidegate_core::Status;

/// The ABI that this header describes. Compare with tidegate_abi_version(). since 1
pub const TIDEGATE_ABI_VERSION: u32 = 1;

/// Success, of functions that decide nothing. since 1
pub const TIDEGATE_OK: i32 = 0;

/// Go ahead: the tokens or permits are taken. since 1
pub const TIDEGATE_ALLOWED: i32 = 0;

/// Not now; nothing was taken. since 1
pub const TIDEGATE_DENIED: i32 = 1;

/// Never: more was asked for than the limiter can ever hold. Nothing was taken. since 1
pub const TIDEGATE_EXCEEDS_CAPACITY: i32 = 2;

/// The wait outlasted, or would have outlasted, its timeout. since 1
pub const TIDEGATE_TIMED_OUT: i32 = 3;

/// The limiter is closed. since 1
pub const TIDEGATE_CLOSED: i32 = 4;

/// As many callers wait as may. since 1
pub const TIDEGATE_QUEUE_FULL: i32 = 5;

/// No room for a new key (keyed limiters); nothing was taken. since 1
pub const TIDEGATE_KEYS_FULL: i32 = 6;

/// The wait was cancelled. since 1
pub const TIDEGATE_CANCELLED: i32 = 7;

/// The wait goes on. since 1
pub const TIDEGATE_PENDING: i32 = 8;

/// It is too late to cancel. since 1
pub const TIDEGATE_TOO_LATE: i32 = 9;

/// The wait may be due sooner than was said. since 1
pub const TIDEGATE_POLL_AGAIN: i32 = 10;

/// No rule of the gate applies: go ahead. since 1
pub const TIDEGATE_NO_RULE: i32 = 11;

/// A pointer that must not be NULL is. since 1
pub const TIDEGATE_ERROR_NULL_POINTER: i32 = -1;

/// A struct_size that is none, or a larger struct whose part beyond this version's is not zero. since 1
pub const TIDEGATE_ERROR_STRUCT_SIZE: i32 = -2;

/// An option, a quota or a text is not acceptable, or a buffer is too small. since 1
pub const TIDEGATE_ERROR_OPTION: i32 = -3;

/// A key, or a part of one, is NULL though its size is not 0. since 1
pub const TIDEGATE_ERROR_KEY: i32 = -4;

/// A cost or number of permits is not 1 to TIDEGATE_MAX_COST. since 1
pub const TIDEGATE_ERROR_COST: i32 = -5;

/// A permit is spent, was never granted, or is of another limiter. since 1
pub const TIDEGATE_ERROR_PERMIT: i32 = -6;

/// A decision or reservation is of nothing, was given back before, or is of another limiter or key. since 1
pub const TIDEGATE_ERROR_DECISION: i32 = -7;

/// A ticket is stale or of another limiter. since 1
pub const TIDEGATE_ERROR_TICKET: i32 = -8;

/// A pointer is not aligned for its type, or a length or max_keys is more than memory can hold. since 1
pub const TIDEGATE_ERROR_MEMORY: i32 = -9;

/// The object cannot do that, such as a monotonic clock that is told the time. since 1
pub const TIDEGATE_ERROR_UNSUPPORTED: i32 = -10;

/// The object belongs to the parent process. since 1
pub const TIDEGATE_ERROR_FORKED: i32 = -11;

/// A fault inside the library, stopped at its border. The call may have had no effect; the library stays usable. since 1
pub const TIDEGATE_ERROR_PANIC: i32 = -12;

/// The largest cost, number of permits, limit and burst: 2^53 - 1. since 1
pub const TIDEGATE_MAX_COST: u64 = 9007199254740991;

/// A time that never comes. since 1
pub const TIDEGATE_NEVER_NS: u64 = 18446744073709551615;

/// A good size for an error buffer, in bytes: texts that are longer quote a long text of the caller's. since 1
#[expect(dead_code, reason = "for C alone")]
pub const TIDEGATE_ERROR_SIZE: usize = 512;

const _: () = assert!(TIDEGATE_OK == Status::Allowed as i32);
const _: () = assert!(TIDEGATE_MAX_COST == tidegate_core::MAX_COST);
const _: () = assert!(TIDEGATE_NEVER_NS == tidegate_core::NEVER_NS);

/// Pins each number and each name to the core's, and makes the look-up of names.
macro_rules! pin {
    ($($number:ident $status:ident $name:literal)*) => {
        $(const _: () = assert!($number == Status::$status as i32);
        const _: () = assert!(same($name.to_bytes(), Status::$status.name().as_bytes()));)*

        // Exhaustive: a status of the core's that has no number here does not compile.
        const _: fn(Status) -> i32 = |status| match status {
            $(Status::$status => $number,)*
        };

        fn name_of(status: i32) -> &'static CStr {
            match status {
                $($number => $name,)*
                _ => c"unknown",
            }
        }
    };
}

pin! {
    TIDEGATE_ALLOWED Allowed c"allowed"
    TIDEGATE_DENIED Denied c"denied"
    TIDEGATE_EXCEEDS_CAPACITY ExceedsCapacity c"exceeds_capacity"
    TIDEGATE_TIMED_OUT TimedOut c"timed_out"
    TIDEGATE_CLOSED Closed c"closed"
    TIDEGATE_QUEUE_FULL QueueFull c"queue_full"
    TIDEGATE_KEYS_FULL KeysFull c"keys_full"
    TIDEGATE_CANCELLED Cancelled c"cancelled"
    TIDEGATE_PENDING Pending c"pending"
    TIDEGATE_TOO_LATE TooLate c"too_late"
    TIDEGATE_POLL_AGAIN PollAgain c"poll_again"
    TIDEGATE_NO_RULE NoRule c"no_rule"
    TIDEGATE_ERROR_NULL_POINTER NullPointer c"null_pointer"
    TIDEGATE_ERROR_STRUCT_SIZE StructSize c"struct_size"
    TIDEGATE_ERROR_OPTION InvalidOption c"invalid_option"
    TIDEGATE_ERROR_KEY InvalidKey c"invalid_key"
    TIDEGATE_ERROR_COST InvalidCost c"invalid_cost"
    TIDEGATE_ERROR_PERMIT InvalidPermit c"invalid_permit"
    TIDEGATE_ERROR_DECISION InvalidDecision c"invalid_decision"
    TIDEGATE_ERROR_TICKET InvalidTicket c"invalid_ticket"
    TIDEGATE_ERROR_MEMORY InvalidMemory c"invalid_memory"
    TIDEGATE_ERROR_UNSUPPORTED Unsupported c"unsupported"
    TIDEGATE_ERROR_FORKED Forked c"forked"
    TIDEGATE_ERROR_PANIC Panic c"panic"
}

const fn same(one: &[u8], other: &[u8]) -> bool {
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}

/// The ABI of the library that is loaded: at least TIDEGATE_ABI_VERSION, or the library is too old for this header.
///
/// since 1
#[unsafe(no_mangle)]
pub extern "C" fn tidegate_abi_version() -> u32 {
    TIDEGATE_ABI_VERSION
}

/// The release of the library that is loaded, such as "0.1.0". The text lives for ever; nobody frees it.
///
/// since 1
#[unsafe(no_mangle)]
pub extern "C" fn tidegate_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The name of a status, such as "exceeds_capacity"; "unknown" for a number that is none. The text lives for ever; nobody
/// frees it.
///
/// since 1
#[unsafe(no_mangle)]
pub extern "C" fn tidegate_status_name(status: i32) -> *const c_char {
    name_of(status).as_ptr()
}
