//! # Rules from a file that is watched
//!
//! A gate can follow a file: edit it, and the rules change.
//!
//!     tidegate_watch *watch;
//!     if (tidegate_gate_watch_file(gate, path, length, &watch, faults, sizeof faults) < 0) {
//!         fprintf(stderr, "%s\n", faults);
//!     }
//!
//! The library has a thread for each file that is watched. Rules that are elsewhere, such as in a database, are for a thread
//! of the host's, which calls tidegate_gate_reload().

use crate::border::{checked, guard_and_tell, guard_or, long_text, object};
use crate::object::tidegate_gate;
use std::ffi::c_char;
use tidegate_core::Status;
use tidegate_core::gate::Watch;

/// A file that a gate follows. Belongs to the caller until tidegate_watch_free(). since 1
pub struct tidegate_watch(Watch);

/// Reads the rules of a file, as tidegate_gate_reload_file() does, and again whenever the file changes: in place, by a rename,
/// or when one of the links to it leads elsewhere, as those of Kubernetes do. A change is seen at once where the file system
/// tells of it, and within 30 s everywhere. If it is wrong then, that is told as an event, `reload_failed`, and the rules
/// stay.
///
/// The caller owns `*watch_out`, and gives it up with tidegate_watch_free(). The gate may be freed before; that ends the
/// watch, too. In the child of a fork nothing is watched.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the rules are not acceptable or the file can't be read: it is not watched
/// then.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_gate_watch_file(
    gate: *const tidegate_gate,
    path: *const c_char,
    length: usize,
    watch_out: *mut *mut tidegate_watch,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    let body = || {
        // SAFETY: the header asks for a live handle.
        let gate = unsafe { object(gate, "gate") }?;
        let watch_out = checked(watch_out, "watch_out")?;
        // SAFETY: the header asks for a path of this length.
        let path = unsafe { long_text(path, length, "path") }?;
        let watch = tidegate_watch(gate.0.watch_file(path)?);
        // SAFETY: the header asks for a place to write to.
        unsafe { watch_out.write(Box::into_raw(Box::new(watch))) };
        Ok(Status::Allowed)
    };
    // SAFETY: the header asks for a buffer of this size.
    unsafe { guard_and_tell(error, error_size, body) }
}

/// Follows the file no more: from here on the rules stay as they are. Waits for a change of rules that has begun. NULL is fine.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_watch_free(watch: *mut tidegate_watch) {
    guard_or((), || {
        if let Ok(watch) = checked(watch, "watch") {
            // SAFETY: the header asks for a watch that the caller gives up; it came out of a box.
            let tidegate_watch(watch) = *unsafe { Box::from_raw(watch) };
            drop(watch);
        }
    });
}
