"""The tables: one against the targets, for the terminal and for docs/benchmarks.md, and one a language."""

from harnesses import NAMES, ROOT
from targets import OURS, cost

PAGE = ROOT / "docs/benchmarks.md"
COLUMNS = ("language", "case", "tidegate", "peer", "ratio", "target", "reached")

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


def summary(verdicts):
    """The table against the targets and, below it, what was missed."""
    missed = [verdict for verdict in verdicts if verdict.reached is False]
    lines = [aligned(COLUMNS, map(target_cells, verdicts)), ""]
    for verdict in missed:
        target = verdict.target
        value, bound = target.measure.write(verdict.value), target.measure.target(target.bound)
        lines.append(f"MISSED {NAMES[target.ours[0]]}, {target.label}: {value}; target: {bound}")
    lines.append(f"{sum(verdict.reached is True for verdict in verdicts)} reached, {len(missed)} missed")
    return "\n".join(lines)


def page(results, verdicts):
    """The text of docs/benchmarks.md."""
    rows = results["rows"]
    sections = []
    for language, name in NAMES.items():
        own = [row for row in rows if row["language"] == language]
        if own:
            head = ("case", "subject", "median", "spread", "rounds", "beside tidegate")
            quick = ", a short run" if any(row["quick"] for row in own) else ""
            by = f"{results['toolchains'][language]}; measured {own[0]['run']}{quick}."
            sections.append(f"### {name}\n\n{by}\n\n{markdown(head, language_cells(own))}")
    machine = results["machine"]
    return TEMPLATE.read_text("utf-8").format(
        machine=f"{machine['cpu']}, {machine['cores']} cores, {machine['architecture']}, {machine['os']}.",
        targets=markdown(COLUMNS, map(target_cells, verdicts)),
        languages="\n\n".join(sections),
    )


def write(results, verdicts):
    """Writes docs/benchmarks.md."""
    PAGE.write_text(page(results, verdicts), "utf-8")
