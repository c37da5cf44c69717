//! The native half of the npm package: the core's limiters as opaque handles, and functions over them.
//!
//! `lib/*.js` is the API; nothing here is called by users. What is called for each request is a raw callback
//! ([`function`]); the rest goes through `#[napi]`. Both give up by throwing an error with a code, which `lib/errors.js`
//! turns into one of the package's own:
//!
//! | code | meaning | message |
//! | --- | --- | --- |
//! | `InvalidArg` | the caller's mistake | `ARGUMENT: got VALUE; allowed: WHAT`; empty from a raw callback |
//! | `GenericFailure` | a panic | what the panic said |

// `#[napi]` registers nothing in a build for tests (there are none here, but clippy looks at that build too).
#![cfg_attr(test, allow(dead_code))]

mod clock;
mod concurrency_limiter;
mod function;
mod gate;
mod gate_rules;
mod handle;
mod key;
mod keyed_concurrency_limiter;
mod keyed_rate_limiter;
mod quota;
mod rate_limiter;
mod reservation;
mod shared;
mod wait;

use function::export;
use napi::bindgen_prelude::{Env, Object};
use napi_derive::napi;

/// Adds the raw callbacks, once for each environment that loads the library.
#[napi(module_exports)]
pub fn export_functions(env: Env, exports: Object) -> napi::Result<()> {
    export::<rate_limiter::TryAcquire>(&env, &exports)?;
    export::<rate_limiter::Decide>(&env, &exports)?;
    export::<rate_limiter::Peek>(&env, &exports)?;
    export::<rate_limiter::Acquire>(&env, &exports)?;
    export::<concurrency_limiter::TryAcquire>(&env, &exports)?;
    export::<concurrency_limiter::Acquire>(&env, &exports)?;
    export::<concurrency_limiter::Release>(&env, &exports)?;
    export::<keyed_rate_limiter::TryAcquire>(&env, &exports)?;
    export::<keyed_rate_limiter::TryAcquireMany>(&env, &exports)?;
    export::<keyed_rate_limiter::Decide>(&env, &exports)?;
    export::<keyed_rate_limiter::Peek>(&env, &exports)?;
    export::<keyed_rate_limiter::Acquire>(&env, &exports)?;
    export::<keyed_concurrency_limiter::TryAcquire>(&env, &exports)?;
    export::<keyed_concurrency_limiter::Acquire>(&env, &exports)?;
    export::<keyed_concurrency_limiter::Release>(&env, &exports)?;
    export::<gate::Enter>(&env, &exports)?;
    export::<gate::Pass>(&env, &exports)?;
    export::<gate::Poll>(&env, &exports)?;
    export::<gate::Cancel>(&env, &exports)?;
    export::<gate::Release>(&env, &exports)?;
    export::<gate::EntryHeaders>(&env, &exports)?;
    export::<wait::Next>(&env, &exports)?;
    export::<wait::Poll>(&env, &exports)?;
    export::<wait::Cancel>(&env, &exports)
}

/// The version of this library, which must be that of the package around it.
#[napi(catch_unwind)]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The caller's mistake, as the core tells it.
fn mistake(error: tidegate::Error) -> napi::Error {
    napi::Error::new(napi::Status::InvalidArg, error.to_string())
}
