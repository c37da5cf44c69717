//! The gate: named rules, of which all that match a request must admit it, or nothing is taken.
//!
//! ```
//! use tidegate::Gate;
//! use tidegate::gate::Format;
//!
//! let gate = Gate::parse(
//!     r#"
//!     [[rules]]
//!     name = "search"
//!     match = { path = { prefix = "/search" } }
//!     key = "client"
//!     quota = "100/min"
//!
//!     [[rules]]
//!     name = "downloads"
//!     match = { path = { glob = "/files/**" } }
//!     concurrency = 4
//!     timeout = "50ms"
//!     "#,
//!     Format::Toml,
//! )?;
//! match gate.enter(&[("path", "/search/cats"), ("client", "203.0.113.7")]) {
//!     Ok(_entry) => {} // go ahead; what the request holds is given back when the entry is dropped
//!     Err(refused) => println!("{refused}"), // by which rule, and when to come again
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod admission;
mod attributes;
mod checked;
mod entering;
mod entry;
mod events;
mod explain;
mod fault;
mod headers;
mod index;
mod limiter;
mod passing;
mod pattern;
mod refusal;
mod reload;
mod rule;
mod rule_set;
mod source;
mod text;

use crate::clock::Clock;
use crate::lock::Lock;
use crate::rate::check_cost;
use crate::stats::{Count, Counters, Stats};
use crate::wait::{Sleep, block_on};
use crate::{Error, NEVER_NS, Status};
use admission::{Asked, Held, phases};
use arc_swap::{ArcSwap, ArcSwapOption};
pub use attributes::Attributes;
pub use entering::{Begun, EnterFuture, Entering, Progress};
pub use entry::{Entry, Figures};
use events::Teller;
pub use events::{Events, GateEvent};
pub use explain::{ConditionTrace, Explanation, RuleTrace};
pub use fault::{Fault, Faults};
pub use headers::RateLimitHeaders;
pub use passing::{Passed, Passing, RateLimitItem};
pub use refusal::{EnterError, Refusal};
pub use reload::Reloaded;
pub use rule::{Mode, Pattern, Rule, Rules};
use rule_set::{Found, RuleSet, Values};
pub use source::{SourceError, Watch};
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;
pub use text::Format;

/// Admits requests by rules, which can be changed while it is in use. A clone is the same gate.
///
/// All rules that match a request must admit it; if one refuses, nothing is taken. Every call may come from any thread at once, and
/// an entry may be released on any thread.
#[derive(Clone)]
pub struct Gate {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Clock,
    set: ArcSwap<RuleSet>,
    /// Where the rules in use are, for those who keep a set and ask only whether it is still that.
    current: AtomicPtr<RuleSet>,
    /// Held while rules are changed.
    changing: Lock<()>,
    teller: ArcSwapOption<Teller>,
}

impl Gate {
    /// A gate with these rules, on the monotonic clock.
    ///
    /// # Errors
    ///
    /// All that is wrong with the rules.
    pub fn new(rules: impl Into<Rules>) -> Result<Self, Faults> {
        Self::with_clock(rules, Clock::monotonic())
    }

    /// A gate on a clock of the caller's.
    ///
    /// # Errors
    ///
    /// All that is wrong with the rules.
    pub fn with_clock(rules: impl Into<Rules>, clock: impl Into<Clock>) -> Result<Self, Faults> {
        let gate = Self::empty(clock.into());
        gate.set_rules(rules)?;
        Ok(gate)
    }

    /// A gate with the rules of a text.
    ///
    /// # Errors
    ///
    /// All that is wrong with the text.
    pub fn parse(text: &str, format: Format) -> Result<Self, Faults> {
        Self::parse_with_clock(text, format, Clock::monotonic())
    }

    /// A gate with the rules of a text, on a clock of the caller's.
    ///
    /// # Errors
    ///
    /// All that is wrong with the text.
    pub fn parse_with_clock(text: &str, format: Format, clock: impl Into<Clock>) -> Result<Self, Faults> {
        let gate = Self::empty(clock.into());
        gate.reload(text, format)?;
        Ok(gate)
    }

