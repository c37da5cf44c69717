//! Counters that cost next to nothing and are exact.
//!
//! Each of the first [`OWNED`] threads of a process owns a cache line in every limiter and counts there with a plain load
//! and store. Threads beyond that share some further lines, with atomic adds. Reading adds up all lines.

use crate::Status;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// What a limiter has done since it was built. Counts are of calls, not tokens; those that do not apply are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Calls that were admitted, at once or after a wait.
    pub allowed: u64,
    /// Calls that were refused.
    pub denied: u64,
    /// Waits that outlasted their timeout, or would have and so did not begin.
    pub timed_out: u64,
    /// Waits that were cancelled.
    pub cancelled: u64,
    /// How many wait at the moment.
    pub waiting: u64,
    /// Permits out at the moment (concurrency limiters).
    pub in_flight: u64,
    /// Permits that could be taken at the moment (concurrency limiters).
    pub available: u64,
    /// The limit at the moment (concurrency limiters).
    pub limit: u64,
    /// Releases whose work went well.
    pub released_ok: u64,
    /// Releases whose work failed.
    pub released_failed: u64,
    /// How long permits were held, in total; only if hold times are tracked.
    pub hold_time_total: Duration,
    /// How long the longest-held permit was held; only if hold times are tracked.
    pub hold_time_max: Duration,
    /// Keys that count at the moment, about (keyed limiters): exact up to some 6,000 keys of capacity, else from a sample.
    pub live_keys: u64,
    /// Keys that were forgotten for new ones though they counted (keyed limiters).
    pub evicted_live: u64,
    /// How many keys may count at once (keyed limiters).
    pub capacity: u64,
}

/// Threads with a line of their own: the bits of [`TAKEN`].
const OWNED: usize = 32;
/// Lines that all further threads share.
const SHARED: usize = 8;

/// What is counted: the place in a line.
#[derive(Clone, Copy)]
pub(crate) enum Count {
    Allowed,
    Denied,
    ReleasedOk,
    ReleasedFailed,
    HoldTimeNs,
    TimedOut,
    Cancelled,
    /// Requests to which no rule of a gate applied.
    #[cfg_attr(not(feature = "gate"), expect(dead_code, reason = "only gates have rules"))]
    Unmatched,
}

impl Count {
    /// Where the end of a wait, or of an attempt at one, is counted.
    pub(crate) fn of_wait(status: Status) -> Self {
        match status {
            Status::Allowed => Self::Allowed,
            Status::TimedOut => Self::TimedOut,
            Status::Cancelled => Self::Cancelled,
            _ => Self::Denied,
        }
    }
}

#[derive(Default)]
#[repr(align(64))]
struct Line([AtomicU64; 8]);

pub(crate) struct Counters {
    lines: [Line; OWNED + SHARED],
}

impl Counters {
    pub(crate) fn new() -> Self {
        Self { lines: std::array::from_fn(|_| Line::default()) }
    }

    #[inline]
    pub(crate) fn increment(&self, count: Count) {
        self.add(count, 1);
    }

    #[inline]
    pub(crate) fn add(&self, count: Count, amount: u64) {
        let line = LINE.get();
        if line < OWNED {
            let counter = &self.lines[line].0[count as usize];
            // Relaxed, and not one atomic step: no other living thread writes to this line. A thread that gets the line
            // later acquires it from `TAKEN`, which this thread releases when it ends.
            counter.store(counter.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
        } else {
            self.add_shared(count, amount);
        }
    }

    #[cold]
    fn add_shared(&self, count: Count, amount: u64) {
        let line = assigned_line();
        if line < OWNED {
            self.add(count, amount);
        } else {
            // Relaxed: counters order nothing.
            self.lines[line].0[count as usize].fetch_add(amount, Ordering::Relaxed);
        }
    }

    pub(crate) fn total(&self, count: Count) -> u64 {
        self.lines.iter().map(|line| line.0[count as usize].load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
    }
}

const UNASSIGNED: usize = usize::MAX;

/// One bit for each owned line: set while a thread owns it.
static TAKEN: AtomicU32 = AtomicU32::new(0);
/// Deals out the shared lines in turn.
static NEXT_SHARED: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static LINE: Cell<usize> = const { Cell::new(UNASSIGNED) };
    /// Gives the line back when the thread ends. Apart from `LINE`, so that reading that needs no check for destruction.
    static OWNER: Owner = const { Owner };
}

struct Owner;

impl Drop for Owner {
    fn drop(&mut self) {
        let line = LINE.replace(next_shared());
        if line < OWNED {
            // Release: the next owner of the line sees all that this thread counted.
            TAKEN.fetch_and(!(1 << line), Ordering::Release);
        }
    }
}

/// This thread's line: an owned one if one is free, else a shared one.
fn assigned_line() -> usize {
    if LINE.get() == UNASSIGNED {
        // A thread that is already being torn down gets no owner, and so no owned line.
        let line = OWNER.try_with(|_| take_owned()).ok().flatten().unwrap_or_else(next_shared);
        LINE.set(line);
    }
    LINE.get()
}

fn take_owned() -> Option<usize> {
    let mut taken = TAKEN.load(Ordering::Relaxed);
    while taken != u32::MAX {
        let line = taken.trailing_ones();
        // Acquire: see what the last owner of the line counted.
        match TAKEN.compare_exchange_weak(taken, taken | 1 << line, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => return Some(line as usize),
            Err(now) => taken = now,
        }
    }
    None
}

fn next_shared() -> usize {
    OWNED + NEXT_SHARED.fetch_add(1, Ordering::Relaxed) as usize % SHARED
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_with_more_threads_than_owned_lines_and_with_threads_that_come_and_go() {
        let counters = Counters::new();
        for _ in 0..3 {
            std::thread::scope(|scope| {
                for _ in 0..OWNED * 2 {
                    scope.spawn(|| (0..1_000).for_each(|_| counters.increment(Count::Denied)));
                }
            });
        }
        assert_eq!(counters.total(Count::Denied), 3 * OWNED as u64 * 2 * 1_000);
        assert_eq!(counters.total(Count::Allowed), 0);
    }
}
