"""Writes random scripts with waits, as random_scripts.py does without.

usage: python3 random_waiting.py --seed N [--count 1000] --out FILE        (half of them with keys)

The clock is moved to just before, at and after what happens next, and far beyond it; timeouts are just as long as a
wait will be, and a nanosecond less. Token buckets have quotas of which whole nanoseconds are whole ticks: so nothing is
rounded.
"""

from math import inf
from urllib.parse import unquote_to_bytes

from keyed import check_keyed
from quota import ALGORITHMS, MAX_COUNT, Mistake, Quota
from random_scripts import SECOND_NS, ScriptWriter, fields, is_usable, main, random_quota, similar_quota
from resolution import TickedBucket

LONGEST_PERIOD_NS = 3600 * SECOND_NS


def exact_quota(rng, make, keyed=False):
    """One of `make` that is exact to the nanosecond, and whose waits add up to no more than 2**53-1 ns."""
    while True:
        quota = make(rng)
        if keyed and not fits_a_slot(quota):
            continue
        if quota.algorithm == "gcra" and not (TickedBucket(quota).is_whole(quota) and is_usable(quota)):
            continue
        fill = quota.period * quota.capacity // max(1, quota.limit) if quota.algorithm == "gcra" else quota.period
        if max(fill, quota.period) <= LONGEST_PERIOD_NS:
            return quota


def fits_a_slot(quota):
    try:
        check_keyed([quota])
    except Mistake:
        return False
    return True


def small_quota(rng):
    """So small that a few calls use it up."""
    algorithm = rng.choice(("gcra", *ALGORITHMS))
    limit = rng.choice((0, 1, 1, 2, 3, 4, 5, 10, 30) if rng.random() < 0.1 else (1, 1, 2, 3, 4, 5, 10))
    period = max(57_364, limit * rng.choice((1, 7, 1000, 99_991, SECOND_NS, 20 * SECOND_NS, rng.randint(1, 10**6))))
    burst = rng.choice((None, 1, 2, 3, 10)) if algorithm == "gcra" else None
    anchor = rng.choice(("first", "clock")) if algorithm == "fixed_window" else "first"
    return Quota(limit, period, burst, algorithm, anchor)


def any_quota(rng):
    return random_quota(rng) if rng.random() < 0.2 else small_quota(rng)


class WaitingScript(ScriptWriter):
    """What both kinds of limiter have in common: waits, and a clock that is moved to where it matters.

    With `keys` it is a limiter with keys, and each step is about one of them.
    """

    keys = ()

    def begin(self):
        self.waits = []
        self.options = self.max_keys = " max_keys=1000" if self.keys else ""
        if self.rng.random() < 0.2:
            self.options += f" max_waiters={self.rng.choice((0, 1, 2, 3))}"

    @property
    def limiter(self):
        """Of the key that this step is about."""
        limiter = self.world.limiters["x"]
        return limiter.of(unquote_to_bytes(self.key)) if self.keys else limiter

    @property
    def x(self):
        return f"x key={self.key}" if self.keys else "x"

    def wait(self):
        name = self.new_name("w")
        cost = self.cost()
        words = [f"wait {name} {self.x}"] + ([] if cost == 1 and self.rng.random() < 0.5 else [f"cost={cost}"])
        longest = self.least_wait(cost)
        longest = longest if longest < inf else 1000
        timeout = self.rng.choice((None, None, 0, longest, longest - 1, longest + 1, 2 * longest, 10 * longest))
        if timeout is not None:
            words.append(f"timeout={min(max(0, timeout), MAX_COUNT)}")
        if self.say(" ".join(words)) is not None:
            self.waits.append(name)

    def cancel(self):
        pending = sorted(self.world.pending)
        if pending and self.rng.random() < 0.9:
            self.say(f"cancel {self.rng.choice(pending)}")
        elif self.waits and self.rng.random() < 0.1:
            self.say(f"cancel {self.rng.choice(self.waits)}")

    def advance(self):
        """To what happens next, or just before it, or beyond."""
        after = self.next_after()
        by = self.rng.choice((0, 1, after - 1, after, after, after + 1, 3 * after, self.some_time()))
        self.say(f"advance {min(max(0, by), MAX_COUNT)}")

    def next_after(self):
        limiter, now = self.world.limiters["x"], self.world.clock.now
        limiters = [one for one in (limiter.by_key.values() if self.keys else [limiter]) if one.line]
        instants = [waiter.deadline for one in limiters for waiter in one.line]
        instants += [now + one.due_after(now, one.line[0].cost) for one in limiters]
        return min([instant - now for instant in instants if instant < inf], default=self.some_time())

    def step_clock(self):
        reference = self.world.clock.reference
        self.say(f"set_clock {self.rng.choice((0, reference // 2, reference + self.some_time()))}")

    def run_steps(self, steps, fewest=10, most=40):
        for _ in range(self.rng.randint(fewest, most)):
            self.key = self.rng.choice(self.keys) if self.keys else None
            self.rng.choices([step for step, _ in steps], [weight for _, weight in steps])[0]()


