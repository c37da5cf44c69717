"""Draws docs/pictures/bench-*.svg from results/latest.json: how cost grows, and each language's subjects side by side.

`make bench` calls it, in the project's Python with what docs/pictures/requirements.txt names.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "docs/pictures"))

import results
import series
from harnesses import NAMES, ROOT
from matplotlib import pyplot
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from svg import COLOURS, GRID, INK, save
from targets import OURS, ns

# Of the peers, in the order in which they are measured.
PEER_COLOURS = (COLOURS["bad"], COLOURS["good"], "#a371f7", "#bf8700", "#1f9e9e", "#d6539b", INK)
PEER_MARKERS = "sD^vPX*<"


def looks(subjects):
    """{subject: (colour, marker)}: tidegate's is the same in all pictures."""
    peers = [subject for subject in dict.fromkeys(subjects) if subject != OURS]
    return {OURS: (COLOURS["line"], "o")} | {
        subject: (PEER_COLOURS[number % len(PEER_COLOURS)], PEER_MARKERS[number % len(PEER_MARKERS)])
        for number, subject in enumerate(peers)
    }


def nanoseconds(axis, *steps):
    """Times from a nanosecond to a millisecond on one axis, with a line at each of these steps within ten times."""
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def plain(panel):
    panel.grid(color=GRID, linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)


def draw_growth(name, languages):
    """A panel for each language; the ways of growing are solid and dashed."""
    _, unit, ways = series.GROWTH[name]
    strokes = dict(zip(ways, ("-", "--"), strict=False))
    columns = min(len(languages), 2)
    lines = -(-len(languages) // columns)
    size = (4.5 * columns, 3.2 * lines)
    figure, panels = pyplot.subplots(lines, columns, figsize=size, layout="constrained", squeeze=False)
    for panel in panels.flat[len(languages) :]:
        panel.set_visible(False)
    for panel, (language, lines) in zip(panels.flat, languages.items(), strict=False):
        look = looks(subject for subject, _ in lines)
        amounts = sorted({amount for found in lines.values() for amount in found})
        # Amounts side by side: they are far apart, or few.
        place = {amount: number for number, amount in enumerate(amounts)}
        for (subject, way), found in lines.items():
            colour, marker = look[subject]
            panel.plot(
                [place[amount] for amount in found],
                [ns(row) for row in found.values()],
                color=colour,
                marker=marker,
                markersize=4,
                linestyle=strokes[way],
                linewidth=2.2 if subject == OURS else 1.3,
                label=subject if strokes[way] == "-" else None,
            )
        panel.set_xticks(range(len(amounts)), [f"{amount:,}" for amount in amounts])
        panel.set_xlabel(f"{unit}; {' solid, '.join(ways)} dashed" if len(ways) > 1 else unit)
        panel.set_yscale("log")
        least, most = panel.get_ylim()
        nanoseconds(panel.yaxis, *((1, 2, 5) if most > 10 * least else range(1, 10)))
        panel.set_ylabel("ns a call")
        plain(panel)
        above = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 3, "alignment": "left"}
        panel.legend(title=NAMES[language], frameon=False, fontsize=7, **above)
    save(figure, ROOT / "docs" / series.path(name))
    pyplot.close(figure)


def draw_side_by_side(language, cases):
    """A line for each case, a mark for each subject: the median, over its spread."""
    look = looks(row["subject"] for subjects in cases.values() for row in subjects)
    figure, panel = pyplot.subplots(figsize=(9, 1.3 + 0.27 * len(cases)), layout="constrained")
    for height, subjects in enumerate(cases.values()):
        # tidegate last, so that it lies on top.
        for row in reversed(subjects):
            colour, marker = look[row["subject"]]
            panel.plot(row["spread"], [height, height], color=colour, linewidth=4, alpha=0.35, solid_capstyle="butt")
            panel.plot(ns(row), height, color=colour, marker=marker, markersize=7 if row["subject"] == OURS else 5)
    for subject, (colour, marker) in look.items():
        panel.plot([], [], color=colour, marker=marker, linestyle="", label=subject)
    panel.set_yticks(range(len(cases)), cases)
    panel.invert_yaxis()
    panel.set_xscale("log")
    nanoseconds(panel.xaxis, 1)
    panel.set_xlabel("ns a call; further left is faster, ten times with each line")
    plain(panel)
    figure.legend(frameon=False, fontsize=8, loc="outside upper center", ncols=6)
    save(figure, ROOT / "docs" / series.path(language))
    pyplot.close(figure)


def main():
    rows = results.load()["rows"]
    for name in series.GROWTH:
        if languages := series.growing(rows, name):
            draw_growth(name, languages)
    for language in NAMES:
        if cases := series.side_by_side(rows, language):
            draw_side_by_side(language, cases)


if __name__ == "__main__":
    main()
