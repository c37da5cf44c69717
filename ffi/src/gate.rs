//! # The gate
//!
//! A gate admits requests by named rules. All rules that match a request must admit it; if one refuses, nothing is taken.
//!
//!     const char *rules =
//!         "[[rules]]\n"
//!         "name = 'downloads'\n"
//!         "match = { path = { prefix = '/files/' } }\n"
//!         "concurrency = 4\n"
//!         "timeout = '50ms'\n";
//!     char faults[TIDEGATE_FAULTS_SIZE];
//!     tidegate_gate *gate;
//!     if (tidegate_gate_parse(rules, strlen(rules), TIDEGATE_FORMAT_TOML, NULL, &gate, faults, sizeof faults) < 0) {
//!         fprintf(stderr, "%s\n", faults);
//!         return 1;
//!     }
//!     tidegate_attribute request[] = {{"path", 4, "/files/cats", 11}, {"client", 6, "203.0.113.7", 11}};
//!     tidegate_entry *entry;
//!     tidegate_refusal *refusal;
//!     int32_t status = tidegate_gate_enter(gate, request, 2, 1, TIDEGATE_NEVER_NS, &entry, &refusal);
//!     if (status == TIDEGATE_ALLOWED || status == TIDEGATE_NO_RULE) {
//!         int32_t ok = work();
//!         tidegate_entry_release(entry, ok);
//!     } else if (status > 0) {
//!         char message[TIDEGATE_ERROR_SIZE];
//!         tidegate_refusal_text(refusal, TIDEGATE_TEXT_MESSAGE, message, sizeof message, NULL);
//!         puts(message);
//!         tidegate_refusal_free(refusal);
//!     }
//!
//! The rules are a text in TOML, JSON or YAML, which can be replaced while the gate is in use: see "Rules of a gate".
//!
//! An entry or refusal is the caller's, and needs neither the gate nor the attributes any more: those are read only during
//! the call. A gate's clock may be freed before the gate.

use crate::border::{Mistake, add_owner, checked, drop_owner, guard, guard_and_tell, into_handle, long_text, object};
use crate::key::key_bytes;
use crate::layout::layout;
use crate::object::{tidegate_clock, tidegate_entry, tidegate_gate, tidegate_refusal};
use crate::waiting::timeout;
use smallvec::SmallVec;
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;
use tidegate_core::gate::{EnterError, Entry, Format, Refusal, Rules};
use tidegate_core::{Clock, Gate, Status};

/// Rules in TOML. since 1
pub const TIDEGATE_FORMAT_TOML: u32 = 1;

/// Rules in JSON. since 1
pub const TIDEGATE_FORMAT_JSON: u32 = 2;

/// Rules in YAML. since 1
pub const TIDEGATE_FORMAT_YAML: u32 = 3;

/// A good size for the error buffer of functions that read rules, in bytes: they tell all that is wrong, a line each. since 1
#[expect(dead_code, reason = "for C alone")]
pub const TIDEGATE_FAULTS_SIZE: usize = 8192;

/// What is known of a request: a name, such as "path", and a value. 32 bytes, and never more. since 1
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tidegate_attribute {
    /// The name, as text; NULL only with a length of 0.
    pub name: *const c_char,
    /// How many bytes of name.
    pub name_length: usize,
    /// The value: any bytes, compared as they are; NULL only with a size of 0.
    pub value: *const c_void,
    /// How many bytes of value.
    pub value_size: usize,
}

layout! { tidegate_attribute: 32 {
    name: 0,
    name_length: 8,
    value: 16,
    value_size: 24,
} }

/// What requests have, mostly without an allocation.
pub(crate) type Attributes<'a> = SmallVec<[(&'a str, &'a [u8]); 8]>;

/// # Safety
///
/// `attributes` is NULL or may be read for `count` elements, and what they point to for as many bytes as they say, until
/// the caller's own call ends.
#[inline]
pub(crate) unsafe fn attributes<'a>(
    attributes: *const tidegate_attribute,
    count: usize,
) -> Result<Attributes<'a>, Mistake> {
    let mut read = Attributes::new();
    if count == 0 {
        return Ok(read);
    }
    let first = checked(attributes.cast_mut(), "attributes")?;
    let most = isize::MAX as usize / size_of::<tidegate_attribute>();
    if count > most {
        return Err(Mistake::new(Status::InvalidMemory, "count", count, format_args!("at most {most}")));
    }
    // SAFETY: the caller vouches for `count` elements, of which there can be so many.
    for attribute in unsafe { std::slice::from_raw_parts(first.cast_const(), count) } {
        // SAFETY: the caller vouches for the name.
        let name = unsafe { long_text(attribute.name, attribute.name_length, "name") }?;
        // SAFETY: the caller vouches for the value.
        read.push((name, unsafe { key_bytes(attribute.value, attribute.value_size) }?));
    }
    Ok(read)
}

