//! Waiting for permits: on the thread, as a future, and by ticket.

use super::{ConcurrencyLimiter, OwnedPermit, Permit, RawPermit, Shared};
use crate::Error;
use crate::rate::check_cost;
use crate::wait::{self, AcquireError, Event, Failure, Granted, Interrupt, Request, Started, Ticket, Wait};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

impl ConcurrencyLimiter {
    /// Takes one permit, waiting for its turn for at most `timeout`, or for ever if that is `None`. First come, first served; a
    /// timeout of 0 tries once.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate::{ConcurrencyLimiter, Status};
    ///
    /// let limiter = ConcurrencyLimiter::new(1)?;
    /// let permit = limiter.acquire(None)?;
    /// let late = limiter.acquire(Duration::from_millis(5)).unwrap_err();
    /// assert_eq!(late.status(), Status::TimedOut);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If it timed out, as many wait as may, or the limiter is closed.
    #[inline(always)]
    pub fn acquire(&self, timeout: impl Into<Option<Duration>>) -> Result<Permit<'_>, AcquireError> {
        self.acquire_n(1, timeout)
    }

    /// Takes `permits` permits, all at once, waiting for its turn for at most `timeout`, or for ever if that is `None`. Whoever
    /// comes later waits behind it, however little it asks for.
    ///
    /// # Errors
    ///
    /// If permits is not 1 … 2⁵³−1 or exceeds the limit, it timed out, as many wait as may, or the limiter is closed.
    #[inline(always)]
    pub fn acquire_n(&self, permits: u64, timeout: impl Into<Option<Duration>>) -> Result<Permit<'_>, AcquireError> {
        check_cost("permits", permits)?;
        match self.take_free(permits) {
            // Apart from the other way, and inlined, so that the permit is made where it will be: one that is handed on in memory is
            // written in parts and read in greater ones, which makes a processor wait for the store.
            Some(raw) => Ok(Permit::new(&self.shared, raw)),
            None => self.wait_for(permits, timeout.into(), None).map(|raw| Permit::new(&self.shared, raw)),
        }
    }

    /// [`acquire_n`](Self::acquire_n) for a permit that keeps the limiter alive.
    ///
    /// # Errors
    ///
    /// As for `acquire_n`.
    pub fn acquire_owned(
        self: &Arc<Self>,
        permits: u64,
        timeout: impl Into<Option<Duration>>,
    ) -> Result<OwnedPermit, AcquireError> {
        self.acquire_raw(permits, timeout).map(|raw| OwnedPermit::new(Arc::clone(self), raw))
    }

    /// [`acquire_n`](Self::acquire_n) for a permit as plain data.
    ///
    /// # Errors
    ///
    /// As for `acquire_n`.
    #[inline(always)]
    pub fn acquire_raw(&self, permits: u64, timeout: impl Into<Option<Duration>>) -> Result<RawPermit, AcquireError> {
        check_cost("permits", permits)?;
        match self.take_free(permits) {
            Some(permit) => Ok(permit),
            None => self.wait_for(permits, timeout.into(), None),
        }
    }

    /// [`acquire_raw`](Self::acquire_raw) that asks `is_interrupted` whenever it has waited for another `every`, and, if so, leaves
    /// as [`Status::Cancelled`](crate::Status::Cancelled).
    ///
    /// # Errors
    ///
    /// As for `acquire_n`.
    pub fn acquire_interruptible(
        &self,
        permits: u64,
        timeout: Option<Duration>,
        every: Duration,
        is_interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<RawPermit, AcquireError> {
        check_cost("permits", permits)?;
        match self.take_free(permits) {
            Some(permit) => Ok(permit),
            None => self.wait_for(permits, timeout, Some(Interrupt { every, is_interrupted })),
        }
    }

    #[cold]
    fn wait_for(
        &self,
        permits: u64,
        timeout: Option<Duration>,
        interrupt: Option<Interrupt<'_>>,
    ) -> Result<RawPermit, AcquireError> {
        let waited = wait::acquire(&*self.shared, Request::new(permits, timeout), interrupt);
        waited.map(|at_ns| self.shared.permit(permits, at_ns)).map_err(|failure| self.refused(failure))
    }

    fn refused(&self, failure: Failure) -> AcquireError {
        failure.of_permits(self.limit(), self.in_flight(), self.waiting())
    }

    /// [`acquire`](Self::acquire) as a future of any runtime. Dropping it leaves the queue.
    #[inline]
    pub fn acquire_async(&self) -> AcquirePermit<'_> {
        AcquirePermit { limiter: self, wait: Wait::new(Request::new(1, None), None) }
    }

    /// [`acquire_n`](Self::acquire_n) as a future that sleeps by `sleep`, such as `tokio::time::sleep`, until its timeout.
    ///
    /// # Errors
    ///
    /// At once, if permits is not 1 … 2⁵³−1; when it is awaited, as for `acquire_n`.
    pub fn acquire_async_n<F: Future<Output = ()> + Send + 'static>(
        &self,
        permits: u64,
        timeout: impl Into<Option<Duration>>,
        sleep: impl FnMut(Duration) -> F + Send + 'static,
    ) -> Result<AcquirePermit<'_>, Error> {
        check_cost("permits", permits)?;
        let wait = Wait::new(Request::new(permits, timeout.into()), wait::boxed(sleep));
        Ok(AcquirePermit { limiter: self, wait })
    }

    /// The form for runtimes of other languages: takes at once, or tells `listener` later. Unless it is
    /// [`Pending`](Started::Pending) the listener is never called.
    ///
    /// # Errors
    ///
    /// If permits is not 1 … 2⁵³−1.
    pub fn acquire_by_ticket(
        &self,
        permits: u64,
        timeout: Option<Duration>,
        listener: impl Fn(Event<RawPermit>) + Send + Sync + 'static,
    ) -> Result<Started<RawPermit>, Error> {
        self.acquire_by_noted_ticket(permits, timeout, |_, _| {}, listener)
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
        permits: u64,
        timeout: Option<Duration>,
        note: impl FnOnce(Ticket, u64),
        listener: impl Fn(Event<RawPermit>) + Send + Sync + 'static,
    ) -> Result<Started<RawPermit>, Error> {
        check_cost("permits", permits)?;
        if let Some(permit) = self.take_free(permits) {
            return Ok(Started::Granted(permit));
        }
        let shared = &*self.shared;
        let permit = {
            let blank = shared.permit(permits, 0);
            move |granted: Granted| RawPermit { acquired_at_ns: granted.at_ns, ..blank }
        };
        Ok(wait::start(shared, Request::new(permits, timeout), permit, note, listener))
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

/// Waits for permits; made by [`ConcurrencyLimiter::acquire_async`].
#[must_use = "a future does nothing until it is awaited"]
pub struct AcquirePermit<'a> {
    limiter: &'a ConcurrencyLimiter,
    wait: Wait,
}

impl<'a> Future for AcquirePermit<'a> {
    type Output = Result<Permit<'a>, AcquireError>;

    // As `acquire_n`.
    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.wait.is_new()
            && let Some(permit) = self.limiter.take_free(self.wait.request().cost)
        {
            return Poll::Ready(Ok(Permit::new(&self.limiter.shared, permit)));
        }
        self.poll_queue(context)
    }
}

impl<'a> AcquirePermit<'a> {
    #[cold]
    fn poll_queue(&mut self, context: &mut Context<'_>) -> Poll<Result<Permit<'a>, AcquireError>> {
        let (limiter, permits) = (self.limiter, self.wait.request().cost);
        let shared: &'a Shared = &limiter.shared;
        self.wait.poll(shared, context).map(|waited| match waited {
            Ok(at_ns) => Ok(Permit::new(shared, shared.permit(permits, at_ns))),
            Err(failure) => Err(limiter.refused(failure)),
        })
    }
}

impl Drop for AcquirePermit<'_> {
    #[inline]
    fn drop(&mut self) {
        let shared = &*self.limiter.shared;
        self.wait.leave(shared);
    }
}
