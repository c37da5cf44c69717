//! Limiters that all worker threads of a process share, by name.

use napi::{Error, Result, Status};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The limiters of one kind. They stay until the process ends: what is used stays used, whichever workers come and go.
pub(crate) struct Shared<T>(Mutex<Option<HashMap<String, Named<T>>>>);

struct Named<T> {
    limiter: Arc<T>,
    settings: String,
}

impl<T> Shared<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// The limiter of a name, which is built by who asks first; without a name one of the caller's own. `settings` tells what it
    /// is built from.
    pub(crate) fn get(
        &self,
        name: Option<String>,
        settings: String,
        build: impl FnOnce() -> Result<T>,
    ) -> Result<Arc<T>> {
        let Some(name) = name else { return build().map(Arc::new) };
        let mut limiters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let limiters = limiters.get_or_insert_default();
        if let Some(named) = limiters.get(&name) {
            if named.settings == settings {
                return Ok(Arc::clone(&named.limiter));
            }
            let allowed = format!("another name, or the settings that it was built with ({})", named.settings);
            return Err(Error::new(Status::InvalidArg, format!("shared: got {name:?}; allowed: {allowed}")));
        }
        let limiter = Arc::new(build()?);
        limiters.insert(name, Named { limiter: Arc::clone(&limiter), settings });
        Ok(limiter)
    }
}
