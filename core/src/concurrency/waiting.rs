//! Waiting for permits: on the thread, as a future, and by ticket.

use super::{ConcurrencyLimiter, OwnedPermit, Permit, RawPermit, Shared};
use crate::rate::check_cost;
use crate::wait::{self, AcquireError, Event, Granted, Interrupt, Refusal, Request, Sleep, Started, Ticket, Wait};
use crate::{Error, Status};
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
    #[inline]
    pub fn acquire(&self, timeout: impl Into<Option<Duration>>) -> Result<Permit<'_>, AcquireError> {
        self.acquire_n(1, timeout)
    }

    /// Takes `permits` permits, all at once, waiting for its turn for at most `timeout`, or for ever if that is `None`. Whoever
    /// comes later waits behind it, however little it asks for.
    ///
    /// # Errors
    ///
    /// If permits is not 1 … 2⁵³−1 or exceeds the limit, it timed out, as many wait as may, or the limiter is closed.
    #[inline]
    pub fn acquire_n(&self, permits: u64, timeout: impl Into<Option<Duration>>) -> Result<Permit<'_>, AcquireError> {
        check_cost("permits", permits)?;
        match self.take_free(permits) {
            // Apart from the other way, so that the permit is made where it will be.
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
    #[inline]
    pub fn acquire_raw(&self, permits: u64, timeout: impl Into<Option<Duration>>) -> Result<RawPermit, AcquireError> {
        check_cost("permits", permits)?;
        match self.take_free(permits) {
            Some(permit) => Ok(permit),
            None => self.wait_for(permits, timeout.into(), None),
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
        let shared = &*self.shared;
        let began_ns = wait::now_ns(shared);
        match wait::acquire(shared, Request::new(permits, timeout), interrupt) {
            Ok(at_ns) => Ok(shared.permit(permits, at_ns)),
            Err(status) => Err(self.refusal(status, began_ns, timeout)),
        }
    }

    fn refusal(&self, status: Status, began_ns: u64, timeout: Option<Duration>) -> AcquireError {
        let elapsed = Duration::from_nanos(wait::now_ns(&*self.shared).saturating_sub(began_ns));
        AcquireError::Refused(Refusal {
            status,
            elapsed,
            timeout,
            limit: self.limit(),
            in_flight: self.in_flight(),
            waiting: self.waiting(),
        })
    }

    /// [`acquire`](Self::acquire) as a future of any runtime. Dropping it leaves the queue.
    pub fn acquire_async(&self) -> AcquirePermit<'_> {
        AcquirePermit { limiter: self, permits: 1, timeout: None, began_ns: None, wait: wait_of(1, None, None) }
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
        mut sleep: impl FnMut(Duration) -> F + Send + 'static,
    ) -> Result<AcquirePermit<'_>, Error> {
        check_cost("permits", permits)?;
        let timeout = timeout.into();
        let sleep: Sleep = Box::new(move |duration| Box::pin(sleep(duration)));
        let wait = wait_of(permits, timeout, Some(sleep));
        Ok(AcquirePermit { limiter: self, permits, timeout, began_ns: None, wait })
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

fn wait_of(permits: u64, timeout: Option<Duration>, sleep: Option<Sleep>) -> Wait {
    Wait::new(Request::new(permits, timeout), sleep)
}

/// Waits for permits; made by [`ConcurrencyLimiter::acquire_async`].
#[must_use = "a future does nothing until it is awaited"]
pub struct AcquirePermit<'a> {
    limiter: &'a ConcurrencyLimiter,
    permits: u64,
    timeout: Option<Duration>,
    began_ns: Option<u64>,
    wait: Wait,
}

impl<'a> Future for AcquirePermit<'a> {
    type Output = Result<Permit<'a>, AcquireError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let limiter = this.limiter;
        let shared: &'a Shared = &limiter.shared;
        if this.began_ns.is_none() {
            if let Some(permit) = limiter.take_free(this.permits) {
                return Poll::Ready(Ok(Permit::new(shared, permit)));
            }
            this.began_ns = Some(wait::now_ns(shared));
        }
        let began_ns = this.began_ns.unwrap_or_default();
        this.wait.poll(shared, context).map(|waited| match waited {
            Ok(at_ns) => Ok(Permit::new(shared, shared.permit(this.permits, at_ns))),
            Err(status) => Err(limiter.refusal(status, began_ns, this.timeout)),
        })
    }
}

impl Drop for AcquirePermit<'_> {
    fn drop(&mut self) {
        let shared = &*self.limiter.shared;
        self.wait.leave(shared);
    }
}
