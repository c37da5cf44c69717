//! Who waits, in order: a linked list through a vector whose places are used again.

use super::notice::Notify;

/// Names one wait of one limiter. Never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(u64);

impl Ticket {
    fn new(serial: u32, index: u32) -> Self {
        Self(u64::from(serial) << 32 | u64::from(index))
    }

    fn index(self) -> usize {
        self.0 as u32 as usize
    }

    fn serial(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// As a number, to be carried across a border.
    #[must_use]
    pub fn to_u64(self) -> u64 {
        self.0
    }

    /// From what [`to_u64`](Self::to_u64) gave. Any other number is a ticket that no wait has.
    #[must_use]
    pub fn from_u64(number: u64) -> Self {
        Self(number)
    }
}

/// What became of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Taken, as of this time.
    Granted(u64),
    Refused(crate::Status),
}

pub(crate) struct Waiter {
    pub(crate) cost: u64,
    pub(crate) deadline_ns: u64,
    pub(crate) stage: Stage,
    serial: u32,
    before: u32,
    after: u32,
}

pub(crate) enum Stage {
    /// In the list.
    Waiting(Notify),
    /// Out of the list, until the outcome is fetched.
    Settled(Outcome),
    /// Nobody's; `after` is the next such place.
    Free,
}

#[derive(Default)]
pub(crate) struct Queue {
    waiters: Vec<Waiter>,
    first: Option<u32>,
    last: Option<u32>,
    free: Option<u32>,
    waiting: u32,
    /// Places that aren't free.
    taken: u32,
    total_cost: u128,
    last_serial: u32,
    /// The time from which the head is head.
    pub(crate) head_since_ns: u64,
    /// The head that knows when it is due.
    pub(crate) informed: Option<Ticket>,
}

const NONE: u32 = u32::MAX;
/// With more places than this, memory is given back once nobody is here.
const KEPT: usize = 256;

fn to_option(index: u32) -> Option<u32> {
    (index != NONE).then_some(index)
}

impl Queue {
    pub(crate) fn len(&self) -> u64 {
        u64::from(self.waiting)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// What all who wait ask for.
    pub(crate) fn total_cost(&self) -> u64 {
        u64::try_from(self.total_cost).unwrap_or(u64::MAX)
    }

    pub(crate) fn head(&self) -> Option<Ticket> {
        self.first.map(|index| self.ticket_at(index))
    }

    fn ticket_at(&self, index: u32) -> Ticket {
        Ticket::new(self.waiters[index as usize].serial, index)
    }

    /// Those in the list, in order.
    pub(crate) fn tickets(&self) -> impl Iterator<Item = Ticket> + '_ {
        let next = |index: &u32| to_option(self.waiters[*index as usize].after);
        std::iter::successors(self.first, next).map(|index| self.ticket_at(index))
    }

