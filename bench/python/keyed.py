"""A budget for each key: a few or a million of them, visited as often as each other or by Zipf's law; batches."""

import itertools
import random
import sys
import time

import peers
import tidegate
from rounds import OURS, PLENTY, QUICK, TURN_NS, Subject, together

# What a key owes from before, so that it stays in the table: six minutes' worth.
OWED = 100_000_000_000
HOUR_S = 3_600
# Keys that are made before their calls are timed: few, so that they are at hand, as one that a service has just read.
AT_HAND = 250
# At most, in a turn.
VISITS = 10_000 if QUICK else 40_000
# What they take to fill a million keys is told in bench/page.md.
SLOW_TO_FILL = ("limits", "throttled-py", "pyrate-limiter")


def address(number):
    """A key as services have it: an address with a port, made anew, so that nobody has its hash yet."""
    return f"203.0.{number // 256 % 256}.{number % 256}:{number}"


def key_loop(subject):
    return subject.loop("def loop(keys, {names})", "for key in keys")


def ours(limit, keys):
    limiter = tidegate.KeyedRateLimiter(f"{limit}/h", max_keys=max(keys, 1_000))
    return Subject(*OURS, "limiter.try_acquire(key)", {"limiter": limiter})


def theirs(limit, keys):
    return [peer(limit, HOUR_S, keys) for peer in peers.KEYED]


def everyone(limit, keys):
    """All subjects, each with room for so many keys of so many tokens an hour."""
    return [ours(limit, keys), *theirs(limit, keys)]


class Visits:
    """The keys of each round's calls, in an order that is the same for all subjects."""

    def __init__(self, keys, zipf):
        self.numbers = range(keys)
        # The key of number n comes as often as its rank, n + 1, allows: 1 / rank of the most frequent one.
        self.cumulated = list(itertools.accumulate(1 / (rank + 1) for rank in self.numbers)) if zipf else None
        self.drawn_for, self.order = None, []

    def of_round(self, number):
        if self.drawn_for != number:
            chosen = random.Random(number).choices(self.numbers, cum_weights=self.cumulated, k=VISITS)
            self.drawn_for, self.order = number, chosen
        return self.order

    def timed(self, subject):
        """Times calls on keys; (round number) -> nanoseconds a call."""
        loop = key_loop(subject)

        def turn(round_number):
            made, spent_ns, order = 0, 0, self.of_round(round_number)
            while spent_ns < TURN_NS and made < len(order):
                keys = [address(number) for number in order[made : made + AT_HAND]]
                began = time.perf_counter_ns()
                loop(keys)
                spent_ns += time.perf_counter_ns() - began
                made += len(keys)
            return spent_ns / made

        return turn


def filled(keys):
    """All subjects, each with so many keys that owe something."""
    own = ours(1_000 * PLENTY, keys)
    for number in range(keys):
        own.given["limiter"].try_acquire(address(number), OWED)
    others = [peer for peer in theirs(PLENTY, keys) if not (QUICK and keys > 100_000 and peer.name in SLOW_TO_FILL)]
    for peer in others:
        key_loop(peer)(map(address, range(keys)))
        peer.settle()
    return [own, *others]


def same_work():
    """Each admits as much of each key."""
    subjects = everyone(10, 1_000)
    for subject, number in itertools.product(subjects, range(100)):
        admitted = sum(subject.admitted(key=address(number)) for _ in range(20))
        assert admitted == 10, (subject.name, admitted)
    names = ", ".join(subject.name for subject in subjects)
    print(f"same work: each of {names} admits 10 of 20 calls on each of 100 keys", file=sys.stderr)


def hundred():
    """A hundred keys in one call, and as many calls."""
    keys = [address(number) for number in range(100)]
    for name, statement in (
        ("tidegate", "limiter.try_acquire_many(keys)"),
        ("tidegate single calls", "[limiter.try_acquire(key) for key in keys]"),
    ):
        given = {"limiter": tidegate.KeyedRateLimiter(f"{PLENTY}/s", max_keys=1_000), "keys": keys}
        yield Subject(name, OURS[1], statement, given, f"all({statement})")


def all_cases():
    together("keyed gcra, 100 keys in one call", True, list(hundred()))
    for keys, name in ((1, "1 key"), (1_000, "1,000 keys"), (100_000, "100,000 keys"), (1_000_000, "1,000,000 keys")):
        subjects = filled(keys)
        together(f"keyed gcra, {name}", True, subjects, Visits(keys, zipf=False).timed, key=address(0))
        if keys > 1:
            together(f"keyed gcra, {name}, Zipf", True, subjects, Visits(keys, zipf=True).timed, key=address(0))
