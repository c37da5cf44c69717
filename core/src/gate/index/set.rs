//! Expressions, of which one pass over a value finds all that match.

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::pool::Pool;
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::hir::Hir;

/// What the expressions of a set may take once they are compiled, in bytes.
const COMPILED_BYTES: usize = 8 << 20;
/// What searches at once may each remember of what they found out about the expressions, in bytes.
pub(super) const CACHE_BYTES: usize = 1 << 20;

/// Expressions, anchored at both ends, as one automaton whose states are made when they are needed.
#[derive(Debug)]
pub(super) struct Set {
    dfa: DFA,
    caches: Pool<Option<Cache>, fn() -> Option<Cache>>,
}

impl Set {
    /// None if the expressions are too large, or can't be asked in this way (boundaries of words that aren't ASCII).
    pub(super) fn new(expressions: &[&Hir]) -> Option<Self> {
        let compiled = thompson::Config::new()
            .which_captures(WhichCaptures::None)
            .utf8(false)
            .nfa_size_limit(Some(COMPILED_BYTES));
        let nfa = thompson::Compiler::new().configure(compiled).build_many_from_hir(expressions).ok()?;
        let config = DFA::config()
            .match_kind(MatchKind::All)
            .cache_capacity(CACHE_BYTES)
            // Where values differ so much that states are forgotten before they are of use, it is better to give up.
            .minimum_cache_clear_count(Some(3))
            .minimum_bytes_per_state(Some(10));
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa).ok()?;
        Some(Self { dfa, caches: Pool::new(|| None) })
    }

    /// Calls `found` with the place of each expression that matches. None, without a call, if it gave up.
    pub(super) fn matching(&self, value: &[u8], mut found: impl FnMut(usize)) -> Option<()> {
        let dfa = &self.dfa;
        let mut cache = self.caches.get();
        let cache = cache.get_or_insert_with(|| dfa.create_cache());
        cache.search_start(0);
        let mut state = dfa.start_state_forward(cache, &Input::new(value).anchored(Anchored::Yes)).ok()?;
        for (place, byte) in value.iter().enumerate() {
            state = dfa.next_state(cache, state, *byte).ok()?;
            if state.is_tagged() && (state.is_dead() || state.is_quit()) {
                cache.search_finish(place + 1);
                return state.is_dead().then_some(());
            }
        }
        state = dfa.next_eoi_state(cache, state).ok()?;
        cache.search_finish(value.len());
        if state.is_match() {
            (0..dfa.match_len(cache, state)).for_each(|n| found(dfa.match_pattern(cache, state, n).as_usize()));
        }
        Some(())
    }

    /// What searches remember, on this thread, in bytes.
    #[cfg(test)]
    pub(super) fn remembered_bytes(&self) -> usize {
        self.caches.get().as_ref().map_or(0, Cache::memory_usage)
    }
}
