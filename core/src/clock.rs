//! Time: nanoseconds that never go back.

use crate::fork;
use crate::lock::Lock;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, SystemTime};

/// The clock of a limiter: whole nanoseconds since some origin, never going back.
///
/// [`Clock::monotonic`] is the default. [`ManualClock`] is for tests: it moves only when told.
#[derive(Clone)]
pub struct Clock {
    source: Source,
    /// What to add to this clock for nanoseconds since the Unix epoch; sampled once.
    unix_offset_ns: u64,
}

#[derive(Clone)]
enum Source {
    Monotonic { counter: quanta::Clock, scale: Scale },
    Manual(Arc<ManualTime>),
}

/// Counts to nanoseconds by one multiplication, of which the upper half is the result.
#[derive(Clone, Copy)]
struct Scale {
    /// The least by which a count must be shifted so that what it then stands for is below 1 ns: 0 where the counter is faster
    /// than that, 6 at 24 MHz. So counts have 58 bits there, which last for centuries.
    shift: u32,
    /// Nanoseconds of 2⁶⁴⁻ˢʰⁱᶠᵗ counts.
    factor: u64,
}

impl Scale {
    fn new(ns_of_counts: impl Fn(u64) -> u64) -> Self {
        let shift = (u64::BITS - ns_of_counts(1 << 32).leading_zeros()).saturating_sub(32);
        Self { shift, factor: 2 * ns_of_counts(1 << (63 - shift)) }
    }

    #[inline]
    fn ns(self, count: u64) -> u64 {
        ((u128::from(count << self.shift) * u128::from(self.factor)) >> 64) as u64
    }
}

impl Clock {
    /// The machine's monotonic clock: the time stamp counter where it can be trusted, else the operating system's.
    ///
    /// The first call in a process calibrates the counter, which can take up to 200 ms. All monotonic clocks of a process
    /// share one origin. The counter drifts from the operating system's clock by parts per million.
    #[must_use]
    pub fn monotonic() -> Self {
        Self::shared().clone()
    }

    /// The monotonic clock, calibrated when it is first asked for.
    pub(crate) fn shared() -> &'static Self {
        static MONOTONIC: OnceLock<Clock> = OnceLock::new();
        MONOTONIC.get().unwrap_or_else(|| fork::whole(|| MONOTONIC.get_or_init(Self::calibrated)))
    }

    fn calibrated() -> Self {
        let counter = quanta::Clock::new();
        let scale = Scale::new(|counts| counter.delta_as_nanos(0, counts));
        let source = Source::Monotonic { counter, scale };
        let mut clock = Self { source, unix_offset_ns: 0 };
        let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        clock.unix_offset_ns = saturating_ns(unix).saturating_sub(clock.now_ns());
        clock
    }

    /// Nanoseconds since the clock's origin. Never goes back.
    #[inline]
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        match &self.source {
            // No origin to subtract, no half to shift into another: this is a third of what a decision costs.
            Source::Monotonic { counter, scale } => scale.ns(counter.raw()),
            Source::Manual(time) => time.now_ns.load(Ordering::Acquire),
        }
    }

    /// Whether a thread that sleeps sees this clock move on.
    pub(crate) fn runs_by_itself(&self) -> bool {
        matches!(self.source, Source::Monotonic { .. })
    }

    /// `watcher` is told whenever this clock is moved by hand, for as long as it lives.
    pub(crate) fn watch(&self, watcher: Weak<dyn Watcher>) {
        if let Source::Manual(time) = &self.source {
            let mut watchers = time.watchers.lock();
            if watchers.len() == watchers.capacity() {
                watchers.retain(|watcher| watcher.strong_count() > 0);
            }
            watchers.push(watcher);
        }
    }

    pub(crate) fn unix_offset_ns(&self) -> u64 {
        self.unix_offset_ns
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::monotonic()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.source {
            Source::Monotonic { .. } => "Clock::monotonic",
            Source::Manual(_) => "Clock::manual",
        })
    }
}

/// A clock that moves only when told: for tests. Clones share one time; its zero is the Unix epoch.
///
/// ```
/// use std::time::Duration;
/// use tidegate::{ManualClock, RateLimiter};
///
/// let clock = ManualClock::new();
/// let limiter = RateLimiter::with_clock("1/s", &clock)?;
/// assert!(limiter.try_acquire());
/// assert!(!limiter.try_acquire());
/// clock.advance(Duration::from_secs(1));
/// assert!(limiter.try_acquire());
/// # Ok::<(), tidegate::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct ManualClock {
    time: Arc<ManualTime>,
}

/// Somebody for whom a move of a manual clock may be what was waited for.
pub(crate) trait Watcher: Send + Sync {
    fn clock_moved(&self);
}

