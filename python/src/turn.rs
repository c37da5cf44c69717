//! Waiting as a task of an event loop.
//!
//! The core tells what becomes of a wait on whichever thread brings it about. That is noted here, and the loop is told to look (by
//! `tidegate._waiting`, which knows loops): from then on all is done by the task itself. A task that is cancelled, or whose
//! coroutine is closed, leaves; what it is granted in that instant goes back.

use crate::argument::Given;
use crate::blocking;
use crate::budget::{Budget, Grant};
use crate::error::{from_core, no_panic};
use crate::late::Late;
use crate::refusal::Ended;
use crate::time::seconds_from_ns;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tidegate::{Clock, Event, NEVER_NS, Started, Status, Ticket};

/// The clock of a limiter, and the tasks that wait for it. They belong to the limiter, so that they live as long as it, and the
/// garbage collector sees through it which tasks keep which limiters.
pub struct Turns {
    clock: Clock,
    /// Whether the clock is the machine's, so that it makes sense to sleep until a time.
    real_time: bool,
    waits: Mutex<BTreeMap<Place, Py<Wait>>>,
    last: AtomicU64,
}

/// The key that is waited for, if there are keys, and as which of all it came.
type Place = (Option<Arc<[u8]>>, u64);

/// One task's place in a queue.
#[pyclass(frozen, module = "tidegate._tidegate")]
pub struct Wait {
    budget: Budget,
    number: u64,
    timeout_ns: Option<u64>,
    began_ns: u64,
    ticket: OnceLock<Ticket>,
    stage: Mutex<Stage>,
    turns: Arc<Turns>,
    place: Place,
    /// What is to be told, as `tidegate._waiting.Turn`.
    turn: Py<PyAny>,
}

#[derive(Clone, Copy)]
enum Stage {
    Waiting,
    Granted(Grant),
    Refused(Status),
    /// The task went, or took what it got.
    Left,
}

impl Turns {
    /// `clock` is the option of that name.
    pub fn new(py: Python<'_>, clock: Given<'_, '_>) -> PyResult<Arc<Self>> {
        let (clock, real_time) = (clock.clock(py)?, clock.is_real_time());
        Ok(Arc::new(Self { clock, real_time, waits: Mutex::default(), last: AtomicU64::new(0) }))
    }

    pub fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// Waits on this thread.
    #[cold]
    pub fn wait(&self, py: Python<'_>, budget: &Budget, number: u64, timeout_ns: Option<u64>) -> PyResult<Grant> {
        self.pass_closed_loops(py, budget)?;
        blocking::wait(py, budget, number, timeout_ns)
    }

    /// Takes at once, or gives a Wait. `make_turn` makes what is told.
    #[cold]
    pub fn begin(
        self: &Arc<Self>,
        make_turn: &Bound<'_, PyAny>,
        budget: &Budget,
        number: u64,
        timeout_ns: Option<u64>,
    ) -> PyResult<Py<PyAny>> {
        let py = make_turn.py();
        self.pass_closed_loops(py, budget)?;
        // Relaxed: only that they differ and rise matters.
        let place = (key_of(budget), self.last.fetch_add(1, Ordering::Relaxed));
        let wait = Wait {
            budget: budget.clone(),
            number,
            timeout_ns,
            began_ns: self.clock.now_ns(),
            ticket: OnceLock::new(),
            stage: Mutex::new(Stage::Waiting),
            turns: Arc::clone(self),
            place: place.clone(),
            turn: make_turn.call0()?.unbind(),
        };
        let wait = Py::new(py, wait)?;
        wait.get().turn.setattr(py, "wait", &wait)?;
        locked(&self.waits).insert(place.clone(), wait.clone_ref(py));
        let listener = {
            let (turns, budget, place) = (Arc::clone(self), budget.clone(), place.clone());
            move |event| turns.tell(&place, &budget, event)
        };
        let started = budget.start(number, timeout_ns.map(Duration::from_nanos), listener);
        if let Ok(Started::Pending { ticket, .. }) = started {
            // Nobody set it before.
            let _ = wait.get().ticket.set(ticket);
            return Ok(wait.into_any());
        }
        self.take(&place);
        match started.map_err(from_core)? {
            Started::Granted(grant) => budget.hand_over(py, grant),
            Started::Refused(status) => Err(wait.get().refusal(status)),
            Started::Pending { .. } => unreachable!("returned above"),
        }
    }

    /// Tasks whose loop was closed never come; nor do those behind the first one, if nobody sends it away.
    fn pass_closed_loops(&self, py: Python<'_>, budget: &Budget) -> PyResult<()> {
        let key = key_of(budget);
        loop {
            let first = {
                let waits = locked(&self.waits);
                let (place, wait) = waits.range((key.clone(), 0)..).next().unzip();
                wait.filter(|_| place.is_some_and(|place| place.0 == key)).map(|wait| wait.clone_ref(py))
            };
            match first {
                Some(first) if first.get().turn.call_method0(py, "is_lost")?.is_truthy(py)? => first.get().leave(),
                _ => return Ok(()),
            }
        }
    }

