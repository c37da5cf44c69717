"""The naive model: what every limiter must answer, written as plainly as Python allows.

Nothing here is fast, atomic or of fixed size. The pinned rules are in docs/design.md, section 12.
"""

from dataclasses import dataclass

from budgets import ALLOWED, BUDGETS, DENIED, EXCEEDS_CAPACITY, KEYS_FULL
from quota import MAX_COUNT, Mistake, check_list, demand

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


class RateLimiter:
    """One or more quotas that all must admit."""

    budgets_by_algorithm = BUDGETS

    def __init__(self, clock, quotas):
        check_list(quotas)
        self.clock = clock
        # Resets and changes so far: what was granted before the last one can't be refunded to any effect.
        self.epoch = 0
        self.allowed = 0
        self.denied = 0
        self.budgets = [self.budgets_by_algorithm[quota.algorithm](quota) for quota in quotas]

    def peek(self, cost):
        demand("cost", cost, 1, MAX_COUNT)
        now = self.clock.now
        verdicts = [budget.verdict(now, cost) for budget in self.budgets]
        return self._report(now, verdicts)

    def decide(self, cost):
        decision = self.peek(cost)
        if decision.status != ALLOWED:
            self.denied += 1
            return decision
        self.allowed += 1
        now = self.clock.now
        for budget in self.budgets:
            budget.spend(now, cost)
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


@dataclass
class Permit:
    limiter: "ConcurrencyLimiter"
    permits: int
    since: int
    held: bool


class ConcurrencyLimiter:
    """Lends permits. `try_acquire` always returns a `Permit`: a refused one is spent from the start."""

    def __init__(self, clock, limit):
        self.clock = clock
        self.set_limit(limit)
        self.permits = []
        self.denied = 0
        self.released_ok = 0
        self.released_failed = 0
        self.holds = [0]

    def set_limit(self, limit):
        demand("limit", limit, 0, 2**31 - 1)
        self.limit = limit

    @property
    def in_flight(self):
        return sum(permit.permits for permit in self.permits if permit.held)

    @property
    def available(self):
        return max(0, self.limit - self.in_flight)

    def try_acquire(self, permits):
        demand("permits", permits, 1, MAX_COUNT)
        permit = Permit(self, permits, self.clock.now, held=permits <= self.available)
        if permit.held:
            self.permits.append(permit)
        else:
            self.denied += 1
        return permit

    @property
    def allowed(self):
        return len(self.permits)

    def release(self, permit, ok):
        if not permit.held:
            raise Mistake("permit", "one that is spent", "a permit that is held")
        permit.held = False
        self.holds.append(self.clock.now - permit.since)
        if ok:
            self.released_ok += 1
        else:
            self.released_failed += 1
