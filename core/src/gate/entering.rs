//! A request that waits to be admitted: one rule after the other, in an order that is the same for all.

use super::Shared;
use super::admission::{Asked, Held, Hold, phases};
use super::checked::Patience;
use super::entry::Entry;
use super::limiter::{Limiter, Taken};
use super::refusal::{EnterError, Refusal};
use super::rule_set::{Found, RuleSet};
use crate::lock::Lock;
use crate::wait::{Event, Sleep, Started, Ticket};
use crate::{NEVER_NS, Status, fork};
use smallvec::SmallVec;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// What came of a request so far.
#[derive(Debug)]
pub enum Progress {
    /// It is admitted.
    Entered(Box<Entry>),
    /// It is refused.
    Refused(Box<Refusal>),
    /// It waits: [poll](Entering::poll) it when the waker is woken, and after so many ns at the latest ([`NEVER_NS`]: never).
    Pending {
        /// After how many ns on the gate's clock.
        wake_after_ns: u64,
    },
}

/// A request that waits to be admitted. Dropping it ends the wait; what it had got is given back.
///
/// It waits for permits first, then for tokens, then asks those rules that don't let it wait; while it waits it holds what it has got
/// by waiting, and nothing else.
#[must_use = "dropping it ends the wait"]
pub struct Entering {
    gate: Arc<Shared>,
    set: Arc<RuleSet>,
    found: Found,
    values: Vec<Option<Vec<u8>>>,
    cost: u64,
    timeout: Option<Duration>,
    began_ns: u64,
    process: u32,
    held: Held,
    /// Which of the rules that are waited for is next.
    next: usize,
    wait: Option<Wait>,
}

struct Wait {
    place: u32,
    key: Vec<u8>,
    limiter: Arc<Limiter>,
    ticket: Ticket,
    slot: Arc<Slot>,
}

/// Where a limiter leaves word.
#[derive(Default)]
struct Slot(Lock<Word>);

#[derive(Default)]
struct Word {
    event: Option<Event<Taken>>,
    waker: Option<Waker>,
    /// Nobody comes to look: what is granted goes back.
    is_abandoned: bool,
}

impl Slot {
    /// A grant that nobody wants any more is returned.
    fn put(&self, event: Event<Taken>) -> Option<Taken> {
        let waker = {
            let mut word = self.0.lock();
            match event {
                Event::Granted(taken) if word.is_abandoned => return Some(taken),
                _ if word.is_abandoned => {}
                // What was said before may be the last word.
                Event::PollAgain => {}
                last => word.event = Some(last),
            }
            word.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        None
    }

    fn take(&self, waker: &Waker) -> Option<Event<Taken>> {
        let mut word = self.0.lock();
        word.waker = Some(waker.clone());
        word.event.take()
    }

    fn abandon(&self) -> Option<Event<Taken>> {
        let mut word = self.0.lock();
        word.is_abandoned = true;
        word.waker = None;
        word.event.take()
    }
}

impl Entering {
    /// `held` is what the rules to be waited for have given so far; the first of them that refused is `next`.
    pub(super) fn new(
        gate: &Arc<Shared>,
        asked: Asked<'_>,
        found: Found,
        timeout: Option<Duration>,
        held: Held,
        next: usize,
    ) -> Self {
        Self {
            gate: Arc::clone(gate),
            set: Arc::clone(asked.set),
            found,
            values: asked.values.iter().map(|value| value.map(<[u8]>::to_vec)).collect(),
            cost: asked.cost,
            timeout,
            began_ns: gate.clock.now_ns(),
            process: fork::count(),
            held,
            next,
            wait: None,
        }
    }

    /// Goes on as far as it can without waiting, and sees to it that `waker` is woken when it can go on again. Not to be called
    /// any more once it is admitted or refused.
    pub fn poll(&mut self, waker: &Waker) -> Progress {
        if self.process != fork::count() {
            return self.forked();
        }
        loop {
            if let Some(wait) = &self.wait {
                match wait.slot.take(waker) {
                    Some(Event::Granted(taken)) => {
                        self.held.push(Hold { rule: wait.place, taken });
                        self.wait = None;
                        self.next += 1;
                    }
                    Some(Event::Refused(status)) => {
                        let place = wait.place;
                        self.wait = None;
                        return self.refuse(place, status);
                    }
                    Some(Event::PollAgain) | None => {
                        let polled = wait.limiter.poll(wait.ticket);
                        match wait.slot.take(waker) {
                            Some(event) => _ = wait.slot.put(event),
                            // If it is over, word of it is on its way.
                            None => return Progress::Pending { wake_after_ns: polled.unwrap_or(NEVER_NS) },
                        }
                    }
                }
            } else if let Some(progress) = self.step() {
                return progress;
            }
        }
    }

    /// Asks the next rule, or begins to wait for it; `None` to go on.
    fn step(&mut self) -> Option<Progress> {
        self.with_asked(|this, asked| {
            let mut found = this.found.clone();
            let (tries, waits, shadows) = phases(asked.set, &mut found);
            if let Some(place) = waits.get(this.next) {
                return this.ask(asked, *place);
            }
            Some(match asked.take(tries, &mut this.held) {
                Ok(()) => {
                    let mut held = std::mem::take(&mut this.held);
                    let applies = asked.admitted(&mut held, shadows, |refusal| this.gate.tell_shadow(refusal));
                    Progress::Entered(Box::new(Entry::admitted(Arc::clone(asked.set), held, applies)))
                }
                Err((place, status)) => this.refuse_asked(asked, place, status),
            })
        })
    }