#[derive(Default)]
struct ManualTime {
    now_ns: AtomicU64,
    /// Who is told of each move.
    watchers: Lock<Vec<Weak<dyn Watcher>>>,
    /// The time that was last set, which may be behind `now_ns` after a step back. Also keeps writers apart.
    reference_ns: Lock<u64>,
}

impl ManualClock {
    /// A manual clock at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the clock on, and grants or ends the waits that this makes due before it returns. Stops at 2⁶⁴−1 ns.
    pub fn advance(&self, by: Duration) {
        self.advance_ns(saturating_ns(by));
    }

    /// Moves the clock on by nanoseconds. Stops at 2⁶⁴−1.
    pub fn advance_ns(&self, by_ns: u64) {
        let mut reference_ns = self.time.reference_ns.lock();
        *reference_ns = reference_ns.saturating_add(by_ns);
        self.move_on(by_ns);
        drop(reference_ns);
        self.tell();
    }

    /// Sets the underlying time, as a machine's clock is set. A step forward moves the clock on by as much; a step back
    /// counts as no time, and progress from there counts again.
    pub fn set(&self, to: Duration) {
        self.set_ns(saturating_ns(to));
    }

    /// [`set`](Self::set), in nanoseconds.
    pub fn set_ns(&self, to_ns: u64) {
        let mut reference_ns = self.time.reference_ns.lock();
        let by_ns = to_ns.saturating_sub(*reference_ns);
        *reference_ns = to_ns;
        self.move_on(by_ns);
        drop(reference_ns);
        self.tell();
    }

    /// All who wait on this clock, by now. With no lock held: they may do what they like.
    fn tell(&self) {
        let watchers: Vec<_> = self.time.watchers.lock().iter().filter_map(Weak::upgrade).collect();
        watchers.iter().for_each(|watcher| watcher.clock_moved());
    }

    /// The clock's time in nanoseconds, which never goes back.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.time.now_ns.load(Ordering::Acquire)
    }

    /// Only under the lock of `reference_ns`.
    fn move_on(&self, by_ns: u64) {
        let now_ns = self.time.now_ns.load(Ordering::Relaxed);
        // Release: whoever reads the new time also sees what was done before the clock was moved.
        self.time.now_ns.store(now_ns.saturating_add(by_ns), Ordering::Release);
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ManualClock({} ns)", self.now_ns())
    }
}

impl From<ManualClock> for Clock {
    fn from(clock: ManualClock) -> Self {
        Self { source: Source::Manual(clock.time), unix_offset_ns: 0 }
    }
}

impl From<&ManualClock> for Clock {
    fn from(clock: &ManualClock) -> Self {
        clock.clone().into()
    }
}

impl From<&Clock> for Clock {
    fn from(clock: &Clock) -> Self {
        clock.clone()
    }
}

pub(crate) fn saturating_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_slow_and_fast_counters_become_nanoseconds() {
        for hertz in [1_000_000, 24_000_000, 999_999_999, 1_000_000_000, 2_596_135_000, 5_000_000_000_u128] {
            let exact = |count: u64| (u128::from(count) * 1_000_000_000 / hertz) as u64;
            let scale = Scale::new(exact);
            for count in [0, 1, 12_345_678_901, (hertz * 100 * 365 * 86_400) as u64] {
                let (ours, exact) = (scale.ns(count), exact(count));
                assert!(ours.abs_diff(exact) <= 4, "{count} counts at {hertz} Hz: {ours}, not {exact}");
            }
        }
        let nanoseconds = Scale::new(|count| count);
        assert_eq!(nanoseconds.ns(1 << 62 | 1), 1 << 62 | 1);
    }

    #[test]
    fn the_monotonic_clock_moves_on_and_never_back() {
        let clock = Clock::monotonic();
        let mut last = clock.now_ns();
        for _ in 0..100_000 {
            let now = clock.now_ns();
            assert!(now >= last);
            last = now;
        }
        let started = std::time::Instant::now();
        let before = clock.now_ns();
        std::thread::sleep(Duration::from_millis(20));
        let (ours, theirs) = (clock.now_ns() - before, started.elapsed().as_nanos() as u64);
        assert!(ours.abs_diff(theirs) < 5_000_000, "{ours} against {theirs}");
    }

    #[test]
    fn a_step_back_counts_as_no_time_and_later_progress_counts() {
        let clock = ManualClock::new();
        clock.set_ns(1_000);
        clock.set_ns(400);
        assert_eq!(clock.now_ns(), 1_000);
        clock.set_ns(500);
        assert_eq!(clock.now_ns(), 1_100);
        clock.advance_ns(7);
        assert_eq!(clock.now_ns(), 1_107);
        clock.advance_ns(u64::MAX);
        assert_eq!(clock.now_ns(), u64::MAX);
        clock.set_ns(0);
        clock.advance_ns(1);
        assert_eq!(clock.now_ns(), u64::MAX);
    }
}
