//! Tokens of a key that are charged ahead of time.

use super::KeyedRateLimiter;
use super::cell::Reserved;
use super::check_cost;
use super::keyed_cell::{Detour, KeyedCell};
use super::keyed_state::KeyedState;
use super::keyed_states::KeyedStates;
use super::reservation::{Reservation, check_owner, unsupported};
use super::slot::Slotted;
use super::word::Packed;
use crate::algorithm::gcra::Gcra;
use crate::clock::Clock;
use crate::table::KeyHash;
use crate::wait::{AcquireError, Due, Failure};
use crate::{Error, NEVER_NS, Status};
use std::time::Duration;

impl KeyedRateLimiter {
    /// Charges `cost` of a key now, for use as soon as it is due, if that is within `max_wait` (for ever, if that is `None`). For gcra
    /// with one quota.
    ///
    /// # Errors
    ///
    /// If cost is not 1 … 2⁵³−1 or exceeds the key's burst, it would be due after `max_wait` (or somebody waits for the key already),
    /// there is no room for a new key, or the limiter is none of gcra with one quota ([`Status::Unsupported`]). Nothing is charged
    /// then.
    pub fn reserve(
        &self,
        key: impl AsRef<[u8]>,
        cost: u64,
        max_wait: impl Into<Option<Duration>>,
    ) -> Result<Reservation, AcquireError> {
        check_cost("cost", cost)?;
        let (key, timeout) = (key.as_ref(), max_wait.into());
        let max_wait_ns = timeout.map_or(NEVER_NS, crate::clock::saturating_ns);
        let hash = self.shared.hash(key);
        // Before the charge, as for a decision.
        let reset_count = self.shared.states.stripes.void_count(hash);
        let reserved = self.shared.states.reserve(hash, cost, max_wait_ns);
        if matches!(reserved, Err(Status::Unsupported)) {
            return Err(unsupported(&self.quotas()).into());
        }
        self.shared.count_attempt(reserved.as_ref().map_or_else(|status| *status, |_| Status::Allowed), hash, key);
        match reserved {
            Ok(Reserved { due_ns, wait_ns, before, after }) => {
                let (limiter_id, key_hash) = (self.id(), hash.id());
                Ok(Reservation { limiter_id, due_ns, wait_ns, before, after, reset_count, key_hash })
            }
            Err(status) => Err(self.refused(hash, Failure { status, cost, elapsed: Duration::ZERO, timeout })),
        }
    }

    /// Gives a reservation of a key back. It is credited, which is told, only if it isn't due yet and nobody reserved after it: else
    /// somebody else's time would come sooner than was promised to all. Nor is it once the key was evicted.
    ///
    /// # Errors
    ///
    /// If it is another limiter's or key's.
    pub fn cancel_reservation(&self, key: impl AsRef<[u8]>, reservation: Reservation) -> Result<bool, Error> {
        check_owner(&reservation, self.id())?;
        let hash = self.shared.hash(key.as_ref());
        if reservation.key_hash != hash.id() {
            let allowed = "one of this limiter and key";
            return Err(Error::new(Status::InvalidDecision, "reservation", "one of another key", allowed));
        }
        let credited = self.shared.states.cancel_reservation(hash, &reservation);
        if credited {
            self.shared.tell_waiters(hash);
        }
        Ok(credited)
    }
}

impl KeyedStates {
    fn reserve(&self, hash: KeyHash, cost: u64, max_wait_ns: u64) -> Result<Reserved, Status> {
        self.forget_parents_waiters();
        loop {
            let own = self.own.of(hash);
            let states = self.states_of(own.as_deref());
            let [KeyedState::Gcra(cell)] = states else { return Err(Status::Unsupported) };
            match cell.reserve(hash, &self.clock, cost, max_wait_ns) {
                Ok(Some(reserved)) => return Ok(reserved),
                Ok(None) => {
                    return Err(match cell.due(hash, 0, cost) {
                        Ok(Due::Refused(status)) => status,
                        _ => Status::TimedOut,
                    });
                }
                Err(Detour::PastHorizon) => self.move_origins(states, self.clock.now_ns()),
                // All that such a key can have it can have at once.
                Err(_) => {
                    let named = self.decide_as_comer(hash, self.clock.now_ns(), cost, true).named;
                    match named.status {
                        Status::Allowed => {
                            return Ok(Reserved { due_ns: named.granted_at_ns, wait_ns: 0, before: 0, after: 0 });
                        }
                        Status::Denied if named.retry_after_ns == NEVER_NS => return Err(Status::TimedOut),
                        // Another brought it in meanwhile, and has it.
                        Status::Denied => {}
                        status => return Err(status),
                    }
                }
            }
        }
    }

    /// Whether anything was given back.
    fn cancel_reservation(&self, hash: KeyHash, reservation: &Reservation) -> bool {
        // While it is held the key neither starts afresh nor changes its quota.
        let _lock = self.stripes.lock(hash);
        if reservation.reset_count != self.stripes.void_count(hash) || self.clock.now_ns() >= reservation.due_ns {
            return false;
        }
        match self.states_of(self.own.of(hash).as_deref()) {
            [KeyedState::Gcra(cell)] => cell.take_back_reservation(hash, reservation.before, reservation.after),
            _ => false,
        }
    }
}

impl KeyedCell<Gcra> {
    /// As [`Cell`](super::cell::Cell) does, for a key that is there. Words are as of a limiter without keys.
    fn reserve(&self, hash: KeyHash, clock: &Clock, cost: u64, max_wait_ns: u64) -> Result<Option<Reserved>, Detour> {
        loop {
            let (place, word) = self.find(hash).ok_or(Detour::Absent)?;
            let generation = <Gcra as Slotted>::generation(word);
            let (settings, now) = (self.settings(generation), clock.now_ns());
            if Slotted::is_past_horizon(&settings, now) {
                return Err(Detour::PastHorizon);
            }
            let before = settings.state_of(word);
            let reserved =
                if word & Gcra::waiters() == 0 { settings.reserve(before, now, cost, max_wait_ns) } else { None };
            let Some((after, wait_ns)) = reserved else {
                if self.load_again(place) == word {
                    return Ok(None);
                }
                continue;
            };
            if self.exchange(place, word, settings.replaced(word, after)) {
                let due_ns = now.saturating_add(wait_ns);
                let [before, after] = [before, after].map(|tat| Gcra::pack(tat, generation));
                return Ok(Some(Reserved { due_ns, wait_ns, before, after }));
            }
        }
    }

    /// As [`Cell`](super::cell::Cell) does. Only under the lock of the key's stripe.
    fn take_back_reservation(&self, hash: KeyHash, before: u64, after: u64) -> bool {
        while let Some((place, word)) = self.find(hash) {
            let generation = <Gcra as Slotted>::generation(word);
            let settings = self.settings(generation);
            if Gcra::pack(settings.state_of(word), generation) != after {
                return false;
            }
            if self.exchange(place, word, settings.replaced(word, Gcra::unpack(before))) {
                return true;
            }
        }
        false
    }
}
