"""The four algorithms of the naive model: what one quota has left, what fits, and when.

Bucket times are exact rational numbers of nanoseconds, windows are dictionaries and lists that are never pruned, and a
wait is what its definition says. The pinned rules are in docs/design.md, sections 4 and 12.
"""

import copy
from fractions import Fraction
from math import ceil, floor, inf

NEVER = inf
ALLOWED, DENIED, EXCEEDS_CAPACITY, KEYS_FULL = "allowed", "denied", "exceeds_capacity", "keys_full"


class Budget:
    """What one quota has left. Subclasses say what fits, what is unspent, and when.

    They need not think of a limit of 0 or of a cost beyond the capacity: neither reaches `fits`, `wait` or `spend`.
    Where keys are possible `share` says what part of the capacity is used, for whoever looks for a slot; 0 is at rest.
    """

    def __init__(self, quota):
        self.quota = quota

    def verdict(self, now, cost):
        """(status, retry_after)."""
        if self.quota.limit == 0:
            return DENIED, NEVER
        if cost > self.quota.capacity:
            return EXCEEDS_CAPACITY, NEVER
        if self.fits(now, cost):
            return ALLOWED, 0
        return DENIED, self.wait(now, cost)

    def wait_for_all(self, now, costs):
        """How long until the last of `costs` is charged, if each is as soon as it can be, one after the other."""
        if self.quota.limit == 0:
            return NEVER
        copied, at = copy.deepcopy(self), now
        for cost in costs:
            if not copied.fits(at, cost):
                at += copied.wait(at, cost)
            copied.spend(at, cost)
        return at - now

    def reconfigure(self, now, quota):
        self.change(now, quota)
        self.quota = quota


class TokenBucket(Budget):
    """gcra: a bucket that will be full again at `full_at`, the theoretical arrival time, an exact fraction."""

    full_at = Fraction(0)

    @staticmethod
    def token_of(quota):
        return Fraction(quota.period, quota.limit)

    @property
    def token(self):
        """T: how long one token takes to come."""
        return self.token_of(self.quota)

    def owed(self, now):
        return max(Fraction(0), self.full_at - now)

    def lateness(self, now, cost):
        return self.owed(now) + cost * self.token - self.quota.capacity * self.token

    def fits(self, now, cost):
        return self.lateness(now, cost) <= 0

    def wait(self, now, cost):
        return ceil(self.lateness(now, cost))

    def wait_for_all(self, now, costs):
        """What is charged one by one, each when it is due, adds up: the bucket is never full meanwhile."""
        return max(0, self.wait(now, sum(costs))) if self.quota.limit else NEVER

    def remaining(self, now):
        # Less than nothing is left while reservations are out.
        left = self.quota.capacity - ceil(self.owed(now) / self.token) if self.quota.limit else 0
        return max(0, left)

    def reset_after(self, now):
        return ceil(self.owed(now))

    def share(self, now):
        return self.owed(now) / (self.quota.capacity * self.token) if self.quota.limit else Fraction(0)

    def spend(self, now, cost):
        self.full_at = now + self.owed(now) + cost * self.token

    def refund(self, now, cost, granted):
        if self.quota.limit and self.owed(now) <= self.quota.capacity * self.token:
            still_owed = cost * self.token - (now - granted)
            self.full_at -= max(Fraction(0), min(still_owed, self.owed(now)))

    def change(self, now, quota):
        used = self.owed(now) / self.token if self.quota.limit else Fraction(0)
        kept = min(used, quota.capacity)
        self.full_at = now + kept * self.token_of(quota) if kept else Fraction(0)