class RateWaitingScript(WaitingScript):
    """Waits for tokens, and reservations of them."""

    def write(self):
        self.begin()
        self.decisions = []
        self.reservations = []
        count = self.rng.choice((1, 1, 1, 1, 2, 3))
        self.quotas = [exact_quota(self.rng, any_quota, bool(self.keys)) for _ in range(count)]
        self.say(f"rate x {fields(self.quotas)}{self.options}")
        steps = (
            (self.wait, 12),
            (self.call, 5),
            (self.advance, 9),
            (self.cancel, 3),
            (self.reserve, 4),
            (self.unreserve, 3),
            (self.refund, 2),
            (self.reconfigure, 1),
            (self.reset, 0.5),
            *self.keyed_steps(),
            (lambda: self.say("waiting x"), 1),
            (self.step_clock, 0.5),
            (self.mistake, 0.3),
        )
        self.run_steps(steps)
        self.say("stats x")
        self.say("waiting x")
        for key in self.keys or (None,):
            self.key = key
            self.say(f"peek {self.x}")
        return self.lines

    def keyed_steps(self):
        return ()

    def reset(self):
        self.say(f"reset {self.x}")

    def cost(self):
        capacity = max(1, min(quota.capacity for quota in self.quotas))
        cost = self.rng.choice((1, 1, 1, 2, self.rng.randint(1, capacity), capacity, max(1, capacity - 1)))
        return min(MAX_COUNT, capacity + 1 if self.rng.random() < 0.05 else cost)

    def least_wait(self, cost):
        return 0 if self.limiter.refusal(cost) else self.limiter.least_wait(cost)

    def some_time(self):
        quota = self.rng.choice(self.quotas)
        return self.rng.choice((1, quota.period, quota.period // max(1, quota.limit), 2 * quota.period))

    def call(self):
        verb = self.rng.choice(("try", "try", "decide", "peek", "peek"))
        command = f"{verb} {self.x} cost={self.cost()}"
        if verb == "decide":
            kept = self.new_name("d")
            if self.say(f"{command} as={kept}") is not None:
                self.decisions.append((kept, self.key))
        else:
            self.say(command)

    def refund(self):
        if self.decisions:
            kept, key = self.decisions.pop(self.rng.randrange(len(self.decisions)))
            self.say(f"refund x {kept}" + (f" key={key}" if self.keys else ""))

    def reserve(self):
        may_reserve = [quota.algorithm for quota in self.quotas] == ["gcra"] or self.rng.random() < 0.05
        if not may_reserve:
            return
        kept = self.new_name("s")
        longest = self.rng.choice(("", "", f" max_wait={self.rng.choice((0, self.some_time(), self.next_after()))}"))
        answer = self.say(f"reserve {self.x} cost={self.cost()}{longest} as={kept}")
        if answer and answer.startswith("granted"):
            self.reservations.append((kept, self.key))

    def unreserve(self):
        if self.reservations:
            kept, key = self.reservations.pop(self.rng.choice((-1, -1, self.rng.randrange(len(self.reservations)))))
            key = self.key if self.rng.random() < 0.05 else key
            self.say(f"unreserve x {kept}" + (f" key={key}" if self.keys else ""))

    def reconfigure(self):
        change = {
            quota: exact_quota(self.rng, lambda rng, quota=quota: similar_quota(rng, quota)) for quota in self.quotas
        }
        quotas = [change[quota] if self.rng.random() < 0.7 else quota for quota in self.quotas]
        if self.say(f"reconfigure x {fields(quotas)}") == "ok":
            self.quotas = quotas

    def changed(self, quota):
        return exact_quota(self.rng, lambda rng: similar_quota(rng, quota), bool(self.keys))

    def mistake(self):
        self.say(
            self.rng.choice(
                (
                    f"wait {self.new_name('bad')} {self.x} cost=0",
                    f"try {self.x} cost=0",
                    f"rate {self.new_name('bad')} limit=1 per=1000 max_waiters={2**32 - 1}{self.max_keys}",
                    f"rate {self.new_name('bad')} limit=1 per=0 max_waiters={2**32 - 1}{self.max_keys}",
                )
            )
        )


class PermitWaitingScript(WaitingScript):
    """Waits for permits."""

    def write(self):
        self.begin()
        self.tried = []
        self.limit = self.rng.choice((0, 1, 1, 2, 3, 5, 10))
        tracked = self.rng.choice(("", " track_hold_time=1"))
        self.say(f"conc x limit={self.limit}{self.options}{tracked}")
        steps = (
            (self.wait, 10),
            (self.call, 6),
            (self.release, 9),
            (self.advance, 5),
            (self.cancel, 3),
            (self.resize, 2),
            (lambda: self.say("waiting x"), 1),
            (lambda: self.say("stats x"), 1),
            (lambda: self.say("close x"), 0.3),
            (self.step_clock, 0.5),
            (self.mistake, 0.3),
        )
        self.run_steps(steps)
        self.say("stats x")
        self.say("waiting x")
        return self.lines

    def cost(self):
        return self.rng.choice((1, 1, 1, 2, 3, max(1, self.limit), self.limit + 1))

    def least_wait(self, _cost):
        return self.rng.choice((1, 2, 10, 1000))

    def some_time(self):
        return self.rng.choice((1, 5, 1000))

    def call(self):
        kept = self.new_name("p")
        if self.say(f"try {self.x} cost={self.cost()} as={kept}") == "allowed":
            self.tried.append(kept)

    def release(self):
        held = [name for name in (*self.tried, *self.waits) if name in self.world.kept]
        if held:
            still = [name for name in held if self.world.kept[name].held] if self.rng.random() < 0.95 else held
            for name in self.rng.sample(still, min(len(still), self.rng.choice((1, 1, 2)))):
                self.say(f"release {name}{self.rng.choice(('', '', ' failed'))}")

    def resize(self):
        self.limit = self.rng.choice((0, 1, 2, 3, 5, 10, self.limit))
        self.say(f"limit x {self.limit}")

    def mistake(self):
        self.say(
            self.rng.choice(
                (
                    f"wait {self.new_name('bad')} {self.x} cost=0",
                    f"conc {self.new_name('bad')} limit=1 max_waiters={2**32 - 1}{self.max_keys}",
                    f"conc {self.new_name('bad')} limit={2**31} max_waiters={2**32 - 1}{self.max_keys}",
                )
            )
        )


class KeyedRateWaitingScript(RateWaitingScript):
    """The same for a few keys, and some of them have quotas of their own for a while."""

    keys = ("a", "b", "%00")

    def begin(self):
        super().begin()
        self.options += self.rng.choice(("", " track_denied=2"))

    def keyed_steps(self):
        return (
            (self.set_quota, 0.7),
            (lambda: self.say(f"clear {self.x}"), 0.4),
            (lambda: self.say("top x n=3"), 1),
        )

    def set_quota(self):
        is_same = self.rng.random() < 0.3
        quotas = self.quotas if is_same else [self.changed(quota) for quota in self.quotas]
        self.say(f"quota {self.x} {fields(quotas)}")


class KeyedPermitWaitingScript(PermitWaitingScript):
    keys = ("a", "b", "%00")


WAITING_KINDS = ((RateWaitingScript, 60), (PermitWaitingScript, 40))
KEYED_WAITING_KINDS = ((KeyedRateWaitingScript, 60), (KeyedPermitWaitingScript, 40))

if __name__ == "__main__":
    main((*WAITING_KINDS, *KEYED_WAITING_KINDS))