pub(crate) fn format_of(format: u32) -> Result<Format, Mistake> {
    match format {
        TIDEGATE_FORMAT_TOML => Ok(Format::Toml),
        TIDEGATE_FORMAT_JSON => Ok(Format::Json),
        TIDEGATE_FORMAT_YAML => Ok(Format::Yaml),
        _ => Err(Mistake::new(Status::InvalidOption, "format", format, "one of TIDEGATE_FORMAT_*")),
    }
}

/// # Safety
///
/// `clock` is NULL or a live handle; `gate_out` is NULL or may be written.
unsafe fn build(
    clock: *const tidegate_clock,
    gate_out: *mut *mut tidegate_gate,
    read: impl FnOnce(Clock) -> Result<Gate, Mistake>,
) -> Result<Status, Mistake> {
    let gate_out = checked(gate_out, "gate_out")?;
    let clock = if clock.is_null() {
        Clock::monotonic()
    } else {
        // SAFETY: as the caller vouches.
        unsafe { object(clock, "clock") }?.clock.clone()
    };
    let gate = read(clock)?;
    // SAFETY: checked above.
    unsafe { gate_out.write(into_handle(tidegate_gate(gate))) };
    Ok(Status::Allowed)
}

/// Makes a gate from the text of its rules; `format` is one of TIDEGATE_FORMAT_*, `clock` may be NULL for the monotonic one.
///
/// If anything is wrong with the rules, `error` receives all of it, a line each:
/// `line LINE: rule NAME: ARGUMENT: got VALUE; allowed: WHAT`. TIDEGATE_FAULTS_SIZE is a good size for it.
///
/// The caller owns `*gate_out` and gives it up with tidegate_gate_free(). The first limiter of a process on the monotonic
/// clock may take up to 200 ms, once, to measure the processor's counter.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the rules or the format are not acceptable.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_gate_parse(
    text: *const c_char,
    length: usize,
    format: u32,
    clock: *const tidegate_clock,
    gate_out: *mut *mut tidegate_gate,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    let read = |clock| {
        let format = format_of(format)?;
        // SAFETY: the header asks for a text of this length.
        let text = unsafe { long_text(text, length, "text") }?;
        Ok(Gate::parse_with_clock(text, format, clock)?)
    };
    // SAFETY: the header asks for a live clock and a place to write to.
    let body = || unsafe { build(clock, gate_out, read) };
    // SAFETY: the header asks for a buffer of this size.
    unsafe { guard_and_tell(error, error_size, body) }
}

/// tidegate_gate_parse() from a file, whose name ends in `.toml`, `.json`, `.yaml` or `.yml`. The path is UTF-8.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the rules are not acceptable or the file can't be read.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_gate_open(
    path: *const c_char,
    length: usize,
    clock: *const tidegate_clock,
    gate_out: *mut *mut tidegate_gate,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    let read = |clock| {
        // SAFETY: the header asks for a path of this length.
        let path = unsafe { long_text(path, length, "path") }?;
        let gate = Gate::with_clock(Rules::default(), clock)?;
        gate.reload_file(path)?;
        Ok(gate)
    };
    // SAFETY: the header asks for a live clock and a place to write to.
    let body = || unsafe { build(clock, gate_out, read) };
    // SAFETY: the header asks for a buffer of this size.
    unsafe { guard_and_tell(error, error_size, body) }
}

