"""The rows that were measured, kept in results/latest.json.

A row is what a harness prints (see README.md), with `machine`, `run`, the time at which the run began, and `quick`. A
run that measures some languages replaces the rows of those alone, unless the others come from another machine.
"""

import json
import pathlib

LATEST = pathlib.Path(__file__).resolve().parent / "results/latest.json"
UNITS = ("ns_per_op", "ops_per_s", "bytes_per_key", "bytes_per_waiter")
NOTHING = {"toolchains": {}, "rows": []}


def is_figure(value):
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def parse(line, language):
    """The row in one line of a harness; ValueError, naming what is wrong, if there is none."""
    row = json.loads(line)
    if not isinstance(row, dict):
        raise ValueError(f"line: got {line!r}; allowed: a JSON object")
    for name in ("language", "case", "subject", "version"):
        if not isinstance(row.get(name), str) or not row[name]:
            raise ValueError(f"{name}: got {row.get(name)!r}; allowed: a text")
    if row["language"] != language:
        raise ValueError(f"language: got {row['language']!r}; allowed: {language!r}")
    units = [unit for unit in UNITS if unit in row]
    if len(units) != 1 or not is_figure(row[units[0]]):
        raise ValueError(f"figure: got {line!r}; allowed: one of {', '.join(UNITS)}, above 0")
    spread = row.get("spread")
    if not isinstance(spread, list) or len(spread) != 2 or not all(map(is_figure, spread)) or spread[0] > spread[1]:
        raise ValueError(f"spread: got {spread!r}; allowed: two figures in rising order")
    if not isinstance(row.get("rounds"), int) or row["rounds"] < 1:
        raise ValueError(f"rounds: got {row.get('rounds')!r}; allowed: a whole number above 0")
    return row


def load():
    """The results that were kept; none if there are none yet."""
    return json.loads(LATEST.read_text("utf-8")) if LATEST.is_file() else NOTHING


def merge(kept, machine, toolchains, rows, attempted):
    """The results after a run: new rows in place of those of the attempted languages.

    What was kept of another machine goes altogether: ratios between two machines say nothing.
    """
    left = [row for row in kept["rows"] if row["machine"] == machine and row["language"] not in attempted]
    languages = {row["language"] for row in left}
    versions = {language: text for language, text in kept["toolchains"].items() if language in languages}
    return {"toolchains": versions | toolchains, "rows": left + rows}


def save(results):
    """Writes one line a row, so that a change reads well."""
    LATEST.parent.mkdir(parents=True, exist_ok=True)
    rows = ",\n".join(f"    {json.dumps(row, ensure_ascii=False)}" for row in results["rows"])
    text = json.dumps(results | {"rows": []}, indent=2, ensure_ascii=False)
    LATEST.write_text(text.replace('"rows": []', f'"rows": [\n{rows}\n  ]') + "\n", "utf-8")
