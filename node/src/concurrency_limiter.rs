//! Concurrency limiters.

use crate::function::{Answer, Call, Fault, Method};
use crate::handle::Handle;
use crate::mistake;
use crate::shared::Shared;
use crate::wait::{Inbox, Told, Waits, timeout_of};
use napi::Result;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;
use std::ffi::CStr;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tidegate::{ConcurrencyLimiter, ConcurrencyOptions, Event, ManualClock, RawPermit};

/// A limiter as one environment has it.
pub struct Lender {
    pub(crate) limiter: Arc<ConcurrencyLimiter>,
    /// Permits that the environment has out, if it shares the limiter: when it ends, others may wait for them. `GONE` and above
    /// after that.
    held: Option<AtomicU64>,
}

const GONE: u64 = 1 << 63;

impl Lender {
    /// Counts what was granted; `false` if the environment is gone.
    ///
    /// Relaxed, here and below: each step is one of a single word, and orders nothing else.
    fn keep(&self, permits: u64) -> bool {
        self.held.as_ref().is_none_or(|held| held.fetch_add(permits, Ordering::Relaxed) < GONE)
    }

    fn give_back(&self, permits: u64, ok: bool, acquired_at_ns: u64) -> std::result::Result<(), tidegate::Error> {
        self.limiter.release(&self.permit(permits, acquired_at_ns), ok)?;
        if let Some(held) = &self.held {
            held.fetch_sub(permits, Ordering::Relaxed);
        }
        Ok(())
    }

    fn permit(&self, permits: u64, acquired_at_ns: u64) -> RawPermit {
        RawPermit { limiter_id: self.limiter.id(), permits, acquired_at_ns, process: 0 }
    }

    fn heard(&self, inbox: &Inbox, id: u64, event: Event<RawPermit>) {
        if let Event::Granted(permit) = &event
            && !self.keep(permit.permits)
        {
            // It can't be wrong: it was just granted.
            let _ = self.limiter.release(permit, false);
            return;
        }
        inbox.put(Told::of(id, event, |permit| [permit.acquired_at_ns, 0, 0]));
    }
}

/// An environment's hold on its lender. It goes when no permit object is left, or with the environment.
pub struct Borrower(Arc<Lender>);

impl Deref for Borrower {
    type Target = ConcurrencyLimiter;

    fn deref(&self) -> &ConcurrencyLimiter {
        &self.0.limiter
    }
}

impl Drop for Borrower {
    fn drop(&mut self) {
        let Some(held) = &self.0.held else { return };
        let left = held.swap(GONE, Ordering::Relaxed);
        if left > 0 {
            // Nobody knows any more since when: they count as held for no time. It can't be wrong: so many are out.
            let _ = self.0.limiter.release(&self.0.permit(left, u64::MAX), false);
        }
    }
}

static SHARED: Shared<ConcurrencyLimiter> = Shared::new();

#[napi(object, object_from_js = false)]
pub struct ConcurrencyStats {
    pub allowed: f64,
    pub denied: f64,
    pub timed_out: f64,
    pub cancelled: f64,
    pub waiting: f64,
    pub limit: f64,
    pub in_flight: f64,
    pub available: f64,
    pub released_ok: f64,
    pub released_failed: f64,
    pub hold_time_total_ns: Option<BigInt>,
    pub hold_time_max_ns: Option<BigInt>,
}

/// `limit` and `max_waiters`: whole numbers, which JavaScript has checked.
#[napi(catch_unwind)]
pub fn concurrency_limiter(
    limit: f64,
    track_hold_time: bool,
    max_waiters: f64,
    manual: Option<&Handle<ManualClock>>,
    shared: Option<String>,
) -> Result<Handle<Borrower>> {
    let settings = format!("limit {limit}, maxWaiters {max_waiters}, trackHoldTime {track_hold_time}");
    let held = shared.is_some().then(AtomicU64::default);
    let limiter = SHARED.get(shared, settings, || {
        let mut options = ConcurrencyOptions::new().track_hold_time(track_hold_time).max_waiters(max_waiters as u64);
        if let Some(manual) = manual {
            options = options.clock(&**manual);
        }
        options.build(limit as u64).map_err(mistake)
    })?;
    Ok(Handle::new(Borrower(Arc::new(Lender { limiter, held }))))
}

#[napi(catch_unwind)]
pub fn concurrency_close(limiter: &Handle<Borrower>) {
    limiter.close();
}

#[napi(catch_unwind)]
pub fn concurrency_is_closed(limiter: &Handle<Borrower>) -> bool {
    limiter.is_closed()
}

