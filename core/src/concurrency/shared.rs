//! What stays where it is when a concurrency limiter is moved: its word, who waits, and what is counted.

use super::hold_times::HoldTimes;
use super::permit::RawPermit;
use super::word::Word;
use crate::clock::{Clock, Watcher};
use crate::stats::{Count, Counters};
use crate::sync::{AtomicU64, Padded, back_off};
use crate::wait::{self, Desk, Due, Granted, Queue, Source};
use crate::{Status, fork};
use std::ops::DerefMut;
use std::sync::atomic::{AtomicU32, Ordering};

pub(super) struct Shared {
    hot: Padded<Hot>,
    pub(super) counters: Counters,
    pub(super) id: u64,
    /// Of deadlines; the monotonic one if `None`.
    pub(super) clock: Option<Clock>,
    pub(super) hold_times: Option<HoldTimes>,
    pub(super) desk: Desk,
}

struct Hot {
    word: AtomicU64,
    /// The [process](fork) whose permits the word counts.
    process: AtomicU32,
}

impl Shared {
    pub(super) fn new(limit: u64, id: u64, clock: Option<Clock>, track_hold_time: bool, max_waiters: u64) -> Self {
        fork::watch();
        let hot = Hot { word: AtomicU64::new(Word::new(limit).0), process: AtomicU32::new(fork::count()) };
        Self {
            hot: Padded(hot),
            counters: Counters::new(),
            id,
            hold_times: track_hold_time.then(|| HoldTimes::new(clock.clone().unwrap_or_default())),
            clock,
            desk: Desk::new(max_waiters),
        }
    }

    #[inline]
    pub(super) fn word(&self) -> Word {
        self.word_in(fork::count())
    }

    #[inline]
    fn word_in(&self, process: u32) -> Word {
        // Acquire: whoever sees this process's number sees its word.
        if self.hot.0.process.load(Ordering::Acquire) != process {
            self.begin_afresh(process);
        }
        self.load()
    }

    /// Relaxed: the exchange that follows orders what needs order, and a number that is reported orders nothing.
    #[inline]
    fn load(&self) -> Word {
        Word(self.hot.0.word.load(Ordering::Relaxed))
    }

    /// One step of the word; fails with what is there.
    #[inline]
    fn exchange(&self, from: Word, to: Word, order: Ordering) -> Result<(), Word> {
        self.hot.0.word.compare_exchange_weak(from.0, to.0, order, Ordering::Relaxed).map(drop).map_err(Word)
    }

    /// In the child of a fork no permit is out: those of the parent are the parent's.
    #[cold]
    #[inline(never)]
    fn begin_afresh(&self, process: u32) {
        let _queue = self.open();
        if self.hot.0.process.load(Ordering::Relaxed) != process {
            // Relaxed: nobody takes or gives back until the number is there.
            self.hot.0.word.store(self.load().afresh().0, Ordering::Relaxed);
            // Release: as in `word`.
            self.hot.0.process.store(process, Ordering::Release);
        }
    }

    /// Takes permits if nobody waits and they are there.
    #[inline]
    pub(super) fn take_free(&self, permits: u64) -> Option<RawPermit> {
        let process = fork::count();
        let mut word = self.word_in(process);
        loop {
            if permits > word.available() {
                return None;
            }
            // Acquire: what was done under the permit before its release is seen by who takes it next.
            if self.exchange(word, word.taken(permits), Ordering::Acquire).is_ok() {
                let acquired_at_ns = self.hold_times.as_ref().map_or(0, HoldTimes::now_ns);
                return Some(RawPermit { limiter_id: self.id, permits, acquired_at_ns, process });
            }
            back_off();
            word = self.load();
        }
    }

    #[cold]
    pub(super) fn refused(&self, permits: u64) -> Status {
        self.counters.increment(Count::Denied);
        self.load().refusal(permits).unwrap_or(Status::Denied)
    }

    /// Gives back what a permit of this limiter holds, and to whom waits what they wait for. `false` if so many aren't out.
    #[inline]
    pub(super) fn give_back(&self, permits: u64, acquired_at_ns: u64, ok: bool) -> bool {
        let given_back = self.put_back(permits, true);
        if given_back == Some(true) {
            self.count_release(acquired_at_ns, ok);
        }
        given_back.unwrap_or_else(|| self.hand_over(permits, acquired_at_ns, ok))
    }

    /// While nobody comes or goes: so what the head finds unused was given back when it was head, or before.
    #[cold]
    #[inline(never)]
    fn hand_over(&self, permits: u64, acquired_at_ns: u64, ok: bool) -> bool {
        wait::settle_after(self, || {
            let given_back = self.put_back(permits, false) == Some(true);
            if given_back {
                self.count_release(acquired_at_ns, ok);
            }
            given_back
        })
    }

