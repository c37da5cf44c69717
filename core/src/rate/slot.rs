//! How keyed states are laid out in the 16 bytes of a slot.
//!
//! | slot | from the top |
//! | --- | --- |
//! | gcra | tag 56, flags 4, generation 4, TAT in ticks 64 |
//! | fixed_window, anchor first | tag 40, flags 4, generation 4, start in ns since the table's origin 56, used 24 |
//! | fixed_window, anchor clock | tag 48, flags 4, generation 4, window since the table's origin 40, used 32 |
//! | sliding_window | tag 40, flags 4, generation 4, index 32, previous 24, current 24 |
//!
//! A slot of zeros is empty. The topmost flag says that somebody waits for the key: then only the head of its line is charged, and it keeps its slot; the others are 0. A tag that another key has by chance, in one of the eight
//! slots that are looked at, merges the two keys: at most 8/2⁴⁰ for each look at an absent key, 8/2⁵⁶ with gcra.

use super::settings::{GENERATIONS, SETTINGS};
use super::word::{Packed, field};
use crate::Error;
use crate::algorithm::Algorithm;
use crate::algorithm::fixed_window::{FixedWindow, Window};
use crate::algorithm::gcra::Gcra;
use crate::algorithm::sliding_window::{SlidingWindow, Windows};
use crate::quota::{MAX_PERIOD_NS, Quota};
use crate::table::share_of;

/// An algorithm as a table keeps it: what decides, and how its state fits into a slot.
pub(crate) trait Slotted: Copy {
    type Rule: Algorithm;

    /// Bits of the tag, at the top; flags and generation come below it.
    const TAG_BITS: u32;

    /// The quota counted from `now`. `unix_offset_ns` is what the clock lacks to the Unix epoch.
    fn new(quota: &Quota, unix_offset_ns: u64, now: u64) -> Result<Self, Error>;

    fn rule(&self) -> Self::Rule;

    /// Whether states would no longer fit, so that [`moved_to`](Self::moved_to) must come first.
    fn is_past_horizon(&self, now: u64) -> bool;

    /// The same, counting time from a later origin.
    fn moved_to(&self, now: u64) -> Self;

    fn bits_of(&self, state: State<Self>) -> u128;
    fn state_of(&self, bits: u128) -> State<Self>;

    /// How much of its capacity a key owes; 0 at rest.
    fn share(&self, state: State<Self>, now: u64) -> u64;

    fn to_settings(&self) -> [u64; SETTINGS];
    fn from_settings(setting: impl Fn(usize) -> u64) -> Self;

    /// The word of a key.
    #[inline]
    fn word(&self, tag: u64, generation: u8, state: State<Self>) -> u128 {
        u128::from(tag) << (128 - Self::TAG_BITS)
            | u128::from(generation) << (120 - Self::TAG_BITS)
            | self.bits_of(state)
    }

    /// A key's word with another state.
    #[inline]
    fn replaced(&self, word: u128, state: State<Self>) -> u128 {
        word & !((1 << (120 - Self::TAG_BITS)) - 1) | self.bits_of(state)
    }

    /// What says in a word that somebody waits.
    #[inline]
    fn waiters() -> u128 {
        1 << (127 - Self::TAG_BITS)
    }

    /// Flags and generation: the generation alone where nobody waits.
    #[inline]
    fn flags_and_generation(word: u128) -> u8 {
        (word >> (120 - Self::TAG_BITS)) as u8
    }

    #[inline]
    fn tag(word: u128) -> u64 {
        (word >> (128 - Self::TAG_BITS)) as u64
    }

    #[inline]
    fn generation(word: u128) -> u8 {
        (word >> (120 - Self::TAG_BITS)) as u8 & (GENERATIONS - 1)
    }
}

pub(crate) type State<A> = <<A as Slotted>::Rule as Algorithm>::State;

/// Whether a limit fits into `bits`.
fn check_limit(quota: &Quota, bits: u32) -> Result<(), Error> {
    let most = (1 << bits) - 1;
    if quota.limit() <= most {
        return Ok(());
    }
    let allowed = format!("with {} and keys 0 to {most}", described(quota));
    Err(Error::option("limit", quota.limit(), allowed))
}

