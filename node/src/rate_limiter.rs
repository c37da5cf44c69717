//! Rate limiters.

use crate::function::{Answer, Call, Fault, Method};
use crate::handle::Handle;
use crate::mistake;
use crate::quota::read;
use napi::Result;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;
use std::ffi::CStr;
use tidegate::{Clock, Decision, Grant, ManualClock, NEVER_NS, RateLimiter};

#[napi(object, object_from_js = false)]
pub struct RateStats {
    pub allowed: f64,
    pub denied: f64,
}

#[napi(catch_unwind)]
pub fn rate_limiter(quotas: Vec<String>, manual: Option<&Handle<ManualClock>>) -> Result<Handle<RateLimiter>> {
    let clock = manual.map_or_else(Clock::monotonic, |manual| Clock::from(&**manual));
    Ok(Handle::new(RateLimiter::with_clock(read(&quotas)?, clock).map_err(mistake)?))
}

/// JavaScript sees to it that each grant comes here once, and to the limiter that made it.
#[napi(catch_unwind)]
pub fn rate_refund(limiter: &Handle<RateLimiter>, cost: f64, granted_at_ns: BigInt, reset_count: f64) {
    limiter.refund_grant(Grant {
        limiter_id: limiter.id(),
        cost: cost as u64,
        granted_at_ns: granted_at_ns.get_u64().1,
        reset_count: reset_count as u64,
        key_hash: 0,
    });
}

#[napi(catch_unwind)]
pub fn rate_reset(limiter: &Handle<RateLimiter>) {
    limiter.reset();
}

#[napi(catch_unwind)]
pub fn rate_reconfigure(limiter: &Handle<RateLimiter>, quotas: Vec<String>) -> Result<()> {
    limiter.reconfigure(read(&quotas)?).map_err(mistake)
}

#[napi(catch_unwind)]
pub fn rate_stats(limiter: &Handle<RateLimiter>) -> RateStats {
    let stats = limiter.stats();
    RateStats { allowed: stats.allowed as f64, denied: stats.denied as f64 }
}

/// (limiter, cost = 1) -> boolean
pub(crate) struct TryAcquire;

impl Method for TryAcquire {
    type On = RateLimiter;
    const NAME: &'static CStr = c"rateTryAcquire";
    const ARGUMENTS: usize = 2;

    #[inline]
    fn call(limiter: &RateLimiter, call: &Call) -> Answer {
        let allowed = if call.given() < 2 {
            limiter.try_acquire()
        } else {
            limiter.try_acquire_n(call.whole(1)?).map_err(|_| Fault::Argument)?
        };
        call.return_boolean(allowed)
    }
}

/// (limiter, cost, figures), an ArrayBuffer that gets [`figures`]
pub(crate) struct Decide;

impl Method for Decide {
    type On = RateLimiter;
    const NAME: &'static CStr = c"rateDecide";
    const ARGUMENTS: usize = 3;

    fn call(limiter: &RateLimiter, call: &Call) -> Answer {
        let decision = limiter.decide_n(call.whole(1)?).map_err(|_| Fault::Argument)?;
        call.write(2, &figures(&decision))?;
        Call::return_undefined()
    }
}

/// (limiter, cost, figures), an ArrayBuffer that gets [`figures`]
pub(crate) struct Peek;

impl Method for Peek {
    type On = RateLimiter;
    const NAME: &'static CStr = c"ratePeek";
    const ARGUMENTS: usize = 3;

    fn call(limiter: &RateLimiter, call: &Call) -> Answer {
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
