//! Rate limiters with a budget for each key.

use crate::function::{Answer, Call, Fault, Method};
use crate::handle::Handle;
use crate::key::{Key, KeyBuffer, KeysBuffer};
use crate::mistake;
use crate::quota::read;
use crate::rate_limiter::{figures, grant_words};
use crate::shared::Shared;
use crate::wait::{Told, Waits, timeout_of};
use napi::Result;
use napi::bindgen_prelude::{BigInt, Buffer};
use napi_derive::napi;
use std::ffi::CStr;
use std::rc::Rc;
use std::sync::Arc;
use tidegate::{Grant, KeyedRateLimiter, KeyedRateOptions, ManualClock, Status};

#[napi(object, object_from_js = false)]
pub struct KeyedRateStats {
    pub allowed: f64,
    pub denied: f64,
    pub timed_out: f64,
    pub cancelled: f64,
    pub waiting: f64,
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

static SHARED: Shared<KeyedRateLimiter> = Shared::new();

/// `max_keys`, `track_denied` and `max_waiters`: whole numbers, and `when_full`: a name, which JavaScript has checked.
#[napi(catch_unwind)]
pub fn keyed_rate_limiter(
    quotas: Vec<String>,
    max_keys: f64,
    when_full: String,
    track_denied: f64,
    max_waiters: f64,
    manual: Option<&Handle<ManualClock>>,
    shared: Option<String>,
) -> Result<Handle<Arc<KeyedRateLimiter>>> {
    let settings = format!(
        "{}, maxKeys {max_keys}, whenFull {when_full}, trackDenied {track_denied}, maxWaiters {max_waiters}",
        quotas.join("; ")
    );
    let limiter = SHARED.get(shared, settings, || {
        let mut options = KeyedRateOptions::new()
            .max_keys(max_keys as u64)
            .when_full(when_full.parse().map_err(mistake)?)
            .track_denied(track_denied as u32)
            .max_waiters(max_waiters as u64);
        if let Some(manual) = manual {
            options = options.clock(&**manual);
        }
        options.build(read(&quotas)?).map_err(mistake)
    })?;
    Ok(Handle::new(limiter))
}

/// Their texts: those of a limiter that is shared may be changed by others.
#[napi(catch_unwind)]
pub fn keyed_rate_quotas(limiter: &Handle<Arc<KeyedRateLimiter>>) -> Vec<String> {
    limiter.quotas().iter().map(ToString::to_string).collect()
}

#[napi(catch_unwind)]
pub fn keyed_rate_waiting(limiter: &Handle<Arc<KeyedRateLimiter>>, key: Key) -> f64 {
    limiter.waiting(key) as f64
}

/// JavaScript sees to it that each grant comes here once, and to the limiter that made it.
#[napi(catch_unwind)]
pub fn keyed_rate_refund(
    limiter: &Handle<Arc<KeyedRateLimiter>>,
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
pub fn keyed_rate_reset(limiter: &Handle<Arc<KeyedRateLimiter>>, key: Key) {
    limiter.reset(key);
}

#[napi(catch_unwind)]
pub fn keyed_rate_reconfigure(limiter: &Handle<Arc<KeyedRateLimiter>>, quotas: Vec<String>) -> Result<()> {
    limiter.reconfigure(read(&quotas)?).map_err(mistake)
}

#[napi(catch_unwind)]
pub fn keyed_rate_set_quota(limiter: &Handle<Arc<KeyedRateLimiter>>, key: Key, quotas: Vec<String>) -> Result<()> {
    limiter.set_quota(key, read(&quotas)?).map_err(mistake)
}

#[napi(catch_unwind)]
pub fn keyed_rate_clear_quota(limiter: &Handle<Arc<KeyedRateLimiter>>, key: Key) {
    limiter.clear_quota(key);
}

/// `most`: a whole number, which JavaScript has checked.
#[napi(catch_unwind)]
pub fn keyed_rate_top_denied(limiter: &Handle<Arc<KeyedRateLimiter>>, most: f64) -> Vec<DeniedKey> {
    let top = limiter.top_denied(most as usize);
    top.into_iter()
        .map(|denied| DeniedKey { key: denied.key.into(), count: denied.count as f64, error: denied.error as f64 })
        .collect()
}

#[napi(catch_unwind)]
pub fn keyed_rate_len(limiter: &Handle<Arc<KeyedRateLimiter>>) -> f64 {
    limiter.len() as f64
}

#[napi(catch_unwind)]
pub fn keyed_rate_stats(limiter: &Handle<Arc<KeyedRateLimiter>>) -> KeyedRateStats {
    let stats = limiter.stats();
    KeyedRateStats {
        allowed: stats.allowed as f64,
        denied: stats.denied as f64,
        timed_out: stats.timed_out as f64,
        cancelled: stats.cancelled as f64,
        waiting: stats.waiting as f64,
        live_keys: stats.live_keys as f64,
        evicted_live: stats.evicted_live as f64,
        capacity: stats.capacity as f64,
    }
}

/// (limiter, key, cost = 1) -> the limiter if it was admitted, else undefined
pub(crate) struct TryAcquire;

impl Method for TryAcquire {
    type On = Arc<KeyedRateLimiter>;
    const NAME: &'static CStr = c"keyedRateTryAcquire";
    const ARGUMENTS: usize = 3;

    #[inline]
    fn call(limiter: &Arc<KeyedRateLimiter>, call: &Call) -> Answer {
        let mut buffer = KeyBuffer::new();
        let key = call.key(1, &mut buffer)?;
        let allowed = if call.given() < 3 {
            limiter.try_acquire(key)
        } else {
            limiter.try_acquire_n(key, call.whole(2)?).map_err(|_| Fault::Argument)?
        };
        call.return_admitted(allowed)
    }
}

/// (limiter, cost, timeout in ns, id, waits, key) -> true if it was granted; or a number, as `concurrencyAcquire` has it
pub(crate) struct Acquire;

impl Method for Acquire {
    type On = Arc<KeyedRateLimiter>;
    const NAME: &'static CStr = c"keyedRateAcquire";
    const ARGUMENTS: usize = 6;

    #[inline]
    fn call(limiter: &Arc<KeyedRateLimiter>, call: &Call) -> Answer {
        let mut buffer = KeyBuffer::new();
        let key = call.key(5, &mut buffer)?;
        let (cost, timeout, id) = (call.whole(1)?, timeout_of(call.number(2)?), call.whole(3)?);
        if limiter.take_if_free(key, cost).map_err(|_| Fault::Argument)? {
            return call.return_boolean(true);
        }
        let waits = call.handle::<Rc<Waits>>(4)?;
        let inbox = Arc::clone(&waits.inbox);
        let listener = move |event| inbox.put(Told::of(id, event, grant_words));
        let started =
            limiter.acquire_refundable_by_ticket(key, cost, timeout, listener).map_err(|_| Fault::Argument)?;
        waits.begun(call, id, started, limiter, |()| call.return_boolean(true))
    }
}

/// (limiter, cost, allowed, key...) -> how many of the keys were allowed. `allowed` is an ArrayBuffer that gets a byte for each: 1 if it was.
pub(crate) struct TryAcquireMany;

/// The most keys of a call; `lib/batch.js` has the same.
const AT_ONCE: usize = 128;
/// How many keys are handed to the core at once.
const PIECE: usize = 32;

impl Method for TryAcquireMany {
    type On = Arc<KeyedRateLimiter>;
    const NAME: &'static CStr = c"keyedRateTryAcquireMany";
    const ARGUMENTS: usize = 3 + AT_ONCE;

    fn call(limiter: &Arc<KeyedRateLimiter>, call: &Call) -> Answer {
        let (mut buffer, mut ends) = (KeysBuffer::new(), [0; AT_ONCE]);
        let (bytes, ends) = call.keys(3, &mut ends, &mut buffer)?;
        let cost = call.whole(1)?;
        // That of no keys is looked at, too.
        limiter.try_acquire_many::<&[u8]>(&[], cost, &mut []).map_err(|_| Fault::Argument)?;
        let mut allowed = [0; AT_ONCE];
        let mut start = 0;
        for (ends, allowed) in ends.chunks(PIECE).zip(allowed.chunks_mut(PIECE)) {
            let (mut keys, mut statuses) = ([&[][..]; PIECE], [Status::Denied; PIECE]);
            for (key, end) in keys.iter_mut().zip(ends) {
                *key = &bytes[start..*end];
                start = *end;
            }
            let (keys, statuses) = (&keys[..ends.len()], &mut statuses[..ends.len()]);
            limiter.try_acquire_many(keys, cost, statuses).map_err(|_| Fault::Argument)?;
            for (allowed, status) in allowed.iter_mut().zip(statuses) {
                *allowed = u8::from(*status == Status::Allowed);
            }
        }
        call.write(2, &allowed[..ends.len()])?;
        call.return_number(f64::from(allowed.iter().map(|allowed| u32::from(*allowed)).sum::<u32>()))
    }
}

/// (limiter, key, cost, figures), an ArrayBuffer that gets [`figures`]
pub(crate) struct Decide;

impl Method for Decide {
    type On = Arc<KeyedRateLimiter>;
    const NAME: &'static CStr = c"keyedRateDecide";
    const ARGUMENTS: usize = 4;

    fn call(limiter: &Arc<KeyedRateLimiter>, call: &Call) -> Answer {
        let mut buffer = KeyBuffer::new();
        let decision = limiter.decide_n(call.key(1, &mut buffer)?, call.whole(2)?).map_err(|_| Fault::Argument)?;
        call.write(3, &figures(&decision))?;
        Call::return_undefined()
    }
}

/// (limiter, key, cost, figures), an ArrayBuffer that gets [`figures`]
pub(crate) struct Peek;

impl Method for Peek {
    type On = Arc<KeyedRateLimiter>;
    const NAME: &'static CStr = c"keyedRatePeek";
    const ARGUMENTS: usize = 4;

    fn call(limiter: &Arc<KeyedRateLimiter>, call: &Call) -> Answer {
        let mut buffer = KeyBuffer::new();
        let decision = limiter.peek_n(call.key(1, &mut buffer)?, call.whole(2)?).map_err(|_| Fault::Argument)?;
        call.write(3, &figures(&decision))?;
        Call::return_undefined()
    }
}
