//! What every export shares: no panic gets out, no pointer is used unchecked, every mistake becomes a status.

use std::any::Any;
use std::ffi::c_char;
use std::fmt::Display;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tidegate_core::gate::Faults;
use tidegate_core::{Error, Status};

/// A mistake of the caller's, in the form of the core's [`Error`]; the border makes some of its own.
// One pointer, so that a `Result` stays in registers on the hot path.
pub struct Mistake(Box<(Status, String)>);

impl Mistake {
    #[cold]
    pub(crate) fn new(status: Status, argument: &str, value: impl Display, allowed: impl Display) -> Self {
        Self(Box::new((status, format!("{argument}: got {value}; allowed: {allowed}"))))
    }

    #[cold]
    fn null(argument: &str) -> Self {
        Self::new(Status::NullPointer, argument, "NULL", "a pointer that is not NULL")
    }

    #[cold]
    fn unaligned(argument: &str, address: usize, alignment: usize) -> Self {
        let allowed = format!("an address that is a multiple of {alignment}");
        Self::new(Status::InvalidMemory, argument, format_args!("address {address:#x}"), allowed)
    }

    fn status(&self) -> Status {
        self.0.0
    }

    fn text(&self) -> &str {
        &self.0.1
    }
}

impl From<Error> for Mistake {
    #[cold]
    fn from(error: Error) -> Self {
        Self(Box::new((error.status(), error.to_string())))
    }
}

impl From<Faults> for Mistake {
    #[cold]
    fn from(faults: Faults) -> Self {
        Self(Box::new((Status::InvalidOption, faults.to_string())))
    }
}

/// Runs the body of an export; a panic becomes [`Status::Panic`].
// After a panic the library stays usable: the core keeps its objects whole between any two steps.
#[inline]
pub(crate) fn guard(body: impl FnOnce() -> Result<Status, Mistake>) -> i32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status)) => status as i32,
        Ok(Err(mistake)) => mistake.status() as i32,
        Err(payload) => {
            discard(payload);
            Status::Panic as i32
        }
    }
}

/// [`guard`], for exports that tell in words what was wrong.
///
/// # Safety
///
/// `error` is NULL or may be written for `error_size` bytes.
pub(crate) unsafe fn guard_and_tell(
    error: *mut c_char,
    error_size: usize,
    body: impl FnOnce() -> Result<Status, Mistake>,
) -> i32 {
    let result = if error.is_null() && error_size > 0 {
        Ok(Err(Mistake::new(Status::NullPointer, "error", "NULL", "NULL only with an error_size of 0")))
    } else {
        catch_unwind(AssertUnwindSafe(body))
    };
    let mistake = match result {
        Ok(Ok(status)) => return status as i32,
        Ok(Err(mistake)) => mistake,
        Err(payload) => {
            let text = format!("fault inside the library: {}", message_of(&*payload));
            discard(payload);
            Mistake(Box::new((Status::Panic, text)))
        }
    };
    if !error.is_null() {
        // SAFETY: the caller vouches for `error_size` bytes.
        unsafe { write_text(mistake.text(), error, error_size) };
    }
    mistake.status() as i32
}

/// Runs the body of an export that returns nothing or a pointer; a panic becomes the default.
pub(crate) fn guard_or<T>(default: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        discard(payload);
        default
    })
}

/// Drops what a panic carries. That could panic again; what such a panic carries is left alone.
#[cold]
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
}

fn message_of(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// Writes as many whole characters as fit, and a NUL.
///
/// # Safety
///
/// `out` may be written for `size` bytes.
pub(crate) unsafe fn write_text(text: &str, out: *mut c_char, size: usize) {
    let Some(room) = size.checked_sub(1) else { return };
    let whole = |end: &usize| text.is_char_boundary(*end);
    let length = (0..=room.min(text.len())).rev().find(whole).unwrap_or(0);
    // SAFETY: `length` + 1 is at most `size`.
    unsafe {
        out.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), length);
        out.add(length).write(0);
    }
}

/// The pointer, if it is neither NULL nor out of line.
#[inline]
pub(crate) fn checked<T>(pointer: *mut T, argument: &str) -> Result<*mut T, Mistake> {
    if pointer.is_null() {
        return Err(Mistake::null(argument));
    }
    if !pointer.is_aligned() {
        return Err(Mistake::unaligned(argument, pointer.addr(), align_of::<T>()));
    }
    Ok(pointer)
}

/// The object behind a handle.
///
/// # Safety
///
/// `handle` is NULL, or comes from [`into_handle`] and was not freed.
#[inline]
pub(crate) unsafe fn object<'a, T>(handle: *const T, argument: &str) -> Result<&'a T, Mistake> {
    let handle = checked(handle.cast_mut(), argument)?;
    // SAFETY: a live handle, as the caller vouches.
    Ok(unsafe { &*handle })
}

/// A new object's first owner.
pub(crate) fn into_handle<T>(object: T) -> *mut T {
    Arc::into_raw(Arc::new(object)).cast_mut()
}

/// One more owner of the object; NULL for NULL.
///
/// # Safety
///
/// As [`object`].
pub(crate) unsafe fn add_owner<T>(handle: *const T) -> *mut T {
    guard_or(std::ptr::null_mut(), || {
        let Ok(handle) = checked(handle.cast_mut(), "handle") else { return std::ptr::null_mut() };
        // SAFETY: a live handle, as the caller vouches.
        unsafe { Arc::increment_strong_count(handle) };
        handle
    })
}

