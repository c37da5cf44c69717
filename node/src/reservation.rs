//! Tokens that are charged ahead of time, with keys and without.

use crate::handle::Handle;
use crate::key::Key;
use crate::mistake;
use crate::wait::timeout_of;
use napi::Result;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;
use std::sync::Arc;
use tidegate::{AcquireError, KeyedRateLimiter, RateLimiter, Reservation, Status};

/// What is reserved, or why nothing is.
#[napi(object, object_from_js = false)]
pub struct Reserved {
    pub status: i32,
    pub wait_ns: BigInt,
    /// The reservation, for whoever cancels it.
    pub mark: Vec<BigInt>,
}

impl Reserved {
    fn of(reserved: std::result::Result<Reservation, AcquireError>) -> Result<Self> {
        let of = |status: Status, wait_ns: u64, mark: &[u64]| Self {
            status: status as i32,
            wait_ns: wait_ns.into(),
            mark: mark.iter().map(|&number| number.into()).collect(),
        };
        match reserved {
            Ok(Reservation { wait_ns, due_ns, before, after, reset_count, key_hash, .. }) => {
                Ok(of(Status::Allowed, wait_ns, &[due_ns, before, after, reset_count, key_hash]))
            }
            Err(AcquireError::Refused(refusal)) => Ok(of(refusal.status, 0, &[])),
            Err(AcquireError::Invalid(error)) => Err(mistake(error)),
        }
    }
}

/// What the limiter of this id reserved. JavaScript sees to it that each reservation comes back once, and to that limiter.
fn read(limiter_id: u64, mark: &[BigInt]) -> Reservation {
    let number = |index: usize| mark.get(index).map_or(0, |number| number.get_u64().1);
    Reservation {
        limiter_id,
        due_ns: number(0),
        wait_ns: 0,
        before: number(1),
        after: number(2),
        reset_count: number(3),
        key_hash: number(4),
    }
}

/// `cost`: a whole number, which JavaScript has checked; `max_wait_ns`: `Infinity` for ever.
#[napi(catch_unwind)]
pub fn rate_reserve(limiter: &Handle<Arc<RateLimiter>>, cost: f64, max_wait_ns: f64) -> Result<Reserved> {
    Reserved::of(limiter.reserve(cost as u64, timeout_of(max_wait_ns)))
}

#[napi(catch_unwind)]
pub fn rate_cancel_reservation(limiter: &Handle<Arc<RateLimiter>>, mark: Vec<BigInt>) -> Result<bool> {
    limiter.cancel_reservation(read(limiter.id(), &mark)).map_err(mistake)
}

/// The same for a key.
#[napi(catch_unwind)]
pub fn keyed_rate_reserve(
    limiter: &Handle<Arc<KeyedRateLimiter>>,
    key: Key,
    cost: f64,
    max_wait_ns: f64,
) -> Result<Reserved> {
    Reserved::of(limiter.reserve(key, cost as u64, timeout_of(max_wait_ns)))
}

#[napi(catch_unwind)]
pub fn keyed_rate_cancel_reservation(
    limiter: &Handle<Arc<KeyedRateLimiter>>,
    key: Key,
    mark: Vec<BigInt>,
) -> Result<bool> {
    limiter.cancel_reservation(key, read(limiter.id(), &mark)).map_err(mistake)
}
