//! Concurrency limiters with permits for each key.

use crate::function::{Answer, Call, Fault, Method};
use crate::handle::Handle;
use crate::key::{Key, KeyBuffer};
use crate::mistake;
use crate::shared::Shared;
use crate::wait::{Inbox, Told, Waits, timeout_of};
use napi::Result;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;
use std::collections::HashMap;
use std::ffi::CStr;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tidegate::{Event, KeyedConcurrencyLimiter, KeyedConcurrencyOptions, ManualClock, RawKeyedPermit};

/// A limiter as one environment has it.
struct Lender {
    limiter: Arc<KeyedConcurrencyLimiter>,
    /// If the environment shares the limiter.
    held: Option<Mutex<Held>>,
}

/// Permits that an environment has out, by what stands for their key: when it ends, others may wait for them. `None` after that.
type Held = Option<HashMap<[u64; 2], u64>>;

impl Lender {
    fn held(&self) -> Option<MutexGuard<'_, Held>> {
        self.held.as_ref().map(|held| held.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Counts what was granted; `false` if the environment is gone.
    fn keep(&self, permit: &RawKeyedPermit) -> bool {
        let Some(mut held) = self.held() else { return true };
        let Some(held) = held.as_mut() else { return false };
        *held.entry(permit.key_hash).or_default() += permit.permits;
        true
    }

    fn give_back(&self, key_hash: [u64; 2], permits: u64, ok: bool) -> std::result::Result<(), tidegate::Error> {
        self.limiter.release(&self.permit(key_hash, permits), ok)?;
        if let Some(Some(held)) = self.held().as_deref_mut()
            && let Some(count) = held.get_mut(&key_hash)
        {
            *count -= permits;
            if *count == 0 {
                held.remove(&key_hash);
            }
        }
        Ok(())
    }

    fn permit(&self, key_hash: [u64; 2], permits: u64) -> RawKeyedPermit {
        RawKeyedPermit { limiter_id: self.limiter.id(), key_hash, permits }
    }

    fn heard(&self, inbox: &Inbox, id: u64, event: Event<RawKeyedPermit>) {
        if let Event::Granted(permit) = &event
            && !self.keep(permit)
        {
            // It can't be wrong: it was just granted.
            let _ = self.limiter.release(permit, false);
            return;
        }
        inbox.put(Told::of(id, event, |permit| [permit.key_hash[0], permit.key_hash[1], 0]));
    }
}

/// An environment's hold on its lender. It goes when no permit object is left, or with the environment.
pub struct Borrower(Arc<Lender>);

impl Deref for Borrower {
    type Target = KeyedConcurrencyLimiter;

