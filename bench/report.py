"""The tables: against the targets (also for the terminal), where a peer is ahead, and one a language."""

from harnesses import NAMES, ROOT
from series import GROWTH, growing, path, side_by_side
from targets import OURS, cost

PAGE = ROOT / "docs/benchmarks.md"
COLUMNS = ("language", "case", "tidegate", "peer", "ratio", "target", "reached")
AHEAD_COLUMNS = ("language", "case", "tidegate", "peer", "ratio", "why")

UNIT_NAMES = {"ns_per_op": "ns", "ops_per_s": "M/s", "bytes_per_key": "bytes", "bytes_per_waiter": "bytes"}

# The page around the tables: how it is measured, in words.
TEMPLATE = ROOT / "bench/page.md"


def number(value):
    """A figure with as many digits as mean something."""
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def written(row, value):
    """A value in the unit of a row, without its name."""
    return f"{value / 1e6:.1f}" if "ops_per_s" in row else number(value)


def figure(row):
    """The median of a row with its unit."""
    [(unit, name)] = [(unit, name) for unit, name in UNIT_NAMES.items() if unit in row]
    return f"{written(row, row[unit])} {name}"


def spread(row):
    return " … ".join(written(row, value) for value in row["spread"])


def peer_cell(verdict):
    """The peer's name and figure."""
    if verdict.target.peer is None:
        return "-"
    name = verdict.target.peer_name or verdict.target.peer[2]
    return f"{name} {figure(verdict.peer)}" if verdict.peer else name


def reached_cell(verdict):
    if verdict.value is None:
        return "not measured"
    if verdict.reached is None:
        return "-"
    answer = "yes" if verdict.reached else "MISSED"
    return answer if verdict.one_run else f"{answer} (two runs)"


def target_cells(verdict):
    """One line of the table against the targets, a text for each of COLUMNS."""
    target = verdict.target
    return (
        NAMES[target.ours[0]],
        target.label,
        figure(verdict.ours) if verdict.ours else "-",
        peer_cell(verdict),
        "-" if verdict.value is None else target.measure.write(verdict.value),
        "-" if target.bound is None else target.measure.target(target.bound),
        reached_cell(verdict),
    )


def language_cells(rows):
    """The rows of one language, each beside the subject of ours in its case."""
    ours = {row["case"]: row for row in rows if row["subject"] == OURS}
    for row in rows:
        own = ours.get(row["case"])
        beside = "-" if own is None or own is row else f"{cost(row) / cost(own):.2f} x"
        yield row["case"], f"{row['subject']} {row['version']}", figure(row), spread(row), str(row["rounds"]), beside


def markdown(head, lines):
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *lines])


def aligned(head, lines):
    """A table for the terminal."""
    lines = [head, *lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip() for cells in lines
    )


def beside(standing):
    """Both figures, and how much of tidegate's the peer's is."""
    ours, peer = standing.ours, standing.peer
    return figure(ours), f"{peer['subject']} {figure(peer)}", f"{cost(peer) / cost(ours):.2f} x"


def ahead_cells(standing):
    """One line of the table of the peers that are ahead, a text for each of AHEAD_COLUMNS."""
    why = standing.reason or "unexplained"
    return NAMES[standing.ours["language"]], standing.ours["case"], *beside(standing), why


def count(standings):
    """How often who is ahead, as a sentence."""
    tidegate, peer = (sum(one.ahead == who for one in standings) for who in ("tidegate", "peer"))
    equal = len(standings) - tidegate - peer
    return f"Of {len(standings)} times beside a peer tidegate is ahead {tidegate} times, equal {equal}, behind {peer}."


def summary(verdicts, standings):
    """The table against the targets and, below it, what was missed and which peer is ahead without a reason."""
    missed = [verdict for verdict in verdicts if verdict.reached is False]
    lines = [aligned(COLUMNS, map(target_cells, verdicts)), ""]
    for verdict in missed:
        target = verdict.target
        value, bound = target.measure.write(verdict.value), target.measure.target(target.bound)
        lines.append(f"MISSED {NAMES[target.ours[0]]}, {target.label}: {value}; target: {bound}")
    lines.append(f"{sum(verdict.reached is True for verdict in verdicts)} reached, {len(missed)} missed")
    lines.append(count(standings))
    for standing in standings:
        if standing.unexplained:
            ours, peer, ratio = beside(standing)
            where = f"{NAMES[standing.ours['language']]}, {standing.ours['case']}"
            lines.append(f"UNEXPLAINED {where}: {peer} is ahead of {ours}, {ratio}; bench/reasons.py has no reason")
    return "\n".join(lines)


def picture(title, name):
    return f"![{title}]({path(name)})"


def page(results, verdicts, standings):
    """The text of docs/benchmarks.md."""
    rows = results["rows"]
    sections = []
    for language, name in NAMES.items():
        own = [row for row in rows if row["language"] == language]
        if own:
            head = ("case", "subject", "median", "spread", "rounds", "beside tidegate")
            quick = ", a short run" if any(row["quick"] for row in own) else ""
            by = f"{results['toolchains'][language]}; measured {own[0]['run']}{quick}."
            shown = [picture(f"{name}: tidegate beside its peers", language)] if side_by_side(rows, language) else []
            sections.append("\n\n".join([f"### {name}", by, *shown, markdown(head, language_cells(own))]))
    ahead = [standing for standing in standings if standing.ahead == "peer"]
    return TEMPLATE.read_text("utf-8").format(
        machine=f"{rows[0]['machine']}." if rows else "Nothing is measured yet.",
        targets=markdown(COLUMNS, map(target_cells, verdicts)),
        count=count(standings),
        ahead=markdown(AHEAD_COLUMNS, map(ahead_cells, ahead)),
        growth="\n\n".join(picture(GROWTH[name][0], name) for name in GROWTH if growing(rows, name)),
        languages="\n\n".join(sections),
    )


def write(results, verdicts, standings):
    """Writes docs/benchmarks.md."""
    PAGE.write_text(page(results, verdicts, standings), "utf-8")