    /// A gate with the rules of a file, whose name ends in `.toml`, `.json`, `.yaml` or `.yml`.
    ///
    /// # Errors
    ///
    /// All that is wrong with the file; or why it can't be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Faults> {
        let gate = Self::empty(Clock::monotonic());
        gate.reload_file(path)?;
        Ok(gate)
    }

    fn empty(clock: Clock) -> Self {
        let set = Arc::new(RuleSet::new(false, Vec::new(), Arc::new(Counters::new())));
        let current = AtomicPtr::new(Arc::as_ptr(&set).cast_mut());
        let (changing, teller) = (Lock::new(()), ArcSwapOption::empty());
        let shared = Shared { clock, set: ArcSwap::from(set), current, changing, teller };
        Self { shared: Arc::new(shared) }
    }

    /// Admits a request of cost 1, or tells why not. A rule that says so makes it wait, on this thread. An attribute is a name and a value;
    /// a value may be text or bytes.
    ///
    /// # Errors
    ///
    /// If a rule refuses. Nothing is taken then.
    #[inline]
    pub fn enter<V: AsRef<[u8]>>(&self, attributes: &[(&str, V)]) -> Result<Entry, EnterError> {
        self.enter_n(attributes, 1, None)
    }

    /// Admits a request of so great a cost, which may wait for at most `timeout` in all, whatever the rules say; a timeout of 0 never
    /// waits.
    ///
    /// # Errors
    ///
    /// If cost is not 1 … 2⁵³−1, or a rule refuses. Nothing is taken then.
    #[inline]
    pub fn enter_n<V: AsRef<[u8]>>(
        &self,
        attributes: &[(&str, V)],
        cost: u64,
        timeout: impl Into<Option<Duration>>,
    ) -> Result<Entry, EnterError> {
        check_cost("cost", cost)?;
        let set = self.shared.set.load_full();
        let values = set.values(attributes);
        // Not by `begin`, from which the entry would have to be moved: that took a third of the call.
        let mut found = Found::new();
        let mut entry = Entry::unadmitted(set);
        match entry.ask(&values, cost, &mut found, |refusal| self.shared.tell_shadow(refusal)) {
            Ok(()) => Ok(entry),
            Err(refused) => match self.turned_away(entry, &values, cost, found, refused, timeout.into()) {
                Begun::Entered(entry) => Ok(*entry),
                Begun::Refused(refusal) => Err(EnterError::Refused(refusal)),
                Begun::Waits(entering) => self.wait(entering),
            },
        }
    }

    #[cold]
    fn wait(&self, mut entering: Box<Entering>) -> Result<Entry, EnterError> {
        block_on(|waker| match entering.poll(waker) {
            Progress::Entered(entry) => Ok(Ok(*entry)),
            Progress::Refused(refusal) => Ok(Err(EnterError::Refused(refusal))),
            Progress::Pending { wake_after_ns } => {
                let is_timed = wake_after_ns != NEVER_NS && self.shared.clock.runs_by_itself();
                Err(is_timed.then(|| Duration::from_nanos(wake_after_ns)))
            }
        })
    }

    /// [`enter_n`](Self::enter_n) as a future that sleeps by `sleep`, such as `tokio::time::sleep`. It is asked for at once; dropping the
    /// future ends the wait.
    ///
    /// # Errors
    ///
    /// At once, if cost is not 1 … 2⁵³−1; when it is awaited, if a rule refuses.
    pub fn enter_async<V: AsRef<[u8]>, F: Future<Output = ()> + Send + 'static>(
        &self,
        attributes: &[(&str, V)],
        cost: u64,
        timeout: impl Into<Option<Duration>>,
        mut sleep: impl FnMut(Duration) -> F + Send + 'static,
    ) -> Result<EnterFuture, Error> {
        let begun = Some(self.begin(attributes, cost, timeout)?);
        let sleep: Sleep = Box::new(move |duration| Box::pin(sleep(duration)));
        Ok(EnterFuture { begun, sleep, sleeping: None })
    }

    /// The form for runtimes of other languages: what can be said at once, or a wait that is to be [polled](Entering::poll).
    ///
    /// # Errors
    ///
    /// If cost is not 1 … 2⁵³−1.
    #[inline]
    pub fn begin<V: AsRef<[u8]>>(
        &self,
        attributes: &[(&str, V)],
        cost: u64,
        timeout: impl Into<Option<Duration>>,
    ) -> Result<Begun, Error> {
        check_cost("cost", cost)?;
        let set = self.shared.set.load_full();
        let values = set.values(attributes);
        Ok(self.begin_at(set, &values, cost, timeout.into()))
    }

    fn begin_at(&self, set: Arc<RuleSet>, values: &Values<'_>, cost: u64, timeout: Option<Duration>) -> Begun {
        let mut found = Found::new();
        let mut entry = Box::new(Entry::unadmitted(set));
        match entry.ask(values, cost, &mut found, |refusal| self.shared.tell_shadow(refusal)) {
            Ok(()) => Begun::Entered(entry),
            Err(refused) => self.turned_away(*entry, values, cost, found, refused, timeout),
        }
    }

    /// A request that the rule at a place refused: it waits, or that's it.
    #[cold]
    fn turned_away(
        &self,
        mut entry: Entry,
        values: &Values<'_>,
        cost: u64,
        mut found: Found,
        (place, status): (u32, Status),
        timeout: Option<Duration>,
    ) -> Begun {
        let mut held = std::mem::take(&mut entry.held);
        let asked = Asked { set: &entry.set, values, cost };
        let patience = asked.set.rule(place).patience;
        if entering::patience_left(patience, status, timeout).is_none() {
            asked.give_back(&mut held);
            let mut refusal = asked.refused(&found, place, status);
            refusal.timeout = timeout;
            self.shared.tell_refused(&refusal);
            return Begun::Refused(Box::new(refusal));
        }
        // What need not be waited for is asked again at the end; what was got of the others is kept meanwhile.
        let tries = phases(asked.set, &mut found).0.len();
        let next = held.len() - tries;
        let mut tried: Held = held.drain(..tries).collect();
        asked.give_back(&mut tried);
        Begun::Waits(Box::new(Entering::new(&self.shared, asked, found, timeout, held, next)))
    }

    /// What each rule says to a request, and why; spends nothing.
    #[must_use]
    pub fn explain<V: AsRef<[u8]>>(&self, attributes: &[(&str, V)], cost: u64) -> Explanation {
        let set = self.shared.set.load_full();
        let values = set.values(attributes);
        explain::explain(&Asked { set: &set, values: &values, cost })
    }

    /// Puts other rules in the place of those in use. A rule that keeps its name keeps what is used, unless it becomes one of another
    /// kind; see [`Reloaded`].
    ///
    /// # Errors
    ///
    /// All that is wrong with the rules. Nothing changes then.
    pub fn set_rules(&self, rules: impl Into<Rules>) -> Result<Reloaded, Faults> {
        self.change(rules.into(), Vec::new(), |_, _| true)
    }

    /// [`set_rules`](Self::set_rules) with the rules of a text.
    ///
    /// # Errors
    ///
    /// All that is wrong with the text. Nothing changes then.
    pub fn reload(&self, text: &str, format: Format) -> Result<Reloaded, Faults> {
        self.reload_from(text, format, None)
    }

    /// [`set_rules`](Self::set_rules) with the rules of a file, whose name ends in `.toml`, `.json`, `.yaml` or `.yml`.
    ///
    /// # Errors
    ///
    /// All that is wrong with the file; or why it can't be read. Nothing changes then.
    pub fn reload_file(&self, path: impl AsRef<Path>) -> Result<Reloaded, Faults> {
        let path = path.as_ref();
        self.reload_read(&source::read_file(path), path)
    }

    fn reload_from(&self, text: &str, format: Format, file: Option<&str>) -> Result<Reloaded, Faults> {
        let (rules, lines, faults) = text::read(text, format, file);
        self.change(rules, faults, |place, fault| {
            fault.file = file.map(String::from);
            fault.line = lines.of(place, &fault.argument);
            lines.is_told(place, &fault.argument)
        })
    }

    fn change(
        &self,
        rules: Rules,
        faults: Vec<Fault>,
        locate: impl Fn(usize, &mut Fault) -> bool,
    ) -> Result<Reloaded, Faults> {
        let changed = {
            let _changing = self.shared.changing.lock();
            let old = self.shared.set.load_full();
            reload::rule_set(rules, faults, locate, &self.shared.clock, &old).map(|(set, reloaded)| {
                let set = Arc::new(set);
                let current = Arc::as_ptr(&set).cast_mut();
                self.shared.set.store(set);
                // Release: who finds another address here finds another set above.
                self.shared.current.store(current, Ordering::Release);
                reloaded
            })
        };
        self.shared.tell(|| match &changed {
            Ok(reloaded) => GateEvent::Reloaded(reloaded.clone()),
            Err(faults) => GateEvent::ReloadFailed(faults.clone()),
        });
        changed
    }

    /// The rules in use, as they were written.
    #[must_use]
    pub fn rules(&self) -> Rules {
        let set = self.shared.set.load();
        let rules = set.as_written.iter().map(|place| set.rule(*place).rule.clone()).collect();
        Rules { show_keys: set.show_keys, rules }
    }

    /// What was admitted and refused since the gate was built, in all and by rule.
    #[must_use]
    pub fn stats(&self) -> GateStats {
        let set = self.shared.set.load();
        let of_rule = |place: &u32| {
            let placed = set.rule(*place);
            RuleStats {
                name: placed.rule.name.clone(),
                mode: placed.rule.mode,
                admitted: placed.counters.total(Count::Allowed),
                refused: placed.counters.total(Count::Denied),
                limiter: placed.limiter.stats(),
            }
        };
        let total = |count| set.counters.total(count);
        GateStats {
            admitted: total(Count::Allowed),
            refused: total(Count::Denied),
            unmatched: total(Count::Unmatched),
            released_ok: total(Count::ReleasedOk),
            released_failed: total(Count::ReleasedFailed),
            rules: set.as_written.iter().map(of_rule).collect(),
        }
    }

    /// The events from now on. One listens at a time: whoever listened before gets no more.
    #[must_use]
    pub fn events(&self) -> Events {
        let (teller, events) = Teller::new();
        self.shared.teller.store(Some(Arc::new(teller)));
        events
    }

    /// Calls `listener` with each event from now on, on a thread of its own, until the gate is gone or another listens. A listener that
    /// panics is called with the next event all the same.
    ///
    /// # Errors
    ///
    /// If the system gives no thread.
    pub fn listen(&self, mut listener: impl FnMut(GateEvent) + Send + 'static) -> std::io::Result<()> {
        let events = self.events();
        let listen = move || {
            for event in events.iter() {
                // The event is lost on who panics, and nothing else.
                let _panic = catch_unwind(AssertUnwindSafe(|| listener(event)));
            }
        };
        std::thread::Builder::new().name("tidegate-events".into()).spawn(listen).map(drop)
    }

    /// The clock that quotas and waits are measured on.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.shared.clock
    }
}

