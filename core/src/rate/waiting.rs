//! Waiting for tokens: on the thread, as a future, and by ticket.

use super::{RateLimiter, check_cost};
use crate::wait::{self, AcquireError, Event, Failure, Granted, Interrupt, Request, Started, Ticket, Wait};
use crate::{Error, Grant};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

impl RateLimiter {
    /// Takes one token, waiting for its turn for at most `timeout`, or for ever if that is `None`. First come, first served; it is
    /// charged when it is due, not before. A wait that would outlast its timeout does not begin; a timeout of 0 tries once.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate::{RateLimiter, Status};
    ///
    /// let limiter = RateLimiter::new("1/min")?;
    /// limiter.acquire(None)?;
    /// let late = limiter.acquire(Duration::from_secs(10)).unwrap_err(); // at once
    /// assert_eq!(late.status(), Status::TimedOut);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If it timed out or would, or as many wait as may.
    #[inline]
    pub fn acquire(&self, timeout: impl Into<Option<Duration>>) -> Result<(), AcquireError> {
        self.acquire_n(1, timeout)
    }

    /// Takes `cost` tokens, all at once, waiting for its turn for at most `timeout`, or for ever if that is `None`.
    ///
    /// # Errors
    ///
    /// If cost is not 1 … 2⁵³−1 or exceeds what the limiter can hold, it timed out or would, or as many wait as may.
    #[inline]
    pub fn acquire_n(&self, cost: u64, timeout: impl Into<Option<Duration>>) -> Result<(), AcquireError> {
        check_cost("cost", cost)?;
        if self.shared.take_free(cost) { Ok(()) } else { self.wait_for(cost, timeout.into(), None) }
    }

    /// [`acquire_n`](Self::acquire_n) that asks `is_interrupted` whenever it has waited for another `every`, and, if so, leaves as
    /// [`Status::Cancelled`](crate::Status::Cancelled).
    ///
    /// # Errors
    ///
    /// As for `acquire_n`.
    pub fn acquire_interruptible(
        &self,
        cost: u64,
        timeout: Option<Duration>,
        every: Duration,
        is_interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<(), AcquireError> {
        check_cost("cost", cost)?;
        if self.shared.take_free(cost) {
            return Ok(());
        }
        self.wait_for(cost, timeout, Some(Interrupt { every, is_interrupted }))
    }

    #[cold]
    fn wait_for(
        &self,
        cost: u64,
        timeout: Option<Duration>,
        interrupt: Option<Interrupt<'_>>,
    ) -> Result<(), AcquireError> {
        let waited = wait::acquire(&*self.shared, Request::new(cost, timeout), interrupt);
        waited.map(drop).map_err(|failure| self.refused(failure))
    }

    pub(super) fn refused(&self, failure: Failure) -> AcquireError {
        failure.of_tokens(&self.quotas(), self.waiting())
    }

    /// [`acquire_n`](Self::acquire_n) as a future that sleeps by `sleep`, such as `tokio::time::sleep`, until its turn. Dropping it
    /// leaves the queue.
    ///
    /// # Errors
    ///
    /// At once, if cost is not 1 … 2⁵³−1; when it is awaited, as for `acquire_n`.
    #[inline]
    pub fn acquire_async<F: Future<Output = ()> + Send + 'static>(
        &self,
        cost: u64,
        timeout: impl Into<Option<Duration>>,
        sleep: impl FnMut(Duration) -> F + Send + 'static,
    ) -> Result<AcquireTokens<'_>, Error> {
        check_cost("cost", cost)?;
        let wait = Wait::new(Request::new(cost, timeout.into()), wait::boxed(sleep));
        Ok(AcquireTokens { limiter: self, wait })
    }

    /// The form for runtimes of other languages: takes at once, or tells `listener` later. Unless it is
    /// [`Pending`](Started::Pending) the listener is never called.
    ///
    /// # Errors
    ///
    /// If cost is not 1 … 2⁵³−1.
    pub fn acquire_by_ticket(
        &self,
        cost: u64,
        timeout: Option<Duration>,
        listener: impl Fn(Event<()>) + Send + Sync + 'static,
    ) -> Result<Started<()>, Error> {
        self.acquire_refundable_by_ticket(cost, timeout, move |event| listener(event.map(drop)))
    }

    /// [`acquire_by_ticket`](Self::acquire_by_ticket) for who may find that nobody wants any more what was waited for: the listener gets
    /// what [`refund_grant`](Self::refund_grant) takes.
    ///
    /// # Errors
    ///
    /// If cost is not 1 … 2⁵³−1.
    pub fn acquire_refundable_by_ticket(
        &self,
        cost: u64,
        timeout: Option<Duration>,
        listener: impl Fn(Event<Grant>) + Send + Sync + 'static,
    ) -> Result<Started<()>, Error> {
        self.acquire_by_noted_ticket(cost, timeout, |_, _| {}, listener)
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
        cost: u64,
        timeout: Option<Duration>,
        note: impl FnOnce(Ticket, u64),
        listener: impl Fn(Event<Grant>) + Send + Sync + 'static,
    ) -> Result<Started<()>, Error> {
        check_cost("cost", cost)?;
        if self.shared.take_free(cost) {
            return Ok(Started::Granted(()));
        }
        let of_nothing = Grant { limiter_id: self.id(), cost, granted_at_ns: 0, reset_count: 0, key_hash: 0 };
        let grant =
            move |Granted { at_ns, void_count }| Grant { granted_at_ns: at_ns, reset_count: void_count, ..of_nothing };
        Ok(wait::start(&*self.shared, Request::new(cost, timeout), grant, note, listener).without_grant())
    }

    /// After how long a wait by ticket is to be polled again, in ns; [`NEVER_NS`](crate::NEVER_NS) if it will be told, and `None` if it
    /// is over.
    ///
    /// # Errors
    ///
    /// If no wait of this limiter ever had the ticket.
    pub fn poll_ticket(&self, ticket: Ticket) -> Result<Option<u64>, Error> {
        wait::poll_ticket(&*self.shared, ticket)
    }

    /// Leaves the queue; whether it did so before the wait was over. If so, the listener was told so.
    ///
    /// # Errors
    ///
    /// If no wait of this limiter ever had the ticket.
    pub fn cancel_ticket(&self, ticket: Ticket) -> Result<bool, Error> {
        wait::cancel_ticket(&*self.shared, ticket)
    }
}

/// Waits for tokens; made by [`RateLimiter::acquire_async`].
#[must_use = "a future does nothing until it is awaited"]
pub struct AcquireTokens<'a> {
    limiter: &'a RateLimiter,
    wait: Wait,
}

impl Future for AcquireTokens<'_> {
    type Output = Result<(), AcquireError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.wait.is_new() && self.limiter.shared.take_free(self.wait.request().cost) {
            return Poll::Ready(Ok(()));
        }
        self.poll_queue(context)
    }
}

impl AcquireTokens<'_> {
    #[cold]
    fn poll_queue(&mut self, context: &mut Context<'_>) -> Poll<Result<(), AcquireError>> {
        let limiter = self.limiter;
        let waited = self.wait.poll(&*limiter.shared, context);
        waited.map(|waited| waited.map(drop).map_err(|failure| limiter.refused(failure)))
    }
}

impl Drop for AcquireTokens<'_> {
    #[inline]
    fn drop(&mut self) {
        let shared = &*self.limiter.shared;
        self.wait.leave(shared);
    }
}
