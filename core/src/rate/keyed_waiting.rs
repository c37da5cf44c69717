//! Waiting for tokens of a key: on the thread, as a future, and by ticket.

use super::keyed_shared::KeyedShared;
use super::{KeyedRateLimiter, check_cost};
use crate::table::KeyHash;
use crate::wait::{self, AcquireError, Event, Failure, Granted, Interrupt, Request, Started, Ticket, Wait};
use crate::{Error, Grant};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

impl KeyedRateLimiter {
    /// Takes one token of a key, waiting for its turn for at most `timeout`, or for ever if that is `None`. First come, first served
    /// for each key; it is charged when it is due, not before. A wait that would outlast its timeout does not begin; a
    /// timeout of 0 tries once. A key that is waited for keeps its place in the table.
    ///
    /// # Errors
    ///
    /// If it timed out or would, as many wait for the key as may, or there is no room for a new key.
    #[inline]
    pub fn acquire(&self, key: impl AsRef<[u8]>, timeout: impl Into<Option<Duration>>) -> Result<(), AcquireError> {
        self.acquire_n(key, 1, timeout)
    }

    /// Takes `cost` tokens of a key, all at once, waiting for its turn for at most `timeout`, or for ever if that is `None`.
    ///
    /// # Errors
    ///
    /// As for [`acquire`](Self::acquire); or if cost is not 1 … 2⁵³−1 or exceeds what a key can hold.
    #[inline]
    pub fn acquire_n(
        &self,
        key: impl AsRef<[u8]>,
        cost: u64,
        timeout: impl Into<Option<Duration>>,
    ) -> Result<(), AcquireError> {
        check_cost("cost", cost)?;
        let key = key.as_ref();
        let hash = self.shared.hash(key);
        if self.shared.take_free(hash, cost) { Ok(()) } else { self.wait_for(hash, key, cost, timeout.into(), None) }
    }

