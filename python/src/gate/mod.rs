//! Gates: named rules, of which all that match a request must admit it.

mod asgi;
mod attributes;
mod blocking;
mod calling;
mod entering;
mod entry;
mod events;
mod headers;
mod refusal;
mod rules;
mod watch;

use crate::argument::{COST, Given, type_error};
use crate::error::{from_core, no_panic};
use crate::late::Late;
use crate::time::seconds_from_ns;
pub use asgi::AsgiDoor;
use attributes::{Attributes, Pairs};
pub use entering::Entering;
use entering::Waits;
pub use entry::Entry;
pub use events::Events;
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
pub use refusal::Refusal;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tidegate::gate::{Begun, Progress, Rules};
pub use watch::Watch;

// What is written in Python.
static EXPLANATION: Late = Late::new("tidegate._gate", "explanation");
static GUARD: Late = Late::new("tidegate._gate", "guard");
static LISTEN: Late = Late::new("tidegate._gate", "listen");
static LOADS: Late = Late::new("json", "loads");
static PULL: Late = Late::new("tidegate._gate", "Pull");

/// Admits requests by named rules, which can be changed while it is in use: all rules that match a request must admit it, and if
/// one refuses, nothing is taken.
///
/// rules: what a rule file holds, as its text or as Python values: a list of rules, each a dict, or a dict with "rules" and perhaps
/// "show_keys". A text is in the format "toml", "json" or "yaml".
/// clock: the clock of quotas and waits: a ManualClock, for tests, or None for the machine's monotonic clock. The first limiter of a
/// process on that clock may take up to 200 ms to build, once: it calibrates the clock.
///
/// A request is its attributes, by name: str or bytes, or None for one that it doesn't have; path="/search", or in a dict. Which there
/// are is up to rules and callers.
///
/// Every method may be called from any thread at once. Raises RulesError with all that is wrong with rules, and ConfigError (a
/// ValueError) or TypeError for a wrong argument; nothing is taken then. In the child of a fork nobody waits, and entries of the
/// parent are the parent's.
#[pyclass(frozen, weakref, module = "tidegate")]
pub struct Gate {
    gate: tidegate::Gate,
    waits: Arc<Waits>,
}

impl Gate {
    fn empty(py: Python<'_>, clock: Given<'_, '_>) -> PyResult<Self> {
        let waits = Waits::new(clock.is_real_time());
        let gate = tidegate::Gate::with_clock(Rules::default(), clock.clock(py)?);
        Ok(Self { gate: gate.map_err(|faults| rules::error(py, &faults))?, waits })
    }

    #[inline]
    fn begin(&self, pairs: &Pairs<'_>, cost: Given<'_, '_>, timeout: Given<'_, '_>) -> PyResult<Begun> {
        let timeout = timeout.timeout_or(None)?.map(Duration::from_nanos);
        self.gate.begin(pairs, cost.whole_or(1, &COST)?, timeout).map_err(from_core)
    }

    /// What came of a request at once, or its wait as what make_turn makes.
    #[inline]
    fn begun<'py>(
        &self,
        make_turn: &Bound<'py, PyAny>,
        begun: Begun,
        entered: impl FnOnce(Box<tidegate::gate::Entry>) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match begun {
            Begun::Entered(entry) => entered(entry),
            Begun::Refused(refusal) => Ok(Bound::new(make_turn.py(), Refusal::from(refusal))?.into_any()),
            Begun::Waits(entering) => self.waits.begin(make_turn, entering),
        }
    }

    /// What came of a request, at once or by waiting on this thread.
    #[inline]
    fn enter_now(&self, py: Python<'_>, begun: Begun) -> PyResult<Result<Entry, Refusal>> {
        match begun {
            Begun::Entered(entry) => Ok(Ok(entry.into())),
            Begun::Refused(refusal) => Ok(Err(refusal.into())),
            Begun::Waits(entering) => {
                self.waits.pass_closed_loops(py)?;
                match blocking::wait(py, entering, self.waits.is_real_time())? {
                    Progress::Entered(entry) => Ok(Ok(entry.into())),
                    Progress::Refused(refusal) => Ok(Err(refusal.into())),
                    Progress::Pending { .. } => unreachable!("waited for until it was over"),
                }
            }
        }
    }
}