    pub(crate) fn costs(&self) -> impl Iterator<Item = u64> + Clone + '_ {
        let next = |index: &u32| to_option(self.waiters[*index as usize].after);
        std::iter::successors(self.first, next).map(|index| self.waiters[index as usize].cost)
    }

    pub(crate) fn get(&self, ticket: Ticket) -> Option<&Waiter> {
        let waiter = self.waiters.get(ticket.index())?;
        (waiter.serial == ticket.serial() && !matches!(waiter.stage, Stage::Free)).then_some(waiter)
    }

    pub(crate) fn get_mut(&mut self, ticket: Ticket) -> Option<&mut Waiter> {
        self.get(ticket)?;
        self.waiters.get_mut(ticket.index())
    }

    /// Whether such a ticket may have been issued, now that it isn't here.
    pub(crate) fn was_issued(&self, ticket: Ticket) -> bool {
        // Serials wrap, so of a long-lived queue any may have been.
        ticket.serial() != 0 && ticket.serial().wrapping_sub(1) < self.last_serial
    }

    /// To the end of the list. There must be a place: fewer than 2³² − 1 wait.
    pub(crate) fn push(&mut self, cost: u64, deadline_ns: u64, notify: Notify) -> Ticket {
        self.last_serial = self.last_serial.checked_add(1).unwrap_or(1);
        let before = self.last.unwrap_or(NONE);
        let stage = Stage::Waiting(notify);
        let waiter = Waiter { cost, deadline_ns, stage, serial: self.last_serial, before, after: NONE };
        let index = match self.free {
            Some(index) => {
                self.free = to_option(self.waiters[index as usize].after);
                self.waiters[index as usize] = waiter;
                index
            }
            None => {
                self.waiters.push(waiter);
                (self.waiters.len() - 1) as u32
            }
        };
        match self.last {
            Some(last) => self.waiters[last as usize].after = index,
            None => self.first = Some(index),
        }
        self.last = Some(index);
        self.waiting += 1;
        self.taken += 1;
        self.total_cost += u128::from(cost);
        Ticket::new(self.last_serial, index)
    }

    /// Takes one that waits out of the list; it stays until it is [removed](Self::remove).
    pub(crate) fn settle(&mut self, ticket: Ticket, outcome: Outcome) -> Option<Notify> {
        let waiter = self.get_mut(ticket)?;
        if !matches!(waiter.stage, Stage::Waiting(_)) {
            return None;
        }
        let Stage::Waiting(notify) = std::mem::replace(&mut waiter.stage, Stage::Settled(outcome)) else { return None };
        let (before, after, cost) = (waiter.before, waiter.after, waiter.cost);
        match to_option(before) {
            Some(before) => self.waiters[before as usize].after = after,
            None => self.first = to_option(after),
        }
        match to_option(after) {
            Some(after) => self.waiters[after as usize].before = before,
            None => self.last = to_option(before),
        }
        self.waiting -= 1;
        self.total_cost -= u128::from(cost);
        Some(notify)
    }

    /// Frees the place of one that is settled.
    pub(crate) fn remove(&mut self, ticket: Ticket) {
        let free = self.free.unwrap_or(NONE);
        let Some(waiter) = self.get_mut(ticket) else { return };
        waiter.stage = Stage::Free;
        waiter.after = free;
        self.free = Some(ticket.index() as u32);
        self.taken -= 1;
        if self.taken == 0 && self.waiters.len() > KEPT {
            self.waiters = Vec::new();
            self.free = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;
    use std::task::Waker;

    fn push(queue: &mut Queue, cost: u64) -> Ticket {
        queue.push(cost, u64::MAX, Notify::Waker(Waker::noop().clone()))
    }

    fn leave(queue: &mut Queue, ticket: Ticket) {
        queue.settle(ticket, Outcome::Refused(Status::Cancelled)).expect("it waits");
        queue.remove(ticket);
    }

    #[test]
    fn order_is_kept_whoever_leaves_and_places_are_used_again() {
        let mut queue = Queue::default();
        let [one, two, three] = [1, 2, 3].map(|cost| push(&mut queue, cost));
        leave(&mut queue, two);
        assert_eq!(queue.tickets().collect::<Vec<_>>(), [one, three]);
        let four = push(&mut queue, 4);
        assert_eq!(four.index(), two.index(), "the place is used again");
        assert_ne!(four, two);
        assert!(queue.get(two).is_none() && queue.was_issued(two));
        leave(&mut queue, one);
        leave(&mut queue, four);
        assert_eq!((queue.head(), queue.len(), queue.total_cost()), (Some(three), 1, 3));
        leave(&mut queue, three);
        assert_eq!((queue.head(), queue.len(), queue.total_cost()), (None, 0, 0));
    }

    #[test]
    fn memory_comes_back_after_a_crowd() {
        let mut queue = Queue::default();
        let crowd: Vec<Ticket> = (0..10_000).map(|_| push(&mut queue, 1)).collect();
        let held = queue.waiters.capacity() * size_of::<Waiter>();
        assert!(held / 10_000 <= 256, "{} bytes a waiter", held / 10_000);
        crowd.iter().for_each(|ticket| leave(&mut queue, *ticket));
        assert_eq!(queue.waiters.capacity(), 0);
        assert!(crowd.iter().all(|ticket| queue.get(*ticket).is_none()));
    }
}