    fn with_asked<T>(&mut self, act: impl FnOnce(&mut Self, Asked<'_>) -> T) -> T {
        let set = Arc::clone(&self.set);
        let owned = std::mem::take(&mut self.values);
        let result = {
            let values: SmallVec<[Option<&[u8]>; 8]> = owned.iter().map(|value| value.as_deref()).collect();
            let cost = self.cost;
            act(self, Asked { set: &set, values: &values, cost })
        };
        self.values = owned;
        result
    }

    fn ask(&mut self, asked: Asked<'_>, place: u32) -> Option<Progress> {
        let status = match asked.take(&[place], &mut self.held) {
            Ok(()) => {
                self.next += 1;
                return None;
            }
            Err((_, status)) => status,
        };
        let placed = asked.set.rule(place);
        let left = self.timeout.map(|timeout| timeout.saturating_sub(self.elapsed()));
        let Some(timeout) = patience_left(placed.patience, status, left) else {
            // Its time may have been over before it came to wait here.
            let is_late = patience_left(placed.patience, status, self.timeout).is_some();
            return Some(self.refuse_asked(asked, place, if is_late { Status::TimedOut } else { status }));
        };
        let mut joined = SmallVec::new();
        let key = placed.key(asked.values, &mut joined).to_vec();
        let slot = Arc::new(Slot::default());
        let listener = {
            let (slot, key, limiter) = (Arc::clone(&slot), key.clone(), Arc::downgrade(&placed.limiter));
            move |event| {
                // Who grants holds the limiter.
                if let (Some(unwanted), Some(limiter)) = (slot.put(event), limiter.upgrade()) {
                    limiter.give_back(&key, &unwanted, true);
                }
            }
        };
        match placed.limiter.start(&key, placed.cost(self.cost), Some(timeout), listener) {
            Started::Granted(taken) => {
                self.held.push(Hold { rule: place, taken });
                self.next += 1;
                None
            }
            Started::Refused(status) => Some(self.refuse_asked(asked, place, status)),
            Started::Pending { ticket, .. } => {
                self.wait = Some(Wait { place, key, limiter: Arc::clone(&placed.limiter), ticket, slot });
                None
            }
        }
    }

    fn refuse(&mut self, place: u32, status: Status) -> Progress {
        self.with_asked(|this, asked| this.refuse_asked(asked, place, status))
    }

    fn refuse_asked(&mut self, asked: Asked<'_>, place: u32, status: Status) -> Progress {
        asked.give_back(&mut self.held);
        let mut refusal = asked.refused(&self.found, place, status);
        refusal.elapsed = self.elapsed();
        refusal.timeout = self.timeout;
        self.gate.tell_refused(&refusal);
        Progress::Refused(Box::new(refusal))
    }

    /// The parent waits, this process doesn't.
    #[cold]
    fn forked(&mut self) -> Progress {
        self.wait = None;
        self.held.clear();
        self.process = fork::count();
        match self.found.first() {
            Some(place) => self.refuse(*place, Status::Forked),
            None => Progress::Pending { wake_after_ns: NEVER_NS },
        }
    }

    fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.gate.clock.now_ns().saturating_sub(self.began_ns))
    }
}

impl Drop for Entering {
    fn drop(&mut self) {
        if self.process != fork::count() {
            return;
        }
        if let Some(wait) = self.wait.take() {
            match wait.slot.abandon() {
                Some(Event::Granted(taken)) => wait.limiter.give_back(&wait.key, &taken, true),
                _ => wait.limiter.cancel(wait.ticket),
            }
        }
        self.with_asked(|this, asked| asked.give_back(&mut this.held));
    }
}

/// How long a request that was refused with `status` may wait, if at all, when its call has `left` to wait.
pub(super) fn patience_left(patience: Patience, status: Status, left: Option<Duration>) -> Option<Duration> {
    let most = match patience {
        Patience::None => return None,
        Patience::AtMost(most) => left.map_or(most, |left| left.min(most)),
        // A call that doesn't say how long it may wait doesn't.
        Patience::Call => left?,
    };
    (status == Status::Denied && !most.is_zero()).then_some(most)
}

/// A request as a future; made by [`Gate::enter_async`](super::Gate::enter_async).
#[must_use = "a future does nothing until it is awaited"]
pub struct EnterFuture {
    pub(super) begun: Option<Begun>,
    pub(super) sleep: Sleep,
    pub(super) sleeping: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

/// What came of a request at once, by [`Gate::begin`](super::Gate::begin).
pub enum Begun {
    /// It is admitted. Boxed where it is filled, since to move it takes as long as to decide.
    Entered(Box<Entry>),
    /// It is refused.
    Refused(Box<Refusal>),
    /// It has to wait.
    Waits(Box<Entering>),
}

impl Future for EnterFuture {
    type Output = Result<Entry, EnterError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let mut entering = match this.begun.take() {
            Some(Begun::Entered(entry)) => return Poll::Ready(Ok(*entry)),
            Some(Begun::Refused(refusal)) => return Poll::Ready(Err(EnterError::Refused(refusal))),
            Some(Begun::Waits(entering)) => entering,
            // Polled after it was done.
            None => return Poll::Pending,
        };
        loop {
            match entering.poll(context.waker()) {
                Progress::Entered(entry) => return Poll::Ready(Ok(*entry)),
                Progress::Refused(refusal) => return Poll::Ready(Err(EnterError::Refused(refusal))),
                Progress::Pending { wake_after_ns } => {
                    this.sleeping = None;
                    if wake_after_ns != NEVER_NS && entering.gate.clock.runs_by_itself() {
                        let mut sleeping = (this.sleep)(Duration::from_nanos(wake_after_ns));
                        if sleeping.as_mut().poll(context).is_ready() {
                            continue;
                        }
                        this.sleeping = Some(sleeping);
                    }
                    this.begun = Some(Begun::Waits(entering));
                    return Poll::Pending;
                }
            }
        }
    }
}