impl Shared {
    #[inline]
    fn tell(&self, event: impl FnOnce() -> GateEvent) {
        if let Some(teller) = &*self.teller.load() {
            teller.tell(event);
        }
    }

    fn tell_refused(&self, refusal: &Refusal) {
        self.tell(|| GateEvent::Refused(refusal.clone()));
    }

    fn tell_shadow(&self, refusal: &Refusal) {
        self.tell(|| GateEvent::ShadowRefused(refusal.clone()));
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = self.shared.set.load();
        let names = set.as_written.iter().map(|place| &set.rule(*place).rule.name);
        f.write_str("Gate")?;
        f.debug_list().entries(names).finish()
    }
}

impl From<Vec<Rule>> for Rules {
    fn from(rules: Vec<Rule>) -> Self {
        Self { rules, ..Self::default() }
    }
}

impl<const N: usize> From<[Rule; N]> for Rules {
    fn from(rules: [Rule; N]) -> Self {
        Self::from(rules.to_vec())
    }
}

impl From<Rule> for Rules {
    fn from(rule: Rule) -> Self {
        Self::from(vec![rule])
    }
}

/// What a gate has done since it was built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateStats {
    /// Requests that were admitted by a rule.
    pub admitted: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Requests to which no rule applied.
    pub unmatched: u64,
    /// Entries that held permits and whose work went well.
    pub released_ok: u64,
    /// Entries that held permits and whose work failed.
    pub released_failed: u64,
    /// Each rule, as they are written.
    pub rules: Vec<RuleStats>,
}

/// What a rule has done since it was added.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleStats {
    /// The rule's name.
    pub name: String,
    /// Whether it refuses, or only counts.
    pub mode: Mode,
    /// Requests that were admitted and that it applied to.
    pub admitted: u64,
    /// Requests that it refused; in shadow, that it would have.
    pub refused: u64,
    /// What its limiter says, which counts whatever it was asked, also what was given back.
    pub limiter: Stats,
}
