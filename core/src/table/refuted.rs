//! Ways for a key to enter that are wrong, for the model checker: it must find what goes wrong, or it finds nothing.

use super::slots::Place;
use super::{EMPTY, KeyHash, Table, Tenants};

/// How a key enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Under the lock of its stripe. The one that is right.
    Locked,
    /// Looks, and claims a slot if the key wasn't there. Two threads that both look first claim a slot each.
    Claim,
    /// Claims a slot tentatively, looks again, removes other tentative claims for the key, and confirms its own. With
    /// three threads one may confirm the claim of another: they look the same.
    Tentative,
}

impl Table {
    /// Whether the claim was confirmed; else the key may be there now.
    pub(crate) fn put_tentatively(&self, hash: KeyHash, word: u128, tenants: &impl Tenants) -> bool {
        // Another tag, so that it isn't found as the key.
        let tentative = word ^ 1 << (128 - self.tag_bits);
        let room = self.room(hash, tenants);
        if room.share > 0 || self.exchange(room.place, room.word, tentative).is_err() {
            return false;
        }
        for place in hash.lines(self.slots.lines()).into_iter().flat_map(Place::of_line) {
            let other = self.load(place);
            let same = |mark: u128| other >> (128 - self.tag_bits) == mark >> (128 - self.tag_bits);
            if place == room.place {
                continue;
            }
            if same(word) || same(tentative) && self.exchange(place, other, EMPTY).is_err() {
                let _withdrawn = self.exchange(room.place, tentative, EMPTY);
                return false;
            }
        }
        self.exchange(room.place, tentative, word).is_ok()
    }
}
