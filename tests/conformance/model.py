"""The naive model: what every limiter must answer, written as plainly as Python allows.

Nothing here is fast, atomic or of fixed size. The pinned rules are in docs/design.md, section 12.
"""

from dataclasses import dataclass
from math import inf

from budgets import ALLOWED, BUDGETS, DENIED, EXCEEDS_CAPACITY, KEYS_FULL
from quota import MAX_COUNT, Mistake, check_list, demand
from waiting import CLOSED, GRANTED, TIMED_OUT, Waitable, exceeds

END_OF_TIME_NS = 2**64 - 1
# Of refusals with the same wait, which goes first.
REFUSALS = (KEYS_FULL, EXCEEDS_CAPACITY, DENIED)


class Clock:
    """A manual clock. Limiters see `now`, which never goes back; `reference` is what was last set."""

    def __init__(self):
        self.now = 0
        self.reference = 0

    def advance(self, by):
        self.reference = min(self.reference + by, END_OF_TIME_NS)
        self.now = min(self.now + by, END_OF_TIME_NS)

    def set(self, to):
        self.now = min(self.now + max(0, to - self.reference), END_OF_TIME_NS)
        self.reference = to


@dataclass
class Decision:
    status: str
    limit: int
    remaining: int
    retry_after: int | float
    reset_after: int
    quota: int
    # What a refund needs: who granted, in which epoch, when, how much. None where nothing is to refund.
    grant: tuple | None = None


@dataclass
class Reservation:
    """What a token bucket was charged ahead of time, with when it was to be full before and after."""

    limiter: "RateLimiter"
    status: str
    wait: int | None = None
    due: int | None = None
    epoch: int | None = None
    before: object = None
    after: object = None


class RateLimiter(Waitable):
    """One or more quotas that all must admit."""

    budgets_by_algorithm = BUDGETS

    def __init__(self, clock, quotas, max_waiters=None):
        check_list(quotas)
        super().__init__(clock, max_waiters)
        # Resets and changes so far: what was granted before the last one can't be refunded to any effect.
        self.epoch = 0
        self.budgets = [self.budgets_by_algorithm[quota.algorithm](quota) for quota in quotas]

    def peek(self, cost):
        demand("cost", cost, 1, MAX_COUNT)
        now = self.clock.now
        verdicts = [budget.verdict(now, cost) for budget in self.budgets]
        if not self.line:
            return self._report(now, verdicts)
        # Whoever comes while somebody waits is refused, and named after what it would wait for if it were alone.
        decision = self._report(now, [(DENIED if status == ALLOWED else status, wait) for status, wait in verdicts])
        decision.remaining = 0
        if decision.status == DENIED:
            decision.retry_after = self.least_wait(cost)
        return decision

    def decide(self, cost):
        decision = self.peek(cost)
        if decision.status != ALLOWED:
            self.denied += 1
            return decision
        self.allowed += 1
        now = self.clock.now
        self.grant(now, cost)
        decision = self._report(now, [(ALLOWED, 0)] * len(self.budgets))
        decision.grant = (self, self.epoch, now, cost)
        return decision

    def _report(self, now, verdicts):
        remaining = [budget.remaining(now) for budget in self.budgets]
        waits = [wait for _, wait in verdicts]
        refused = [i for i, (status, _) in enumerate(verdicts) if status != ALLOWED]
        if refused:
            # min takes the first of equals, so ties go to the first in the list.
            named = min(refused, key=lambda i: (-waits[i], REFUSALS.index(verdicts[i][0])))
        else:
            named = remaining.index(min(remaining))
        return Decision(
            status=verdicts[named][0],
            limit=self.budgets[named].quota.limit,
            remaining=min(remaining),
            retry_after=max(waits),
            reset_after=max(budget.reset_after(now) for budget in self.budgets),
            quota=named,
        )

    def refund(self, decision):
        if decision.grant is None or decision.grant[0] is not self:
            raise Mistake("decision", decision.status, "a decision of this limiter that granted, once")
        _, epoch, granted, cost = decision.grant
        decision.grant = None
        if epoch == self.epoch:
            for budget in self.budgets:
                budget.refund(self.clock.now, cost, granted)

    def reset(self):
        self.epoch += 1
        self.budgets = [type(budget)(budget.quota) for budget in self.budgets]

    def check_kinds(self, quotas):
        kinds = [(quota.algorithm, quota.anchor) for quota in quotas]
        if kinds != [(budget.quota.algorithm, budget.quota.anchor) for budget in self.budgets]:
            raise Mistake("quota", "; ".join(map(str, quotas)), "as many quotas, of the same algorithms and anchors")

    def reconfigure(self, quotas):
        check_list(quotas)
        self.check_kinds(quotas)
        pairs = zip(self.budgets, quotas, strict=True)
        # By canonical text: a burst that is the limit is the same as none.
        changed = [(budget, quota) for budget, quota in pairs if str(budget.quota) != str(quota)]
        for budget, quota in changed:
            budget.reconfigure(self.clock.now, quota)
        if changed:
            self.epoch += 1
            self.end_refused()

    def refusal(self, cost):
        refusals = [exceeds(cost, budget.quota.capacity * min(1, budget.quota.limit)) for budget in self.budgets]
        return next(filter(None, refusals), None)

    def due_after(self, now, cost):
        return max(budget.verdict(now, cost)[1] for budget in self.budgets)

    def grant(self, now, cost):
        for budget in self.budgets:
            budget.spend(now, cost)

    def least_wait(self, cost):
        """Behind all who wait: exact for one quota, of several the longest of each alone."""
        costs = [waiter.cost for waiter in self.line] + [cost]
        return max(budget.wait_for_all(self.clock.now, costs) for budget in self.budgets)

    def wait(self, cost, timeout=inf):
        demand("cost", cost, 1, MAX_COUNT)
        return super().wait(cost, timeout)

    def reserve(self, cost, max_wait=inf):
        """Charges ahead of time if it is due within `max_wait`; for one quota with gcra."""
        demand("cost", cost, 1, MAX_COUNT)
        if [budget.quota.algorithm for budget in self.budgets] != ["gcra"]:
            raise Mistake("quota", "; ".join(str(budget.quota) for budget in self.budgets), "one quota, with gcra")
        now, bucket = self.clock.now, self.budgets[0]
        refusal = self.refusal(cost)
        if refusal:
            self.tally.denied += 1
            return Reservation(self, refusal)
        if self.line or not bucket.quota.limit or self.due_after(now, cost) > max_wait:
            self.tally.timed_out += 1
            return Reservation(self, TIMED_OUT)
        self.tally.allowed += 1
        wait, before = self.due_after(now, cost), bucket.full_at
        self.grant(now, cost)
        return Reservation(self, GRANTED, wait, now + wait, self.epoch, before, bucket.full_at)

    def cancel_reservation(self, reservation):
        """Whether it was credited: only if it isn't due yet and nobody reserved after it."""
        if reservation.limiter is not self:
            raise Mistake("reservation", reservation.status, "one of this limiter")
        bucket = self.budgets[0]
        if (reservation.epoch, reservation.after) != (self.epoch, bucket.full_at) or self.clock.now >= reservation.due:
            return False
        bucket.full_at = reservation.before
        return True


