//! Waiting as a task of an event loop.
//!
//! The core tells what becomes of a wait on whichever thread brings it about. That is noted here, and the loop is told to look (by
//! `tidegate._waiting`, which knows loops): from then on all is done by the task itself. A task that is cancelled, or whose
//! coroutine is closed, leaves; what it is granted in that instant goes back.

use crate::budget::{Budget, Grant};
use crate::error::{from_core, no_panic};
use crate::refusal::Ended;
use crate::time::seconds_from_ns;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tidegate::{Event, NEVER_NS, Started, Status, Ticket};

/// The tasks that wait for a limiter, by when they came. They belong to the limiter, so that they live as long as it, and the
/// garbage collector sees through it which tasks keep which limiters.
#[derive(Default)]
pub struct Turns {
    waits: Mutex<BTreeMap<u64, Py<Wait>>>,
    last: AtomicU64,
}

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
    id: u64,
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
    /// Takes at once, or gives a Wait. `make_turn` makes what is told.
    pub fn begin(
        self: &Arc<Self>,
        py: Python<'_>,
        budget: &Budget,
        number: u64,
        timeout_ns: Option<u64>,
        make_turn: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        if let Some(grant) = budget.take_if_free(number).map_err(from_core)? {
            return budget.hand_over(py, grant);
        }
        self.pass_closed_loops(py)?;
        // Relaxed: only that they differ and rise matters.
        let id = self.last.fetch_add(1, Ordering::Relaxed);
        let wait = Wait {
            budget: budget.clone(),
            number,
            timeout_ns,
            began_ns: budget.clock.now_ns(),
            ticket: OnceLock::new(),
            stage: Mutex::new(Stage::Waiting),
            turns: Arc::clone(self),
            id,
            turn: make_turn.call0()?.unbind(),
        };
        let wait = Py::new(py, wait)?;
        wait.get().turn.setattr(py, "wait", &wait)?;
        locked(&self.waits).insert(id, wait.clone_ref(py));
        let listener = {
            let (turns, budget) = (Arc::clone(self), budget.clone());
            move |event| turns.tell(id, &budget, event)
        };
        let started = budget.start(number, timeout_ns.map(Duration::from_nanos), listener);
        if let Ok(Started::Pending { ticket, .. }) = started {
            // Nobody set it before.
            let _ = wait.get().ticket.set(ticket);
            return Ok(wait.into_any());
        }
        self.take(id);
        match started.map_err(from_core)? {
            Started::Granted(grant) => budget.hand_over(py, grant),
            Started::Refused(status) => Err(wait.get().refusal(status)),
            Started::Pending { .. } => unreachable!("returned above"),
        }
    }

    /// Tasks whose loop was closed never come; nor do those behind the first one, if nobody sends it away.
    pub fn pass_closed_loops(&self, py: Python<'_>) -> PyResult<()> {
        loop {
            let first = locked(&self.waits).first_key_value().map(|(_, wait)| wait.clone_ref(py));
            match first {
                Some(first) if first.get().turn.call_method0(py, "is_lost")?.is_truthy(py)? => first.get().leave(),
                _ => return Ok(()),
            }
        }
    }

    /// What the core calls, on any thread, with no lock held.
    fn tell(&self, id: u64, budget: &Budget, event: Event<Grant>) {
        let told = Python::try_attach(|py| {
            let wait = match event {
                Event::PollAgain => locked(&self.waits).get(&id).map(|wait| wait.clone_ref(py)),
                Event::Granted(_) | Event::Refused(_) => self.take(id),
            };
            wait.is_some_and(|wait| wait.get().tell(py, event))
        });
        if let (Event::Granted(grant), Some(false) | None) = (event, told) {
            budget.give_back(grant);
        }
    }

    fn take(&self, id: u64) -> Option<Py<Wait>> {
        locked(&self.waits).remove(&id)
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Nobody holds the lock while Python runs, and so while it collects.
        let Ok(waits) = self.waits.try_lock() else { return Ok(()) };
        waits.values().try_for_each(|wait| visit.call(wait))
    }
}

/// The coroutine that waits as a task: of acquire_async(), and of what `async with` begins with.
pub fn coroutine<'py>(
    limiter: &Bound<'py, PyAny>,
    number: u64,
    timeout_ns: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    static ACQUIRE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    ACQUIRE.import(limiter.py(), "tidegate._waiting", "acquire")?.call1((limiter, number, timeout_ns))
}

/// Likewise for a block of permits, which is in `frame`.
pub fn enter<'py>(limiter: &Bound<'py, PyAny>, frame: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
    static ENTER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    ENTER.import(limiter.py(), "tidegate._waiting", "enter")?.call1((limiter, frame))
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
        drop(self.turns.take(self.id));
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
        let elapsed_ns = self.budget.clock.now_ns().saturating_sub(self.began_ns);
        let ended = Ended { status, number: self.number, elapsed_ns, timeout_ns: self.timeout_ns };
        self.budget.refusal(ended)
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
            Ok((after_ns != NEVER_NS && self.budget.real_time).then(|| seconds_from_ns(after_ns)))
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