    /// What the core calls, on any thread, with no lock held.
    fn tell(&self, place: &Place, budget: &Budget, event: Event<Grant>) {
        let told = Python::try_attach(|py| {
            let wait = match event {
                Event::PollAgain => locked(&self.waits).get(place).map(|wait| wait.clone_ref(py)),
                Event::Granted(_) | Event::Refused(_) => self.take(place),
            };
            wait.is_some_and(|wait| wait.get().tell(py, event))
        });
        if let (Event::Granted(grant), Some(false) | None) = (event, told) {
            budget.give_back(grant);
        }
    }

    fn take(&self, place: &Place) -> Option<Py<Wait>> {
        locked(&self.waits).remove(place)
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Nobody holds the lock while Python runs, and so while it collects.
        let Ok(waits) = self.waits.try_lock() else { return Ok(()) };
        waits.values().try_for_each(|wait| visit.call(wait))
    }
}

fn key_of(budget: &Budget) -> Option<Arc<[u8]>> {
    budget.key().map(|key| Arc::clone(key.bytes()))
}

/// The coroutine that waits as a task: of acquire_async(), and of what `async with` begins with.
pub fn coroutine<'py>(
    limiter: &Bound<'py, PyAny>,
    key: Option<&Bound<'py, PyAny>>,
    number: u64,
    timeout_ns: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    static ACQUIRE: Late = Late::new("tidegate._waiting", "acquire");
    ACQUIRE.get(limiter.py())?.call1((limiter, key, number, timeout_ns))
}

/// Likewise for a block of permits, which is in `frame`.
pub fn enter<'py>(limiter: &Bound<'py, PyAny>, frame: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
    static ENTER: Late = Late::new("tidegate._waiting", "enter");
    ENTER.get(limiter.py())?.call1((limiter, frame))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Wait {
    /// Notes what became of it and has the loop look; `false` if the task is gone.
    fn tell(&self, py: Python<'_>, event: Event<Grant>) -> bool {
        {
            let mut stage = locked(&self.stage);
            match (*stage, event) {
                (Stage::Left, _) => return false,
                (_, Event::PollAgain) => {}
                (_, Event::Granted(grant)) => *stage = Stage::Granted(grant),
                (_, Event::Refused(status)) => *stage = Stage::Refused(status),
            }
        }
        if let Err(error) = self.turn.call_method0(py, "told") {
            error.write_unraisable(py, None);
            self.leave();
        }
        true
    }

    fn leave(&self) {
        let stage = std::mem::replace(&mut *locked(&self.stage), Stage::Left);
        drop(self.turns.take(&self.place));
        match stage {
            Stage::Waiting => {
                // Too late if it is being told: then it is found gone, and what was granted goes back.
                self.ticket.get().map(|ticket| self.budget.cancel(*ticket));
            }
            Stage::Granted(grant) => self.budget.give_back(grant),
            Stage::Refused(_) | Stage::Left => {}
        }
    }

    fn refusal(&self, status: Status) -> PyErr {
        let elapsed_ns = self.turns.clock.now_ns().saturating_sub(self.began_ns);
        let ended = Ended { status, number: self.number, elapsed_ns, timeout_ns: self.timeout_ns };
        self.budget.refusal(&ended)
    }

    fn is_over(&self) -> bool {
        !matches!(*locked(&self.stage), Stage::Waiting)
    }
}

#[pymethods]
impl Wait {
    /// What is told.
    #[getter]
    fn turn(&self, py: Python<'_>) -> Py<PyAny> {
        self.turn.clone_ref(py)
    }

    /// Whether it waits no longer.
    #[getter]
    fn over(&self) -> bool {
        self.is_over()
    }

    /// After how many seconds to poll again; None if it will be told.
    fn poll(&self) -> PyResult<Option<f64>> {
        no_panic(|| {
            let Some(ticket) = self.ticket.get().filter(|_| !self.is_over()) else { return Ok(None) };
            let after_ns = self.budget.poll(*ticket).map_err(from_core)?.unwrap_or(NEVER_NS);
            // Who moves another clock tells those who are due.
            Ok((after_ns != NEVER_NS && self.turns.real_time).then(|| seconds_from_ns(after_ns)))
        })
    }

    /// Goes without what was asked for; what was granted goes back.
    #[pyo3(name = "leave")]
    fn leave_by_python(&self) -> PyResult<()> {
        no_panic(|| {
            self.leave();
            Ok(())
        })
    }

    /// What was granted; raises if it was refused.
    fn outcome(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        no_panic(|| {
            let stage = std::mem::replace(&mut *locked(&self.stage), Stage::Left);
            match stage {
                Stage::Granted(grant) => self.budget.hand_over(py, grant),
                Stage::Refused(status) => Err(self.refusal(status)),
                Stage::Waiting | Stage::Left => unreachable!("asked for when it was told, once"),
            }
        })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.turn)
    }
}
