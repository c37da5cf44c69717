//! Who waits, in order: a linked list through a vector whose places are used again.

use super::notice::Notify;
use crate::table::KeyHash;

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

/// What was taken for one that waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Granted {
    /// As of when.
    pub(crate) at_ns: u64,
    /// As it was before: what the source counts that voids grants.
    pub(crate) void_count: u64,
}

/// What became of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Granted(Granted),
    Refused(crate::Status),
}

pub(crate) struct Waiter {
    pub(crate) cost: u64,
    pub(crate) deadline_ns: u64,
    pub(crate) stage: Stage,
    key: KeyHash,
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

/// The waiters of a limiter, whichever the key.
#[derive(Default)]
pub(crate) struct Places {
    waiters: Vec<Waiter>,
    free: Option<u32>,
    /// Those that aren't free.
    taken: u32,
    last_serial: u32,
}

/// The line of those that wait for one budget.
#[derive(Default)]
pub(crate) struct Line {
    first: Option<u32>,
    last: Option<u32>,
    waiting: u32,
    total_cost: u128,
    head_since_ns: u64,
    informed: Option<Ticket>,
}

/// The line of one budget, and the places in which its waiters are.
#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) places: Places,
    pub(crate) line: Line,
    /// Whose line it is, for those that wait to be found again.
    pub(crate) key: KeyHash,
}

const NONE: u32 = u32::MAX;
/// With more places than this, memory is given back once nobody is here.
const KEPT: usize = 256;

fn to_option(index: u32) -> Option<u32> {
    (index != NONE).then_some(index)
}

impl Places {
    fn get(&self, ticket: Ticket) -> Option<&Waiter> {
        let waiter = self.waiters.get(ticket.index())?;
        (waiter.serial == ticket.serial() && !matches!(waiter.stage, Stage::Free)).then_some(waiter)
    }

    /// Whether such a ticket may have been issued, now that it isn't here.
    pub(crate) fn was_issued(&self, ticket: Ticket) -> bool {
        // Serials wrap, so of a long-lived queue any may have been.
        ticket.serial() != 0 && ticket.serial().wrapping_sub(1) < self.last_serial
    }

    /// In whose line one waits, or did.
    pub(crate) fn key_of(&self, ticket: Ticket) -> Option<KeyHash> {
        self.get(ticket).map(|waiter| waiter.key)
    }
}

impl Line {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    pub(crate) fn len(&self) -> u64 {
        u64::from(self.waiting)
    }
}

impl Queue {
    pub(crate) fn len(&self) -> u64 {
        u64::from(self.line.waiting)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.line.waiting == 0
    }

    /// What all who wait ask for.
    pub(crate) fn total_cost(&self) -> u64 {
        u64::try_from(self.line.total_cost).unwrap_or(u64::MAX)
    }

    /// The time from which the head is head.
    pub(crate) fn head_since_ns(&self) -> u64 {
        self.line.head_since_ns
    }

    /// The head, or what it is to be told, is as it is from `now_ns` on.
    pub(crate) fn head_since(&mut self, now_ns: u64) {
        self.line.head_since_ns = self.line.head_since_ns.max(now_ns);
    }

    /// The head that knows when it is due.
    pub(crate) fn informed(&self) -> Option<Ticket> {
        self.line.informed
    }

    pub(crate) fn set_informed(&mut self, informed: Option<Ticket>) {
        self.line.informed = informed;
    }

    pub(crate) fn head(&self) -> Option<Ticket> {
        self.line.first.map(|index| self.ticket_at(index))
    }

    fn ticket_at(&self, index: u32) -> Ticket {
        Ticket::new(self.places.waiters[index as usize].serial, index)
    }

    /// Those in the list, in order.
    pub(crate) fn tickets(&self) -> impl Iterator<Item = Ticket> + '_ {
        let next = |index: &u32| to_option(self.places.waiters[*index as usize].after);
        std::iter::successors(self.line.first, next).map(|index| self.ticket_at(index))
    }

    pub(crate) fn costs(&self) -> impl Iterator<Item = u64> + Clone + '_ {
        let next = |index: &u32| to_option(self.places.waiters[*index as usize].after);
        std::iter::successors(self.line.first, next).map(|index| self.places.waiters[index as usize].cost)
    }

    pub(crate) fn get(&self, ticket: Ticket) -> Option<&Waiter> {
        self.places.get(ticket)
    }

    pub(crate) fn get_mut(&mut self, ticket: Ticket) -> Option<&mut Waiter> {
        self.get(ticket)?;
        self.places.waiters.get_mut(ticket.index())
    }

    pub(crate) fn was_issued(&self, ticket: Ticket) -> bool {
        self.places.was_issued(ticket)
    }

    /// To the end of the list. There must be a place: fewer than 2³² − 1 wait.
    pub(crate) fn push(&mut self, cost: u64, deadline_ns: u64, notify: Notify) -> Ticket {
        self.places.last_serial = self.places.last_serial.checked_add(1).unwrap_or(1);
        let before = self.line.last.unwrap_or(NONE);
        let stage = Stage::Waiting(notify);
        let waiter =
            Waiter { cost, deadline_ns, stage, key: self.key, serial: self.places.last_serial, before, after: NONE };
        let index = match self.places.free {
            Some(index) => {
                self.places.free = to_option(self.places.waiters[index as usize].after);
                self.places.waiters[index as usize] = waiter;
                index
            }
            None => {
                self.places.waiters.push(waiter);
                (self.places.waiters.len() - 1) as u32
            }
        };
        match self.line.last {
            Some(last) => self.places.waiters[last as usize].after = index,
            None => self.line.first = Some(index),
        }
        self.line.last = Some(index);
        self.line.waiting += 1;
        self.places.taken += 1;
        self.line.total_cost += u128::from(cost);
        Ticket::new(self.places.last_serial, index)
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
            Some(before) => self.places.waiters[before as usize].after = after,
            None => self.line.first = to_option(after),
        }
        match to_option(after) {
            Some(after) => self.places.waiters[after as usize].before = before,
            None => self.line.last = to_option(before),
        }
        self.line.waiting -= 1;
        self.line.total_cost -= u128::from(cost);
        Some(notify)
    }

    /// Frees the place of one that is settled.
    pub(crate) fn remove(&mut self, ticket: Ticket) {
        let free = self.places.free.unwrap_or(NONE);
        let Some(waiter) = self.get_mut(ticket) else { return };
        waiter.stage = Stage::Free;
        waiter.after = free;
        self.places.free = Some(ticket.index() as u32);
        self.places.taken -= 1;
        if self.places.taken == 0 && self.places.waiters.len() > KEPT {
            self.places.waiters = Vec::new();
            self.places.free = None;
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
        let held = queue.places.waiters.capacity() * size_of::<Waiter>();
        assert!(held / 10_000 <= 256, "{} bytes a waiter", held / 10_000);
        crowd.iter().for_each(|ticket| leave(&mut queue, *ticket));
        assert_eq!(queue.places.waiters.capacity(), 0);
        assert!(crowd.iter().all(|ticket| queue.get(*ticket).is_none()));
    }
}
