//! # Events of a gate
//!
//! What a gate refuses, and its reloads, for logs and metrics. Events are fetched; nobody who decides waits for that.
//!
//!     tidegate_gate_events *events;
//!     tidegate_gate_events_new(gate, &events);
//!     tidegate_text *event;
//!     int32_t status;
//!     while ((status = tidegate_gate_events_next(events, 1000000000, &event)) != TIDEGATE_CLOSED) {
//!         if (status == TIDEGATE_OK) {
//!             puts(tidegate_text_data(event));
//!             tidegate_text_free(event);
//!         }
//!     }
//!     tidegate_gate_events_free(events);
//!
//! One listens to a gate at a time. There is room for 1,024 events; those that find none are dropped, and counted. In the
//! child of a fork the parent's events are the parent's.

use crate::border::{Mistake, checked, guard, guard_or, object};
use crate::gate_json;
use crate::object::{tidegate_gate, tidegate_text};
use crate::text::hand_out;
use std::ptr::null_mut;
use std::sync::{Mutex, TryLockError};
use std::time::Duration;
use tidegate_core::Status;
use tidegate_core::gate::Events;

/// Who listens to a gate. Belongs to the caller until tidegate_gate_events_free(). since 1
pub struct tidegate_gate_events {
    /// Held while somebody waits for an event.
    events: Mutex<Events>,
    process: u32,
}

/// Listens to a gate from now on. Whoever listened before gets those events that are there, and no more.
///
/// The caller owns `*events_out` and gives it up with tidegate_gate_events_free(). The gate may be freed before.
///
/// Returns TIDEGATE_OK.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_gate_events_new(
    gate: *const tidegate_gate,
    events_out: *mut *mut tidegate_gate_events,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let gate = unsafe { object(gate, "gate") }?;
        let events_out = checked(events_out, "events_out")?;
        let events = tidegate_gate_events { events: Mutex::new(gate.0.events()), process: std::process::id() };
        // SAFETY: the header asks for a place to write to.
        unsafe { events_out.write(Box::into_raw(Box::new(events))) };
        Ok(Status::Allowed)
    })
}

/// Fetches the next event, for which it keeps the thread waiting at most `timeout_ns`; 0 doesn't wait, TIDEGATE_NEVER_NS waits
/// for ever.
///
/// `*event_out` receives the event in JSON, for tidegate_text_free(); NULL if there is none. Its field `event` says of which
/// kind it is, and kinds may be added; `dropped` is how many events were dropped so far.
///
/// - `refused`, and `shadow_refused` by a rule in shadow: `refusal` has `rule`, `key` (or null), `status` (a name), `limit`,
///   `remaining`, `quota` (as text, or null), `quota_index`, `quotas`, `retry_after_ns` (null if `never`, or if that depends on
///   others), `never`, `in_flight`, `waiting`, `elapsed_ns`, `timeout_ns` (or null), `message`.
/// - `reloaded`: `reloaded` is as for tidegate_gate_reload().
/// - `reload_failed`: `faults` has for each `file`, `line`, `rule` (or null), `argument`, `value`, `allowed`, `message`.
///
/// Returns TIDEGATE_OK; TIDEGATE_TIMED_OUT; TIDEGATE_CLOSED if all were fetched and none will come, since the gate is gone or
/// another listens; TIDEGATE_QUEUE_FULL if another thread waits for the next; TIDEGATE_ERROR_FORKED.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_gate_events_next(
    events: *const tidegate_gate_events,
    timeout_ns: u64,
    event_out: *mut *mut tidegate_text,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let events = unsafe { object(events, "events") }?;
        let event_out = checked(event_out, "event_out")?;
        if events.process != std::process::id() {
            let allowed = "those of this process";
            return Err(Mistake::new(Status::Forked, "events", "those of the parent process", allowed));
        }
        let event = match events.events.try_lock() {
            Ok(events) => next(&events, timeout_ns),
            Err(TryLockError::Poisoned(events)) => next(&events.into_inner(), timeout_ns),
            Err(TryLockError::WouldBlock) => Err(Status::QueueFull),
        };
        // SAFETY: the header asks for a place to write to.
        Ok(unsafe {
            match event {
                Ok(event) => {
                    hand_out(event, event_out);
                    Status::Allowed
                }
                Err(status) => {
                    event_out.write(null_mut());
                    status
                }
            }
        })
    })
}

fn next(events: &Events, timeout_ns: u64) -> Result<String, Status> {
    let mut event = events.next(Duration::from_nanos(timeout_ns));
    let is_over = event.is_none() && events.is_over();
    if is_over {
        // It may have come last.
        event = events.next(Duration::ZERO);
    }
    let none = if is_over { Status::Closed } else { Status::TimedOut };
    event.map(|event| gate_json::event(&event, events.dropped()).to_string()).ok_or(none)
}

/// Listens no more. NULL is fine.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_gate_events_free(events: *mut tidegate_gate_events) {
    guard_or((), || {
        if let Ok(events) = checked(events, "events") {
            // SAFETY: the header asks for events that the caller gives up; they came out of a box.
            let events = unsafe { Box::from_raw(events) };
            if events.process != std::process::id() {
                // A thread of the parent's may have been at work with them.
                std::mem::forget(events);
            }
        }
    });
}
