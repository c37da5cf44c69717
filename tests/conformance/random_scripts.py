"""Writes random scripts for the conformance run: the same seed gives the same scripts.

usage: python3 random_scripts.py --seed N [--count 1000] --out FILE        (random_keyed.py: the same with keys)

Each command runs on the model while it is written, so that clocks can be moved to exactly one nanosecond before, at and
after the instant that a limiter names, and so that commands that hang on less than a core's tick are left out. All
integers, asked for and answered, stay within 2**53-1.
"""

import argparse
import random
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from interpreter import Interpreter
from quota import ALGORITHMS, DAY_NS, LENGTH_NS, MAX_COUNT, Mistake, Quota
from resolution import Blurred, SharpKeyedLimiter, SharpLimiter

SECOND_NS = 10**9


def random_quota(rng, algorithm=None, anchor=None):
    """A quota whose waits stay within 2**53-1 ns, for `rng`'s taste."""
    algorithm = algorithm or rng.choice(ALGORITHMS)
    anchor = anchor or (rng.choice(("first", "clock")) if algorithm == "fixed_window" else "first")
    if algorithm == "gcra":
        return random_bucket(rng)
    least_period = 57_364 if algorithm == "sliding_window" else 1
    period = max(least_period, rng.choice((rng.randint(1, 1000), rng.randint(1, 10**7), SECOND_NS, 60 * SECOND_NS)))
    if rng.random() < 0.1:
        period = rng.randint(DAY_NS, 50 * DAY_NS)
    most = {"fixed_window": MAX_COUNT, "sliding_window": 2**40 - 1, "sliding_log": 2**24}[algorithm]
    limit = rng.choice((rng.randint(1, 4), rng.randint(1, 30), rng.randint(1, most)))
    if rng.random() < 0.02:
        limit = 0
    return Quota(limit, period, algorithm=algorithm, anchor=anchor)


def random_bucket(rng):
    style = rng.randrange(6)
    if style == 0:  # a token is a whole number of nanoseconds
        limit = rng.randint(1, 20)
        period = limit * rng.choice((1, 7, 1000, 999_983, SECOND_NS, 60 * SECOND_NS))
    elif style == 1:  # it hardly ever is
        limit, period = rng.randint(1, 1000), rng.randint(1, SECOND_NS)
    elif style == 2:
        limit, period = rng.choice((3, 7, 11, 13, 1000, 44_100, 1_000_000_001)), SECOND_NS
    elif style == 3:  # several tokens a nanosecond
        limit, period = rng.randint(10**9, 9 * 10**9), SECOND_NS
    elif style == 4:
        limit, period = rng.randint(1, 10), rng.randint(DAY_NS, 100 * DAY_NS)
    else:
        limit, period = rng.randint(1, MAX_COUNT), rng.randint(1, 100 * DAY_NS)
    burst = rng.choice((None, None, 1, 2, rng.randint(1, 50), min(MAX_COUNT, limit * 3)))
    quota = Quota(limit, period, burst)
    return quota if is_usable(quota) else random_bucket(rng)


def is_usable(quota):
    """Whether it is allowed and its bucket fills within 2**53-1 ns."""
    try:
        quota.check()
    except Mistake:
        return False
    return quota.algorithm != "gcra" or quota.capacity * quota.period <= MAX_COUNT * quota.limit


def similar_quota(rng, quota):
    """One that a limiter may be reconfigured to."""
    if rng.random() < 0.5:
        changed = replace(quota, limit=max(0, quota.limit + rng.randint(-3, 3)))
        if is_usable(changed):
            return changed
    return random_quota(rng, quota.algorithm, quota.anchor)


def fields(quotas):
    return " + ".join(quota_fields(quota) for quota in quotas)


def quota_fields(quota):
    words = [f"limit={quota.limit}", f"per={quota.period}"]
    if quota.burst is not None:
        words.append(f"burst={quota.burst}")
    if quota.algorithm != "gcra":
        words.append(f"algorithm={quota.algorithm}")
    if quota.anchor != "first":
        words.append(f"anchor={quota.anchor}")
    return " ".join(words)


def as_text(text):
    return "text=" + quote(text, safe="/")


