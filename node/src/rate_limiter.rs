//! Rate limiters.

use crate::function::{Answer, Call, Fault, Method};
use crate::handle::Handle;
use crate::mistake;
use crate::quota::read;
use crate::shared::Shared;
use crate::wait::{Told, Waits, timeout_of};
use napi::Result;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;
use std::ffi::CStr;
use std::rc::Rc;
use std::sync::Arc;
use tidegate::{Decision, Grant, ManualClock, NEVER_NS, RateLimiter, RateOptions};

#[napi(object, object_from_js = false)]
pub struct RateStats {
    pub allowed: f64,
    pub denied: f64,
    pub timed_out: f64,
    pub cancelled: f64,
    pub waiting: f64,
}

static SHARED: Shared<RateLimiter> = Shared::new();

/// `max_waiters`: a whole number, which JavaScript has checked.
#[napi(catch_unwind)]
pub fn rate_limiter(
    quotas: Vec<String>,
    max_waiters: f64,
    manual: Option<&Handle<ManualClock>>,
    shared: Option<String>,
) -> Result<Handle<Arc<RateLimiter>>> {
    let settings = format!("{}, maxWaiters {max_waiters}", quotas.join("; "));
    let limiter = SHARED.get(shared, settings, || {
        let mut options = RateOptions::new().max_waiters(max_waiters as u64);
        if let Some(manual) = manual {
            options = options.clock(&**manual);
        }
        options.build(read(&quotas)?).map_err(mistake)
    })?;
    Ok(Handle::new(limiter))
}

/// Their texts: those of a limiter that is shared may be changed by others.
#[napi(catch_unwind)]
pub fn rate_quotas(limiter: &Handle<Arc<RateLimiter>>) -> Vec<String> {
    limiter.quotas().iter().map(ToString::to_string).collect()
}

#[napi(catch_unwind)]
pub fn rate_waiting(limiter: &Handle<Arc<RateLimiter>>) -> f64 {
    limiter.waiting() as f64
}

/// JavaScript sees to it that each grant comes here once, and to the limiter that made it.
#[napi(catch_unwind)]
pub fn rate_refund(limiter: &Handle<Arc<RateLimiter>>, cost: f64, granted_at_ns: BigInt, reset_count: f64) {
    limiter.refund_grant(Grant {
        limiter_id: limiter.id(),
        cost: cost as u64,
        granted_at_ns: granted_at_ns.get_u64().1,
        reset_count: reset_count as u64,
        key_hash: 0,
    });
}

#[napi(catch_unwind)]
pub fn rate_reset(limiter: &Handle<Arc<RateLimiter>>) {
    limiter.reset();
}

#[napi(catch_unwind)]
pub fn rate_reconfigure(limiter: &Handle<Arc<RateLimiter>>, quotas: Vec<String>) -> Result<()> {
    limiter.reconfigure(read(&quotas)?).map_err(mistake)
}

#[napi(catch_unwind)]
pub fn rate_stats(limiter: &Handle<Arc<RateLimiter>>) -> RateStats {
    let stats = limiter.stats();
    RateStats {
        allowed: stats.allowed as f64,
        denied: stats.denied as f64,
        timed_out: stats.timed_out as f64,
        cancelled: stats.cancelled as f64,
        waiting: stats.waiting as f64,
    }
}

/// (limiter, cost = 1) -> the limiter if it was admitted, else undefined
pub(crate) struct TryAcquire;

impl Method for TryAcquire {
    type On = Arc<RateLimiter>;
    const NAME: &'static CStr = c"rateTryAcquire";
    const ARGUMENTS: usize = 2;

    #[inline]
    fn call(limiter: &Arc<RateLimiter>, call: &Call) -> Answer {
        let allowed = if call.given() < 2 {
            limiter.try_acquire()
        } else {
            limiter.try_acquire_n(call.whole(1)?).map_err(|_| Fault::Argument)?
        };
        call.return_admitted(allowed)
    }
}

/// (limiter, cost, timeout in ns, id, waits) -> true if it was granted; or a number, as `concurrencyAcquire` has it
pub(crate) struct Acquire;

impl Method for Acquire {
    type On = Arc<RateLimiter>;
    const NAME: &'static CStr = c"rateAcquire";
    const ARGUMENTS: usize = 5;

    #[inline]
    fn call(limiter: &Arc<RateLimiter>, call: &Call) -> Answer {
        let (cost, timeout, id) = (call.whole(1)?, timeout_of(call.number(2)?), call.whole(3)?);
        if limiter.take_if_free(cost).map_err(|_| Fault::Argument)? {
            return call.return_boolean(true);
        }
        let waits = call.handle::<Rc<Waits>>(4)?;
        let inbox = Arc::clone(&waits.inbox);
        let listener = move |event| inbox.put(Told::of(id, event, grant_words));
        let started = limiter.acquire_refundable_by_ticket(cost, timeout, listener).map_err(|_| Fault::Argument)?;
        waits.begun(call, id, started, limiter, |()| call.return_boolean(true))
    }
}

/// What a refund of tokens that were waited for needs.
pub(crate) fn grant_words(grant: Grant) -> [u64; 3] {
    [grant.granted_at_ns, grant.reset_count, grant.key_hash]
}

/// (limiter, cost, figures), an ArrayBuffer that gets [`figures`]
pub(crate) struct Decide;

impl Method for Decide {
    type On = Arc<RateLimiter>;
    const NAME: &'static CStr = c"rateDecide";
    const ARGUMENTS: usize = 3;

    fn call(limiter: &Arc<RateLimiter>, call: &Call) -> Answer {
        let decision = limiter.decide_n(call.whole(1)?).map_err(|_| Fault::Argument)?;
        call.write(2, &figures(&decision))?;
        Call::return_undefined()
    }
}

/// (limiter, cost, figures), an ArrayBuffer that gets [`figures`]
pub(crate) struct Peek;

impl Method for Peek {
    type On = Arc<RateLimiter>;
    const NAME: &'static CStr = c"ratePeek";
    const ARGUMENTS: usize = 3;

    fn call(limiter: &Arc<RateLimiter>, call: &Call) -> Answer {
        let decision = limiter.peek_n(call.whole(1)?).map_err(|_| Fault::Argument)?;
        call.write(2, &figures(&decision))?;
        Call::return_undefined()
    }
}

/// A decision as `lib/decision.js` reads it: six doubles, then five 64-bit integers.
pub(crate) fn figures(decision: &Decision) -> [u64; 11] {
    let ms = |ns: u64| if ns == NEVER_NS { f64::INFINITY } else { ns.div_ceil(1_000_000) as f64 };
    let grant = decision.grant();
    [
        f64::from(decision.status() as i32).to_bits(),
        (decision.quota() as f64).to_bits(),
        // Exact: limits are below 2⁵³.
        (decision.limit() as f64).to_bits(),
        (decision.remaining() as f64).to_bits(),
        ms(decision.retry_after_ns()).to_bits(),
        ms(decision.reset_after_ns()).to_bits(),
        decision.retry_after_ns(),
        decision.reset_after_ns(),
        grant.map_or(0, |grant| grant.granted_at_ns),
        grant.map_or(0, |grant| grant.reset_count),
        grant.map_or(0, |grant| grant.key_hash),
    ]
}