    /// [`acquire_n`](Self::acquire_n) that asks `is_interrupted` whenever it has waited for another `every`, and, if so, leaves as
    /// [`Status::Cancelled`](crate::Status::Cancelled).
    ///
    /// # Errors
    ///
    /// As for `acquire_n`.
    pub fn acquire_interruptible(
        &self,
        key: impl AsRef<[u8]>,
        cost: u64,
        timeout: Option<Duration>,
        every: Duration,
        is_interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<(), AcquireError> {
        check_cost("cost", cost)?;
        let key = key.as_ref();
        let hash = self.shared.hash(key);
        if self.shared.take_free(hash, cost) {
            return Ok(());
        }
        self.wait_for(hash, key, cost, timeout, Some(Interrupt { every, is_interrupted }))
    }

    /// The first step of an acquire, for who must prepare to wait: takes `cost` tokens of a key if nobody waits and they are there; if
    /// not, that isn't counted as a refusal.
    ///
    /// # Errors
    ///
    /// If cost is not 1 … 2⁵³−1.
    #[inline]
    pub fn take_if_free(&self, key: impl AsRef<[u8]>, cost: u64) -> Result<bool, Error> {
        check_cost("cost", cost)?;
        Ok(self.shared.take_free(self.shared.hash(key.as_ref()), cost))
    }

    #[cold]
    fn wait_for(
        &self,
        hash: KeyHash,
        key: &[u8],
        cost: u64,
        timeout: Option<Duration>,
        interrupt: Option<Interrupt<'_>>,
    ) -> Result<(), AcquireError> {
        let waited = wait::acquire(&self.shared.named(hash, key), Request::new(cost, timeout), interrupt);
        waited.map(drop).map_err(|failure| self.refused(hash, failure))
    }

    pub(super) fn refused(&self, hash: KeyHash, failure: Failure) -> AcquireError {
        let waiting = wait::len(&self.shared.of(hash));
        match self.shared.states.own.of(hash) {
            Some(own) => failure.of_tokens(own.quotas(), waiting),
            None => failure.of_tokens(&self.quotas(), waiting),
        }
    }

    /// How many wait for a key.
    #[must_use]
    pub fn waiting(&self, key: impl AsRef<[u8]>) -> u64 {
        wait::len(&self.shared.of(self.shared.hash(key.as_ref())))
    }

    /// [`acquire_n`](Self::acquire_n) as a future that sleeps by `sleep`, such as `tokio::time::sleep`, until its turn. Dropping it
    /// leaves the queue.
    ///
    /// # Errors
    ///
    /// At once, if cost is not 1 … 2⁵³−1; when it is awaited, as for `acquire_n`.
    pub fn acquire_async<F: Future<Output = ()> + Send + 'static>(
        &self,
        key: impl AsRef<[u8]>,
        cost: u64,
        timeout: impl Into<Option<Duration>>,
        sleep: impl FnMut(Duration) -> F + Send + 'static,
    ) -> Result<AcquireKeyedTokens<'_>, Error> {
        check_cost("cost", cost)?;
        let wait = Wait::new(Request::new(cost, timeout.into()), wait::boxed(sleep));
        let key = key.as_ref();
        let name = self.shared.denied.is_some().then(|| key.into());
        Ok(AcquireKeyedTokens { limiter: self, hash: self.shared.hash(key), name, wait })
    }

    /// The form for runtimes of other languages: takes at once, or tells `listener` later. Unless it is
    /// [`Pending`](Started::Pending) the listener is never called.
    ///
    /// # Errors
    ///
    /// If cost is not 1 … 2⁵³−1.
    pub fn acquire_by_ticket(
        &self,
        key: impl AsRef<[u8]>,
        cost: u64,
        timeout: Option<Duration>,
        listener: impl Fn(Event<()>) + Send + Sync + 'static,
    ) -> Result<Started<()>, Error> {
        self.acquire_refundable_by_ticket(key, cost, timeout, move |event| listener(event.map(drop)))
    }

    /// [`acquire_by_ticket`](Self::acquire_by_ticket) for who may find that nobody wants any more what was waited for: the listener gets
    /// what [`refund_grant`](Self::refund_grant) takes.
    ///
    /// # Errors
    ///
    /// If cost is not 1 … 2⁵³−1.
    pub fn acquire_refundable_by_ticket(
        &self,
        key: impl AsRef<[u8]>,
        cost: u64,
        timeout: Option<Duration>,
        listener: impl Fn(Event<Grant>) + Send + Sync + 'static,
    ) -> Result<Started<()>, Error> {
        self.acquire_by_noted_ticket(key, cost, timeout, |_, _| {}, listener)
    }

    /// [`acquire_refundable_by_ticket`](Self::acquire_refundable_by_ticket) for listeners that want the ticket. One may be called before
    /// this returns, and finds it where `note` has put it, which is called before, with the ticket and `wake_after_ns`, while a lock is
    /// held: it must do no more than that.
    ///
    /// # Errors
    ///
    /// If cost is not 1 … 2⁵³−1.
    pub fn acquire_by_noted_ticket(
        &self,
        key: impl AsRef<[u8]>,
        cost: u64,
        timeout: Option<Duration>,
        note: impl FnOnce(Ticket, u64),
        listener: impl Fn(Event<Grant>) + Send + Sync + 'static,
    ) -> Result<Started<()>, Error> {
        check_cost("cost", cost)?;
        let key = key.as_ref();
        let hash = self.shared.hash(key);
        if self.shared.take_free(hash, cost) {
            return Ok(Started::Granted(()));
        }
        let of_nothing = Grant { limiter_id: self.id(), cost, granted_at_ns: 0, reset_count: 0, key_hash: hash.id() };
        let grant =
            move |Granted { at_ns, void_count }| Grant { granted_at_ns: at_ns, reset_count: void_count, ..of_nothing };
        Ok(wait::start(&self.shared.named(hash, key), Request::new(cost, timeout), grant, note, listener)
            .without_grant())
    }

    /// After how long a wait by ticket is to be polled again, in ns; [`NEVER_NS`](crate::NEVER_NS) if it will be told, and `None` if it
    /// is over.
    ///
    /// # Errors
    ///
    /// If no wait of this limiter ever had the ticket.
    pub fn poll_ticket(&self, ticket: Ticket) -> Result<Option<u64>, Error> {
        match self.shared.key_of(ticket)? {
            Some(hash) => wait::poll_ticket(&self.shared.of(hash), ticket),
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
            Some(hash) => wait::cancel_ticket(&self.shared.of(hash), ticket),
            None => Ok(false),
        }
    }
}

/// Waits for tokens of a key; made by [`KeyedRateLimiter::acquire_async`].
#[must_use = "a future does nothing until it is awaited"]
pub struct AcquireKeyedTokens<'a> {
    limiter: &'a KeyedRateLimiter,
    hash: KeyHash,
    /// Kept only where refusals are counted by name.
    name: Option<Box<[u8]>>,
    wait: Wait,
}

impl Future for AcquireKeyedTokens<'_> {
    type Output = Result<(), AcquireError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { limiter, hash, name, wait } = &mut *self;
        let (shared, hash): (&KeyedShared, _) = (&limiter.shared, *hash);
        if wait.is_new() && shared.take_free(hash, wait.request().cost) {
            return Poll::Ready(Ok(()));
        }
        let source = name.as_deref().map_or_else(|| shared.of(hash), |name| shared.named(hash, name));
        wait.poll(&source, context).map(|waited| waited.map(drop).map_err(|failure| limiter.refused(hash, failure)))
    }
}

impl Drop for AcquireKeyedTokens<'_> {
    fn drop(&mut self) {
        self.wait.leave(&self.limiter.shared.of(self.hash));
    }
}
