"""More clients than slots: draws flood.svg and writes the table in ../keyed.md, both from runs on a manual clock.

`make pictures` calls it.
"""

import pathlib
import re

import cachetools
import tidegate
from matplotlib import pyplot
from svg import COLOURS, GRID, save

FOLDER = pathlib.Path(__file__).resolve().parent
PICTURE = FOLDER / "flood.svg"
PAGE = FOLDER.parent / "keyed.md"

MAX_KEYS = 10_000
# tidegate has 2.5 slots for each key of max_keys; the peer gets as many entries.
SLOTS = 25_000
BURST = 10
QUOTA = f"{BURST}/min"
VICTIMS = [f"victim {number}" for number in range(500)]
# In parts of MAX_KEYS.
FLOODS = (0, 0.5, 1, 1.5, 2, 2.25, 2.5, 2.75, 3, 3.5, 4, 5, 6, 8, 10)

# The limit is 1 and each key owes as much, so that who is evicted plays no part.
LOADS = (0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 1.75, 2.0, 2.5)
LOAD_KEYS = 20_000
LOAD_RUNS = 10


class LruOfLimiters:
    """A limiter a client in a cache that forgets the least recently used: what is mostly written by hand."""

    def __init__(self, clock):
        self.limiters = cachetools.LRUCache(SLOTS)
        self.clock = clock

    def try_acquire(self, key, cost=1):
        limiter = self.limiters.get(key)
        if limiter is None:
            limiter = self.limiters[key] = tidegate.RateLimiter(QUOTA, clock=self.clock)
        return limiter.try_acquire(cost)


def keyed(when_full):
    return lambda clock: tidegate.KeyedRateLimiter(QUOTA, max_keys=MAX_KEYS, when_full=when_full, clock=clock)


SUBJECTS = {
    "tidegate, evict": keyed("evict"),
    "tidegate, deny_new": keyed("deny_new"),
    "LRU of limiters": LruOfLimiters,
}
LINES = dict(zip(SUBJECTS, ("line", "good", "bad"), strict=True))


def refused_share(subject, flood, cost):
    """The refused share of the victims' calls after a flood of so many fresh keys, each with one call of `cost`.

    The victims have spent their budget before it. The clock stands still: nothing comes back, so that 1 is right.
    """
    limiter = SUBJECTS[subject](tidegate.ManualClock())
    for victim in VICTIMS:
        spent = sum(limiter.try_acquire(victim) for _ in range(BURST + 1))
        assert spent == BURST, (subject, victim, spent)
    for number in range(flood):
        limiter.try_acquire(f"flood {number}", cost)
    calls = [limiter.try_acquire(victim) for victim in VICTIMS for _ in range(BURST)]
    return calls.count(False) / len(calls)


def draw():
    """Draws the victims' refused share against the size of the flood; one call a flood key, and its whole burst."""
    figure, panels = pyplot.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
    titles = {"each flood key calls once": 1, "each flood key spends its whole burst": BURST}
    for panel, (title, cost) in zip(panels, titles.items(), strict=True):
        for width, subject in zip((2, 6, 2), SUBJECTS, strict=True):
            shares = [refused_share(subject, int(flood * MAX_KEYS), cost) * 100 for flood in FLOODS]
            print(f"{title}; {subject}: {dict(zip(FLOODS, shares, strict=True))}")
            alpha = 0.45 if width == 6 else 1
            panel.plot(FLOODS, shares, color=COLOURS[LINES[subject]], label=subject, linewidth=width, alpha=alpha)
        panel.set_title(title, fontsize=10)
        panel.set_xlabel("fresh keys of the flood, in parts of max_keys")
        panel.grid(color=GRID, linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
        panel.set_ylim(-3, 105)
    panels[0].set_ylabel("victims' calls refused, in %\n(their budget is spent)")
    panels[0].legend(frameon=False, loc="center right", fontsize=9)
    save(figure, PICTURE)


def without_room(load):
    """Of 10,000 keys that enter while `load` times max_keys are live, how many find no slot free; over some runs."""
    lifetime = int(LOAD_KEYS * load)
    entered = evicted = 0
    for _ in range(LOAD_RUNS):
        clock = tidegate.ManualClock()
        # A key enters each nanosecond and owes for `lifetime` of them.
        quota = tidegate.Quota(1, per=lifetime / 1e9)
        limiter = tidegate.KeyedRateLimiter(quota, max_keys=LOAD_KEYS, clock=clock)
        for number in range(lifetime * 3):
            if number == lifetime:
                evicted -= limiter.stats().evicted_live
            clock.advance_ns(1)
            assert limiter.try_acquire(number.to_bytes(8, "little"))
        evicted += limiter.stats().evicted_live
        entered += lifetime * 2
    return evicted / entered * 10_000


def tell_loads():
    """Writes the table between its marks in the page."""
    lines = ["| live keys, in parts of max_keys | of 10,000 new keys find no room |", "| --- | --- |"]
    lines += [f"| {load:.2f} | {without_room(load):,.1f} |" for load in LOADS]
    table = "\n".join(lines)
    print(table)
    text, tables = re.subn(
        "(<!-- loads: by make pictures -->\n).*?(\n<!-- end -->)",
        lambda marks: marks[1] + table + marks[2],
        PAGE.read_text("utf-8"),
        flags=re.DOTALL,
    )
    if tables != 1:
        raise SystemExit(f"{PAGE.name}: got {tables} marked tables; allowed: 1")
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    tell_loads()
    draw()