/// Whether windows that are counted in `bits` last for two years.
fn check_period(quota: &Quota, bits: u32) -> Result<(), Error> {
    let least = MAX_PERIOD_NS / ((1 << bits) - 1) + 1;
    if quota.period_ns() >= least {
        return Ok(());
    }
    let allowed = format!("with {} and keys at least {least} ns", described(quota));
    Err(Error::option("period", format_args!("{} ns", quota.period_ns()), allowed))
}

fn described(quota: &Quota) -> String {
    match quota.algorithm() {
        crate::Algorithm::FixedWindow => format!("fixed_window anchor {}", quota.anchor().name()),
        algorithm => algorithm.name().to_owned(),
    }
}

impl Slotted for Gcra {
    type Rule = Self;

    const TAG_BITS: u32 = 56;

    fn new(quota: &Quota, _unix_offset_ns: u64, now: u64) -> Result<Self, Error> {
        Self::new(quota, now)
    }

    #[inline]
    fn rule(&self) -> Self {
        *self
    }

    #[inline]
    fn is_past_horizon(&self, now: u64) -> bool {
        Algorithm::is_past_horizon(self, now)
    }

    fn moved_to(&self, now: u64) -> Self {
        Algorithm::moved_to(self, now)
    }

    #[inline]
    fn bits_of(&self, tat: u64) -> u128 {
        u128::from(tat)
    }

    #[inline]
    fn state_of(&self, bits: u128) -> u64 {
        bits as u64
    }

    fn share(&self, tat: u64, now: u64) -> u64 {
        share_of(self.owed_ticks(tat, now) as f64, self.full_ticks as f64)
    }

    fn to_settings(&self) -> [u64; SETTINGS] {
        Packed::to_settings(self)
    }

    #[inline]
    fn from_settings(setting: impl Fn(usize) -> u64) -> Self {
        Packed::from_settings(setting)
    }
}

/// Windows that begin at the first charge, counted in nanoseconds from an origin.
#[derive(Clone, Copy)]
pub(crate) struct FirstWindows {
    rule: FixedWindow,
    origin_ns: u64,
}

const START_BITS: u32 = 56;
const FIRST_USED_BITS: u32 = 24;

impl Slotted for FirstWindows {
    type Rule = FixedWindow;

    const TAG_BITS: u32 = 40;

    fn new(quota: &Quota, _unix_offset_ns: u64, now: u64) -> Result<Self, Error> {
        check_limit(quota, FIRST_USED_BITS)?;
        Ok(Self { rule: FixedWindow::new(quota, 0), origin_ns: 0 }.moved_to(now))
    }

    #[inline]
    fn rule(&self) -> FixedWindow {
        self.rule
    }

    #[inline]
    fn is_past_horizon(&self, now: u64) -> bool {
        now.saturating_sub(self.origin_ns) >> START_BITS > 0
    }

    /// Every window that is open began less than a period ago.
    fn moved_to(&self, now: u64) -> Self {
        Self { origin_ns: now.saturating_sub(self.rule.period_ns), ..*self }
    }

    /// Saturating: a caller whose time is older than the origin was overtaken, and counts as of the origin.
    #[inline]
    fn bits_of(&self, window: Window) -> u128 {
        let start = window.start_ns.saturating_sub(self.origin_ns) & ((1 << START_BITS) - 1);
        u128::from(start) << FIRST_USED_BITS | u128::from(window.used & ((1 << FIRST_USED_BITS) - 1))
    }

    #[inline]
    fn state_of(&self, bits: u128) -> Window {
        let start_ns = self.origin_ns.saturating_add(field(bits, FIRST_USED_BITS, START_BITS));
        Window { start_ns, used: field(bits, 0, FIRST_USED_BITS) }
    }

    fn share(&self, window: Window, now: u64) -> u64 {
        share_of(self.rule.used(window, now) as f64, self.rule.limit as f64)
    }

    fn to_settings(&self) -> [u64; SETTINGS] {
        [self.rule.limit, self.rule.period_ns, self.origin_ns, 0, 0, 0, 0, 0]
    }

    #[inline]
    fn from_settings(setting: impl Fn(usize) -> u64) -> Self {
        let rule = FixedWindow { limit: setting(0), period_ns: setting(1), aligned: false, offset_ns: 0 };
        Self { rule, origin_ns: setting(2) }
    }
}

/// Windows of the clock, counted from the window of an origin.
#[derive(Clone, Copy)]
pub(crate) struct ClockWindows {
    rule: FixedWindow,
    /// On the clock that windows are counted on; the start of a window.
    origin_ns: u64,
}