class ScriptWriter:
    """Writes one script while it runs on the model."""

    def __init__(self, rng, name):
        self.rng = rng
        self.lines = [f"script {name}"]
        self.world = Interpreter(SharpLimiter, SharpKeyedLimiter)
        self.names = 0

    def say(self, command):
        """Adds the command, unless its answer would hang on less than a tick; tells its answer."""
        try:
            answer = self.world.run(command)
        except Blurred:
            return None
        self.lines.append(command)
        return answer

    def new_name(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"


class RateScript(ScriptWriter):
    """One or two rate limiters, simple or of several quotas."""

    def write(self):
        self.limiters = {}
        self.decisions = []
        for _ in range(self.rng.choice((1, 1, 2))):
            self.add_limiter()
        steps = (
            (self.call, 10),
            (self.probe, 10),
            (self.advance, 5),
            (self.refund, 3),
            (self.reconfigure, 2),
            (self.step_clock, 1),
            (self.reset, 1),
            (self.mistake, 1),
        )
        for _ in range(self.rng.randint(8, 24)):
            step = self.rng.choices([step for step, _ in steps], [weight for _, weight in steps])[0]
            step(self.rng.choice(list(self.limiters)))
        for name in self.limiters:
            self.say(f"stats {name}")
        return self.lines

    def add_limiter(self):
        name = self.new_name("r")
        quotas = [random_quota(self.rng) for _ in range(self.rng.choice((1, 1, 1, 2, 3, 5)))]
        how = as_text(";".join(map(str, quotas))) if self.rng.random() < 0.2 else fields(quotas)
        self.say(f"rate {name} {how}")
        self.limiters[name] = quotas

    def cost(self, name):
        capacity = min(quota.capacity for quota in self.limiters[name])
        some = self.rng.randint(1, max(1, capacity))
        cost = self.rng.choice((1, 1, 1, 2, some, max(1, capacity - 1), max(1, capacity), capacity + 1))
        return min(cost, MAX_COUNT)

    def call(self, name):
        cost = self.cost(name)
        for _ in range(self.rng.choice((1, 1, 1, 3))):
            verb = self.rng.choice(("try", "decide", "decide", "peek"))
            command = f"{verb} {name}" + ("" if cost == 1 and self.rng.random() < 0.5 else f" cost={cost}")
            if verb == "decide" and self.rng.random() < 0.5:
                kept = self.new_name("d")
                if self.say(f"{command} as={kept}") is not None:
                    self.decisions.append((name, kept))
            else:
                self.say(command)

    def probe(self, name):
        """Asks one nanosecond before, at, or after the instant at which the answer should change."""
        cost = self.cost(name)
        try:
            decision = self.world.limiters[name].peek(cost)
        except Blurred:
            return
        wait = decision.retry_after if decision.status == "denied" else decision.reset_after
        if not 0 < wait <= MAX_COUNT:
            return
        if self.rng.random() < 0.5:
            self.say(f"peek {name} cost={cost}")
        self.say(f"advance {max(0, wait - 1)}")
        self.say(f"{self.rng.choice(('try', 'decide', 'peek'))} {name} cost={cost}")
        for _ in range(self.rng.choice((1, 2))):
            self.say("advance 1")
            self.say(f"{self.rng.choice(('try', 'decide', 'decide', 'peek'))} {name} cost={cost}")

    def advance(self, name):
        quota = self.rng.choice(self.limiters[name])
        period = quota.period
        by = self.rng.choice(
            (0, 1, period, period - 1, period + 1, 2 * period, period // 3, period // max(1, quota.limit) + 1)
        )
        if self.rng.random() < 0.2:
            by = self.rng.randint(0, 3 * period)
        if self.rng.random() < 0.03:
            by = MAX_COUNT
        self.say(f"advance {min(by, MAX_COUNT)}")

    def step_clock(self, name):
        reference = self.world.clock.reference
        period = self.limiters[name][0].period
        to = self.rng.choice((0, max(0, reference - period), max(0, reference - 1), reference + period))
        self.say(f"set_clock {min(to, MAX_COUNT)}")

    def refund(self, name):
        if not self.decisions:
            return
        granter, kept = self.rng.choice(self.decisions)
        self.say(f"refund {granter if self.rng.random() < 0.9 else name} {kept}")

    def reconfigure(self, name):
        before = self.limiters[name]
        quotas = [similar_quota(self.rng, quota) if self.rng.random() < 0.7 else quota for quota in before]
        if self.rng.random() < 0.1:
            quotas = [*quotas, random_quota(self.rng)]
        if self.say(f"reconfigure {name} {fields(quotas)}") == "ok":
            self.limiters[name] = quotas

    def reset(self, name):
        self.say(f"reset {name}")

    def mistake(self, name):
        verb = self.rng.choice(("try", "decide", "peek"))
        mistakes = (
            f"{verb} {name} cost=0",
            f"rate {self.new_name('bad')} limit=5 per=0",
            f"rate {self.new_name('bad')} limit=5 per=1000 burst=5 algorithm=sliding_log",
            f"rate {self.new_name('bad')} limit=5 per=1000 anchor=clock",
            f"rate {self.new_name('bad')} {fields([Quota(1, 1000)] * 17)}",
            f"reconfigure {name} limit=1 per=0",
        )
        self.say(self.rng.choice(mistakes))


class LongScript(ScriptWriter):
    """A quota of months or years. Only `try`: its waits would be beyond 2**53-1 ns."""

    def write(self):
        algorithm = self.rng.choice(ALGORITHMS)
        days = self.rng.randint(30, 730)
        limit = self.rng.randint(1, 4)
        self.say(f"rate r {as_text(f'{limit}/{days}d {algorithm}')}")
        for _ in range(self.rng.randint(4, 16)):
            for _ in range(self.rng.randint(1, limit + 1)):
                self.say("try r")
            wait = self.world.limiters["r"].clock.now % DAY_NS or DAY_NS * self.rng.randint(1, days)
            while wait > 0:
                self.say(f"advance {min(wait, MAX_COUNT)}")
                wait -= MAX_COUNT
            self.say(f"advance {self.rng.choice((0, 1, DAY_NS - 1))}")
        self.say("stats r")
        return self.lines


class PermitScript(ScriptWriter):
    """A concurrency limiter."""

    def write(self):
        rng = self.rng
        limit = rng.choice((0, 1, 2, 5, 10, 2**31 - 1))
        self.say(f"conc c limit={limit}" + (" track_hold_time=1" if rng.random() < 0.5 else ""))
        permits = []
        for _ in range(rng.randint(8, 40)):
            step = rng.random()
            if step < 0.4:
                cost = rng.choice((1, 1, 1, 2, 3, max(1, limit), limit + 1, rng.choice((0, MAX_COUNT))))
                kept = self.new_name("p")
                if rng.random() < 0.1:
                    self.say(f"try c cost={cost}")
                elif self.say(f"try c cost={cost} as={kept}") in ("allowed", "refused"):
                    permits.append(kept)
            elif step < 0.7 and permits:
                self.say(f"release {rng.choice(permits)}{rng.choice(('', '', ' failed'))}")
            elif step < 0.8:
                limit = rng.choice((0, 1, 2, 5, 10, limit, 2**31 - 1))
                self.say(f"limit c {limit}")
            elif step < 0.82:
                self.say(f"limit c {2**31}")
            elif step < 0.92:
                self.say(f"advance {rng.randint(0, 10**12)}")
            else:
                self.say("stats c")
        self.say("stats c")
        return self.lines


class TextScript(ScriptWriter):
    """Texts of quotas: right ones, and right ones with one character changed."""

    STRANGE = (*" /;0123456789-+.eE_smhdwpM\t\n\u00e9\u0661\u00a0\uff13", "per", "burst", "anchor", "gcra")

    def write(self):
        for _ in range(self.rng.randint(4, 12)):
            text = "; ".join(self.sentence() for _ in range(self.rng.choice((1, 1, 1, 2, 3))))
            if self.rng.random() < 0.5:
                text = self.changed(text)
            self.say(f"parse {as_text(text)}")
        return self.lines

    def sentence(self):
        rng = self.rng
        unit = rng.choice(list(LENGTH_NS))
        count = rng.choice(("", "", "2", "60", "7", "90", "24"))
        words = [str(rng.choice((1, 5, 10, 100))), rng.choice(("/", "per")), count + unit]
        algorithm = rng.choice(("", "", *ALGORITHMS))
        if algorithm == "sliding_window":
            words[2] = count + "s"
        if algorithm in ("", "gcra") and rng.random() < 0.3:
            words.append(f"burst {rng.choice((1, 10, 25))}")
        if algorithm:
            words.append(algorithm)
        if algorithm == "fixed_window" and rng.random() < 0.5:
            words.append(f"anchor {rng.choice(('first', 'clock'))}")
        if words[1] == "/" and rng.random() < 0.7:
            return " ".join(["".join(words[:3]), *words[3:]])
        return (" " * rng.choice((1, 1, 2))).join(words)

    def changed(self, text):
        place = self.rng.randint(0, len(text))
        removed = self.rng.choice((0, 1))
        added = self.rng.choice(self.STRANGE) if not removed or self.rng.random() < 0.5 else ""
        return text[:place] + added + text[place + removed :]


KINDS = ((RateScript, 70), (PermitScript, 14), (TextScript, 10), (LongScript, 6))


def scripts(seed, count, kinds=KINDS):
    """The lines of `count` scripts."""
    for number in range(1, count + 1):
        rng = random.Random(f"{seed}/{number}")
        kind = rng.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])[0]
        yield from kind(rng, f"random_{number}").write()


def write_scripts(path, seed, count, kinds=KINDS):
    header = f"# random scripts: seed {seed}, count {count}"
    path.write_text("\n".join([header, *scripts(seed, count, kinds), ""]), encoding="utf-8")


def main(kinds=KINDS):
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seed", type=int, required=True)
    arguments.add_argument("--count", type=int, default=1000)
    arguments.add_argument("--out", type=Path, required=True)
    given = arguments.parse_args()
    write_scripts(given.out, given.seed, given.count, kinds)


if __name__ == "__main__":
    main()
