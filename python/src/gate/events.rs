//! Word of what a gate refuses and of its reloads.

use super::refusal::Refusal;
use super::rules;
use crate::argument::Given;
use crate::blocking::{SIGNALS_EVERY, on_main_thread};
use crate::error::no_panic;
use crate::late::Late;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tidegate::gate::GateEvent;

/// The events of a gate, in order: an iterator that waits for each, until the gate is gone or another listens. 1,024 events wait to be
/// taken; those that find no room are dropped.
#[pyclass(frozen, module = "tidegate")]
pub struct Events {
    /// Locked by who waits.
    events: Mutex<tidegate::gate::Events>,
    /// As of when somebody began to wait: meanwhile there is room.
    dropped: AtomicU64,
}

impl Events {
    pub fn new(events: tidegate::gate::Events) -> Self {
        Self { events: Mutex::new(events), dropped: AtomicU64::new(0) }
    }

    /// `events` are locked. Relaxed: a count.
    fn note_dropped(&self, events: &tidegate::gate::Events) -> u64 {
        let dropped = events.dropped();
        self.dropped.store(dropped, Ordering::Relaxed);
        dropped
    }

    /// The next event, if it comes in time; and whether none will any more.
    fn next(&self, py: Python<'_>, timeout: Duration) -> PyResult<(Option<GateEvent>, bool)> {
        let most = if on_main_thread(py)? { SIGNALS_EVERY } else { Duration::from_secs(3_600) };
        let began = Instant::now();
        py.detach(|| {
            loop {
                let step = timeout.saturating_sub(began.elapsed()).min(most);
                let asked = Instant::now();
                let event = {
                    let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
                    self.note_dropped(&events);
                    events.next(step)
                };
                // Before its time only for want of anybody who could tell something.
                let is_over = event.is_none() && asked.elapsed() < step;
                if event.is_some() || is_over || began.elapsed() >= timeout {
                    return Ok((event, is_over));
                }
                Python::attach(|py| py.check_signals())?;
            }
        })
    }
}

#[pymethods]
impl Events {
    /// The next event; None if none came within so many seconds (int, float or timedelta), or none will; None waits for ever.
    #[pyo3(signature = (timeout = Given::LEFT_OUT), text_signature = "($self, timeout=None)")]
    fn get<'py>(&self, py: Python<'py>, timeout: Given<'_, 'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        no_panic(|| {
            let timeout = timeout.timeout_or(None)?.map_or(Duration::MAX, Duration::from_nanos);
            self.next(py, timeout)?.0.map(|event| told(py, event)).transpose()
        })
    }

    /// How many events found no room, since nobody took those before.
    #[getter]
    fn dropped(&self) -> u64 {
        match self.events.try_lock() {
            Ok(events) => self.note_dropped(&events),
            // Relaxed: a count.
            Err(_) => self.dropped.load(Ordering::Relaxed),
        }
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        no_panic(|| self.next(py, Duration::MAX)?.0.map(|event| told(py, event)).transpose())
    }
}

fn told(py: Python<'_>, event: GateEvent) -> PyResult<Bound<'_, PyAny>> {
    static EVENT: Late = Late::new("tidegate.gate", "GateEvent");
    let make = EVENT.get(py)?;
    let name = event.name();
    match event {
        GateEvent::Refused(refusal) | GateEvent::ShadowRefused(refusal) => {
            make.call1((name, Refusal::from(Box::new(refusal))))
        }
        GateEvent::Reloaded(reloaded) => make.call1((name, None::<()>, rules::reloaded(py, reloaded)?)),
        GateEvent::ReloadFailed(faults) => make.call1((name, None::<()>, None::<()>, rules::faults(py, &faults)?)),
        // What this version doesn't know.
        _ => make.call1((name,)),
    }
}