const WINDOW_BITS: u32 = 40;
const CLOCK_USED_BITS: u32 = 32;

impl Slotted for ClockWindows {
    type Rule = FixedWindow;

    const TAG_BITS: u32 = 48;

    fn new(quota: &Quota, unix_offset_ns: u64, now: u64) -> Result<Self, Error> {
        check_limit(quota, CLOCK_USED_BITS)?;
        check_period(quota, WINDOW_BITS)?;
        Ok(Self { rule: FixedWindow::new(quota, unix_offset_ns), origin_ns: 0 }.moved_to(now))
    }

    #[inline]
    fn rule(&self) -> FixedWindow {
        self.rule
    }

    #[inline]
    fn is_past_horizon(&self, now: u64) -> bool {
        let since = self.rule.local(now).saturating_sub(self.origin_ns);
        since >= self.rule.period_ns.saturating_mul((1 << WINDOW_BITS) - 1)
    }

    /// A window that is open is that of now.
    fn moved_to(&self, now: u64) -> Self {
        let local = self.rule.local(now);
        Self { origin_ns: local - local % self.rule.period_ns, ..*self }
    }

    #[inline]
    fn bits_of(&self, window: Window) -> u128 {
        let index = window.start_ns.saturating_sub(self.origin_ns) / self.rule.period_ns;
        u128::from(index & ((1 << WINDOW_BITS) - 1)) << CLOCK_USED_BITS
            | u128::from(window.used & ((1 << CLOCK_USED_BITS) - 1))
    }

    #[inline]
    fn state_of(&self, bits: u128) -> Window {
        let index = field(bits, CLOCK_USED_BITS, WINDOW_BITS);
        let start_ns = self.origin_ns.saturating_add(index.saturating_mul(self.rule.period_ns));
        Window { start_ns, used: field(bits, 0, CLOCK_USED_BITS) }
    }

    fn share(&self, window: Window, now: u64) -> u64 {
        share_of(self.rule.used(window, now) as f64, self.rule.limit as f64)
    }

    fn to_settings(&self) -> [u64; SETTINGS] {
        [self.rule.limit, self.rule.period_ns, self.rule.offset_ns, self.origin_ns, 0, 0, 0, 0]
    }

    #[inline]
    fn from_settings(setting: impl Fn(usize) -> u64) -> Self {
        let rule = FixedWindow { limit: setting(0), period_ns: setting(1), aligned: true, offset_ns: setting(2) };
        Self { rule, origin_ns: setting(3) }
    }
}

const INDEX_BITS: u32 = 32;
const COUNT_BITS: u32 = 24;

impl Slotted for SlidingWindow {
    type Rule = Self;

    const TAG_BITS: u32 = 40;

    fn new(quota: &Quota, _unix_offset_ns: u64, now: u64) -> Result<Self, Error> {
        check_limit(quota, COUNT_BITS)?;
        check_period(quota, INDEX_BITS)?;
        Self::new(quota, now)
    }

    #[inline]
    fn rule(&self) -> Self {
        *self
    }

    #[inline]
    fn is_past_horizon(&self, now: u64) -> bool {
        now.saturating_sub(self.origin_ns) >= self.period_ns.saturating_mul((1 << INDEX_BITS) - 1)
    }

    fn moved_to(&self, now: u64) -> Self {
        Algorithm::moved_to(self, now)
    }

    #[inline]
    fn bits_of(&self, windows: Windows) -> u128 {
        let count = |count: u64| u128::from(count & ((1 << COUNT_BITS) - 1));
        u128::from(windows.index & ((1 << INDEX_BITS) - 1)) << (2 * COUNT_BITS)
            | count(windows.previous) << COUNT_BITS
            | count(windows.current)
    }

    #[inline]
    fn state_of(&self, bits: u128) -> Windows {
        Windows {
            index: field(bits, 2 * COUNT_BITS, INDEX_BITS),
            previous: field(bits, COUNT_BITS, COUNT_BITS),
            current: field(bits, 0, COUNT_BITS),
        }
    }

    fn share(&self, windows: Windows, now: u64) -> u64 {
        share_of(self.estimate(windows, now), self.limit as f64)
    }

    fn to_settings(&self) -> [u64; SETTINGS] {
        Packed::to_settings(self)
    }

    #[inline]
    fn from_settings(setting: impl Fn(usize) -> u64) -> Self {
        Packed::from_settings(setting)
    }
}
