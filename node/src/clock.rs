//! The manual clock. Times are nanoseconds; JavaScript has made them of milliseconds and checked that they fit.

use crate::handle::Handle;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;
use tidegate::ManualClock;

#[napi(catch_unwind)]
pub fn manual_clock() -> Handle<ManualClock> {
    Handle::new(ManualClock::new())
}

#[napi(catch_unwind)]
pub fn clock_advance(clock: &Handle<ManualClock>, by_ns: BigInt) {
    clock.advance_ns(by_ns.get_u64().1);
}

#[napi(catch_unwind)]
pub fn clock_set(clock: &Handle<ManualClock>, to_ns: BigInt) {
    clock.set_ns(to_ns.get_u64().1);
}

#[napi(catch_unwind)]
pub fn clock_now(clock: &Handle<ManualClock>) -> BigInt {
    clock.now_ns().into()
}
