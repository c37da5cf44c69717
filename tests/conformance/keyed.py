"""The naive model with keys: a limiter of its own for each key, in a dictionary, and who must go when a table is full.

A table of at most three keys has eight slots that every key may take; of a larger one a script never uses so much that
its size can be seen. The pinned rules are in docs/design.md, sections 5 and 12.
"""

import copy
import ipaddress
from math import inf

from budgets import ALLOWED, EXCEEDS_CAPACITY, KEYS_FULL
from model import ConcurrencyLimiter, Permit, RateLimiter
from quota import MAX_COUNT, MAX_PERIOD_NS, Mistake, check_list, demand
from waiting import QUEUE_FULL, KeyedWaitable

DEFAULT_MAX_KEYS = 100_000
MOST_KEYS = 2**32
MOST_DENIED = 65_536
# So much of a key is its name among those refused most.
NAME_BYTES = 128
# A table for so few keys is two lines of four slots, and those are the lines of every key.
SMALL_TABLE_KEYS = 3
SLOTS = 8

# What fits into a slot beside the tag of a key: the bits of what is used, and of the number of a window.
USED_BITS = {("fixed_window", "first"): 24, ("fixed_window", "clock"): 32, ("sliding_window", "first"): 24}
WINDOW_BITS = {("fixed_window", "clock"): 40, ("sliding_window", "first"): 32}


