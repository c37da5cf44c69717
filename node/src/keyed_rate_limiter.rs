//! Rate limiters with a budget for each key.

use crate::function::{Answer, Call, Fault, Method};
use crate::handle::Handle;
use crate::key::{Key, KeyBuffer};
use crate::mistake;
use crate::quota::read;
use crate::rate_limiter::figures;
use napi::Result;
use napi::bindgen_prelude::{BigInt, Buffer};
use napi_derive::napi;
use std::ffi::CStr;
use tidegate::{Grant, KeyedRateLimiter, KeyedRateOptions, ManualClock, Status};

#[napi(object, object_from_js = false)]
pub struct KeyedRateStats {
    pub allowed: f64,
    pub denied: f64,
    pub live_keys: f64,
    pub evicted_live: f64,
    pub capacity: f64,
}

/// One of the keys that are refused most.
#[napi(object, object_from_js = false)]
pub struct DeniedKey {
    pub key: Buffer,
    pub count: f64,
    pub error: f64,
}

/// `max_keys` and `track_denied`: whole numbers, and `when_full`: a name, which JavaScript has checked.
#[napi(catch_unwind)]
pub fn keyed_rate_limiter(
    quotas: Vec<String>,
    max_keys: f64,
    when_full: String,
    track_denied: f64,
    manual: Option<&Handle<ManualClock>>,
) -> Result<Handle<KeyedRateLimiter>> {
    let mut options = KeyedRateOptions::new()
        .max_keys(max_keys as u64)
        .when_full(when_full.parse().map_err(mistake)?)
        .track_denied(track_denied as u32);
    if let Some(manual) = manual {
        options = options.clock(&**manual);
    }
    Ok(Handle::new(options.build(read(&quotas)?).map_err(mistake)?))
}

/// JavaScript sees to it that each grant comes here once, and to the limiter that made it.
#[napi(catch_unwind)]
pub fn keyed_rate_refund(
    limiter: &Handle<KeyedRateLimiter>,
    key: Key,
    cost: f64,
    granted_at_ns: BigInt,
    reset_count: f64,
    key_hash: BigInt,
) -> Result<()> {
    let grant = Grant {
        limiter_id: limiter.id(),
        cost: cost as u64,
        granted_at_ns: granted_at_ns.get_u64().1,
        reset_count: reset_count as u64,
        key_hash: key_hash.get_u64().1,
    };
    limiter.refund_grant(key, grant).map_err(mistake)
}

#[napi(catch_unwind)]
pub fn keyed_rate_reset(limiter: &Handle<KeyedRateLimiter>, key: Key) {
    limiter.reset(key);
}

#[napi(catch_unwind)]
pub fn keyed_rate_reconfigure(limiter: &Handle<KeyedRateLimiter>, quotas: Vec<String>) -> Result<()> {
    limiter.reconfigure(read(&quotas)?).map_err(mistake)
}

#[napi(catch_unwind)]
pub fn keyed_rate_set_quota(limiter: &Handle<KeyedRateLimiter>, key: Key, quotas: Vec<String>) -> Result<()> {
    limiter.set_quota(key, read(&quotas)?).map_err(mistake)
}

#[napi(catch_unwind)]
pub fn keyed_rate_clear_quota(limiter: &Handle<KeyedRateLimiter>, key: Key) {
    limiter.clear_quota(key);
}

/// `most`: a whole number, which JavaScript has checked.
#[napi(catch_unwind)]
pub fn keyed_rate_top_denied(limiter: &Handle<KeyedRateLimiter>, most: f64) -> Vec<DeniedKey> {
    let top = limiter.top_denied(most as usize);
    top.into_iter()
        .map(|denied| DeniedKey { key: denied.key.into(), count: denied.count as f64, error: denied.error as f64 })
        .collect()
}

#[napi(catch_unwind)]
pub fn keyed_rate_len(limiter: &Handle<KeyedRateLimiter>) -> f64 {
    limiter.len() as f64
}

#[napi(catch_unwind)]
pub fn keyed_rate_stats(limiter: &Handle<KeyedRateLimiter>) -> KeyedRateStats {
    let stats = limiter.stats();
    KeyedRateStats {
        allowed: stats.allowed as f64,
        denied: stats.denied as f64,
        live_keys: stats.live_keys as f64,
        evicted_live: stats.evicted_live as f64,
        capacity: stats.capacity as f64,
    }
}

/// (limiter, key, cost = 1) -> boolean
pub(crate) struct TryAcquire;

impl Method for TryAcquire {
    type On = KeyedRateLimiter;
    const NAME: &'static CStr = c"keyedRateTryAcquire";
    const ARGUMENTS: usize = 3;

    #[inline]
    fn call(limiter: &KeyedRateLimiter, call: &Call) -> Answer {
        let mut buffer = KeyBuffer::new();
        let key = call.key(1, &mut buffer)?;
        let allowed = if call.given() < 3 {
            limiter.try_acquire(key)
        } else {
            limiter.try_acquire_n(key, call.whole(2)?).map_err(|_| Fault::Argument)?
        };
        call.return_boolean(allowed)
    }
}

/// (limiter, keys together, their lengths, cost); instead of each length, 1 is written if the key was allowed, else 0
pub(crate) struct TryAcquireMany;

impl Method for TryAcquireMany {
    type On = KeyedRateLimiter;
    const NAME: &'static CStr = c"keyedRateTryAcquireMany";
    const ARGUMENTS: usize = 4;

    fn call(limiter: &KeyedRateLimiter, call: &Call) -> Answer {
        let keys = call.keys(1, 2)?;
        let keys = keys.slices();
        let mut statuses = vec![Status::Denied; keys.len()];
        limiter.try_acquire_many(&keys, call.whole(3)?, &mut statuses).map_err(|_| Fault::Argument)?;
        let allowed: Vec<u32> = statuses.iter().map(|status| u32::from(*status == Status::Allowed)).collect();
        call.write(2, &allowed)?;
        Call::return_undefined()
    }
}

/// (limiter, key, cost, figures), an ArrayBuffer that gets [`figures`]
pub(crate) struct Decide;

impl Method for Decide {
    type On = KeyedRateLimiter;
    const NAME: &'static CStr = c"keyedRateDecide";
    const ARGUMENTS: usize = 4;

    fn call(limiter: &KeyedRateLimiter, call: &Call) -> Answer {
        let mut buffer = KeyBuffer::new();
        let decision = limiter.decide_n(call.key(1, &mut buffer)?, call.whole(2)?).map_err(|_| Fault::Argument)?;
        call.write(3, &figures(&decision))?;
        Call::return_undefined()
    }
}

/// (limiter, key, cost, figures), an ArrayBuffer that gets [`figures`]
pub(crate) struct Peek;

impl Method for Peek {
    type On = KeyedRateLimiter;
    const NAME: &'static CStr = c"keyedRatePeek";
    const ARGUMENTS: usize = 4;

    fn call(limiter: &KeyedRateLimiter, call: &Call) -> Answer {
        let mut buffer = KeyBuffer::new();
        let decision = limiter.peek_n(call.key(1, &mut buffer)?, call.whole(2)?).map_err(|_| Fault::Argument)?;
        call.write(3, &figures(&decision))?;
        Call::return_undefined()
    }
}
