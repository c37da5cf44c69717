//! Rate limiters with a budget for each key.

use crate::argument::{COST, Given, MAX_KEYS, Whole, type_error};
use crate::budget::Budget;
use crate::decision::Decision;
use crate::error::{from_core, no_panic};
use crate::guard::decorator;
use crate::key::{Key, read_key, read_key_at};
use crate::late::Late;
use crate::quota::{Quota, quotas_text, quotas_tuple, read_quotas};
use crate::refusal;
use crate::reservation::Reservation;
use crate::time::seconds_from_ns;
use crate::turn::{self, Turns};
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};
use std::sync::Arc;
use tidegate::{KeyedRateOptions, Status};

const TRACK_DENIED: Whole = Whole { name: "track_denied", least: 0, most: 65_536 };
const N: Whole = Whole { name: "n", least: 0, most: u64::MAX };

/// Decides for each key on its own whether work may go ahead, in memory that doesn't grow.
///
/// quotas: a Quota, its text ("100/s burst 20", several joined by ";"), or a list of 1 to 16 of them: what each key may
/// use. All algorithms but sliding_log.
/// max_keys: for how many keys that owe something at once there is room, 1 to 2**32. Each takes 40 bytes a quota.
/// when_full: what becomes of a new key that finds no room. "evict": the key that owes the smallest share of its quota is
/// forgotten, and starts afresh when it comes again. "deny_new": the new key is refused, as "keys_full".
/// max_waiters: how many may wait for each key at once, 0 to 2**32-2; None for no such limit. Who comes then gets QueueFull.
/// track_denied: of how many keys refusals are counted, by name, for top_denied(); 0 to 65,536.
/// clock: a ManualClock, for tests; the machine's monotonic clock where it is None. The first limiter of a process on that
/// clock may take up to 200 ms to build, once: it calibrates the clock.
///
/// A key is a str (its UTF-8 counts) or bytes, of any length: an address, a user, a path. key_of() joins several parts to
/// one, ip_key() shortens addresses. Keys are not stored, and one that owes nothing takes no room.
///
/// Every method may be called from any thread at once; each decision is one atomic step. Nobody is admitted past those who wait
/// for the same key in acquire(). A cost is a number of tokens, 1 to 2**53-1. A wrong value raises ConfigError (a ValueError), a
/// wrong type TypeError; nothing is taken then. In the child of a fork nobody waits, and what is used stays used.
#[pyclass(frozen, weakref, module = "tidegate")]
pub struct KeyedRateLimiter {
    limiter: Arc<tidegate::KeyedRateLimiter>,
    turns: Arc<Turns>,
}

impl KeyedRateLimiter {
    fn budget(&self, key: &Bound<'_, PyAny>) -> PyResult<Budget> {
        Ok(Budget::KeyTokens(Arc::clone(&self.limiter), Key::read(key)?))
    }

    /// Takes tokens of the key if nobody waits for it and they are there.
    fn take_if_free(&self, key: &Bound<'_, PyAny>, cost: u64) -> PyResult<bool> {
        self.limiter.take_if_free(&*read_key(key)?, cost).map_err(from_core)
    }

    #[cold]
    fn refusal(&self, key: &Bound<'_, PyAny>, cost: u64, decision: tidegate::Decision) -> PyErr {
        let whose = refusal::of_key(key);
        let text = match decision.status() {
            Status::KeysFull => {
                let text = refusal::no_room(&whose, self.limiter.capacity());
                format!("{text}, retry in {} s", seconds_from_ns(decision.retry_after_ns()))
            }
            _ => refusal::of_tokens(cost, &whose, &decision, &self.limiter.quotas()),
        };
        Decision::from(decision).refusal(key.py(), text)
    }
}