@dataclass
class Permit:
    limiter: "ConcurrencyLimiter"
    permits: int
    since: int
    held: bool


class ConcurrencyLimiter(Waitable):
    """Lends permits. `try_acquire` always returns a `Permit`: a refused one is spent from the start."""

    def __init__(self, clock, limit, max_waiters=None):
        demand("limit", limit, 0, 2**31 - 1)
        super().__init__(clock, max_waiters)
        self.limit = limit
        self.is_closed = False
        self.permits = []
        self.released_ok = 0
        self.released_failed = 0
        self.holds = [0]

    def set_limit(self, limit):
        demand("limit", limit, 0, 2**31 - 1)
        self.limit = limit
        self.end_refused()

    def close(self):
        self.is_closed = True
        self.end_refused()

    @property
    def in_flight(self):
        return sum(permit.permits for permit in self.permits if permit.held)

    @property
    def unused(self):
        return max(0, self.limit - self.in_flight)

    @property
    def available(self):
        """What whoever comes may take."""
        return 0 if self.line or self.is_closed else self.unused

    def try_acquire(self, permits):
        demand("permits", permits, 1, MAX_COUNT)
        if permits > self.available:
            self.denied += 1
            return Permit(self, permits, self.clock.now, held=False)
        self.allowed += 1
        return self.grant(self.clock.now, permits)

    def refusal(self, permits):
        return CLOSED if self.is_closed else exceeds(permits, self.limit)

    def due_after(self, _now, permits):
        """Nobody knows when permits come back."""
        return 0 if permits <= self.unused else inf

    def grant(self, now, permits):
        permit = Permit(self, permits, now, held=True)
        self.permits.append(permit)
        return permit

    def least_wait(self, _permits):
        return 0

    def wait(self, permits, timeout=inf):
        demand("permits", permits, 1, MAX_COUNT)
        return super().wait(permits, timeout)

    def release(self, permit, ok):
        if not permit.held:
            raise Mistake("permit", "one that is spent", "a permit that is held")
        permit.held = False
        self.holds.append(self.clock.now - permit.since)
        if ok:
            self.released_ok += 1
        else:
            self.released_failed += 1
