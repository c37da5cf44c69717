//! # Rules of a gate
//!
//! The rules can be replaced while the gate is in use: all at once, or, if anything is wrong with the new ones, not at all.
//! No request waits for that. A rule that keeps its name keeps what is used.
//!
//!     tidegate_text *changed;
//!     if (tidegate_gate_reload(gate, text, length, TIDEGATE_FORMAT_YAML, &changed, faults, sizeof faults) < 0) {
//!         fprintf(stderr, "the rules stay as they were:\n%s\n", faults);
//!     } else {
//!         puts(tidegate_text_data(changed));
//!         tidegate_text_free(changed);
//!     }
//!
//! What such a text says is told by the guide of the gate and by the JSON Schema of rule files.

use crate::border::{Mistake, checked, guard, guard_and_tell, long_text, object};
use crate::gate::{attributes, format_of, tidegate_attribute};
use crate::gate_json;
use crate::object::{tidegate_gate, tidegate_text};
use crate::status::TIDEGATE_MAX_COST;
use crate::text::hand_out;
use std::ffi::c_char;
use tidegate_core::gate::{Faults, Reloaded};
use tidegate_core::{Gate, Status};

/// Replaces the rules by those of a text; `format` is one of TIDEGATE_FORMAT_*.
///
/// `*reloaded_out` receives what that did: a JSON object of five arrays of rules' names, `unchanged`, `changed` (what is used
/// stays used), `restarted` (changed so that nothing could be kept: from quota to concurrency, in the number of quotas or
/// their algorithms, or in `key`, `max_keys` or `when_full`), `added` and `removed` (requests that hold something of them
/// keep it until they are done). It is for tidegate_text_free(); `reloaded_out` may be NULL.
///
/// If anything is wrong, `error` receives all of it, as for tidegate_gate_parse(), and the rules stay.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the rules or the format are not acceptable.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_gate_reload(
    gate: *const tidegate_gate,
    text: *const c_char,
    length: usize,
    format: u32,
    reloaded_out: *mut *mut tidegate_text,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    let body = || {
        let format = format_of(format)?;
        // SAFETY: the header asks for a text of this length.
        let text = unsafe { long_text(text, length, "text") }?;
        // SAFETY: the header asks for a live handle and a place to write to.
        unsafe { reload(gate, |gate| gate.reload(text, format), reloaded_out) }
    };
    // SAFETY: the header asks for a buffer of this size.
    unsafe { guard_and_tell(error, error_size, body) }
}

/// tidegate_gate_reload() from a file, whose name ends in `.toml`, `.json`, `.yaml` or `.yml`. The path is UTF-8.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the rules are not acceptable or the file can't be read.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_gate_reload_file(
    gate: *const tidegate_gate,
    path: *const c_char,
    length: usize,
    reloaded_out: *mut *mut tidegate_text,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    let body = || {
        // SAFETY: the header asks for a path of this length.
        let path = unsafe { long_text(path, length, "path") }?;
        // SAFETY: the header asks for a live handle and a place to write to.
        unsafe { reload(gate, |gate| gate.reload_file(path), reloaded_out) }
    };
    // SAFETY: the header asks for a buffer of this size.
    unsafe { guard_and_tell(error, error_size, body) }
}

/// # Safety
///
/// `gate` is NULL or a live handle; `reloaded_out` is NULL or may be written.
unsafe fn reload(
    gate: *const tidegate_gate,
    change: impl FnOnce(&Gate) -> Result<Reloaded, Faults>,
    reloaded_out: *mut *mut tidegate_text,
) -> Result<Status, Mistake> {
    // SAFETY: as the caller vouches.
    let gate = unsafe { object(gate, "gate") }?;
    if reloaded_out.is_null() {
        change(&gate.0)?;
        return Ok(Status::Allowed);
    }
    let reloaded_out = checked(reloaded_out, "reloaded_out")?;
    let reloaded = gate_json::reloaded(&change(&gate.0)?);
    // SAFETY: checked above.
    unsafe { hand_out(reloaded.to_string(), reloaded_out) };
    Ok(Status::Allowed)
}

/// The rules in use, as they were written, in JSON: a text that tidegate_gate_reload() reads. It is for
/// tidegate_text_free().
///
/// Returns TIDEGATE_OK.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_gate_rules(gate: *const tidegate_gate, rules_out: *mut *mut tidegate_text) -> i32 {
    // SAFETY: the header asks for a live handle and a place to write to.
    guard(|| unsafe { tell(gate, rules_out, "rules_out", |gate| gate_json::rules(&gate.rules())) })
}

/// What the gate has done since it was made, in JSON: requests `admitted`, `refused` and `unmatched` (no rule applied),
/// entries `released_ok` and `released_failed`, if they held permits; and in `rules`, for each rule as they are written, its
/// `name`, `mode`, requests `admitted` and `refused` (in shadow: that it would have refused), and `limiter`, which has the
/// fields of tidegate_stats. It is for tidegate_text_free().
///
/// Returns TIDEGATE_OK.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_gate_stats(gate: *const tidegate_gate, stats_out: *mut *mut tidegate_text) -> i32 {
    // SAFETY: the header asks for a live handle and a place to write to.
    guard(|| unsafe { tell(gate, stats_out, "stats_out", |gate| gate_json::stats(&gate.stats()).to_string()) })
}

/// # Safety
///
/// `gate` is NULL or a live handle; `text_out` is NULL or may be written.
unsafe fn tell(
    gate: *const tidegate_gate,
    text_out: *mut *mut tidegate_text,
    argument: &str,
    text: impl FnOnce(&Gate) -> String,
) -> Result<Status, Mistake> {
    // SAFETY: as the caller vouches.
    let gate = unsafe { object(gate, "gate") }?;
    let text_out = checked(text_out, argument)?;
    // SAFETY: checked above.
    unsafe { hand_out(text(&gate.0), text_out) };
    Ok(Status::Allowed)
}

/// What each rule says to a request of `cost`, and why, in JSON; spends nothing. Requests are as for tidegate_gate_enter().
///
/// `status` is what the request would be told, by the name of a status; `rules` has for each rule, as they are written, its
/// name (`rule`), `mode`, whether it `matched`, its `conditions` (`attribute`, `mode`, `texts`, `value`, `matched`), and if
/// it matched `key`, `status`, `limit`, `remaining`, `retry_after_ns` (null for never, or if that depends on others) and
/// `waiting`. It is for tidegate_text_free().
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_COST; TIDEGATE_ERROR_OPTION if a name is not UTF-8; TIDEGATE_ERROR_KEY if a value
/// is NULL though its size is not 0.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_gate_explain(
    gate: *const tidegate_gate,
    attributes: *const tidegate_attribute,
    count: usize,
    cost: u64,
    explanation_out: *mut *mut tidegate_text,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for so many attributes.
        let attributes = unsafe { self::attributes(attributes, count) }?;
        if !(1..=TIDEGATE_MAX_COST).contains(&cost) {
            let allowed = format!("1 to {TIDEGATE_MAX_COST}");
            return Err(Mistake::new(Status::InvalidCost, "cost", cost, allowed));
        }
        let text = |gate: &Gate| gate.explain(&attributes, cost).to_json();
        // SAFETY: the header asks for a live handle and a place to write to.
        unsafe { tell(gate, explanation_out, "explanation_out", text) }
    })
}
