//! Concurrency limiters.

use crate::function::{Answer, Call, Fault, Method};
use crate::handle::Handle;
use crate::mistake;
use napi::Result;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;
use std::ffi::CStr;
use std::time::Duration;
use tidegate::{ConcurrencyLimiter, ConcurrencyOptions, ManualClock, RawPermit};

#[napi(object, object_from_js = false)]
pub struct ConcurrencyStats {
    pub allowed: f64,
    pub denied: f64,
    pub limit: f64,
    pub in_flight: f64,
    pub available: f64,
    pub released_ok: f64,
    pub released_failed: f64,
    pub hold_time_total_ns: Option<BigInt>,
    pub hold_time_max_ns: Option<BigInt>,
}

/// `limit`: a whole number, which JavaScript has checked.
#[napi(catch_unwind)]
pub fn concurrency_limiter(
    limit: f64,
    track_hold_time: bool,
    manual: Option<&Handle<ManualClock>>,
) -> Result<Handle<ConcurrencyLimiter>> {
    let mut options = ConcurrencyOptions::new().track_hold_time(track_hold_time);
    if let Some(manual) = manual {
        options = options.clock(&**manual);
    }
    Ok(Handle::new(options.build(limit as u64).map_err(mistake)?))
}

/// `limit`: a whole number, which JavaScript has checked.
#[napi(catch_unwind)]
pub fn concurrency_set_limit(limiter: &Handle<ConcurrencyLimiter>, limit: f64) -> Result<()> {
    limiter.set_limit(limit as u64).map_err(mistake)
}

#[napi(catch_unwind)]
pub fn concurrency_limit(limiter: &Handle<ConcurrencyLimiter>) -> f64 {
    limiter.limit() as f64
}

#[napi(catch_unwind)]
pub fn concurrency_in_flight(limiter: &Handle<ConcurrencyLimiter>) -> f64 {
    limiter.in_flight() as f64
}

#[napi(catch_unwind)]
pub fn concurrency_available(limiter: &Handle<ConcurrencyLimiter>) -> f64 {
    limiter.available() as f64
}

#[napi(catch_unwind)]
pub fn concurrency_stats(limiter: &Handle<ConcurrencyLimiter>) -> ConcurrencyStats {
    let stats = limiter.stats();
    let ns = |time: Duration| limiter.tracks_hold_time().then(|| BigInt::from(time.as_nanos() as u64));
    ConcurrencyStats {
        allowed: stats.allowed as f64,
        denied: stats.denied as f64,
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
    type On = ConcurrencyLimiter;
    const NAME: &'static CStr = c"concurrencyTryAcquire";
    const ARGUMENTS: usize = 2;

    #[inline]
    fn call(limiter: &ConcurrencyLimiter, call: &Call) -> Answer {
        match limiter.try_acquire_raw(call.whole(1)?).map_err(|_| Fault::Argument)? {
            Ok(permit) if limiter.tracks_hold_time() => call.return_bigint(permit.acquired_at_ns),
            taken => call.return_boolean(taken.is_ok()),
        }
    }
}

/// (limiter, permits, ok, what tryAcquire returned). JavaScript sees to it that each permit comes here once.
pub(crate) struct Release;

impl Method for Release {
    type On = ConcurrencyLimiter;
    const NAME: &'static CStr = c"concurrencyRelease";
    const ARGUMENTS: usize = 4;

    #[inline]
    fn call(limiter: &ConcurrencyLimiter, call: &Call) -> Answer {
        let permit = RawPermit {
            limiter_id: limiter.id(),
            permits: call.whole(1)?,
            acquired_at_ns: if limiter.tracks_hold_time() { call.bigint(3)? } else { 0 },
            process: 0,
        };
        limiter.release(&permit, call.boolean(2)?).map_err(|_| Fault::Argument)?;
        Call::return_undefined()
    }
}
