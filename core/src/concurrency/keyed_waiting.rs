//! Waiting for permits of a key: on the thread, as a future, and by ticket.

use super::KeyedConcurrencyLimiter;
use super::keyed_permit::{KeyedPermit, OwnedKeyedPermit, RawKeyedPermit};
use super::keyed_shared::KeyedSource;
use crate::rate::check_cost;
use crate::stats::Count;
use crate::table::KeyHash;
use crate::wait::{self, AcquireError, Event, Failure, Granted, Interrupt, Request, Started, Ticket, Wait};
use crate::{Error, Status};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

impl KeyedConcurrencyLimiter {
    /// Takes one permit of a key, waiting for its turn for at most `timeout`, or for ever if that is `None`. First come, first served
    /// for each key; a timeout of 0 tries once.
    ///
    /// # Errors
    ///
    /// If it timed out, as many wait for the key as may, there is no room for a new key, or the limiter is closed.
    #[inline]
    pub fn acquire(
        &self,
        key: impl AsRef<[u8]>,
        timeout: impl Into<Option<Duration>>,
    ) -> Result<KeyedPermit<'_>, AcquireError> {
        self.acquire_n(key, 1, timeout)
    }

    /// Takes `permits` permits of a key, all at once, waiting for its turn for at most `timeout`, or for ever if that is `None`.
    ///
    /// # Errors
    ///
    /// As for [`acquire`](Self::acquire); or if permits is not 1 … 2⁵³−1 or exceeds the limit.
    #[inline]
    pub fn acquire_n(
        &self,
        key: impl AsRef<[u8]>,
        permits: u64,
        timeout: impl Into<Option<Duration>>,
    ) -> Result<KeyedPermit<'_>, AcquireError> {
        self.acquire_raw(key, permits, timeout).map(|raw| KeyedPermit::new(self, raw))
    }

    /// [`acquire_n`](Self::acquire_n) for a permit that keeps the limiter alive.
    ///
    /// # Errors
    ///
    /// As for `acquire_n`.
    pub fn acquire_owned(
        self: &Arc<Self>,
        key: impl AsRef<[u8]>,
        permits: u64,
        timeout: impl Into<Option<Duration>>,
    ) -> Result<OwnedKeyedPermit, AcquireError> {
        self.acquire_raw(key, permits, timeout).map(|raw| OwnedKeyedPermit::new(Arc::clone(self), raw))
    }

    /// [`acquire_n`](Self::acquire_n) for a permit as plain data.
    ///
    /// # Errors
    ///
    /// As for `acquire_n`.
    #[inline]
    pub fn acquire_raw(
        &self,
        key: impl AsRef<[u8]>,
        permits: u64,
        timeout: impl Into<Option<Duration>>,
    ) -> Result<RawKeyedPermit, AcquireError> {
        let key = self.shared.hash(key.as_ref());
        match self.take_free(key, permits)? {
            Some(permit) => Ok(permit),
            None => self.wait_for(key, permits, timeout.into(), None),
        }
    }

    /// [`acquire_raw`](Self::acquire_raw) that asks `is_interrupted` whenever it has waited for another `every`, and, if so, leaves
    /// as [`Status::Cancelled`].
    ///
    /// # Errors
    ///
    /// As for `acquire_n`.
    pub fn acquire_interruptible(
        &self,
        key: impl AsRef<[u8]>,
        permits: u64,
        timeout: Option<Duration>,
        every: Duration,
        is_interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<RawKeyedPermit, AcquireError> {
        let key = self.shared.hash(key.as_ref());
        match self.take_free(key, permits)? {
            Some(permit) => Ok(permit),
            None => self.wait_for(key, permits, timeout, Some(Interrupt { every, is_interrupted })),
        }
    }

    #[inline]
    fn take_free(&self, key: KeyHash, permits: u64) -> Result<Option<RawKeyedPermit>, Error> {
        check_cost("permits", permits)?;
        let taken = self.shared.take(key, permits, false).ok();
        if taken.is_some() {
            self.shared.counters.increment(Count::Allowed);
        }
        Ok(taken)
    }

    /// The first step of an acquire, for who must prepare to wait: takes `permits` of a key if nobody waits and they are there; if not,
    /// that isn't counted as a refusal.
    ///
    /// # Errors
    ///
    /// If permits is not 1 … 2⁵³−1.
    #[inline]
    pub fn take_if_free(&self, key: impl AsRef<[u8]>, permits: u64) -> Result<Option<RawKeyedPermit>, Error> {
        self.take_free(self.shared.hash(key.as_ref()), permits)
    }

    #[cold]
    fn wait_for(
        &self,
        key: KeyHash,
        permits: u64,
        timeout: Option<Duration>,
        interrupt: Option<Interrupt<'_>>,
    ) -> Result<RawKeyedPermit, AcquireError> {
        let (source, request) = (self.shared.of(key), Request::new(permits, timeout));
        let waited = wait::acquire(&source, request, interrupt);
        self.granted(&source, request, waited)
    }

    fn granted(
        &self,
        source: &KeyedSource<'_>,
        request: Request,
        waited: Result<u64, Failure>,
    ) -> Result<RawKeyedPermit, AcquireError> {
        let failure = match waited.map(|at_ns| self.shared.permit_since(source.key, request.cost, at_ns)) {
            Ok(Some(permit)) => return Ok(permit),
            // Granted and gone: this is the child of a fork.
            Ok(None) => {
                let Request { cost, timeout } = request;
                Failure { status: Status::Forked, cost, elapsed: Duration::ZERO, timeout }
            }
            Err(failure) => failure,
        };
        let in_flight = super::keyed_shared::in_flight(self.shared.word(source.key));
        Err(failure.of_permits(self.limit(), in_flight, wait::len(source)))
    }

    /// [`acquire`](Self::acquire) as a future of any runtime. Dropping it leaves the queue.
    pub fn acquire_async(&self, key: impl AsRef<[u8]>) -> AcquireKeyedPermit<'_> {
        let wait = Wait::new(Request::new(1, None), None);
        AcquireKeyedPermit { limiter: self, key: self.shared.hash(key.as_ref()), wait }
    }

    /// [`acquire_n`](Self::acquire_n) as a future that sleeps by `sleep`, such as `tokio::time::sleep`, until its timeout.
    ///
    /// # Errors
    ///
    /// At once, if permits is not 1 … 2⁵³−1; when it is awaited, as for `acquire_n`.
    pub fn acquire_async_n<F: Future<Output = ()> + Send + 'static>(
        &self,
        key: impl AsRef<[u8]>,
        permits: u64,
        timeout: impl Into<Option<Duration>>,
        sleep: impl FnMut(Duration) -> F + Send + 'static,
    ) -> Result<AcquireKeyedPermit<'_>, Error> {
        check_cost("permits", permits)?;
        let wait = Wait::new(Request::new(permits, timeout.into()), wait::boxed(sleep));
        Ok(AcquireKeyedPermit { limiter: self, key: self.shared.hash(key.as_ref()), wait })
    }

    /// The form for runtimes of other languages: takes at once, or tells `listener` later. Unless it is
    /// [`Pending`](Started::Pending) the listener is never called.
    ///
    /// # Errors
    ///
    /// If permits is not 1 … 2⁵³−1.
    pub fn acquire_by_ticket(
        &self,
        key: impl AsRef<[u8]>,
        permits: u64,
        timeout: Option<Duration>,
        listener: impl Fn(Event<RawKeyedPermit>) + Send + Sync + 'static,
    ) -> Result<Started<RawKeyedPermit>, Error> {
        self.acquire_by_noted_ticket(key, permits, timeout, |_, _| {}, listener)
    }

    /// [`acquire_by_ticket`](Self::acquire_by_ticket) for listeners that want the ticket. One may be called before this returns, and
    /// finds it where `note` has put it, which is called before, with the ticket and `wake_after_ns`, while a lock is held: it must do
    /// no more than that.
    ///
    /// # Errors
    ///
    /// If permits is not 1 … 2⁵³−1.
    pub fn acquire_by_noted_ticket(
        &self,
        key: impl AsRef<[u8]>,
        permits: u64,
        timeout: Option<Duration>,
        note: impl FnOnce(Ticket, u64),
        listener: impl Fn(Event<RawKeyedPermit>) + Send + Sync + 'static,
    ) -> Result<Started<RawKeyedPermit>, Error> {
        let key = self.shared.hash(key.as_ref());
        if let Some(permit) = self.take_free(key, permits)? {
            return Ok(Started::Granted(permit));
        }
        let shared = Arc::downgrade(&self.shared);
        // Whoever brings the grant about holds the limiter; and with permits out the key stays where it is.
        let granted = move |granted: Granted| {
            let permit = shared.upgrade().and_then(|shared| shared.permit_since(key, permits, granted.at_ns));
            permit.unwrap_or(RawKeyedPermit { limiter_id: 0, key_hash: [0; 2], permits: 0 })
        };
        Ok(wait::start(&self.shared.of(key), Request::new(permits, timeout), granted, note, listener))
    }

    /// After how long a wait by ticket is to be polled again, in ns; [`NEVER_NS`](crate::NEVER_NS) if it will be told, and `None` if it
    /// is over.
    ///
    /// # Errors
    ///
    /// If no wait of this limiter ever had the ticket.
    pub fn poll_ticket(&self, ticket: Ticket) -> Result<Option<u64>, Error> {
        match self.shared.key_of(ticket)? {
            Some(key) => wait::poll_ticket(&self.shared.of(key), ticket),
            None => Ok(None),
        }
    }

    /// Leaves the queue; whether it did so before the wait was over. If so, the listener was told so.
    ///
    /// # Errors
    ///
    /// If no wait of this limiter ever had the ticket.
    pub fn cancel_ticket(&self, ticket: Ticket) -> Result<bool, Error> {
        match self.shared.key_of(ticket)? {
            Some(key) => wait::cancel_ticket(&self.shared.of(key), ticket),
            None => Ok(false),
        }
    }
}

/// Waits for permits of a key; made by [`KeyedConcurrencyLimiter::acquire_async`].
#[must_use = "a future does nothing until it is awaited"]
pub struct AcquireKeyedPermit<'a> {
    limiter: &'a KeyedConcurrencyLimiter,
    key: KeyHash,
    wait: Wait,
}

impl<'a> Future for AcquireKeyedPermit<'a> {
    type Output = Result<KeyedPermit<'a>, AcquireError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let (limiter, request) = (this.limiter, this.wait.request());
        if this.wait.is_new()
            && let Some(permit) = limiter.take_free(this.key, request.cost)?
        {
            return Poll::Ready(Ok(KeyedPermit::new(limiter, permit)));
        }
        let source = limiter.shared.of(this.key);
        this.wait.poll(&source, context).map(|waited| {
            let granted = limiter.granted(&source, request, waited);
            granted.map(|permit| KeyedPermit::new(limiter, permit))
        })
    }
}

impl Drop for AcquireKeyedPermit<'_> {
    fn drop(&mut self) {
        self.wait.leave(&self.limiter.shared.of(self.key));
    }
}
