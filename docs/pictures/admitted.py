"""The same requests before each algorithm: draws admitted-*.svg for ../which-limiter.md, from runs on a manual clock.

`make pictures` calls it.
"""

import pathlib

import tidegate
from matplotlib import pyplot
from svg import COLOURS, GRID, INK, save

FOLDER = pathlib.Path(__file__).resolve().parent

LIMIT = 10
PERIOD_S = 10
END_S = 60
BIN_S = 0.5
# How long a request that a concurrency limiter lets in takes.
WORK_S = 1.5
AT_ONCE = 4

# Time in ms and number of requests: a stream of twice the limit, one request, a burst on each side of an edge, silence,
# two bursts.
STREAM = [(ms, 1) for ms in range(0, 15_000, 500)]
ARRIVALS = [*STREAM, (20_000, 1), (29_500, 12), (30_500, 12), (47_000, 12), (51_000, 12)]

# What a picture is called, and the quota in it.
QUOTAS = {
    "gcra": "10/10s",
    "fixed_window": "10/10s fixed_window",
    "fixed_window-clock": "10/10s fixed_window anchor clock",
    "sliding_window": "10/10s sliding_window",
    "sliding_log": "10/10s sliding_log",
    "several": "10/10s; 3/s",
}


def admitted_by_rate(quota):
    """How many of the requests of each arrival are admitted: [(s, asked, admitted), ...]."""
    clock = tidegate.ManualClock()
    limiter = tidegate.RateLimiter(quota, clock=clock)
    outcome = []
    for ms, asked in ARRIVALS:
        clock.set_ns(ms * 1_000_000)
        outcome.append((ms / 1000, asked, sum(limiter.try_acquire() for _ in range(asked))))
    return outcome


def admitted_at_once():
    """The same before a concurrency limiter, and how many are inside from each time on: [(s, inside), ...]."""
    clock = tidegate.ManualClock()
    limiter = tidegate.ConcurrencyLimiter(AT_ONCE, clock=clock)
    held, outcome, inside = [], [], {}
    departures = [(ms + WORK_S * 1000, 0) for ms, _ in ARRIVALS]
    for ms, asked in sorted([*ARRIVALS, *departures]):
        clock.set_ns(int(ms * 1_000_000))
        while held and held[0][0] <= ms:
            held.pop(0)[1].release()
        permits = [permit for _ in range(asked) if (permit := limiter.try_acquire())]
        held += [(ms + WORK_S * 1000, permit) for permit in permits]
        if asked:
            outcome.append((ms / 1000, asked, len(permits)))
        inside[ms / 1000] = limiter.in_flight
    return outcome, list(inside.items())


def in_the_last_period(outcome):
    """How many were admitted in (t - PERIOD_S, t], from each time on at which that changes."""
    times = sorted({time for time, _, _ in outcome} | {time + PERIOD_S for time, _, _ in outcome})
    return [(now, sum(n for time, _, n in outcome if now - PERIOD_S < time <= now)) for now in times]


def draw(name, outcome, line, told, limit):
    """Bars: what came, half a second each, and how much of it was admitted. The line: what is limited."""
    figure, panel = pyplot.subplots(figsize=(9, 2.2))
    figure.subplots_adjust(left=0.055, right=0.82, top=0.97, bottom=0.21)  # as wide in each picture
    bar = {"align": "edge", "width": BIN_S * 0.8}
    admitted = [(time, n) for time, _, n in outcome if n]
    refused = [(time, asked - n, n) for time, asked, n in outcome if asked > n]
    panel.bar(*zip(*admitted, strict=True), color=COLOURS["good"], label="admitted", **bar)
    if refused:
        times, heights, bottoms = zip(*refused, strict=True)
        panel.bar(times, heights, bottom=bottoms, color=COLOURS["bad"], alpha=0.6, label="refused", **bar)
    times, values = zip((0, 0), *line, (END_S, line[-1][1]), strict=True)
    panel.step(times, values, where="post", color=COLOURS["line"], linewidth=1.6, label=told)
    panel.axhline(limit, color=INK, linewidth=1, linestyle="--", label=f"limit {limit}")
    panel.set_xlim(0, END_S)
    panel.set_ylim(0, 21)
    panel.set_xticks(range(0, END_S + 1, PERIOD_S))
    panel.set_yticks([0, 10, 20])
    panel.set_xlabel("seconds")
    panel.set_ylabel("requests")
    panel.grid(color=GRID, linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1), fontsize=9)
    save(figure, FOLDER / f"admitted-{name}.svg")
    pyplot.close(figure)


def main():
    for name, quota in QUOTAS.items():
        outcome = admitted_by_rate(quota)
        line = in_the_last_period(outcome)
        print(f"{quota}: {sum(n for _, _, n in outcome)} admitted, at most {max(n for _, n in line)} in {PERIOD_S} s")
        draw(name, outcome, line, f"admitted in the\nlast {PERIOD_S} s", LIMIT)
    outcome, inside = admitted_at_once()
    print(f"{AT_ONCE} at once: {sum(n for _, _, n in outcome)} admitted, at most {max(n for _, n in inside)} inside")
    draw("at-once", outcome, inside, "inside", AT_ONCE)


if __name__ == "__main__":
    main()
