"""The speeds to reach, and whether they are reached. Ratios are what counts; absolute times hold for one machine."""

import dataclasses
from collections.abc import Callable

OURS = "tidegate"


def ns(row):
    """Nanoseconds a call."""
    return row["ns_per_op"] if "ns_per_op" in row else 1e9 / row["ops_per_s"]


def cost(row):
    """What a row measures as an amount of which less is better: bytes a key or waiter, or nanoseconds a call."""
    return next((row[unit] for unit in ("bytes_per_key", "bytes_per_waiter") if unit in row), 0) or ns(row)


@dataclasses.dataclass(frozen=True)
class Measure:
    """A way to compare two rows: what it gives, how that is written, and which side of the bound is good."""

    of: Callable[[dict, dict | None], float]
    text: str
    at_most: bool

    def write(self, value):
        return self.text.format(value)

    def target(self, bound):
        return f"{'at most' if self.at_most else 'at least'} {self.write(bound)}"

    def reaches(self, value, bound):
        return value <= bound if self.at_most else value >= bound


TIME_RATIO = Measure(lambda ours, theirs: ns(ours) / ns(theirs), "{:.2f} x the time", at_most=True)
SPEED_RATIO = Measure(lambda ours, theirs: ns(theirs) / ns(ours), "{:.2f} x as fast", at_most=False)
EXTRA_NS = Measure(lambda ours, theirs: ns(ours) - ns(theirs), "{:+.1f} ns", at_most=True)
MEMORY_RATIO = Measure(lambda ours, theirs: cost(ours) / cost(theirs), "{:.2f} x the memory", at_most=True)
OWN_NS = Measure(lambda ours, _: ns(ours), "{:.1f} ns", at_most=True)
OWN_BYTES = Measure(lambda ours, _: cost(ours), "{:.0f} bytes", at_most=True)


@dataclasses.dataclass(frozen=True)
class Target:
    """One line of the table. Rows are named by (language, case, subject)."""

    label: str
    ours: tuple[str, str, str]
    peer: tuple[str, str, str] | None
    measure: Measure
    # None: told for information.
    bound: float | None
    # What the peer is called where its subject doesn't say it.
    peer_name: str | None = None


@dataclasses.dataclass(frozen=True)
class Verdict:
    """A target beside what was measured: rows that were not measured are None, and so is the value then."""

    target: Target
    ours: dict | None
    peer: dict | None
    value: float | None

    @property
    def reached(self):
        """True or False; None where nothing is asked for or nothing was measured."""
        if self.value is None or self.target.bound is None:
            return None
        return self.target.measure.reaches(self.value, self.target.bound)

    @property
    def one_run(self):
        """Whether both rows come from one run, as they must for a ratio to be trusted."""
        return self.ours is None or self.peer is None or self.ours["run"] == self.peer["run"]


def same_case(language, case, peer, measure, bound, label=None, ours=OURS):
    """A target against a peer that took turns with us."""
    return Target(label or case, (language, case, ours), (language, case, peer), measure, bound)


PERMIT = "concurrency try_acquire + release"
SCOPED = "concurrency scoped"
HOLD_TIMES = f"{PERMIT}, hold times"
ALLOWED, REFUSED, RACE = "gcra allowed", "gcra refused", "counter race"
KEY, THOUSAND, HUNDRED_THOUSAND, MILLION = "1 key", "1,000 keys", "100,000 keys", "1,000,000 keys"
BATCH, SINGLE_CALLS = "100 keys in one call", "tidegate single calls"
MEMORY, WAITERS = "memory, 1,000,000 keys", "memory, 10,000 waiters"
GATE, HUNDRED_RULES = "gate, 1 rule", "gate, 100 rules, 3 match"
HELLO, EXPRESS = "FastAPI hello world", "Express hello world"
ACQUIRE, HAND_OVER = "tidegate acquire", "hand-over between 2 threads"


def keyed(language, keys, peer, measure, bound, call=None):
    """A target of a keyed limiter under gcra; without a peer for its own time."""
    case = f"keyed gcra, {keys}"
    theirs = peer and (language, case, peer)
    return Target(f"{call}, {keys}" if call else case, (language, case, OURS), theirs, measure, bound)


