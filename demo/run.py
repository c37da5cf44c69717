"""Runs the demo of each language, one after the other, and shows one table.

Each demo tells what it does and ends with one line, `DEMO {...}`, that gives what it saw. Whether that is right is
decided here, from the figures: what a demo thinks of itself (`ok`) is compared, never trusted.

usage: run.py [--skipped "LANG ..."] LANG ...
"""

import argparse
import glob
import json
import os
import subprocess
import sys
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TIMEOUT_S = 120

NAMES = {"rust": "Rust", "c": "C", "cpp": "C++", "python": "Python", "node": "Node", "java": "Java"}

# Tokens in each 1000 ms window of the race. Small enough that every language asks for more than it gets.
RACE_LIMIT = {
    "rust": 5_000_000,
    "c": 5_000_000,
    "cpp": 5_000_000,
    "python": 1_000_000,
    "node": 1_000_000,
    "java": 5_000_000,
}
# 3.5 s of calls see the windows that open at 0, 1, 2 and 3 s.
RACE_WINDOWS = 4
RACE_AT_LEAST_S, RACE_AT_MOST_S = 3.4, 4.0

COLUMNS = (
    ("language", "language"),
    ("/limit 200 + 429", "limit"),
    ("Retry-After", "retry_after"),
    ("/nolimit 200", "nolimit_ok"),
    ("/visit", "visit"),
    ("race limit", "race_limit"),
    ("admitted", "race_admitted"),
    ("refused", "race_refused"),
    ("calls/s", "race_calls_per_s"),
    ("as expected", "verdict"),
)


def command(language):
    """The command line of one demo, from the root of the project."""
    if language == "java":
        jars = glob.glob("java/target/tidegate-*[0-9].jar", root_dir=ROOT)
        return ["java", "-cp", os.pathsep.join(jars), "demo/Demo.java"]
    return {
        "rust": ["target/release/examples/demo"],
        "c": ["build/demo/demo_c"],
        "cpp": ["build/demo/demo_cpp"],
        "python": [".venv/bin/python", "demo/demo.py"],
        "node": ["node", "demo/demo.mjs"],
    }[language]


def run(language):
    """Runs one demo, passes on what it prints, and returns (figures or None, exit code)."""
    figures = None
    with subprocess.Popen(
        command(language), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, encoding="utf-8"
    ) as demo:
        watchdog = threading.Timer(TIMEOUT_S, demo.kill)
        watchdog.start()
        for line in demo.stdout:
            if line.startswith("DEMO {"):
                figures = json.loads(line.removeprefix("DEMO "))
            else:
                print(line, end="", flush=True)
        code = demo.wait()
        watchdog.cancel()
    return figures, code


def is_count(value):
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def problems(language, figures, code):
    """Every expectation that does not hold, in words; empty when all is well."""
    if figures is None:
        return [f"exit code {code} and no DEMO line"]
    expected = {
        "language": language,
        "limit_ok": 4,
        "limit_refused": 6,
        "retry_after": True,
        "nolimit_ok": 10,
        "visit": "200 200 200 429 200",
        "race_limit": RACE_LIMIT[language],
        "race_admitted": RACE_WINDOWS * RACE_LIMIT[language],
    }
    found = [
        f"{name}: got {figures.get(name)!r}; expected {value!r}"
        for name, value in expected.items()
        if figures.get(name) != value or type(figures.get(name)) is not type(value)
    ]
    refused, speed = figures.get("race_refused"), figures.get("race_calls_per_s")
    if not is_count(refused) or refused == 0:
        found.append(f"race_refused: got {refused!r}; expected a count above 0, or the race was none")
    elif not is_count(speed) or speed == 0:
        found.append(f"race_calls_per_s: got {speed!r}; expected a rate above 0")
    elif not found:
        seconds = (figures["race_admitted"] + refused) / speed
        if not RACE_AT_LEAST_S <= seconds <= RACE_AT_MOST_S:
            found.append(f"race_calls_per_s: got {speed!r}, which makes the race last {seconds:.2f} s instead of 3.5 s")
    if code != 0:
        found.append(f"exit code {code}")
    if figures.get("ok") is not (not found):
        found.append(f"ok: got {figures.get('ok')!r}, which the figures contradict")
    return found


def row(language, figures, verdict):
    """One row of the table, as text by column key."""
    cells = dict.fromkeys((key for _, key in COLUMNS), "-")
    cells["language"] = NAMES[language]
    cells["verdict"] = verdict
    if figures is None:
        return cells
    cells["limit"] = f"{figures.get('limit_ok')} + {figures.get('limit_refused')}"
    cells["retry_after"] = "yes" if figures.get("retry_after") is True else "NO"
    for key in ("nolimit_ok", "visit"):
        cells[key] = str(figures.get(key))
    for key in ("race_limit", "race_admitted", "race_refused", "race_calls_per_s"):
        value = figures.get(key)
        cells[key] = f"{value:,.0f}" if is_count(value) else str(value)
    return cells


def table(rows):
    """The rows as aligned lines under a head."""
    widths = {key: max(len(head), *(len(cells[key]) for cells in rows)) for head, key in COLUMNS}
    lines = ["  ".join(head.ljust(widths[key]) for head, key in COLUMNS)]
    lines.append("  ".join("-" * widths[key] for _, key in COLUMNS))
    for cells in rows:
        lines.append(
            "  ".join(
                cells[key].rjust(widths[key]) if key.startswith("race_") else cells[key].ljust(widths[key])
                for _, key in COLUMNS
            )
        )
    return "\n".join(line.rstrip() for line in lines)


def main():
    parser = argparse.ArgumentParser(description="Run the demo of each language and show one table.")
    parser.add_argument("languages", nargs="+", metavar="LANG")
    parser.add_argument("--skipped", default="", help="languages whose toolchain is missing, to be named in the table")
    arguments = parser.parse_args()
    skipped = arguments.skipped.split()
    rows, failures = [], []
    for language in arguments.languages:
        print(f"\n==> {NAMES[language]}", flush=True)
        figures, code = run(language)
        found = problems(language, figures, code)
        failures += [f"{NAMES[language]}: {problem}" for problem in found]
        rows.append(row(language, figures, "NO" if found else "yes"))
    rows += [row(language, None, "skipped: toolchain missing") for language in skipped]

    print(f"\n{table(rows)}")
    for failure in failures:
        print(f"FAILED {failure}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
