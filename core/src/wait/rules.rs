//! The rules of waiting for a budget.

use super::notice::{Notices, Notify};
use super::queue::{Granted, Outcome, Queue, Stage, Ticket};
use super::refusal::Failure;
use crate::clock::{Clock, saturating_ns};
use crate::{NEVER_NS, Status};
use std::ops::DerefMut;
use std::task::Waker;
use std::time::Duration;

/// A budget that can be waited for. All but `open` and `clock` is called while the queue is open.
pub(crate) trait Source {
    /// The queue, alone.
    fn open(&self) -> impl DerefMut<Target = Queue> + '_;

    fn max_waiters(&self) -> u64;

    fn clock(&self) -> &Clock;

    /// When `cost` can be had, if nothing else changes, for one that is head from `from_ns` on.
    fn due(&self, cost: u64, from_ns: u64) -> Due;

    /// Takes for the head, as of `at_ns`; nothing if that can't be, since something changed; an error if it never can be.
    fn take(&self, cost: u64, at_ns: u64) -> Result<Option<Granted>, Status>;

    /// Takes now, while nobody waits; `None` if it isn't there.
    fn take_now(&self, cost: u64) -> Option<u64>;

    /// Marks that somebody waits, in one step with seeing that `cost` can't be had now; takes it, if it can.
    fn mark_or_take(&self, cost: u64) -> Result<Option<u64>, Status>;

    /// Nobody waits any more.
    fn unmark(&self);

    /// For how long at least `cost` must wait behind the costs `ahead`, whose sum is `total_ahead`.
    fn least_wait_ns(&self, ahead: impl Iterator<Item = u64> + Clone, total_ahead: u64, cost: u64) -> u64;

    /// A wait, or an attempt at one, is over.
    fn ended(&self, status: Status);

    /// An attempt to wait is over at once, in vain.
    fn refused(&self, status: Status) {
        self.ended(status);
    }

    /// Gives back what was granted to one that left without it.
    fn give_back(&self, cost: u64, granted: Granted);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    At(u64),
    /// Not before something is given back, which is told.
    Unknown,
    /// Never.
    Refused(Status),
}

impl Due {
    /// When both are.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::At(one), Self::At(other)) => Self::At(one.max(other)),
            (Self::Refused(status), _) | (_, Self::Refused(status)) => Self::Refused(status),
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
        }
    }
}

/// What is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub(crate) cost: u64,
    pub(crate) timeout: Option<Duration>,
}

impl Request {
    #[inline]
    pub(crate) fn new(cost: u64, timeout: Option<Duration>) -> Self {
        Self { cost, timeout }
    }

    /// [`NEVER_NS`]: for ever. One that is too long to count is as good as none.
    fn timeout_ns(self) -> u64 {
        self.timeout.map_or(NEVER_NS, saturating_ns)
    }

