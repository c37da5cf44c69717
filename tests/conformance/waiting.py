"""Waiting in the naive model: a list of who waits, first come, first served, as if every timer were perfect.

Between two commands nothing happens but that time passes: so what a command has made possible is granted at once, and
then, as far as the clock was moved, the next thing that happens is looked for again and again. The pinned rules are in
docs/design.md, sections 7 and 12.
"""

from dataclasses import dataclass
from math import inf

from budgets import EXCEEDS_CAPACITY
from quota import demand

GRANTED, PENDING, TIMED_OUT, CANCELLED = "granted", "pending", "timed_out", "cancelled"
QUEUE_FULL, CLOSED = "queue_full", "closed"
MOST_WAITERS = 2**32 - 2


@dataclass
class Waiter:
    """One wait. It is over once its status isn't `pending`; a concurrency limiter's has a permit if it was granted."""

    limiter: "Waitable"
    cost: int
    deadline: int | float
    status: str = PENDING
    permit: object = None


class Waitable:
    """A limiter that can be waited for. Subclasses say what can be had, and when.

    `refusal(cost)` is why it can never be had, or None; `due_after(now, cost)` how long until it can be, if nobody else
    asks, or inf; `grant(now, cost)` takes it; `least_wait(cost)` is how long one that came now would wait at least.
    """

    def __init__(self, clock, max_waiters=None):
        self.max_waiters = MOST_WAITERS if max_waiters is None else max_waiters
        demand("max_waiters", self.max_waiters, 0, MOST_WAITERS)
        self.clock = clock
        # Where ends of waits are counted: a limiter with keys counts those of all.
        self.tally = self
        self.begin_line()
        self.allowed = 0
        self.denied = 0
        self.timed_out = 0
        self.cancelled = 0

    def begin_line(self):
        self.line = []
        # Until when all that was due has happened.
        self.seen = self.clock.now

    @property
    def waiting(self):
        return len(self.line)

    def wait(self, cost, timeout=inf):
        now = self.clock.now
        waiter = Waiter(self, cost, now + timeout)
        refusal = self.refusal(cost)
        if refusal:
            self.end(waiter, refusal)
        elif not self.line and self.due_after(now, cost) == 0:
            self.end(waiter, GRANTED, now)
        elif timeout == 0:
            self.end(waiter, TIMED_OUT)
        elif len(self.line) >= self.max_waiters:
            self.end(waiter, QUEUE_FULL)
        elif timeout < inf and self.least_wait(cost) > timeout:
            self.end(waiter, TIMED_OUT)
        else:
            self.line.append(waiter)
        return waiter

    def cancel(self, waiter):
        """Whether the wait was cancelled; if not, it was over before."""
        if waiter.status != PENDING:
            return False
        self.end(waiter, CANCELLED)
        return True

    def end(self, waiter, status, at=None):
        self.line = [other for other in self.line if other is not waiter]
        waiter.status = status
        if status == GRANTED:
            waiter.permit = self.grant(at, waiter.cost)
            self.tally.allowed += 1
        elif status == TIMED_OUT:
            self.tally.timed_out += 1
        elif status == CANCELLED:
            self.tally.cancelled += 1
        else:
            self.tally.denied += 1

    def end_refused(self):
        """After a change: ends the waits for what can never be had now."""
        for waiter in self.line:
            refusal = self.refusal(waiter.cost)
            if refusal:
                self.end(waiter, refusal)

    def settle(self):
        """Lets happen what is due by now, each as of its own time. A grant comes before a deadline at the same time."""
        while self.line:
            head = self.line[0]
            due = self.seen + self.due_after(self.seen, head.cost)
            late = min(self.line, key=lambda waiter: waiter.deadline)
            if min(due, late.deadline) > self.clock.now:
                break
            if due <= late.deadline:
                self.seen = due
                self.end(head, GRANTED, due)
            else:
                self.seen = late.deadline
                self.end(late, TIMED_OUT)
        self.seen = self.clock.now


class KeyedWaitable:
    """A limiter with keys that can be waited for: each key has a line of its own, all settle."""

    def begin_counts(self):
        self.allowed = 0
        self.denied = 0
        self.timed_out = 0
        self.cancelled = 0

    @property
    def waiting(self):
        return sum(limiter.waiting for limiter in self.by_key.values())

    def wait(self, key, cost, timeout=inf):
        return self.of(key).wait(cost, timeout)

    def settle(self):
        for limiter in self.by_key.values():
            limiter.settle()


def exceeds(cost, capacity):
    """The refusal of what is more than can ever be had; a limit of 0 is a pause."""
    return EXCEEDS_CAPACITY if 0 < capacity < cost else None