#[pymethods]
impl KeyedRateLimiter {
    #[new]
    #[pyo3(
        signature = (
            quotas,
            *,
            max_keys = Given::LEFT_OUT,
            when_full = Given::LEFT_OUT,
            max_waiters = Given::LEFT_OUT,
            track_denied = Given::LEFT_OUT,
            clock = Given::LEFT_OUT
        ),
        text_signature = "(quotas, *, max_keys=100000, when_full='evict', max_waiters=None, track_denied=0, clock=None)"
    )]
    fn new(
        py: Python<'_>,
        quotas: &Bound<'_, PyAny>,
        max_keys: Given<'_, '_>,
        when_full: Given<'_, '_>,
        max_waiters: Given<'_, '_>,
        track_denied: Given<'_, '_>,
        clock: Given<'_, '_>,
    ) -> PyResult<Self> {
        no_panic(|| {
            let options = KeyedRateOptions::new()
                .max_keys(max_keys.whole_or(100_000, &MAX_KEYS)?)
                .when_full(when_full.text_or("evict", "when_full")?.parse().map_err(from_core)?)
                .max_waiters(max_waiters.max_waiters()?)
                .track_denied(track_denied.whole_or(0, &TRACK_DENIED)? as u32);
            let quotas = read_quotas(quotas)?;
            let turns = Turns::new(py, clock)?;
            let limiter = Arc::new(options.clock(turns.clock()).build(quotas).map_err(from_core)?);
            Ok(Self { limiter, turns })
        })
    }

    /// Takes cost tokens of the key if all can be had now, and tells whether it did. The fastest way to ask.
    #[pyo3(signature = (key, cost = Given::LEFT_OUT), text_signature = "($self, key, cost=1)")]
    fn try_acquire(&self, key: &Bound<'_, PyAny>, cost: Given<'_, '_>) -> PyResult<bool> {
        no_panic(|| {
            let key = read_key(key)?;
            self.limiter.try_acquire_n(&*key, cost.whole_or(1, &COST)?).map_err(from_core)
        })
    }

    /// try_acquire() for many keys, one after the other, in one call; a key may occur more than once. Tells of each whether
    /// its tokens were taken.
    #[pyo3(signature = (keys, cost = Given::LEFT_OUT), text_signature = "($self, keys, cost=1)")]
    fn try_acquire_many<'py>(&self, keys: &Bound<'py, PyAny>, cost: Given<'_, '_>) -> PyResult<Bound<'py, PyList>> {
        const ALLOWED: &str = "a list, or another iterable, of str or bytes";
        no_panic(|| {
            // Both could be iterated, but never mean their characters.
            if keys.is_instance_of::<PyString>() || keys.is_instance_of::<PyBytes>() {
                return Err(type_error("keys", keys, ALLOWED));
            }
            let cost = cost.whole_or(1, &COST)?;
            // A tuple: nobody changes it while the keys are borrowed from its items. A list, as most are, has a short way to one.
            let tuple = match keys.cast_exact::<PyList>() {
                Ok(list) => Ok(list.to_tuple()),
                Err(_) => keys.py().get_type::<PyTuple>().call1((keys,)).and_then(|tuple| Ok(tuple.cast_into()?)),
            };
            let tuple = match tuple {
                Ok(tuple) => tuple,
                Err(error) if keys.hasattr("__iter__")? => return Err(error),
                Err(_) => return Err(type_error("keys", keys, ALLOWED)),
            };
            let items: Vec<_> = tuple.iter_borrowed().collect();
            // Not collected, since a list that may fail doesn't know how long it will be.
            let mut read_keys = Vec::with_capacity(items.len());
            for (index, key) in items.iter().enumerate() {
                read_keys.push(read_key_at(key, "keys", index)?);
            }
            let mut statuses = vec![Status::Denied; items.len()];
            self.limiter.try_acquire_many(&read_keys, cost, &mut statuses).map_err(from_core)?;
            // All as if allowed, in one step, and then those that were not.
            let allowed = PyList::new(keys.py(), [true])?.as_sequence().repeat(items.len())?.cast_into::<PyList>()?;
            for (index, _) in statuses.iter().enumerate().filter(|(_, status)| **status != Status::Allowed) {
                allowed.set_item(index, false)?;
            }
            Ok(allowed)
        })
    }

    /// Takes cost tokens of the key if all can be had now, and tells the figures.
    #[pyo3(signature = (key, cost = Given::LEFT_OUT), text_signature = "($self, key, cost=1)")]
    fn decide(&self, key: &Bound<'_, PyAny>, cost: Given<'_, '_>) -> PyResult<Decision> {
        no_panic(|| {
            let key = read_key(key)?;
            self.limiter.decide_n(&*key, cost.whole_or(1, &COST)?).map(Decision::from).map_err(from_core)
        })
    }

    /// What decide() would answer now, spending nothing; remaining is what is unspent.
    #[pyo3(signature = (key, cost = Given::LEFT_OUT), text_signature = "($self, key, cost=1)")]
    fn peek(&self, key: &Bound<'_, PyAny>, cost: Given<'_, '_>) -> PyResult<Decision> {
        no_panic(|| {
            let key = read_key(key)?;
            self.limiter.peek_n(&*key, cost.whole_or(1, &COST)?).map(Decision::from).map_err(from_core)
        })
    }

    /// Gives back what a decision took from the key, as far as no bound is broken: a window takes it back only while it
    /// lasts, gcra only what has not come back by itself. Without effect once the key was evicted.
    ///
    /// Raises ConfigError if the decision granted nothing, was refunded before, is another limiter's or key's, or is a copy.
    fn refund(&self, key: &Bound<'_, PyAny>, decision: &Bound<'_, PyAny>) -> PyResult<()> {
        no_panic(|| {
            let key = read_key(key)?;
            self.limiter.refund(&*key, Decision::refundable(decision)?).map_err(from_core)
        })
    }

    /// Makes everything of the key unspent again. Its decisions from before can no longer be refunded to any effect.
    fn reset(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        no_panic(|| {
            self.limiter.reset(&*read_key(key)?);
            Ok(())
        })
    }

    /// Changes limits, periods and bursts of all keys without quotas of their own while in use, from the next call on. What is
    /// used stays used. Takes time in proportion to max_keys.
    ///
    /// Raises ConfigError if a quota is wrong, or the number of quotas, an algorithm or an anchor is not as before.
    fn reconfigure(&self, quotas: &Bound<'_, PyAny>) -> PyResult<()> {
        no_panic(|| {
            let new = read_quotas(quotas)?;
            // Goes through all keys, while other threads need not wait for it.
            quotas.py().detach(|| self.limiter.reconfigure(new)).map_err(from_core)
        })
    }

    /// Gives the key quotas of its own in place of the limiter's, from the next call on, and a place of its own: it is never
    /// evicted, nor refused as "keys_full". What is used stays used. At most 65,536 keys have some; others pay nothing for it.
    ///
    /// Raises ConfigError if a quota is wrong, the number of quotas, an algorithm or an anchor is not as the limiter's, or too
    /// many keys have some.
    fn set_quota(&self, key: &Bound<'_, PyAny>, quotas: &Bound<'_, PyAny>) -> PyResult<()> {
        no_panic(|| {
            let (key, quotas) = (read_key(key)?, read_quotas(quotas)?);
            self.limiter.set_quota(&*key, quotas).map_err(from_core)
        })
    }

    /// Gives the key the limiter's quotas again; does nothing if it has none of its own. What is used stays used.
    fn clear_quota(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        no_panic(|| {
            self.limiter.clear_quota(&*read_key(key)?);
            Ok(())
        })
    }

    /// The n keys that were refused most often, the most refused first; none without track_denied.
    fn top_denied<'py>(&self, n: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        static DENIED_KEY: Late = Late::new("tidegate.stats", "DeniedKey");
        no_panic(|| {
            let py = n.py();
            let class = DENIED_KEY.get(py)?;
            let top = self.limiter.top_denied(usize::try_from(N.read(n)?).unwrap_or(usize::MAX));
            top.into_iter()
                .map(|denied| class.call1((PyBytes::new(py, &denied.key), denied.count, denied.error)))
                .collect()
        })
    }

    /// Takes cost tokens of the key, waiting for its turn: first come, first served, for each key. They are charged when they are
    /// due, not before. Other threads run meanwhile, and signals are noticed.
    ///
    /// timeout: seconds to wait at most (int, float or timedelta); None for ever, 0 to try once. A wait that would take longer
    /// doesn't begin.
    ///
    /// Raises TimedOut (a TimeoutError), QueueFull or ExceedsCapacity, all Refused, with figures, Refused itself if there is no room for a
    /// new key, and RuntimeError if it had to wait where an event loop runs on this thread; nothing is taken then.
    #[pyo3(
        signature = (key, cost = Given::LEFT_OUT, timeout = Given::LEFT_OUT),
        text_signature = "($self, key, cost=1, timeout=None)"
    )]
    fn acquire(&self, key: &Bound<'_, PyAny>, cost: Given<'_, '_>, timeout: Given<'_, '_>) -> PyResult<()> {
        no_panic(|| {
            let (cost, timeout_ns) = (cost.whole_or(1, &COST)?, timeout.timeout_or(None)?);
            if self.take_if_free(key, cost)? {
                return Ok(());
            }
            self.turns.wait(key.py(), &self.budget(key)?, cost, timeout_ns).map(drop)
        })
    }

    /// acquire() as a coroutine, for asyncio, on any loop: a task that waits blocks no other. Cancelling it leaves the queue.
    #[pyo3(
        signature = (key, cost = Given::LEFT_OUT, timeout = Given::LEFT_OUT),
        text_signature = "($self, key, cost=1, timeout=None)"
    )]
    fn acquire_async<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        cost: Given<'_, 'py>,
        timeout: Given<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        no_panic(|| {
            read_key(key)?;
            let (cost, timeout_ns) = (cost.whole_or(1, &COST)?, timeout.timeout_or(None)?);
            turn::coroutine(slf.as_any(), Some(key), cost, timeout_ns)
        })
    }

    /// Takes at once, or begins to wait as what make_turn makes: what acquire_async() does.
    fn _begin(
        &self,
        make_turn: &Bound<'_, PyAny>,
        key: &Bound<'_, PyAny>,
        cost: u64,
        timeout_ns: Option<u64>,
    ) -> PyResult<Py<PyAny>> {
        no_panic(|| match self.take_if_free(key, cost)? {
            true => Ok(key.py().None()),
            false => self.turns.begin(make_turn, &self.budget(key)?, cost, timeout_ns),
        })
    }

    /// Charges cost of the key now, for use as soon as it is due, for who has a scheduler of its own. For gcra with one quota.
    ///
    /// max_wait: seconds until it is due at most (int, float or timedelta); None for any time.
    ///
    /// Raises TimedOut if it would be due later, or somebody waits for the key already, ExceedsCapacity, and Refused itself if there
    /// is no room for a new key; ConfigError for other quotas. Nothing is charged then.
    #[pyo3(
        signature = (key, cost = Given::LEFT_OUT, max_wait = Given::LEFT_OUT),
        text_signature = "($self, key, cost=1, max_wait=None)"
    )]
    fn reserve(&self, key: &Bound<'_, PyAny>, cost: Given<'_, '_>, max_wait: Given<'_, '_>) -> PyResult<Reservation> {
        no_panic(|| Reservation::of(self.budget(key)?, cost.whole_or(1, &COST)?, max_wait.max_wait()?))
    }

    /// Makes a decorator: the function's body runs once cost tokens of the key were had.
    ///
    /// key: a str or bytes, or a function that is called with the arguments of each call and returns one. What it raises, the
    /// call raises.
    /// timeout: seconds to wait for them at most: 0 to be refused at once, None to wait for ever. Functions wait as acquire()
    /// does, async ones as acquire_async() does.
    ///
    /// For functions, async functions, generators, async generators and methods. Raises Refused if they can't be had, as
    /// acquire() does; ExceedsCapacity, a Refused, where cost is more than fits at once. With a timeout of 0 the exception's
    /// decision has the figures; its status is "keys_full" where a new key found no room.
    #[pyo3(
        signature = (*, key, cost = Given::LEFT_OUT, timeout = Given::LEFT_OUT),
        text_signature = "($self, *, key, cost=1, timeout=0)"
    )]
    fn guard<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        cost: Given<'_, 'py>,
        timeout: Given<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        no_panic(|| decorator(slf.as_any(), Some(key), cost.of_guard(&COST)?, timeout.timeout_or(Some(0))?))
    }

    /// Takes cost tokens of the key or raises Refused: what a guard with a timeout of 0 does.
    fn _admit(&self, key: &Bound<'_, PyAny>, cost: u64, _timeout: f64) -> PyResult<()> {
        no_panic(|| {
            let decision = self.limiter.decide_n(&*read_key(key)?, cost).map_err(from_core)?;
            if decision.allowed() { Ok(()) } else { Err(self.refusal(key, cost, decision)) }
        })
    }

    /// How many wait for the key.
    fn waiting(&self, key: &Bound<'_, PyAny>) -> PyResult<u64> {
        no_panic(|| Ok(self.limiter.waiting(&*read_key(key)?)))
    }

    /// The quotas, in the order of the list.
    #[getter]
    fn quotas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        no_panic(|| quotas_tuple(py, self.limiter.quotas()))
    }

    /// The quota; the first one where there are several.
    #[getter]
    fn quota(&self) -> PyResult<Quota> {
        no_panic(|| Ok(Quota(self.limiter.quotas()[0])))
    }

    /// For how many keys that owe something at once there is room: max_keys.
    #[getter]
    fn capacity(&self) -> u64 {
        self.limiter.capacity()
    }

    /// What was allowed and denied since it was built, in calls over all keys, and what its memory holds.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static KEYED_RATE_STATS: Late = Late::new("tidegate.stats", "KeyedRateStats");
        no_panic(|| {
            let stats = self.limiter.stats();
            KEYED_RATE_STATS.get(py)?.call1((
                stats.allowed,
                stats.denied,
                stats.timed_out,
                stats.cancelled,
                stats.waiting,
                stats.live_keys,
                stats.evicted_live,
                stats.capacity,
            ))
        })
    }

    /// About how many keys owe something: exact up to some 6,000 keys of capacity, else from a sample.
    fn __len__(&self) -> PyResult<usize> {
        no_panic(|| Ok(self.limiter.len() as usize))
    }

    /// True, also while no key owes anything: a limiter is there even if its len() is 0.
    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self) -> PyResult<String> {
        no_panic(|| {
            let quotas = quotas_text(&self.limiter.quotas());
            Ok(format!("KeyedRateLimiter('{quotas}', max_keys={})", self.limiter.capacity()))
        })
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "cannot pickle or copy a KeyedRateLimiter: it counts in this process; pickle its quotas and build one from them",
        ))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.turns.traverse(&visit)
    }
}
