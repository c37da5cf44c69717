"""Quotas of the naive model: what is allowed, their text and their canonical text."""

import re
from dataclasses import dataclass

MAX_COUNT = 2**53 - 1
MAX_QUOTAS = 16
DAY_NS = 86_400 * 10**9
YEAR_NS = 365 * DAY_NS
MAX_PERIOD_NS = 2 * YEAR_NS
MAX_FILL_NS = 8 * YEAR_NS

ALGORITHMS = ("gcra", "fixed_window", "sliding_window", "sliding_log")
ANCHORS = ("first", "clock")

# Canonical name first, then the others; the longest unit first.
UNITS = (
    (7 * DAY_NS, ("w", "week", "weeks")),
    (DAY_NS, ("d", "day", "days")),
    (3600 * 10**9, ("h", "hour", "hours")),
    (60 * 10**9, ("min", "minute", "minutes")),
    (10**9, ("s", "sec", "second", "seconds")),
    (10**6, ("ms",)),
    (10**3, ("us",)),
    (1, ("ns",)),
)
LENGTH_NS = {name: length for length, names in UNITS for name in names}


class Mistake(Exception):
    """A mistake of the caller: `ARGUMENT: got VALUE; allowed: WHAT`."""

    def __init__(self, argument, value, allowed):
        super().__init__(f"{argument}: got {value}; allowed: {allowed}")
        self.argument = argument


@dataclass(frozen=True)
class Quota:
    """`limit` tokens per `period` nanoseconds; `burst` is None where it was not given."""

    limit: int
    period: int
    burst: int | None = None
    algorithm: str = "gcra"
    anchor: str = "first"

    @property
    def capacity(self):
        """The most tokens that one call may ask for."""
        return 0 if self.limit == 0 else self.limit if self.burst is None else self.burst

    def check(self):
        """Raises the first `Mistake` in the order limit, period, burst, anchor, what the algorithm can count."""
        demand("limit", self.limit, 0, MAX_COUNT)
        demand("period", self.period, 1, MAX_PERIOD_NS)
        if self.burst is not None:
            demand("burst", self.burst, 1, MAX_COUNT)
            if self.algorithm != "gcra":
                raise Mistake("burst", self.burst, "a burst with gcra only")
        if self.anchor == "clock" and self.algorithm != "fixed_window":
            raise Mistake("anchor", self.anchor, "anchor clock with fixed_window only")
        if self.algorithm == "gcra":
            self._check_gcra()
        elif self.algorithm == "sliding_window":
            demand("limit", self.limit, 0, 2**40 - 1)
            # The 40 bits of a window's index last two years.
            demand("period", self.period, -(-2 * YEAR_NS // 2**40), MAX_PERIOD_NS)
        elif self.algorithm == "sliding_log":
            demand("limit", self.limit, 0, 2**24)

    def _check_gcra(self):
        if self.capacity * self.period > self.limit * MAX_FILL_NS:
            raise Mistake("burst", self.burst, "a bucket that fills within 8 years")
        if self.limit and self.ticks_per_token() == 0:
            raise Mistake("limit", self.limit, "about 9 tokens a nanosecond")

    def ticks_per_token(self):
        """k of the gcra word: ⌊2⁵⁹·T / (2 years + 2·B·T)⌋, where T = period/limit."""
        return (2**59 * self.period) // (2 * YEAR_NS * self.limit + 2 * self.capacity * self.period)

    def __str__(self):
        length, names = next(unit for unit in UNITS if self.period % unit[0] == 0)
        count = "" if self.period == length else str(self.period // length)
        words = [f"{self.limit}/{count}{names[0]}"]
        if self.burst not in (None, self.limit):
            words.append(f"burst {self.burst}")
        if self.algorithm != "gcra":
            words.append(self.algorithm)
        if self.anchor != "first":
            words.append(f"anchor {self.anchor}")
        return " ".join(words)


def demand(argument, value, least, most):
    if not least <= value <= most:
        raise Mistake(argument, value, f"{least} to {most}")


def check_list(quotas):
    """Raises if the list is empty, too long, or one of its quotas is not allowed."""
    if not 1 <= len(quotas) <= MAX_QUOTAS:
        raise Mistake("quotas", len(quotas), f"1 to {MAX_QUOTAS} quotas")
    for quota in quotas:
        quota.check()


def parse_list(text):
    """Reads `QUOTA *( ";" QUOTA )` from left to right: of each quota first the grammar, then what it may be."""
    quotas = []
    for part in text.split(";"):
        quota = _Reader(text, part).quota()
        quota.check()
        quotas.append(quota)
    check_list(quotas)
    return quotas


class _Reader:
    """Reads one quota, word by word: words are what stands between spaces and slashes."""

    def __init__(self, text, part):
        self.text = text
        self.words = list(reversed(re.findall(r"/|[^ /]+", part)))

    def quota(self):
        limit = self.number()
        self.one_of("/", "per")
        period = self.period()
        burst = self.number() if self.skip("burst") else None
        algorithm = self.words.pop() if self.words and self.words[-1] in ALGORITHMS else "gcra"
        anchor = self.one_of(*ANCHORS) if self.skip("anchor") else "first"
        if self.words:
            self.refuse()
        return Quota(limit, period, burst, algorithm, anchor)

    def period(self):
        """A count and a unit, which may stand together or apart, or a unit alone."""
        count, rest = re.fullmatch(r"([0-9]*)(.*)", self.word(), re.DOTALL).groups()
        if rest:
            self.words.append(rest)
        return int(count or 1) * LENGTH_NS[self.one_of(*LENGTH_NS)]

    def number(self):
        word = self.word()
        if not re.fullmatch(r"[0-9]+", word):
            self.refuse()
        return int(word)

    def one_of(self, *allowed):
        word = self.word()
        if word not in allowed:
            self.refuse()
        return word

    def word(self):
        if not self.words:
            self.refuse()
        return self.words.pop()

    def skip(self, word):
        found = bool(self.words) and self.words[-1] == word
        if found:
            self.words.pop()
        return found

    def refuse(self):
        grammar = 'limit ("/" | "per") [count] unit ["burst" burst] [algorithm] ["anchor" anchor]'
        raise Mistake("quota", repr(self.text), grammar)