/// One owner less; the last one takes the object with it. Nothing for NULL.
///
/// # Safety
///
/// As [`object`], and the caller gives its ownership up.
pub(crate) unsafe fn drop_owner<T>(handle: *mut T) {
    guard_or((), || {
        if let Ok(handle) = checked(handle, "handle") {
            // SAFETY: a live handle, and this owner's share in it, as the caller vouches.
            unsafe { Arc::decrement_strong_count(handle) };
        }
    });
}

/// The text of quotas that the caller gives. NULL is an empty text if its length is 0.
///
/// # Safety
///
/// `text` is NULL or may be read for `length` bytes until the caller's own call ends.
pub(crate) unsafe fn quota_text<'a>(text: *const c_char, length: usize) -> Result<&'a str, Mistake> {
    // SAFETY: as the caller vouches.
    let bytes = unsafe { text_bytes(text, length, "text") }?;
    std::str::from_utf8(bytes).map_err(|_| {
        let lossy = String::from_utf8_lossy(bytes);
        Mistake::new(Status::InvalidOption, "quota", format_args!("{lossy:?}"), "text in UTF-8")
    })
}

/// Any text that the caller gives, which may be long. NULL is an empty text if its length is 0.
///
/// # Safety
///
/// As [`quota_text`].
pub(crate) unsafe fn long_text<'a>(text: *const c_char, length: usize, argument: &str) -> Result<&'a str, Mistake> {
    // SAFETY: as the caller vouches.
    let bytes = unsafe { text_bytes(text, length, argument) }?;
    std::str::from_utf8(bytes).map_err(|wrong| {
        let value = format!("{length} bytes, wrong from byte {} on", wrong.valid_up_to());
        Mistake::new(Status::InvalidOption, argument, value, "text in UTF-8")
    })
}

/// # Safety
///
/// As [`quota_text`].
unsafe fn text_bytes<'a>(text: *const c_char, length: usize, argument: &str) -> Result<&'a [u8], Mistake> {
    if length == 0 {
        return Ok(&[]);
    }
    let start = checked(text.cast_mut(), argument)?;
    if isize::try_from(length).is_err() {
        let allowed = format!("at most {}", isize::MAX);
        return Err(Mistake::new(Status::InvalidMemory, "length", length, allowed));
    }
    // SAFETY: the caller vouches for `length` bytes, of which there can be so many.
    Ok(unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) })
}

/// A struct that the caller fills: it begins with a `u32` that holds its size, any bits are a value, zeros are the default.
///
/// # Safety
///
/// `repr(C)`, of integers and raw pointers alone, aligned to 8, without padding.
pub(crate) unsafe trait Sized32: Copy {}

/// The largest `struct_size` that may be meant.
const MAX_STRUCT_SIZE: usize = 4096;

/// Copies a struct of the caller's size: what it lacks is zero, what it has beyond ours must be zero. Also tells its size.
///
/// # Safety
///
/// `pointer` is NULL or may be read for as many bytes as its first four say.
pub(crate) unsafe fn sized<T: Sized32>(pointer: *const T, argument: &str) -> Result<(T, usize), Mistake> {
    let pointer = checked(pointer.cast_mut(), argument)?;
    // SAFETY: every such struct begins with its size.
    let size = unsafe { pointer.cast::<u32>().read() } as usize;
    let wrong_size = |value: &dyn Display| {
        let allowed = format!("the sizeof of the struct, {} in ABI 1, all zeros beyond that", size_of::<T>());
        Mistake::new(Status::StructSize, "struct_size", value, allowed)
    };
    if !(8..=MAX_STRUCT_SIZE).contains(&size) || !size.is_multiple_of(8) {
        return Err(wrong_size(&size));
    }
    let known = size.min(size_of::<T>());
    let mut copy = MaybeUninit::<T>::zeroed();
    // SAFETY: `known` is within both; the tail lies within the caller's `size` bytes; any bits are a value of `T`.
    unsafe {
        let bytes = pointer.cast::<u8>();
        copy.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(bytes, known);
        let tail = std::slice::from_raw_parts(bytes.add(known), size - known);
        if tail.iter().any(|byte| *byte != 0) {
            return Err(wrong_size(&format_args!("{size} with a tail that is not zero")));
        }
        Ok((copy.assume_init(), size))
    }
}

/// Refuses flags that are not known.
pub(crate) fn check_flags(flags: u32, known: u32) -> Result<(), Mistake> {
    if flags & !known == 0 {
        return Ok(());
    }
    let allowed = if known == 0 { "0".to_owned() } else { format!("bits of {known:#x}") };
    Err(Mistake::new(Status::InvalidOption, "flags", format_args!("{flags:#x}"), allowed))
}

/// Refuses what a later version may give a meaning to.
pub(crate) fn check_reserved(reserved: &[u64]) -> Result<(), Mistake> {
    match reserved.iter().find(|word| **word != 0) {
        None => Ok(()),
        Some(word) => Err(Mistake::new(Status::InvalidOption, "reserved", word, "0")),
    }
}

/// A limit of 0 is more often forgotten than meant: it wants its flag, and the flag wants it.
pub(crate) fn check_limit(limit: u64, max: u64, flagged: bool, flag: &str) -> Result<(), Mistake> {
    if limit <= max && (limit == 0) == flagged {
        return Ok(());
    }
    let with_flag = if flagged { format!(" with the flag {flag}") } else { String::new() };
    let allowed = format!("1 to {max}, or 0 with the flag {flag}");
    Err(Mistake::new(Status::InvalidOption, "limit", format_args!("{limit}{with_flag}"), allowed))
}
