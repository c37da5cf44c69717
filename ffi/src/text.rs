//! # Documents
//!
//! Texts that may be long, and that tell something else the next time, come as objects of their own: read, then freed.
//!
//!     tidegate_text *stats;
//!     if (tidegate_gate_stats(gate, &stats) == TIDEGATE_OK) {
//!         puts(tidegate_text_data(stats));
//!         tidegate_text_free(stats);
//!     }
//!
//! JSON documents are objects, to which fields may be added. Times in them are whole nanoseconds.

use crate::border::{Mistake, checked, guard_or, object, write_text};
use crate::object::tidegate_text;
use std::ffi::c_char;
use tidegate_core::Status;

/// Hands a text to the caller.
///
/// # Safety
///
/// `text_out` may be written.
pub(crate) unsafe fn hand_out(mut text: String, text_out: *mut *mut tidegate_text) {
    text.push('\0');
    // SAFETY: as the caller vouches.
    unsafe { text_out.write(Box::into_raw(Box::new(tidegate_text(text)))) };
}

/// Copies a short text into the caller's buffer, as much as fits, and tells how long it is.
///
/// # Safety
///
/// `buffer` is NULL or may be written for `size` bytes; `length_out` is NULL or may be written.
pub(crate) unsafe fn copy_text(
    text: &str,
    buffer: *mut c_char,
    size: usize,
    length_out: *mut usize,
) -> Result<Status, Mistake> {
    let buffer = if size == 0 { buffer } else { checked(buffer, "buffer")? };
    let length_out = if length_out.is_null() { length_out } else { checked(length_out, "length_out")? };
    // SAFETY: as the caller vouches.
    unsafe {
        write_text(text, buffer, size);
        if !length_out.is_null() {
            length_out.write(text.len());
        }
    }
    Ok(Status::Allowed)
}

/// The text, ended by a NUL, which lives until it is freed; NULL for NULL.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_text_data(text: *const tidegate_text) -> *const c_char {
    guard_or(std::ptr::null(), || {
        // SAFETY: the header asks for a live handle.
        let text = unsafe { object(text, "text") };
        text.map_or(std::ptr::null(), |text| text.0.as_ptr().cast())
    })
}

/// How many bytes the text has, without the NUL; 0 for NULL.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_text_length(text: *const tidegate_text) -> usize {
    // SAFETY: the header asks for a live handle.
    guard_or(0, || unsafe { object(text, "text") }.map_or(0, |text| text.0.len() - 1))
}

/// Takes the text away. NULL is fine.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_text_free(text: *mut tidegate_text) {
    guard_or((), || {
        if let Ok(text) = checked(text, "text") {
            // SAFETY: the header asks for a text that the caller gives up; it came out of a box.
            drop(unsafe { Box::from_raw(text) });
        }
    });
}
