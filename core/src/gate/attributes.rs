//! Requests whose values are given by place: for bindings, to which it costs less to look up a few names than to hand over all.

use super::rule_set::RuleSet;
use super::{Begun, Gate};
use crate::Error;
use crate::rate::check_cost;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The attributes that the rules of a gate ask for, as they were at one time.
#[derive(Clone)]
pub struct Attributes {
    pub(super) set: Arc<RuleSet>,
}

impl Attributes {
    /// Their names. No other attribute of a request is looked at.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.set.attributes
    }
}

impl Gate {
    /// The attributes that the rules in use ask for.
    #[must_use]
    pub fn attributes(&self) -> Attributes {
        Attributes { set: self.shared.set.load_full() }
    }

    /// Whether the rules are still those. (No other set can be where this one is, which is kept alive.)
    #[inline]
    pub(super) fn is_current(&self, attributes: &Attributes) -> bool {
        // Acquire: if they aren't, who then asks for the attributes gets those of the rules that took their place, or later ones.
        std::ptr::eq(Arc::as_ptr(&attributes.set), self.shared.current.load(Ordering::Acquire))
    }

    /// [`begin`](Self::begin) of a request with these values, one for each of `attributes` (`None`, as is what is left out at the end,
    /// for one that the request doesn't have). `None` if the rules were changed since: then these are perhaps not all that is asked for.
    ///
    /// # Errors
    ///
    /// If cost is not 1 … 2⁵³−1.
    #[inline]
    pub fn begin_by_place(
        &self,
        attributes: &Attributes,
        values: &[Option<&[u8]>],
        cost: u64,
        timeout: impl Into<Option<Duration>>,
    ) -> Result<Option<Begun>, Error> {
        check_cost("cost", cost)?;
        let set = &attributes.set;
        if !self.is_current(attributes) {
            return Ok(None);
        }
        let mut values = smallvec::SmallVec::<[Option<&[u8]>; 8]>::from_slice(values);
        values.resize(set.attributes.len(), None);
        Ok(Some(self.begin_at(Arc::clone(set), &values, cost, timeout.into())))
    }
}

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Attributes").field(&self.names()).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::gate::{Begun, Gate, Pattern, Rule};

    #[test]
    fn a_request_by_place_is_the_same_as_by_name_until_the_rules_change() {
        let rule = || Rule::new("search").matching("path", Pattern::prefix("/search")).concurrency(1);
        let gate = Gate::new(rule().key(["client"])).unwrap();
        let attributes = gate.attributes();
        assert_eq!(attributes.names(), ["client", "path"]);
        let begin = |values: &[Option<&[u8]>]| gate.begin_by_place(&attributes, values, 1, None).unwrap();
        let ann = [Some(b"ann".as_slice()), Some(b"/search/cats")];
        let inside = begin(&ann);
        assert!(matches!(&inside, Some(Begun::Entered(entry)) if entry.applies()));
        assert!(matches!(begin(&ann), Some(Begun::Refused(_))));
        assert!(gate.enter(&[("client", "ann"), ("path", "/search/dogs")]).is_err());
        assert!(matches!(begin(&[Some(b"bob"), Some(b"/search")]), Some(Begun::Entered(_))));
        // Without a path no rule applies.
        assert!(matches!(begin(&ann[..1]), Some(Begun::Entered(entry)) if !entry.applies()));
        gate.set_rules(rule()).unwrap();
        assert!(begin(&ann).is_none());
        assert_eq!(gate.attributes().names(), ["path"]);
        assert!(gate.begin_by_place(&gate.attributes(), &[], 0, None).is_err());
    }
}