class FixedWindow(Budget):
    """A history of windows as [start, used]; only the last can be open."""

    def __init__(self, quota):
        super().__init__(quota)
        self.windows = []

    def open_window(self, now):
        if self.windows:
            start, used = self.windows[-1]
            if used > 0 and now < start + self.quota.period:
                return self.windows[-1]
        return None

    def remaining(self, now):
        window = self.open_window(now)
        return self.quota.limit - window[1] if window else self.quota.limit

    def fits(self, now, cost):
        return cost <= self.remaining(now)

    def wait(self, now, _cost):
        return self.reset_after(now)

    def reset_after(self, now):
        window = self.open_window(now)
        return window[0] + self.quota.period - now if window else 0

    def share(self, now):
        window = self.open_window(now)
        return Fraction(window[1], self.quota.limit) if window else Fraction(0)

    def spend(self, now, cost):
        window = self.open_window(now)
        if window:
            window[1] += cost
        else:
            self.windows.append([self.start_for(self.quota, now), cost])

    @staticmethod
    def start_for(quota, now):
        return now - now % quota.period if quota.anchor == "clock" else now

    def refund(self, now, cost, granted):
        window = self.open_window(now)
        if window and granted >= window[0]:
            window[1] = max(0, window[1] - cost)

    def change(self, now, quota):
        window = self.open_window(now)
        if window is None:
            # Else a longer period would open again what is over.
            self.windows = []
            return
        window[1] = min(window[1], quota.limit)
        if quota.anchor == "clock" or now >= window[0] + quota.period:
            window[0] = self.start_for(quota, now)


class SlidingWindow(Budget):
    """Counts by the index of their window; the one before the current counts in part."""

    def __init__(self, quota):
        super().__init__(quota)
        self.used = {}

    def counts(self, now):
        index = now // self.quota.period
        return self.used.get(index - 1, 0), self.used.get(index, 0)

    def estimate(self, now):
        previous, current = self.counts(now)
        still_counts = 1 - Fraction(now % self.quota.period, self.quota.period)
        return previous * still_counts + current

    def fits(self, now, cost):
        return self.estimate(now) + cost <= self.quota.limit

    def wait(self, now, cost):
        """By bisection: without traffic the estimate only falls, and after two windows it is 0."""
        refused, admitted = 0, 2 * self.quota.period
        while admitted - refused > 1:
            middle = (refused + admitted) // 2
            if self.fits(now + middle, cost):
                admitted = middle
            else:
                refused = middle
        return admitted

    def remaining(self, now):
        return max(0, floor(self.quota.limit - self.estimate(now)))

    def reset_after(self, now):
        previous, current = self.counts(now)
        windows = 2 if current else 1 if previous else 0
        return windows * self.quota.period - now % self.quota.period if windows else 0

    def share(self, now):
        return Fraction(self.estimate(now)) / self.quota.limit if self.quota.limit else Fraction(0)

    def spend(self, now, cost):
        index = now // self.quota.period
        self.used[index] = self.used.get(index, 0) + cost

    def refund(self, now, cost, granted):
        index = now // self.quota.period
        if granted // self.quota.period == index:
            self.used[index] = max(0, self.used.get(index, 0) - cost)

    def change(self, now, quota):
        index = now // quota.period
        if quota.period == self.quota.period:
            previous, current = self.counts(now)
            self.used = {index - 1: min(previous, quota.limit), index: min(current, quota.limit)}
        else:
            self.used = {index: min(ceil(self.estimate(now)), quota.limit)}


class SlidingLog(Budget):
    """Every grant as (time, tokens), oldest first."""

    def __init__(self, quota):
        super().__init__(quota)
        self.grants = []

    def live(self, now):
        return [(at, tokens) for at, tokens in self.grants if at > now - self.quota.period]

    def used(self, now):
        return sum(tokens for _, tokens in self.live(now))

    def fits(self, now, cost):
        return self.used(now) + cost <= self.quota.limit

    def wait(self, now, cost):
        return next(at + self.quota.period - now for at, _ in self.live(now) if self.fits(at + self.quota.period, cost))

    def remaining(self, now):
        return self.quota.limit - self.used(now)

    def reset_after(self, now):
        live = self.live(now)
        return live[-1][0] + self.quota.period - now if live else 0

    def spend(self, now, cost):
        self.grants.append((now, cost))

    def refund(self, now, cost, granted):
        kept = []
        for at, tokens in self.grants:
            removed = min(tokens, cost) if at == granted else 0
            cost -= removed
            if tokens > removed:
                kept.append((at, tokens - removed))
        self.grants = kept

    def change(self, now, quota):
        room = quota.limit
        kept = []
        for at, tokens in reversed(self.live(now)):
            tokens = min(tokens, room)
            room -= tokens
            if tokens:
                kept.append((at if at > now - quota.period else now, tokens))
        self.grants = sorted(kept)


BUDGETS = {
    "gcra": TokenBucket,
    "fixed_window": FixedWindow,
    "sliding_window": SlidingWindow,
    "sliding_log": SlidingLog,
}