def check_keyed(quotas):
    """Raises as `check_list`, or if a quota can't be counted for each key."""
    check_list(quotas)
    for quota in quotas:
        if quota.algorithm == "sliding_log":
            raise Mistake("algorithm", quota.algorithm, "an algorithm whose state is of fixed size")
        kind = quota.algorithm, quota.anchor
        if kind in USED_BITS:
            demand("limit", quota.limit, 0, 2 ** USED_BITS[kind] - 1)
        if kind in WINDOW_BITS:
            demand("period", quota.period, MAX_PERIOD_NS // (2 ** WINDOW_BITS[kind] - 1) + 1, MAX_PERIOD_NS)


class NoRoom:
    """Stands for the budget of a new key that finds no slot."""

    def __init__(self, quota, wait):
        self.quota = quota
        self.wait = wait

    def verdict(self, _now, _cost):
        return KEYS_FULL, self.wait

    def remaining(self, _now):
        return 0

    def reset_after(self, _now):
        return 0


class DeniedKeys:
    """The keys that are refused most, in a space-saving sketch of so many entries."""

    def __init__(self, entries):
        self.entries = entries
        self.refusals = 0
        # Of each key the count, the refusal that was its last, and the error.
        self.counts = {}

    def add(self, key):
        if not self.entries:
            return
        self.refusals += 1
        count, _, error = self.counts.get(key, (0, 0, 0))
        if key not in self.counts and len(self.counts) == self.entries:
            least = min(self.counts, key=self.counts.get)
            count = error = self.counts.pop(least)[0]
        self.counts[key] = count + 1, self.refusals, error

    def top(self, most):
        """(key, count, error) of each."""
        by_count = sorted(self.counts, key=self.counts.get, reverse=True)[:most]
        return [(key[:NAME_BYTES], self.counts[key][0], self.counts[key][2]) for key in by_count]


class KeyedRateLimiter(KeyedWaitable):
    """One or more quotas for each key; a table for each quota."""

    def __init__(
        self,
        clock,
        quotas,
        max_keys=DEFAULT_MAX_KEYS,
        when_full="evict",
        track_denied=0,
        rate_limiter=RateLimiter,
        max_waiters=None,
    ):
        check_keyed(quotas)
        demand("max_keys", max_keys, 1, MOST_KEYS)
        self.clock = clock
        self.capacity = max_keys
        self.when_full = when_full
        # Of a key that was never seen.
        self.fresh = rate_limiter(clock, quotas, max_waiters)
        demand("track_denied", track_denied, 0, MOST_DENIED)
        self.by_key = {}
        # Keys with quotas of their own, which take no slots.
        self.own = frozenset()
        self.top = DeniedKeys(track_denied)
        self.begin_counts()
        self.evicted_live = 0

    def of(self, key):
        if key not in self.by_key:
            self.by_key[key] = copy.copy(self.fresh)
            self.by_key[key].tally = self
            self.by_key[key].begin_line()
            self.by_key[key].reset()
        return self.by_key[key]

    def others(self, index, key):
        """The budgets of the other keys for the quota `index`, but of those with quotas of their own."""
        others = self.by_key.keys() - self.own - {key}
        return {other: self.by_key[other].budgets[index] for other in sorted(others)}

    def tenants(self, index, key):
        """The budgets of the other keys that owe something of the quota `index`."""
        budgets = self.others(index, key)
        return {other: budget for other, budget in budgets.items() if budget.share(self.clock.now) > 0}

    def is_full_for(self, index, key):
        """Whether the key needs a slot and all are taken by keys that owe something."""
        has_slot = key in self.own or self.of(key).budgets[index].share(self.clock.now) > 0
        return not has_slot and self.is_taken(index, key)

    def is_taken(self, index, key):
        return self.capacity <= SMALL_TABLE_KEYS and len(self.tenants(index, key)) == SLOTS

    def victim(self, tenants):
        """The key that owes the smallest share; of several the one that is at rest first."""
        now = self.clock.now
        return min(tenants, key=lambda key: (tenants[key].share(now), tenants[key].reset_after(now)))

    def wait_for_room(self, tenants):
        return min(budget.reset_after(self.clock.now) for budget in tenants.values())

    def peek(self, key, cost):
        demand("cost", cost, 1, MAX_COUNT)
        seen = copy.copy(self.of(key))
        seen.budgets = [self.seen(index, key, cost) for index in range(len(seen.budgets))]
        return seen.peek(cost)

    def seen(self, index, key, cost):
        budget = self.of(key).budgets[index]
        # A call that the quota itself refuses needs no slot.
        fits = budget.verdict(self.clock.now, cost)[0] == ALLOWED
        if fits and self.when_full == "deny_new" and self.is_full_for(index, key):
            return NoRoom(budget.quota, self.wait_for_room(self.tenants(index, key)))
        return budget

    def decide(self, key, cost):
        decision = self.peek(key, cost)
        if decision.status != ALLOWED:
            self.denied += 1
            self.top.add(key)
            return decision
        limiter = self.of(key)
        full = [index for index in range(len(limiter.budgets)) if self.is_full_for(index, key)]
        victims = [(index, self.victim(self.tenants(index, key))) for index in full]
        for index, victim in victims:
            self.evict(index, victim)
        self.allowed += 1
        return limiter.decide(cost)

    def evict(self, index, key):
        limiter = self.of(key)
        limiter.budgets[index] = type(limiter.budgets[index])(limiter.budgets[index].quota)
        self.evicted_live += 1
        self.void(key)

    def void(self, key):
        """What was granted to the key before can't be refunded to any effect."""
        self.of(key).epoch += 1

    def many(self, keys, cost):
        demand("cost", cost, 1, MAX_COUNT)
        return [self.decide(key, cost).status == ALLOWED for key in keys]

    def refund(self, key, decision):
        self.of(key).refund(decision)

    def wait(self, key, cost, timeout=inf):
        return self.counted(key, super().wait(key, cost, timeout))

    def reserve(self, key, cost, max_wait=inf):
        return self.counted(key, self.of(key).reserve(cost, max_wait))

    def counted(self, key, attempt):
        """One that is denied at once is a refusal of the key."""
        if attempt.status in (EXCEEDS_CAPACITY, QUEUE_FULL):
            self.top.add(key)
        return attempt

    def cancel_reservation(self, key, reservation):
        return self.of(key).cancel_reservation(reservation)

    def reset(self, key):
        self.of(key).reset()
        self.void(key)

    def reconfigure(self, quotas):
        check_keyed(quotas)
        epoch = self.fresh.epoch
        for limiter in (self.fresh, *(self.by_key[key] for key in self.by_key if key not in self.own)):
            limiter.reconfigure(quotas)
        if self.fresh.epoch != epoch:
            for key in self.own:
                self.by_key[key].epoch += 1

    def set_quota(self, key, quotas):
        check_keyed(quotas)
        self.fresh.check_kinds(quotas)
        own = [budget.quota for budget in self.of(key).budgets]
        if key in self.own and list(map(str, own)) == list(map(str, quotas)):
            return
        self.move(key, quotas)
        self.own |= {key}

    def clear_quota(self, key):
        if key not in self.own:
            return
        self.move(key, [budget.quota for budget in self.fresh.budgets])
        self.own -= {key}
        for index, budget in enumerate(self.of(key).budgets):
            # With deny_new too: the key isn't new.
            if budget.share(self.clock.now) > 0 and self.is_taken(index, key):
                self.evict(index, self.victim(self.tenants(index, key)))

    def move(self, key, quotas):
        """What is used is kept, as in a reconfigure, but a move is a change also where the quotas are the same."""
        for budget, quota in zip(self.of(key).budgets, quotas, strict=True):
            budget.reconfigure(self.clock.now, quota)
        self.void(key)
        self.of(key).end_refused()


class KeyedConcurrencyLimiter(KeyedWaitable):
    """Lends permits of each key. A key with permits out keeps its slot."""

    def __init__(self, clock, limit, max_keys=DEFAULT_MAX_KEYS, max_waiters=None):
        self.clock = clock
        self.by_key = {}
        self.set_limit(limit)
        demand("max_keys", max_keys, 1, MOST_KEYS)
        # Of a key that was never seen.
        self.fresh = ConcurrencyLimiter(clock, limit, max_waiters)
        self.capacity = max_keys
        self.is_closed = False
        self.begin_counts()

    def of(self, key):
        if key not in self.by_key:
            self.by_key[key] = ConcurrencyLimiter(self.clock, self.limit, self.fresh.max_waiters)
            self.by_key[key].is_closed = self.is_closed
            self.by_key[key].tally = self
        return self.by_key[key]

    def close(self):
        self.is_closed = True
        for limiter in self.by_key.values():
            limiter.close()

    def set_limit(self, limit):
        demand("limit", limit, 0, 2**31 - 1)
        self.limit = limit
        for limiter in self.by_key.values():
            limiter.set_limit(limit)

    def in_flight(self, key):
        return self.of(key).in_flight

    def has_room(self, key):
        holders = [other for other, limiter in self.by_key.items() if other != key and limiter.in_flight > 0]
        return self.capacity > SMALL_TABLE_KEYS or len(holders) < SLOTS

    def try_acquire(self, key, permits):
        demand("permits", permits, 1, MAX_COUNT)
        limiter = self.of(key)
        if self.has_room(key):
            permit = limiter.try_acquire(permits)
        else:
            permit = Permit(limiter, permits, self.clock.now, held=False)
        self.allowed += permit.held
        self.denied += not permit.held
        return permit

    @property
    def holds(self):
        return [hold for limiter in self.by_key.values() for hold in limiter.holds]

    @property
    def released_ok(self):
        return sum(limiter.released_ok for limiter in self.by_key.values())

    @property
    def released_failed(self):
        return sum(limiter.released_failed for limiter in self.by_key.values())


def key_of(parts):
    """Each part behind its length in eight bytes, the least significant first."""
    return b"".join(len(part).to_bytes(8, "little") + part for part in parts)


def ip_key(text, prefix=None):
    """The address in network order, with zeros behind the prefix: by default 32 bits of IPv4 and 64 of IPv6."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise Mistake("address", repr(text), "an IPv4 or IPv6 address") from None
    if getattr(address, "scope_id", None) is not None:
        raise Mistake("address", repr(text), "an address without a zone")
    address = getattr(address, "ipv4_mapped", None) or address
    if prefix is None:
        prefix = 32 if address.version == 4 else 64
    demand("prefix", prefix, 0, address.max_prefixlen)
    return ipaddress.ip_network((address, prefix), strict=False).network_address.packed