    fn deref(&self) -> &KeyedConcurrencyLimiter {
        &self.0.limiter
    }
}

impl Drop for Borrower {
    fn drop(&mut self) {
        // The lock is let go of before anything is released: whoever is granted it may be this lender's.
        let left = self.0.held().and_then(|mut held| held.take());
        for (key_hash, permits) in left.into_iter().flatten() {
            // It can't be wrong: so many are out.
            let _ = self.0.limiter.release(&self.0.permit(key_hash, permits), false);
        }
    }
}

static SHARED: Shared<KeyedConcurrencyLimiter> = Shared::new();

#[napi(object, object_from_js = false)]
pub struct KeyedConcurrencyStats {
    pub allowed: f64,
    pub denied: f64,
    pub timed_out: f64,
    pub cancelled: f64,
    pub waiting: f64,
    pub limit: f64,
    pub in_flight: f64,
    pub released_ok: f64,
    pub released_failed: f64,
    pub live_keys: f64,
    pub capacity: f64,
    pub hold_time_total_ns: Option<BigInt>,
    pub hold_time_max_ns: Option<BigInt>,
}

/// `limit`, `max_keys` and `max_waiters`: whole numbers, which JavaScript has checked.
#[napi(catch_unwind)]
pub fn keyed_concurrency_limiter(
    limit: f64,
    max_keys: f64,
    track_hold_time: bool,
    max_waiters: f64,
    manual: Option<&Handle<ManualClock>>,
    shared: Option<String>,
) -> Result<Handle<Borrower>> {
    let settings =
        format!("limit {limit}, maxKeys {max_keys}, maxWaiters {max_waiters}, trackHoldTime {track_hold_time}");
    let held = shared.is_some().then(|| Mutex::new(Some(HashMap::new())));
    let limiter = SHARED.get(shared, settings, || {
        let mut options = KeyedConcurrencyOptions::new()
            .max_keys(max_keys as u64)
            .track_hold_time(track_hold_time)
            .max_waiters(max_waiters as u64);
        if let Some(manual) = manual {
            options = options.clock(&**manual);
        }
        options.build(limit as u64).map_err(mistake)
    })?;
    Ok(Handle::new(Borrower(Arc::new(Lender { limiter, held }))))
}

#[napi(catch_unwind)]
pub fn keyed_concurrency_close(limiter: &Handle<Borrower>) {
    limiter.close();
}

#[napi(catch_unwind)]
pub fn keyed_concurrency_is_closed(limiter: &Handle<Borrower>) -> bool {
    limiter.is_closed()
}

#[napi(catch_unwind)]
pub fn keyed_concurrency_waiting(limiter: &Handle<Borrower>, key: Key) -> f64 {
    limiter.waiting(key) as f64
}

/// `limit`: a whole number, which JavaScript has checked.
#[napi(catch_unwind)]
pub fn keyed_concurrency_set_limit(limiter: &Handle<Borrower>, limit: f64) -> Result<()> {
    limiter.set_limit(limit as u64).map_err(mistake)
}

#[napi(catch_unwind)]
pub fn keyed_concurrency_limit(limiter: &Handle<Borrower>) -> f64 {
    limiter.limit() as f64
}

#[napi(catch_unwind)]
pub fn keyed_concurrency_in_flight(limiter: &Handle<Borrower>, key: Key) -> f64 {
    limiter.in_flight(key) as f64
}

#[napi(catch_unwind)]
pub fn keyed_concurrency_available(limiter: &Handle<Borrower>, key: Key) -> f64 {
    limiter.available(key) as f64
}

#[napi(catch_unwind)]
pub fn keyed_concurrency_stats(limiter: &Handle<Borrower>) -> KeyedConcurrencyStats {
    let stats = limiter.stats();
    let ns = |time: Duration| limiter.tracks_hold_time().then(|| BigInt::from(time.as_nanos() as u64));
    KeyedConcurrencyStats {
        allowed: stats.allowed as f64,
        denied: stats.denied as f64,
        timed_out: stats.timed_out as f64,
        cancelled: stats.cancelled as f64,
        waiting: stats.waiting as f64,
        limit: stats.limit as f64,
        in_flight: stats.in_flight as f64,
        released_ok: stats.released_ok as f64,
        released_failed: stats.released_failed as f64,
        live_keys: stats.live_keys as f64,
        capacity: stats.capacity as f64,
        hold_time_total_ns: ns(stats.hold_time_total),
        hold_time_max_ns: ns(stats.hold_time_max),
    }
}

/// (limiter, key, permits) -> false, or a BigInt that stands for the key's place, and for when they were acquired
pub(crate) struct TryAcquire;

impl Method for TryAcquire {
    type On = Borrower;
    const NAME: &'static CStr = c"keyedConcurrencyTryAcquire";
    const ARGUMENTS: usize = 3;

    #[inline]
    fn call(Borrower(lender): &Borrower, call: &Call) -> Answer {
        let mut buffer = KeyBuffer::new();
        let key = call.key(1, &mut buffer)?;
        match lender.limiter.try_acquire_raw(key, call.whole(2)?).map_err(|_| Fault::Argument)? {
            Ok(permit) => granted(lender, call, permit),
            Err(_) => call.return_boolean(false),
        }
    }
}

#[inline]
fn granted(lender: &Lender, call: &Call, permit: RawKeyedPermit) -> Answer {
    lender.keep(&permit);
    call.return_wide(permit.key_hash)
}

/// (limiter, permits, timeout in ns, id, waits, key) -> what tryAcquire returns if it was granted; or a number, as
/// `concurrencyAcquire` has it
pub(crate) struct Acquire;

impl Method for Acquire {
    type On = Borrower;
    const NAME: &'static CStr = c"keyedConcurrencyAcquire";
    const ARGUMENTS: usize = 6;

    #[inline]
    fn call(Borrower(lender): &Borrower, call: &Call) -> Answer {
        let mut buffer = KeyBuffer::new();
        let key = call.key(5, &mut buffer)?;
        let (permits, timeout, id) = (call.whole(1)?, timeout_of(call.number(2)?), call.whole(3)?);
        let limiter = &lender.limiter;
        if let Some(permit) = limiter.take_if_free(key, permits).map_err(|_| Fault::Argument)? {
            return granted(lender, call, permit);
        }
        let waits = call.handle::<Rc<Waits>>(4)?;
        let listener = {
            let (lender, inbox) = (Arc::clone(lender), Arc::clone(&waits.inbox));
            move |event| lender.heard(&inbox, id, event)
        };
        let started = limiter.acquire_by_ticket(key, permits, timeout, listener).map_err(|_| Fault::Argument)?;
        waits.begun(call, id, started, limiter, |permit| granted(lender, call, permit))
    }
}

/// (limiter, permits, ok, what tryAcquire returned). JavaScript sees to it that each permit comes here once.
pub(crate) struct Release;

impl Method for Release {
    type On = Borrower;
    const NAME: &'static CStr = c"keyedConcurrencyRelease";
    const ARGUMENTS: usize = 4;

    #[inline]
    fn call(Borrower(lender): &Borrower, call: &Call) -> Answer {
        lender.give_back(call.wide(3)?, call.whole(1)?, call.boolean(2)?).map_err(|_| Fault::Argument)?;
        Call::return_undefined()
    }
}