/// Admits a request of `cost`, which is 1 for most, or tells why not. `attributes` are what is known of it, `count` in number.
///
/// If rules let it wait, this keeps the thread waiting. `timeout_ns` is how long it may wait in all, whatever the rules say:
/// with 0 it never waits; with TIDEGATE_NEVER_NS the timeouts of the rules are all that counts, and rules whose timeout is
/// that of the call don't let it wait.
///
/// If admitted, `*entry_out` receives an entry, which holds what the rules gave until tidegate_entry_release(). That is so
/// for TIDEGATE_NO_RULE, too, where it holds nothing. If refused, `*refusal_out` receives why, for tidegate_refusal_free(),
/// and nothing was taken; `refusal_out` may be NULL. The other one of the two receives NULL.
///
/// Returns TIDEGATE_ALLOWED; TIDEGATE_NO_RULE; if refused TIDEGATE_DENIED, TIDEGATE_EXCEEDS_CAPACITY, TIDEGATE_KEYS_FULL,
/// TIDEGATE_TIMED_OUT or TIDEGATE_QUEUE_FULL; TIDEGATE_ERROR_COST; TIDEGATE_ERROR_OPTION if a name is not UTF-8;
/// TIDEGATE_ERROR_KEY if a value is NULL though its size is not 0.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_gate_enter(
    gate: *const tidegate_gate,
    attributes: *const tidegate_attribute,
    count: usize,
    cost: u64,
    timeout_ns: u64,
    entry_out: *mut *mut tidegate_entry,
    refusal_out: *mut *mut tidegate_refusal,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let gate = unsafe { object(gate, "gate") }?;
        let outputs = Outputs::new(entry_out, refusal_out)?;
        // SAFETY: the header asks for so many attributes.
        let attributes = unsafe { self::attributes(attributes, count) }?;
        let entered = match gate.0.enter_n(&attributes, cost, timeout(timeout_ns)) {
            Ok(entry) => Ok(Box::new(entry)),
            Err(EnterError::Refused(refusal)) => Err(refusal),
            Err(EnterError::Invalid(mistake)) => return Err(mistake.into()),
        };
        // SAFETY: the header asks for places to write to.
        Ok(unsafe { outputs.write(entered) })
    })
}

/// Where the caller looks for what came of a request.
pub(crate) struct Outputs {
    entry: *mut *mut tidegate_entry,
    /// NULL if the caller doesn't want to know.
    refusal: *mut *mut tidegate_refusal,
}

impl Outputs {
    #[inline]
    pub(crate) fn new(
        entry_out: *mut *mut tidegate_entry,
        refusal_out: *mut *mut tidegate_refusal,
    ) -> Result<Self, Mistake> {
        let refusal = if refusal_out.is_null() { refusal_out } else { checked(refusal_out, "refusal_out")? };
        Ok(Self { entry: checked(entry_out, "entry_out")?, refusal })
    }

    /// # Safety
    ///
    /// Both may be written, but for a refusal that is NULL.
    #[inline]
    pub(crate) unsafe fn write(&self, entered: Result<Box<Entry>, Box<Refusal>>) -> Status {
        let (status, entry, refusal) = match entered {
            Ok(entry) => (entry.status(), Box::into_raw(entry).cast(), null_mut()),
            // A signal handler forked this thread out of its wait: a mistake, after which no output is written.
            Err(refusal) if (refusal.status as i32) < 0 => return refusal.status,
            Err(refusal) if self.refusal.is_null() => (refusal.status, null_mut(), null_mut()),
            Err(refusal) => (refusal.status, null_mut(), Box::into_raw(Box::new(tidegate_refusal(*refusal)))),
        };
        // SAFETY: as the caller vouches.
        unsafe { self.write_raw(entry, refusal) };
        status
    }

    /// That there is neither an entry nor a refusal.
    ///
    /// # Safety
    ///
    /// As [`write`](Self::write).
    pub(crate) unsafe fn write_none(&self) {
        // SAFETY: as the caller vouches.
        unsafe { self.write_raw(null_mut(), null_mut()) };
    }

    /// # Safety
    ///
    /// As [`write`](Self::write).
    #[inline]
    unsafe fn write_raw(&self, entry: *mut tidegate_entry, refusal: *mut tidegate_refusal) {
        // SAFETY: as the caller vouches.
        unsafe {
            self.entry.write(entry);
            if !self.refusal.is_null() {
                self.refusal.write(refusal);
            }
        }
    }
}

/// Adds an owner, who also must free the gate, and returns the gate; NULL for NULL.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_gate_ref(gate: *const tidegate_gate) -> *mut tidegate_gate {
    // SAFETY: the header asks for a live handle.
    unsafe { add_owner(gate) }
}

/// Takes an owner away; the gate goes with the last one. Entries that are out, requests that wait and refusals are not
/// affected. NULL is fine.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_gate_free(gate: *mut tidegate_gate) {
    // SAFETY: the header asks for a live handle that the caller owns.
    unsafe { drop_owner(gate) };
}
