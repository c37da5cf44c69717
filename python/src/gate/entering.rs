//! Waiting as a task of an event loop.
//!
//! Where the core can go on is told on whichever thread brings it about: there the loop is only told to look (by `tidegate._waiting`,
//! which knows loops); all else is done by the task itself. A task that is cancelled, or whose coroutine is closed, leaves; what it got
//! goes back.

use super::Gate;
use super::entry::Entry;
use super::refusal::Refusal;
use crate::error::no_panic;
use crate::late::Late;
use crate::time::seconds_from_ns;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};
use tidegate::NEVER_NS;
use tidegate::gate::Progress;

/// The tasks that wait at a gate. They belong to it, so that they live as long as it, and the garbage collector sees through it which
/// tasks keep which gates.
pub struct Waits {
    /// Whether the gate's clock is the machine's, so that it makes sense to sleep until a time.
    is_real_time: bool,
    waiting: Mutex<BTreeMap<Place, Py<Entering>>>,
    last: AtomicU64,
}

/// The address of the loop that the task is of, and as which of all it came.
type Place = (usize, u64);

/// One task's request.
#[pyclass(frozen, module = "tidegate._tidegate")]
pub struct Entering {
    stage: Mutex<Stage>,
    waits: Arc<Waits>,
    place: Place,
    waker: Waker,
    /// What is to be told, as `tidegate._waiting.Turn`.
    turn: Py<PyAny>,
}

enum Stage {
    Waiting(Box<tidegate::gate::Entering>),
    /// It is being asked how it stands.
    Polled,
    Entered(Box<tidegate::gate::Entry>),
    Refused(Box<tidegate::gate::Refusal>),
    /// The task went, or took what it got.
    Left,
}

/// What the core wakes.
struct Tell {
    waits: Arc<Waits>,
    place: Place,
}

impl Wake for Tell {
    fn wake(self: Arc<Self>) {
        Python::try_attach(|py| {
            let wait = locked(&self.waits.waiting).get(&self.place).map(|wait| wait.clone_ref(py));
            if let Some(wait) = wait
                && let Err(error) = wait.get().turn.call_method0(py, "told")
            {
                error.write_unraisable(py, None);
                wait.get().leave();
            }
        });
    }
}

impl Waits {
    pub fn new(is_real_time: bool) -> Arc<Self> {
        Arc::new(Self { is_real_time, waiting: Mutex::default(), last: AtomicU64::new(0) })
    }

    pub fn is_real_time(&self) -> bool {
        self.is_real_time
    }

    /// An Entering, to be polled. `make_turn` makes what is told.
    #[cold]
    pub fn begin<'py>(
        self: &Arc<Self>,
        make_turn: &Bound<'py, PyAny>,
        entering: Box<tidegate::gate::Entering>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = make_turn.py();
        self.pass_closed_loops(py)?;
        let turn = make_turn.call0()?;
        // Relaxed: only that they differ matters.
        let place = (turn.getattr("loop")?.as_ptr() as usize, self.last.fetch_add(1, Ordering::Relaxed));
        let wait = Entering {
            stage: Mutex::new(Stage::Waiting(entering)),
            waits: Arc::clone(self),
            place,
            waker: Waker::from(Arc::new(Tell { waits: Arc::clone(self), place })),
            turn: turn.clone().unbind(),
        };
        let wait = Bound::new(py, wait)?;
        turn.setattr("wait", &wait)?;
        locked(&self.waiting).insert(place, wait.clone().unbind());
        Ok(wait.into_any())
    }

    /// Tasks whose loop was closed never come; nor do those behind them, if nobody sends them away.
    #[cold]
    pub fn pass_closed_loops(&self, py: Python<'_>) -> PyResult<()> {
        let mut from = (0, 0);
        loop {
            let next = locked(&self.waiting).range(from..).next().map(|(place, wait)| (*place, wait.clone_ref(py)));
            let Some((place, wait)) = next else { return Ok(()) };
            if wait.get().turn.call_method0(py, "is_lost")?.is_truthy(py)? {
                wait.get().leave();
                from = place;
            } else {
                // The other tasks of this loop are as well.
                from = (place.0 + 1, 0);
            }
        }
    }

    fn take(&self, place: &Place) -> Option<Py<Entering>> {
        locked(&self.waiting).remove(place)
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Nobody holds the lock while Python runs, and so while it collects.
        let Ok(waiting) = self.waiting.try_lock() else { return Ok(()) };
        waiting.values().try_for_each(|wait| visit.call(wait))
    }
}

