"""Timing: subjects take turns, round by round, so that a machine whose speed drifts is the same for all."""

import dataclasses
import gc
import json
import os
import time
from collections.abc import Callable

import tidegate

QUICK = bool(os.environ.get("QUICK"))
ROUNDS = 11 if QUICK else 31
# How long a turn takes, about: as many calls as fit into it.
TURN_NS = 2_000_000 if QUICK else 7_000_000
# Calls between two looks at the clock.
CHUNK = 500

# More than any loop here can spend in its period.
PLENTY = 1_000_000_000

OURS = ("tidegate", tidegate.__version__)


@dataclasses.dataclass
class Subject:
    """What is timed: a statement as a user would write it, over names that are local to the loop."""

    name: str
    version: str
    statement: str
    given: dict[str, object]
    # An expression that asks once and is true if it was admitted, where the statement is none.
    asks: str | None = None
    # Waits, after a turn, for what the subject still does in the background: the next one isn't to pay for it.
    settle: Callable[[], None] = lambda: None

    def admitted(self, **more: object) -> bool:
        return bool(eval(self.asks or self.statement, self.given | more))

    def loop(self, head: str, each: str):
        """A function whose body repeats the statement."""
        names = ", ".join(f"{name}={name}" for name in self.given)
        scope = dict(self.given)
        exec(f"{head.format(names=names)}:\n    {each}:\n        {self.statement}", scope)
        return scope["loop"]


def count_loop(subject):
    return subject.loop("def loop(calls, {names})", "for _ in range(calls)")


def calls(subject):
    """Times calls that differ in nothing; (round number) -> nanoseconds a call."""
    loop = count_loop(subject)

    def turn(_round):
        made, spent_ns = 0, 0
        while spent_ns < TURN_NS:
            began = time.perf_counter_ns()
            loop(CHUNK)
            spent_ns += time.perf_counter_ns() - began
            made += CHUNK
        return spent_ns / made

    return turn


def together(case, admits, subjects, timed=calls, rounds=ROUNDS, **more):
    """Lets the subjects take turns, one round to warm up and then those that count, and prints a line for each.

    timed: makes of a subject the function that takes a turn. more: names that only asking needs.
    """
    turns = [timed(subject) for subject in subjects]
    times = [[] for _ in subjects]
    check(case, admits, subjects, more)
    # As timeit does.
    gc.collect()
    gc.disable()
    for round_number in range(rounds + 1):
        for subject, turn, taken in zip(subjects, turns, times, strict=True):
            time_ns = turn(round_number)
            subject.settle()
            if round_number > 0:
                taken.append(time_ns)
    gc.enable()
    check(case, admits, subjects, more)
    for subject, taken in zip(subjects, times, strict=True):
        report(case, subject.name, subject.version, taken)


def check(case, admits, subjects, more):
    for subject in subjects:
        assert subject.admitted(**more) is admits, (case, subject.name)


def report(case, name, version, figures, unit="ns_per_op"):
    """Prints the median and the tenth and ninetieth percentile."""
    rising = sorted(figures)
    tenths = [round(rising[(len(rising) - 1) * tenth // 10], 2) for tenth in (1, 5, 9)]
    row = {
        "language": "python",
        "case": case,
        "subject": name,
        unit: tenths[1],
        "spread": [tenths[0], tenths[2]],
        "rounds": len(rising),
        "version": version,
    }
    print(json.dumps(row), flush=True)
