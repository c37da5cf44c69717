"""Where an exact core may still differ from the exact model, because its token buckets count time in ticks.

A bucket that counts in ticks of 0.1 to 1 ns rounds an instant down, so it can admit up to one tick early; a refund or a
change of quota can be off by some more. Where nanoseconds are whole ticks nothing is rounded. Scripts are kept clear of
calls whose answer hangs on less than that, so that every status and every number of tokens must be equal.
"""

import copy
from fractions import Fraction
from math import ceil, gcd, inf

from budgets import ALLOWED, BUDGETS, TokenBucket
from keyed import SLOTS, SMALL_TABLE_KEYS, KeyedRateLimiter
from model import RateLimiter
from quota import MAX_COUNT

# Beyond this, times that are rounded up to nanoseconds could differ by more than one.
MOST_BLUR_NS = Fraction(9, 10)
# The multiplier that turns nanoseconds into ticks is rounded up, by less than 1/16 tick within the horizon.
EARLY_TICKS = Fraction(17, 16)
# A core compares shares as floating-point numbers.
SHARE_DOUBT = Fraction(1, 2**48)
# So many slots for each key that counts, in a table that isn't small: then no eight are taken by chance.
ROOMY = 20


class Blurred(Exception):
    """The answer hangs on less than a tick; nothing was changed."""