    /// That it came to nothing, after having begun at `began_ns`.
    pub(crate) fn failed(self, source: &impl Source, status: Status, began_ns: u64) -> Failure {
        let elapsed = Duration::from_nanos(source.clock().now_ns().saturating_sub(began_ns));
        Failure { status, cost: self.cost, elapsed, timeout: self.timeout }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entered {
    Granted(u64),
    Refused(Status),
    /// Look again after so long, or when told; [`NEVER_NS`]: when told.
    Pending(Ticket, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Polled {
    Settled(Outcome),
    /// As for [`Entered::Pending`].
    Pending(u64),
    /// It was settled, and its outcome fetched or told.
    Over,
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    Won,
    /// Was settled, and nobody had fetched it.
    Settled(Outcome),
    Over,
    Unknown,
}

/// Does something to the queue, and lets those know whom it concerns once the queue is closed.
fn visit<S: Source, T>(source: &S, act: impl FnOnce(&mut Queue, &mut Notices) -> T) -> T {
    let mut notices = Notices::default();
    let mut queue = source.open();
    let value = act(&mut queue, &mut notices);
    conclude(&mut queue, source, &mut notices);
    drop(queue);
    notices.deliver();
    value
}

/// How many wait.
pub(crate) fn len(source: &impl Source) -> u64 {
    source.open().len()
}

/// For how long at least one who came now would wait.
pub(crate) fn least_wait_ns(source: &impl Source, cost: u64) -> u64 {
    let queue = source.open();
    source.least_wait_ns(queue.costs(), queue.total_cost(), cost)
}

/// Takes at once, or waits.
pub(crate) fn enter(source: &impl Source, request: Request, notify: Notify) -> Entered {
    enter_noting(source, request, notify, |_, _| {})
}

/// [`enter`] that hands a wait's ticket, and after how long to look again, to `note` before anybody can be told of its end: while the
/// queue is open.
pub(crate) fn enter_noting(
    source: &impl Source,
    request: Request,
    notify: Notify,
    note: impl FnOnce(Ticket, u64),
) -> Entered {
    let entered = visit(source, |queue, notices| {
        grant(queue, source, notices);
        let entered = enter_open(queue, source, request, notify);
        if let Entered::Pending(ticket, wake_after_ns) = entered {
            note(ticket, wake_after_ns);
        }
        entered
    });
    match entered {
        Entered::Granted(_) => source.ended(Status::Allowed),
        Entered::Refused(status) => source.refused(status),
        Entered::Pending(..) => {}
    }
    entered
}

fn enter_open(queue: &mut Queue, source: &impl Source, request: Request, notify: Notify) -> Entered {
    let (cost, timeout_ns) = (request.cost, request.timeout_ns());
    if queue.is_empty()
        && let Some(at_ns) = source.take_now(cost)
    {
        return Entered::Granted(at_ns);
    }
    let now = source.clock().now_ns();
    if let Due::Refused(status) = source.due(cost, now) {
        return Entered::Refused(status);
    }
    if timeout_ns == 0 {
        return Entered::Refused(Status::TimedOut);
    }
    if queue.len() >= source.max_waiters() {
        return Entered::Refused(Status::QueueFull);
    }
    // With no end to the wait, its length is nobody's concern.
    if timeout_ns != NEVER_NS && source.least_wait_ns(queue.costs(), queue.total_cost(), cost) > timeout_ns {
        return Entered::Refused(Status::TimedOut);
    }
    if queue.is_empty() {
        match source.mark_or_take(cost) {
            Ok(Some(at_ns)) => return Entered::Granted(at_ns),
            Ok(None) => {}
            Err(status) => return Entered::Refused(status),
        }
        queue.head_since(now);
    }
    let ticket = queue.push(cost, now.saturating_add(timeout_ns), notify);
    if queue.head() == Some(ticket) {
        queue.set_informed(Some(ticket));
    }
    Entered::Pending(ticket, wake_after_ns(queue, source, ticket))
}

/// What has become of a wait by now; a waker takes the place of the one before.
pub(crate) fn poll(source: &impl Source, ticket: Ticket, waker: Option<&Waker>) -> Polled {
    // Dropped, like all that is foreign, when the queue is closed.
    let mut replaced = None;
    visit(source, |queue, notices| {
        grant(queue, source, notices);
        let late = |deadline_ns: u64| deadline_ns != NEVER_NS && deadline_ns <= source.clock().now_ns();
        if queue.get(ticket).is_some_and(|waiter| late(waiter.deadline_ns)) {
            finish(queue, source, ticket, Outcome::Refused(Status::TimedOut), notices);
            grant(queue, source, notices);
        }
        let was_issued = queue.was_issued(ticket);
        match queue.get_mut(ticket).map(|waiter| &mut waiter.stage) {
            None | Some(Stage::Free) if was_issued => Polled::Over,
            None | Some(Stage::Free) => Polled::Unknown,
            Some(Stage::Settled(outcome)) => {
                let outcome = *outcome;
                queue.remove(ticket);
                Polled::Settled(outcome)
            }
            Some(Stage::Waiting(notify)) => {
                if let (Notify::Waker(there), Some(waker)) = (notify, waker)
                    && !there.will_wake(waker)
                {
                    replaced = Some(std::mem::replace(there, waker.clone()));
                }
                if queue.head() == Some(ticket) {
                    queue.set_informed(Some(ticket));
                }
                Polled::Pending(wake_after_ns(queue, source, ticket))
            }
        }
    })
}

/// Leaves, if it isn't over. The next in line go on.
pub(crate) fn leave(source: &impl Source, ticket: Ticket) -> Left {
    visit(source, |queue, notices| {
        let left = match queue.get(ticket).map(|waiter| &waiter.stage) {
            Some(Stage::Waiting(_)) => {
                if queue.head() == Some(ticket) {
                    queue.head_since(source.clock().now_ns());
                }
                finish(queue, source, ticket, Outcome::Refused(Status::Cancelled), notices);
                queue.remove(ticket);
                Left::Won
            }
            Some(Stage::Settled(outcome)) => {
                let outcome = *outcome;
                queue.remove(ticket);
                Left::Settled(outcome)
            }
            _ if queue.was_issued(ticket) => Left::Over,
            _ => Left::Unknown,
        };
        grant(queue, source, notices);
        left
    })
}

/// After something was given back or changed: grants who can be.
pub(crate) fn settle(source: &impl Source) {
    settle_after(source, || {});
}

/// Gives something back, by `act`, while nobody comes or goes, and grants who can be.
pub(crate) fn settle_after<T>(source: &impl Source, act: impl FnOnce() -> T) -> T {
    visit(source, |queue, notices| {
        let done = act();
        begin_anew(queue, source);
        grant(queue, source, notices);
        done
    })
}

/// Whatever the head knew of when it is due may be wrong by now. And what is new is so as of now.
fn begin_anew(queue: &mut Queue, source: &impl Source) {
    queue.set_informed(None);
    queue.head_since(source.clock().now_ns());
}

/// Changes a limit, by `act`: as [`settle_after`], and ends the waits for more than can ever be had now.
pub(crate) fn settle_changed(source: &impl Source, act: impl FnOnce()) {
    visit(source, |queue, notices| {
        act();
        begin_anew(queue, source);
        for ticket in queue.tickets().collect::<Vec<_>>() {
            let Some(waiter) = queue.get(ticket) else { continue };
            if let Due::Refused(status) = source.due(waiter.cost, queue.head_since_ns()) {
                finish(queue, source, ticket, Outcome::Refused(status), notices);
            }
        }
        grant(queue, source, notices);
    });
}

/// After the manual clock was moved: also those whose deadline has passed are told, wherever they stand.
pub(crate) fn settle_all(source: &impl Source) {
    visit(source, |queue, notices| {
        grant(queue, source, notices);
        let now = source.clock().now_ns();
        let late = |ticket: &Ticket| queue.get(*ticket).is_some_and(|waiter| waiter.deadline_ns <= now);
        for ticket in queue.tickets().filter(late).collect::<Vec<_>>() {
            finish(queue, source, ticket, Outcome::Refused(Status::TimedOut), notices);
        }
        grant(queue, source, notices);
        // Threads and tasks have slept by another clock, if at all.
        queue.set_informed(None);
    });
}

/// Ends all waits. `close` sees to it, while the queue is open, that no more begin.
pub(crate) fn close(source: &impl Source, close: impl FnOnce()) {
    visit(source, |queue, notices| {
        close();
        while let Some(head) = queue.head() {
            finish(queue, source, head, Outcome::Refused(Status::Closed), notices);
        }
    });
}

/// Grants those who are due, in order, each as of when it was due: so that it doesn't matter how late a timer is. Ends the waits that
/// come to the head too late.
fn grant(queue: &mut Queue, source: &impl Source, notices: &mut Notices) {
    while let Some(ticket) = queue.head() {
        let Some(waiter) = queue.get(ticket) else { unreachable!("the head is in the list") };
        let (cost, deadline_ns) = (waiter.cost, waiter.deadline_ns);
        let now = || source.clock().now_ns();
        match source.due(cost, queue.head_since_ns()) {
            Due::Refused(status) => finish(queue, source, ticket, Outcome::Refused(status), notices),
            Due::At(at_ns) if at_ns <= deadline_ns => {
                // Since when it is head is past, whatever the clock says.
                if at_ns > queue.head_since_ns() && at_ns > now() {
                    break;
                }
                match source.take(cost, at_ns) {
                    Ok(Some(granted)) => {
                        queue.head_since(at_ns);
                        finish(queue, source, ticket, Outcome::Granted(granted), notices);
                    }
                    Ok(None) => {}
                    Err(status) => finish(queue, source, ticket, Outcome::Refused(status), notices),
                }
            }
            Due::At(_) | Due::Unknown => {
                if deadline_ns == NEVER_NS || deadline_ns > now() {
                    break;
                }
                queue.head_since(deadline_ns);
                finish(queue, source, ticket, Outcome::Refused(Status::TimedOut), notices);
            }
        }
    }
}

fn finish(queue: &mut Queue, source: &impl Source, ticket: Ticket, outcome: Outcome, notices: &mut Notices) {
    let Some(notify) = queue.settle(ticket, outcome) else { return };
    if matches!(notify, Notify::Listener(_)) {
        // It is told now, and nobody fetches it.
        queue.remove(ticket);
    }
    notices.push(notify.settled(outcome));
    source.ended(match outcome {
        Outcome::Granted(_) => Status::Allowed,
        Outcome::Refused(status) => status,
    });
}

/// The last thing before the lock is let go.
fn conclude(queue: &mut Queue, source: &impl Source, notices: &mut Notices) {
    let Some(head) = queue.head() else {
        queue.set_informed(None);
        source.unmark();
        return;
    };
    if queue.informed() != Some(head) {
        queue.set_informed(Some(head));
        if let Some(waiter) = queue.get(head)
            && let Stage::Waiting(notify) = &waiter.stage
            && let Due::At(_) = source.due(waiter.cost, queue.head_since_ns())
        {
            notices.push(notify.poll_again());
        }
    }
}

/// After how long a waiter is to look again: when it is due, if it is the head, and at its deadline.
fn wake_after_ns(queue: &Queue, source: &impl Source, ticket: Ticket) -> u64 {
    let Some(waiter) = queue.get(ticket) else { return NEVER_NS };
    let due_ns = match source.due(waiter.cost, queue.head_since_ns()) {
        Due::At(at_ns) if queue.head() == Some(ticket) => at_ns,
        _ => NEVER_NS,
    };
    match due_ns.min(waiter.deadline_ns) {
        NEVER_NS => NEVER_NS,
        // At least 1, so that nobody looks again at once and for ever.
        at_ns => at_ns.saturating_sub(source.clock().now_ns()).max(1),
    }
}
