//! Concurrency limiters with permits for each key.

use crate::function::{Answer, Call, Fault, Method};
use crate::handle::Handle;
use crate::key::{Key, KeyBuffer};
use crate::mistake;
use napi::Result;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;
use std::ffi::CStr;
use std::time::Duration;
use tidegate::{KeyedConcurrencyLimiter, KeyedConcurrencyOptions, ManualClock, RawKeyedPermit};

#[napi(object, object_from_js = false)]
pub struct KeyedConcurrencyStats {
    pub allowed: f64,
    pub denied: f64,
    pub limit: f64,
    pub in_flight: f64,
    pub released_ok: f64,
    pub released_failed: f64,
    pub live_keys: f64,
    pub capacity: f64,
    pub hold_time_total_ns: Option<BigInt>,
    pub hold_time_max_ns: Option<BigInt>,
}

/// `limit` and `max_keys`: whole numbers, which JavaScript has checked.
#[napi(catch_unwind)]
pub fn keyed_concurrency_limiter(
    limit: f64,
    max_keys: f64,
    track_hold_time: bool,
    manual: Option<&Handle<ManualClock>>,
) -> Result<Handle<KeyedConcurrencyLimiter>> {
    let mut options = KeyedConcurrencyOptions::new().max_keys(max_keys as u64).track_hold_time(track_hold_time);
    if let Some(manual) = manual {
        options = options.clock(&**manual);
    }
    Ok(Handle::new(options.build(limit as u64).map_err(mistake)?))
}

/// `limit`: a whole number, which JavaScript has checked.
#[napi(catch_unwind)]
pub fn keyed_concurrency_set_limit(limiter: &Handle<KeyedConcurrencyLimiter>, limit: f64) -> Result<()> {
    limiter.set_limit(limit as u64).map_err(mistake)
}

#[napi(catch_unwind)]
pub fn keyed_concurrency_limit(limiter: &Handle<KeyedConcurrencyLimiter>) -> f64 {
    limiter.limit() as f64
}

#[napi(catch_unwind)]
pub fn keyed_concurrency_in_flight(limiter: &Handle<KeyedConcurrencyLimiter>, key: Key) -> f64 {
    limiter.in_flight(key) as f64
}

#[napi(catch_unwind)]
pub fn keyed_concurrency_available(limiter: &Handle<KeyedConcurrencyLimiter>, key: Key) -> f64 {
    limiter.available(key) as f64
}

#[napi(catch_unwind)]
pub fn keyed_concurrency_stats(limiter: &Handle<KeyedConcurrencyLimiter>) -> KeyedConcurrencyStats {
    let stats = limiter.stats();
    let ns = |time: Duration| limiter.tracks_hold_time().then(|| BigInt::from(time.as_nanos() as u64));
    KeyedConcurrencyStats {
        allowed: stats.allowed as f64,
        denied: stats.denied as f64,
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
    type On = KeyedConcurrencyLimiter;
    const NAME: &'static CStr = c"keyedConcurrencyTryAcquire";
    const ARGUMENTS: usize = 3;

    #[inline]
    fn call(limiter: &KeyedConcurrencyLimiter, call: &Call) -> Answer {
        let mut buffer = KeyBuffer::new();
        let key = call.key(1, &mut buffer)?;
        match limiter.try_acquire_raw(key, call.whole(2)?).map_err(|_| Fault::Argument)? {
            Ok(permit) => call.return_wide(permit.key_hash),
            Err(_) => call.return_boolean(false),
        }
    }
}

/// (limiter, permits, ok, what tryAcquire returned). JavaScript sees to it that each permit comes here once.
pub(crate) struct Release;

impl Method for Release {
    type On = KeyedConcurrencyLimiter;
    const NAME: &'static CStr = c"keyedConcurrencyRelease";
    const ARGUMENTS: usize = 4;

    #[inline]
    fn call(limiter: &KeyedConcurrencyLimiter, call: &Call) -> Answer {
        let permit = RawKeyedPermit { limiter_id: limiter.id(), key_hash: call.wide(3)?, permits: call.whole(1)? };
        limiter.release(&permit, call.boolean(2)?).map_err(|_| Fault::Argument)?;
        Call::return_undefined()
    }
}