#[napi(catch_unwind)]
pub fn concurrency_waiting(limiter: &Handle<Borrower>) -> f64 {
    limiter.waiting() as f64
}

/// `limit`: a whole number, which JavaScript has checked.
#[napi(catch_unwind)]
pub fn concurrency_set_limit(limiter: &Handle<Borrower>, limit: f64) -> Result<()> {
    limiter.set_limit(limit as u64).map_err(mistake)
}

#[napi(catch_unwind)]
pub fn concurrency_limit(limiter: &Handle<Borrower>) -> f64 {
    limiter.limit() as f64
}

#[napi(catch_unwind)]
pub fn concurrency_in_flight(limiter: &Handle<Borrower>) -> f64 {
    limiter.in_flight() as f64
}

#[napi(catch_unwind)]
pub fn concurrency_available(limiter: &Handle<Borrower>) -> f64 {
    limiter.available() as f64
}

#[napi(catch_unwind)]
pub fn concurrency_stats(limiter: &Handle<Borrower>) -> ConcurrencyStats {
    let stats = limiter.stats();
    let ns = |time: Duration| limiter.tracks_hold_time().then(|| BigInt::from(time.as_nanos() as u64));
    ConcurrencyStats {
        allowed: stats.allowed as f64,
        denied: stats.denied as f64,
        timed_out: stats.timed_out as f64,
        cancelled: stats.cancelled as f64,
        waiting: stats.waiting as f64,
        limit: stats.limit as f64,
        in_flight: stats.in_flight as f64,
        available: stats.available as f64,
        released_ok: stats.released_ok as f64,
        released_failed: stats.released_failed as f64,
        hold_time_total_ns: ns(stats.hold_time_total),
        hold_time_max_ns: ns(stats.hold_time_max),
    }
}

/// (limiter, permits) -> false, or true, or the BigInt of when they were acquired if hold times are tracked
pub(crate) struct TryAcquire;

impl Method for TryAcquire {
    type On = Borrower;
    const NAME: &'static CStr = c"concurrencyTryAcquire";
    const ARGUMENTS: usize = 2;

    #[inline]
    fn call(Borrower(lender): &Borrower, call: &Call) -> Answer {
        match lender.limiter.try_acquire_raw(call.whole(1)?).map_err(|_| Fault::Argument)? {
            Ok(permit) => granted(lender, call, permit),
            Err(_) => call.return_boolean(false),
        }
    }
}

#[inline]
fn granted(lender: &Lender, call: &Call, permit: RawPermit) -> Answer {
    lender.keep(permit.permits);
    if lender.limiter.tracks_hold_time() {
        call.return_bigint(permit.acquired_at_ns)
    } else {
        call.return_boolean(true)
    }
}

/// (limiter, permits, timeout in ns, id, waits) -> what tryAcquire returns if it was granted; or a number: a status if it was
/// refused; below 0 if the wait began, which is to be polled after so many ms (-Infinity: never)
pub(crate) struct Acquire;

impl Method for Acquire {
    type On = Borrower;
    const NAME: &'static CStr = c"concurrencyAcquire";
    const ARGUMENTS: usize = 5;

    #[inline]
    fn call(Borrower(lender): &Borrower, call: &Call) -> Answer {
        let (permits, timeout, id) = (call.whole(1)?, timeout_of(call.number(2)?), call.whole(3)?);
        let limiter = &lender.limiter;
        if let Some(permit) = limiter.take_if_free(permits).map_err(|_| Fault::Argument)? {
            return granted(lender, call, permit);
        }
        let waits = call.handle::<Rc<Waits>>(4)?;
        let listener = {
            let (lender, inbox) = (Arc::clone(lender), Arc::clone(&waits.inbox));
            move |event| lender.heard(&inbox, id, event)
        };
        let started = limiter.acquire_by_ticket(permits, timeout, listener).map_err(|_| Fault::Argument)?;
        waits.begun(call, id, started, limiter, |permit| granted(lender, call, permit))
    }
}

/// (limiter, permits, ok, what tryAcquire returned). JavaScript sees to it that each permit comes here once.
pub(crate) struct Release;

impl Method for Release {
    type On = Borrower;
    const NAME: &'static CStr = c"concurrencyRelease";
    const ARGUMENTS: usize = 4;

    #[inline]
    fn call(Borrower(lender): &Borrower, call: &Call) -> Answer {
        let acquired_at_ns = if lender.limiter.tracks_hold_time() { call.bigint(3)? } else { 0 };
        lender.give_back(call.whole(1)?, call.boolean(2)?, acquired_at_ns).map_err(|_| Fault::Argument)?;
        Call::return_undefined()
    }
}