class TickedBucket(TokenBucket):
    """A bucket that knows how far the state of a core may be from its own: `doubt` nanoseconds to either side."""

    doubt = Fraction(0)

    def is_whole(self, quota):
        """Whether nanoseconds can be whole ticks."""
        return quota.limit == 0 or quota.ticks_per_token() >= quota.period // gcd(quota.period, quota.limit)

    def tick(self, quota):
        if self.is_whole(quota):
            lowest = Fraction(quota.period, quota.limit).numerator
            return self.token_of(quota) / (quota.ticks_per_token() // lowest * lowest)
        return self.token_of(quota) / quota.ticks_per_token()

    def early(self):
        return Fraction(0) if self.is_whole(self.quota) else EARLY_TICKS * self.tick(self.quota)

    def bounds(self, now):
        """The earliest and the latest time at which a core may take the bucket to be full."""
        if self.doubt + self.early() > MOST_BLUR_NS:
            raise Blurred
        return self.full_at - self.doubt - self.early(), self.full_at + self.doubt

    def views(self, now):
        """The bucket as it is and as a core may see it."""
        for full_at in (self.full_at, *self.bounds(now)):
            view = copy.copy(self)
            view.full_at = full_at
            yield view

    def spend(self, now, cost):
        earliest, latest = self.bounds(now)
        if latest <= now:
            self.doubt = Fraction(0)
        elif earliest <= now:
            self.doubt = latest - earliest
        super().spend(now, cost)

    def refund(self, now, cost, granted):
        if now != granted:
            self.doubt += 2 * self.early()
        super().refund(now, cost, granted)

    def change(self, now, quota):
        if self.quota.limit == 0 or quota.limit == 0:
            self.doubt = Fraction(0)
        else:
            earliest, latest = self.bounds(now)
            error = (latest - earliest) / self.token
            kept = self.owed(now) / self.token
            if latest <= now or kept - error >= quota.capacity:
                self.doubt = Fraction(0)
            else:
                in_ticks = min(kept, quota.capacity) * self.token_of(quota) / self.tick(quota)
                is_exact = error == 0 and in_ticks.denominator == 1
                self.doubt = error * self.token_of(quota) + (0 if is_exact else self.tick(quota))
            if self.doubt > MOST_BLUR_NS:
                raise Blurred
        super().change(now, quota)


class SharpLimiter(RateLimiter):
    """A limiter that raises `Blurred` before it would give an answer that a core need not give.

    With `exact_times` the times, too, must be those of every core; otherwise they may differ by 1 ns.
    """

    budgets_by_algorithm = BUDGETS | {"gcra": TickedBucket}
    exact_times = False

    def peek(self, cost):
        decision = super().peek(cost)
        now = self.clock.now
        waits = []
        for budget in self.budgets:
            answers = {self.answer(view, now, cost) for view in self.views(budget)}
            if len({(status, remaining) for status, remaining, *_ in answers}) > 1:
                raise Blurred
            if self.exact_times and len(answers) > 1:
                raise Blurred
            waits.append([wait for _, _, wait, _ in answers])
        longest = waits[decision.quota]
        for index, others in enumerate(waits):
            overlap = max(others) >= min(longest) and max(longest) >= min(others)
            if index != decision.quota and overlap and len(set(others + longest)) > 1:
                raise Blurred
        return decision

    def decide(self, cost):
        decision = super().decide(cost)
        if self.exact_times and decision.status == ALLOWED:
            self.peek(1)
        return decision

    def reconfigure(self, quotas):
        trial = copy.deepcopy(self)
        RateLimiter.reconfigure(trial, quotas)
        if self.line and not trial.is_exact():
            raise Blurred
        super().reconfigure(quotas)

    def wait(self, cost, timeout=inf):
        """Waits, and what is reserved, add up: so only where nothing is rounded."""
        if not self.is_exact():
            raise Blurred
        return super().wait(cost, timeout)

    def reserve(self, cost, max_wait=inf):
        trial = copy.deepcopy(self)
        reservation = RateLimiter.reserve(trial, cost, max_wait)
        # Nor so long that it wouldn't fit into a core's word.
        if not self.is_exact() or (reservation.wait or 0) > MAX_COUNT:
            raise Blurred
        return super().reserve(cost, max_wait)

    def is_exact(self):
        buckets = [budget for budget in self.budgets if isinstance(budget, TickedBucket)]
        return all(bucket.doubt == bucket.early() == 0 for bucket in buckets)

    def views(self, budget):
        return budget.views(self.clock.now) if isinstance(budget, TickedBucket) else [budget]

    @staticmethod
    def answer(budget, now, cost):
        status, wait = budget.verdict(now, cost)
        return status, budget.remaining(now), wait, budget.reset_after(now)


class ExactLimiter(SharpLimiter):
    """For hand-written scripts, whose golden transcripts are compared to the nanosecond."""

    exact_times = True


class SharpKeyedLimiter(KeyedRateLimiter):
    """The same with keys; built over one of the limiters above.

    It also raises `Blurred` where keys owe as much and are at rest at the same time: then the random places of keys say
    who goes. And where a refund would have an effect after another key was reset or evicted, since a core may void the
    grants of some other keys with it.
    """

    voids = 0

    def tenants(self, index, key):
        tenants = super().tenants(index, key)
        if self.capacity > SMALL_TABLE_KEYS:
            if len(tenants) >= SLOTS and len(tenants) * ROOMY > self.capacity:
                raise Blurred
            return tenants
        counts = [0, 0]
        for budget in self.others(index, key).values():
            earliest, latest = self.share_bounds(budget)
            counts[0] += earliest > 0
            counts[1] += latest > 0
        if counts[0] != counts[1] and counts[1] >= SLOTS:
            raise Blurred
        return tenants

    def is_full_for(self, index, key):
        is_small = self.capacity <= SMALL_TABLE_KEYS and key not in self.own
        has_no_slot = is_small and len(self.tenants(index, key)) >= SLOTS
        # That the key has lost its own is certain only if it was at rest.
        if has_no_slot and self.share_bounds(self.of(key).budgets[index])[1] > 0:
            raise Blurred
        return super().is_full_for(index, key)

    def share_bounds(self, budget):
        now = self.clock.now
        if not isinstance(budget, TickedBucket) or budget.quota.limit == 0:
            return budget.share(now), budget.share(now)
        full = budget.quota.capacity * budget.token
        return tuple(max(Fraction(0), at - now) / full for at in budget.bounds(now))

    def victim(self, tenants):
        victim = super().victim(tenants)
        if any(self.may_go_before(tenants[other], tenants[victim]) for other in tenants if other != victim):
            raise Blurred
        return victim

    def may_go_before(self, budget, victim):
        now = self.clock.now
        if budget.quota.algorithm == "fixed_window":
            # Counted in whole tokens and nanoseconds, so as much is as much.
            return budget.share(now) == victim.share(now) and budget.reset_after(now) == victim.reset_after(now)
        return self.share_bounds(budget)[0] <= self.share_bounds(victim)[1] + SHARE_DOUBT

    def wait_for_room(self, tenants):
        if self.fresh.exact_times:
            rests = [self.rest_bounds(budget) for budget in tenants.values()]
            if min(earliest for earliest, _ in rests) != min(latest for _, latest in rests):
                raise Blurred
        return super().wait_for_room(tenants)

    def rest_bounds(self, budget):
        now = self.clock.now
        if not isinstance(budget, TickedBucket):
            return budget.reset_after(now), budget.reset_after(now)
        return tuple(ceil(at - now) for at in budget.bounds(now))

    def decide(self, key, cost):
        voids = self.voids
        decision = super().decide(key, cost)
        decision.voids = voids
        return decision

    def reserve(self, key, cost, max_wait=inf):
        reservation = super().reserve(key, cost, max_wait)
        reservation.voids = self.voids
        return reservation

    def cancel_reservation(self, key, reservation):
        budgets = self.of(key).budgets
        before = copy.deepcopy(budgets)
        is_credited = super().cancel_reservation(key, reservation)
        if is_credited and self.voids != reservation.voids:
            self.of(key).budgets = before
            raise Blurred
        return is_credited

    def many(self, keys, cost):
        KeyedRateLimiter.many(copy.deepcopy(self), keys, cost)
        return super().many(keys, cost)

    def reconfigure(self, quotas):
        KeyedRateLimiter.reconfigure(copy.deepcopy(self), quotas)
        super().reconfigure(quotas)

    def set_quota(self, key, quotas):
        trial = copy.deepcopy(self)
        KeyedRateLimiter.set_quota(trial, key, quotas)
        trial.demand_exact_line(key)
        super().set_quota(key, quotas)

    def clear_quota(self, key):
        trial = copy.deepcopy(self)
        KeyedRateLimiter.clear_quota(trial, key)
        trial.demand_exact_line(key)
        bounds = [trial.share_bounds(budget) for budget in trial.of(key).budgets]
        # Whether it needs a slot.
        if any(earliest <= 0 < latest for earliest, latest in bounds):
            raise Blurred
        super().clear_quota(key)

    def demand_exact_line(self, key):
        if self.of(key).line and not self.of(key).is_exact():
            raise Blurred

    def void(self, key):
        super().void(key)
        self.voids += 1

    def refund(self, key, decision):
        grant, budgets = decision.grant, self.of(key).budgets
        before = copy.deepcopy(budgets)
        super().refund(key, decision)
        has_effect = list(map(vars, before)) != list(map(vars, budgets))
        if has_effect and self.voids != decision.voids:
            decision.grant = grant
            self.of(key).budgets = before
            raise Blurred