TARGETS = [
    *(same_case("rust", case, "governor", TIME_RATIO, 1.05) for case in (ALLOWED, REFUSED)),
    *(same_case("rust", f"{ALLOWED}, {threads} threads", "governor", SPEED_RATIO, 1.2) for threads in (2, 10)),
    same_case("rust", PERMIT, "tokio", TIME_RATIO, 0.7),
    Target("price of hold times", ("rust", HOLD_TIMES, OURS), ("rust", PERMIT, OURS), EXTRA_NS, None, "without"),
    *(
        Target(f"acquire, {case}", ("rust", case, ACQUIRE), ("rust", case, OURS), EXTRA_NS, 2, "try_acquire")
        for case in (ALLOWED, PERMIT)
    ),
    same_case("rust", HAND_OVER, "tokio", TIME_RATIO, 1),
    same_case("rust", HAND_OVER, "Mutex + Condvar", TIME_RATIO, 1),
    Target(WAITERS, ("rust", WAITERS, OURS), None, OWN_BYTES, 256),
    Target(GATE, ("rust", GATE, OURS), None, OWN_NS, 120),
    Target(HUNDRED_RULES, ("rust", HUNDRED_RULES, OURS), None, OWN_NS, 600),
    *(
        Target(GATE, (language, GATE, OURS), ("rust", GATE, OURS), EXTRA_NS, more_ns, "core")
        for language, more_ns in (("python", 400), ("node", 300), ("java", 150))
    ),
    same_case("python", HELLO, "FastAPI alone", SPEED_RATIO, 0.95, f"{HELLO}, requests"),
    same_case("python", HELLO, "slowapi", SPEED_RATIO, 1, f"{HELLO}, requests"),
    Target(
        "counter race, 10 threads",
        ("rust", RACE, OURS),
        ("java", RACE, "AtomicInteger"),
        SPEED_RATIO,
        1.5,
        "Java's AtomicInteger",
    ),
    *(
        Target(f"{case}, through the .so", ("c", case, OURS), ("rust", case, OURS), EXTRA_NS, 3, "core")
        for case in (ALLOWED, REFUSED)
    ),
    *(
        target
        for case in (ALLOWED, REFUSED)
        for target in (
            Target(f"try_acquire(), {case}", ("python", case, OURS), None, OWN_NS, 75),
            same_case("python", case, "limits", SPEED_RATIO, 50, f"try_acquire(), {case}"),
        )
    ),
    *(
        target
        for case in (ALLOWED, REFUSED)
        for target in (
            Target(f"tryAcquire(), {case}", ("node", case, OURS), None, OWN_NS, 50),
            same_case("node", case, "limiter", SPEED_RATIO, 2.5, f"tryAcquire(), {case}"),
        )
    ),
    *(same_case("java", case, "Guava", TIME_RATIO, 0.75, f"tryAcquire(), {case}") for case in (ALLOWED, REFUSED)),
    keyed("rust", THOUSAND, "governor", TIME_RATIO, 0.9),
    keyed("rust", HUNDRED_THOUSAND, "governor", TIME_RATIO, 0.7),
    keyed("rust", MILLION, "governor", TIME_RATIO, 0.55),
    keyed("rust", f"{THOUSAND}, 2 threads", "governor", SPEED_RATIO, 1.3),
    same_case("rust", MEMORY, "governor", MEMORY_RATIO, 0.4),
    same_case("python", SCOPED, "threading.Semaphore", TIME_RATIO, 0.25, "with limiter:"),
    same_case("python", f"{SCOPED}, async", "asyncio.Semaphore", TIME_RATIO, 0.3, "async with limiter:"),
    keyed("python", THOUSAND, None, OWN_NS, 110, "try_acquire(key)"),
    keyed("python", THOUSAND, "limits", SPEED_RATIO, 35, "try_acquire(key)"),
    keyed("python", BATCH, SINGLE_CALLS, TIME_RATIO, 0.5, "try_acquire_many(keys)"),
    same_case("node", "await acquire + release", "async-sema", TIME_RATIO, 1.6, "await acquire() + release()"),
    same_case("node", "run(fn)", "p-limit", TIME_RATIO, 0.5),
    keyed("node", THOUSAND, None, OWN_NS, 110, "tryAcquire(key)"),
    keyed("node", KEY, "rate-limiter-flexible", SPEED_RATIO, 3, "tryAcquire(key)"),
    keyed("node", HUNDRED_THOUSAND, "rate-limiter-flexible", SPEED_RATIO, 8, "tryAcquire(key)"),
    keyed("node", BATCH, SINGLE_CALLS, TIME_RATIO, 0.5, "tryAcquireMany(keys)"),
    same_case("node", EXPRESS, "Express alone", SPEED_RATIO, 0.95, f"{EXPRESS}, requests"),
    same_case("node", EXPRESS, "express-rate-limit", SPEED_RATIO, 1, f"{EXPRESS}, requests"),
    keyed("java", THOUSAND, None, OWN_NS, 110, "tryAcquire(key)"),
    keyed("java", THOUSAND, "bucket4j", SPEED_RATIO, 1, "tryAcquire(key)"),
    keyed("java", THOUSAND, "resilience4j", SPEED_RATIO, 1, "tryAcquire(key)"),
    same_case("java", "acquire + release", "j.u.c. Semaphore", TIME_RATIO, 4, "acquire() + release()"),
]


def judge(rows, targets=TARGETS):
    """A verdict on each target from the rows that there are."""
    by_name = {(row["language"], row["case"], row["subject"]): row for row in rows}
    verdicts = []
    for target in targets:
        ours = by_name.get(target.ours)
        peer = by_name.get(target.peer) if target.peer else None
        measured = ours is not None and (peer is not None or target.peer is None)
        verdicts.append(Verdict(target, ours, peer, target.measure.of(ours, peer) if measured else None))
    return verdicts