    #[inline]
    fn count_release(&self, acquired_at_ns: u64, ok: bool) {
        self.counters.increment(if ok { Count::ReleasedOk } else { Count::ReleasedFailed });
        if let Some(hold_times) = &self.hold_times {
            hold_times.record(&self.counters, acquired_at_ns);
        }
    }

    /// [`give_back`](Self::give_back) for guards. What one holds is out, unless a copy of a raw permit was released in its place; and
    /// what the parent of this process took is not this one's to give.
    #[inline]
    pub(super) fn give_back_guarded(&self, permit: &RawPermit, ok: bool) {
        if permit.process == fork::count() {
            self.give_back(permit.permits, permit.acquired_at_ns, ok);
        }
    }

    /// Whether so many are out; `None`, and nothing is done, if somebody waits and it is for when nobody does.
    #[inline]
    fn put_back(&self, permits: u64, if_nobody_waits: bool) -> Option<bool> {
        let mut word = self.load();
        loop {
            if if_nobody_waits && word.has_waiters() {
                return None;
            }
            let Some(next) = word.returned(permits) else { return Some(false) };
            // Release: pairs with the acquire of who takes next.
            if self.exchange(word, next, Ordering::Release).is_ok() {
                return Some(true);
            }
            back_off();
            word = self.load();
        }
    }

    /// Relaxed: limits and flags order nothing.
    pub(super) fn update(&self, change: impl Fn(Word) -> Word) {
        let mut word = self.word();
        while let Err(there) = self.exchange(word, change(word), Ordering::Relaxed) {
            word = there;
        }
    }

    pub(super) fn permit(&self, permits: u64, acquired_at_ns: u64) -> RawPermit {
        RawPermit { limiter_id: self.id, permits, acquired_at_ns, process: fork::count() }
    }
}

impl Source for Shared {
    fn open(&self) -> impl DerefMut<Target = Queue> + '_ {
        self.desk.open(|| self.unmark())
    }

    fn max_waiters(&self) -> u64 {
        self.desk.max_waiters()
    }

    fn clock(&self) -> &Clock {
        self.clock.as_ref().unwrap_or_else(|| Clock::shared())
    }

    /// What is unused was so when the head became the head: what is given back while somebody waits is handed over in one step.
    fn due(&self, cost: u64, from_ns: u64) -> Due {
        let word = self.word();
        match word.refusal(cost) {
            Some(status) => Due::Refused(status),
            None if cost <= word.unused() => Due::At(from_ns),
            None => Due::Unknown,
        }
    }

    fn take(&self, cost: u64, at_ns: u64) -> Result<Option<Granted>, Status> {
        let mut word = self.load();
        while word.refusal(cost).is_none() && cost <= word.unused() {
            // Acquire: as in `take_free`.
            match self.exchange(word, word.taken(cost), Ordering::Acquire) {
                Ok(()) => return Ok(Some(Granted { at_ns, void_count: 0 })),
                Err(there) => word = there,
            }
        }
        Ok(None)
    }

    fn take_now(&self, cost: u64) -> Option<u64> {
        self.take_free(cost).map(|permit| permit.acquired_at_ns)
    }

    fn mark_or_take(&self, cost: u64) -> Result<Option<u64>, Status> {
        let mut word = self.word();
        loop {
            let taken = cost <= word.unused();
            let next = if taken { word.taken(cost) } else { word.with_waiters(true) };
            // Acquire: as in `take_free`. Who gives back after a mark changes the word after it, and so sees it.
            match self.exchange(word, next, Ordering::Acquire) {
                Ok(()) => return Ok(taken.then(|| self.clock().now_ns())),
                Err(there) => word = there,
            }
        }
    }

    fn unmark(&self) {
        // The word as it is: in the child of a fork this comes before it is begun afresh.
        let mut word = self.load();
        while word.has_waiters() {
            match self.exchange(word, word.with_waiters(false), Ordering::Relaxed) {
                Ok(()) => return,
                Err(there) => word = there,
            }
        }
    }

    /// Nobody knows when permits come back.
    fn least_wait_ns(&self, _ahead: impl Iterator<Item = u64> + Clone, _total_ahead: u64, _cost: u64) -> u64 {
        0
    }

    fn ended(&self, status: Status) {
        self.counters.increment(Count::of_wait(status));
    }

    fn give_back(&self, cost: u64, _granted: Granted) {
        if self.put_back(cost, true).is_none() {
            wait::settle_after(self, || self.put_back(cost, false));
        }
    }
}

impl Watcher for Shared {
    fn clock_moved(&self) {
        wait::settle_all(self);
    }
}

impl Drop for Shared {
    /// Who waits by a listener may outlast the limiter.
    fn drop(&mut self) {
        wait::close(self, || {});
    }
}