#[pymethods]
impl Gate {
    #[new]
    #[pyo3(
        signature = (rules, format = Given::LEFT_OUT, *, clock = Given::LEFT_OUT),
        text_signature = "(rules, format=\"toml\", *, clock=None)"
    )]
    fn new(rules: &Bound<'_, PyAny>, format: Given<'_, '_>, clock: Given<'_, '_>) -> PyResult<Self> {
        no_panic(|| {
            let gate = Self::empty(rules.py(), clock)?;
            rules::reload(&gate.gate, rules, format)?;
            Ok(gate)
        })
    }

    /// A gate with the rules of a file, whose name ends in .toml, .json, .yaml or .yml.
    #[classmethod]
    ///
    /// watch: whether it is read again whenever it changes, as by watch_file().
    #[pyo3(
        signature = (path, *, watch = Given::LEFT_OUT, clock = Given::LEFT_OUT),
        text_signature = "($cls, path, *, watch=False, clock=None)"
    )]
    fn open(class: &Bound<'_, PyType>, path: PathBuf, watch: Given<'_, '_>, clock: Given<'_, '_>) -> PyResult<Self> {
        no_panic(|| {
            let py = class.py();
            let gate = Self::empty(py, clock)?;
            if watch.bool_or(false, "watch")? {
                gate.watch_file(py, path)?;
            } else {
                rules::reload_file(py, &gate.gate, path)?;
            }
            Ok(gate)
        })
    }

    #[classattr]
    fn enter(py: Python<'_>) -> PyResult<Py<PyAny>> {
        calling::enter(py)
    }

    #[classattr]
    fn try_enter(py: Python<'_>) -> PyResult<Py<PyAny>> {
        calling::try_enter(py)
    }

    /// enter() for asyncio, on any loop: `async with gate.enter_async(path="/search") as entry:`, or `entry = await
    /// gate.enter_async(...)`. A task that waits blocks no other; cancelling it gives all back.
    #[pyo3(
        signature = (attributes = None, /, *, cost = Given::LEFT_OUT, timeout = Given::LEFT_OUT, **more),
        text_signature = "($self, attributes=None, /, *, cost=1, timeout=None, **more)"
    )]
    fn enter_async<'py>(
        slf: &Bound<'py, Self>,
        attributes: Option<&Bound<'py, PyAny>>,
        cost: Given<'_, 'py>,
        timeout: Given<'_, 'py>,
        more: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        no_panic(|| {
            let attributes = Attributes::read(attributes, more)?;
            attributes.pairs()?;
            let (cost, timeout_ns) = (cost.whole_or(1, &COST)?, timeout.timeout_or(None)?);
            let timeout = timeout_ns.map(seconds_from_ns);
            entering::coroutine((slf, attributes.into_dict(slf.py())?, cost, timeout))
        })
    }

    /// Enters or is refused at once, or begins to wait as what make_turn makes: what enter_async() does.
    fn _begin<'py>(
        &self,
        make_turn: &Bound<'py, PyAny>,
        attributes: &Bound<'py, PyAny>,
        cost: Given<'_, 'py>,
        timeout: Given<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        no_panic(|| {
            let attributes = Attributes::read(Some(attributes), None)?;
            self.begun(make_turn, self.begin(&attributes.pairs()?, cost, timeout)?, |entry| {
                Ok(Bound::new(make_turn.py(), Entry::from(entry))?.into_any())
            })
        })
    }

    /// What asks this gate about requests over ASGI, for middleware whose arguments these are.
    fn _asgi_door<'py>(
        slf: &Bound<'py, Self>,
        make_turn: &Bound<'py, PyAny>,
        timeout: Given<'_, 'py>,
        legacy_headers: bool,
    ) -> PyResult<AsgiDoor> {
        let timeout = timeout.timeout_or(None)?.map(Duration::from_nanos);
        AsgiDoor::new(slf, make_turn, timeout, legacy_headers)
    }

    /// Makes a decorator: the function's body runs once the request was admitted, and what that took is held until it ends; an
    /// exception that leaves it counts as failed work.
    ///
    /// attributes: of each call; or a function that is called with the arguments of each call and returns them, as a dict. What it
    /// raises, the call raises.
    /// timeout: as in enter(). Functions wait as enter() does, async ones as enter_async() does.
    ///
    /// For functions, async functions, generators, async generators and methods. Raises GateRefused as enter() does.
    #[pyo3(
        signature = (attributes = None, /, *, cost = Given::LEFT_OUT, timeout = Given::LEFT_OUT, **more),
        text_signature = "($self, attributes=None, /, *, cost=1, timeout=None, **more)"
    )]
    fn guard<'py>(
        slf: &Bound<'py, Self>,
        attributes: Option<&Bound<'py, PyAny>>,
        cost: Given<'_, 'py>,
        timeout: Given<'_, 'py>,
        more: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        no_panic(|| {
            let py = slf.py();
            let (cost, timeout_ns) = (cost.whole_or(1, &COST)?, timeout.timeout_or(None)?);
            let make = GUARD.get(py)?;
            let timeout = timeout_ns.map(seconds_from_ns);
            match attributes.filter(|attributes| attributes.is_callable()) {
                Some(function) => make.call1((slf, function, more, cost, timeout)),
                None => {
                    let attributes = Attributes::read(attributes, more)?;
                    attributes.pairs()?;
                    make.call1((slf, None::<()>, attributes.into_dict(py)?, cost, timeout))
                }
            }
        })
    }

    /// What each rule says to a request, and why; spends nothing. As lines of text: str().
    #[pyo3(
        signature = (attributes = None, /, *, cost = Given::LEFT_OUT, **more),
        text_signature = "($self, attributes=None, /, *, cost=1, **more)"
    )]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        attributes: Option<&Bound<'py, PyAny>>,
        cost: Given<'_, 'py>,
        more: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        no_panic(|| {
            let attributes = Attributes::read(attributes, more)?;
            let explanation = self.gate.explain(&attributes.pairs()?, cost.whole_or(1, &COST)?);
            EXPLANATION.get(py)?.call1((explanation.to_json(), explanation.to_string()))
        })
    }

    /// Puts other rules in the place of those in use, and tells what that did. A rule that keeps its name keeps what is used, unless it
    /// becomes one of another kind; entries of one that is gone keep what they hold until they are released.
    ///
    /// Raises RulesError with all that is wrong; nothing changes then.
    #[pyo3(
        signature = (rules, format = Given::LEFT_OUT),
        text_signature = "($self, rules, format=\"toml\")"
    )]
    fn reload<'py>(&self, rules: &Bound<'py, PyAny>, format: Given<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        no_panic(|| rules::reloaded(rules.py(), rules::reload(&self.gate, rules, format)?))
    }

    /// reload() with the rules of a file, whose name ends in .toml, .json, .yaml or .yml.
    fn reload_file<'py>(&self, py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyAny>> {
        no_panic(|| rules::reloaded(py, rules::reload_file(py, &self.gate, path)?))
    }

    /// The rules in use, as a rule file would hold them: a dict with "show_keys" and "rules".
    #[getter]
    fn rules<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        no_panic(|| LOADS.get(py)?.call1((self.gate.rules().to_json(),)))
    }

    /// What was admitted and refused since the gate was built, in all and by rule.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        no_panic(|| rules::stats(py, &py.detach(|| self.gate.stats())))
    }

    /// The events from now on, for who takes them on a thread of their own: an iterator that waits for each. One listens at a time:
    /// whoever did before gets no more.
    fn events(&self) -> PyResult<Events> {
        no_panic(|| Ok(Events::new(self.gate.events())))
    }

    /// Calls the callback with each event from now on, on a daemon thread of its own, until the gate is gone or another listens. One
    /// that fails is called with the next event all the same; what it raised is logged. None: nobody listens any more.
    fn listen(slf: &Bound<'_, Self>, callback: &Bound<'_, PyAny>) -> PyResult<()> {
        no_panic(|| LISTEN.get(slf.py())?.call1((slf, callback)).map(drop))
    }

    /// Reads the rules of a file, as reload_file() does, and again whenever it changes: in place, by a rename, or when a link to it leads
    /// elsewhere, as those of Kubernetes do; seen at once where the file system tells, and within 30 s everywhere. What is wrong then is
    /// told as the event reload_failed; the last good rules stay. Goes on until stop() or the end of the gate, off the threads of
    /// requests; not in the child of a fork: call it there again.
    ///
    /// Raises RulesError if the file is wrong now, or can't be read.
    fn watch_file(&self, py: Python<'_>, path: PathBuf) -> PyResult<Watch> {
        no_panic(|| Watch::new(py, py.detach(|| self.gate.watch_file(path))))
    }

    /// Calls the function now and about every so many seconds, on a daemon thread of its own, and puts the rules that it returns, as
    /// reload() takes them, in the place of those in use: for a database, or whatever can be asked. None means that nothing is new. When it
    /// raises, or what it returns is wrong, that is told as the event reload_failed, once; the last good rules stay. Goes on until stop()
    /// or the end of the gate; not in the child of a fork: call it there again.
    // A thread of the core's would not do: one that is in Python when the interpreter ends is unwound, through the core.
    #[pyo3(
        signature = (source, every = Given::LEFT_OUT, format = Given::LEFT_OUT),
        text_signature = "($self, source, every=5.0, format=\"toml\")"
    )]
    fn pull<'py>(
        slf: &Bound<'py, Self>,
        source: &Bound<'py, PyAny>,
        every: Given<'_, 'py>,
        format: Given<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        no_panic(|| {
            if !source.is_callable() {
                return Err(type_error("source", source, "a callable without arguments"));
            }
            let every = seconds_from_ns(every.period_or(5_000_000_000, "every")?);
            let format = format.text_or("toml", "format")?;
            rules::format_of(&format)?;
            PULL.get(slf.py())?.call1((slf, source, every, &*format))
        })
    }

    /// Tells that rules couldn't be had from a source.
    fn _reload_failed(&self, told: String) -> PyResult<()> {
        no_panic(|| {
            self.gate.reload_failed(rules::source_fault(told));
            Ok(())
        })
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.gate)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("cannot pickle or copy a Gate: it counts in this process; build one in each process"))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.waits.traverse(&visit)
    }
}