/// The coroutine of `Gate.enter_async`. The arguments are the gate and what its _begin() takes.
pub fn coroutine<'py>(
    arguments: (&Bound<'py, Gate>, Bound<'py, PyDict>, u64, Option<f64>),
) -> PyResult<Bound<'py, PyAny>> {
    static ENTER: Late = Late::new("tidegate._gate", "EnterAsync");
    ENTER.get(arguments.0.py())?.call1(arguments)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Entering {
    fn exchange(&self, stage: Stage) -> Stage {
        mem::replace(&mut *locked(&self.stage), stage)
    }

    fn leave(&self) {
        // What it drops is given back with no lock held: that may run Python, of other tasks.
        let left = self.exchange(Stage::Left);
        drop(self.waits.take(&self.place));
        drop(left);
    }

    /// Goes on as far as it can; after how many ns to look again, unless it is told before.
    fn look(&self) -> u64 {
        let mut entering = {
            let mut stage = locked(&self.stage);
            match mem::replace(&mut *stage, Stage::Polled) {
                Stage::Waiting(entering) => entering,
                other => {
                    *stage = other;
                    return NEVER_NS;
                }
            }
        };
        let (next, after_ns) = match entering.poll(&self.waker) {
            Progress::Entered(entry) => (Stage::Entered(entry), NEVER_NS),
            Progress::Refused(refusal) => (Stage::Refused(refusal), NEVER_NS),
            Progress::Pending { wake_after_ns } => (Stage::Waiting(entering), wake_after_ns),
        };
        let is_over = !matches!(next, Stage::Waiting(_));
        let unwanted = {
            let mut stage = locked(&self.stage);
            if matches!(*stage, Stage::Left) { Some(next) } else { Some(mem::replace(&mut *stage, next)) }
        };
        drop(unwanted);
        if is_over {
            drop(self.waits.take(&self.place));
        }
        after_ns
    }
}

#[pymethods]
impl Entering {
    /// What is told.
    #[getter]
    fn turn(&self, py: Python<'_>) -> Py<PyAny> {
        self.turn.clone_ref(py)
    }

    /// Whether it waits no longer.
    #[getter]
    fn over(&self) -> bool {
        !matches!(*locked(&self.stage), Stage::Waiting(_) | Stage::Polled)
    }

    /// After how many seconds to poll again; None if it will be told.
    fn poll(&self) -> PyResult<Option<f64>> {
        no_panic(|| {
            let after_ns = self.look();
            // Who moves another clock tells those who are due.
            Ok((after_ns != NEVER_NS && self.waits.is_real_time).then(|| seconds_from_ns(after_ns)))
        })
    }

    /// Goes without what was asked for; what it got goes back.
    #[pyo3(name = "leave")]
    fn leave_by_python(&self) -> PyResult<()> {
        no_panic(|| {
            self.leave();
            Ok(())
        })
    }

    /// What became of it: an Entry or a Refusal.
    fn outcome<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        no_panic(|| match self.exchange(Stage::Left) {
            Stage::Entered(entry) => Ok(Bound::new(py, Entry::from(entry))?.into_any()),
            Stage::Refused(refusal) => Ok(Bound::new(py, Refusal::from(refusal))?.into_any()),
            Stage::Waiting(_) | Stage::Polled | Stage::Left => unreachable!("asked for when it was over, once"),
        })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.turn)
    }
}
