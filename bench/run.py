"""Measures tidegate beside its peers; writes results/latest.json and docs/benchmarks.md, and has the pictures drawn.

`make bench` calls it. Reads from the environment LANGS, the languages to measure, and QUICK, which is not empty for a
short run. Ends with 0 also where a speed was missed, which the table says, and with 1 where something could not be
measured, or a short run was long.
"""

import datetime
import os
import subprocess
import sys
import threading
import time

import harnesses
import machine
import peers
import report
import results
import targets

# For one harness.
TIMEOUT_S, QUICK_TIMEOUT_S = 600, 180
# For a short run in all languages. With a build that has nothing to do it is four minutes.
QUICK_S = 220


def measure(language, timeout_s):
    """Builds one harness, runs it, shows what it prints, and returns its rows."""
    command, variables = harnesses.HARNESSES[language]()
    rows = []
    with subprocess.Popen(
        list(map(str, command)),
        cwd=harnesses.ROOT,
        env=environment() | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as harness:
        watchdog = threading.Timer(timeout_s, harness.kill)
        watchdog.start()
        try:
            for line in harness.stdout:
                row = results.parse(line, language)
                print(f"  {row['case']:<48} {row['subject']:<24} {report.figure(row):>12}", flush=True)
                rows.append(row)
        except ValueError:
            harness.kill()
            raise
        finally:
            code = harness.wait()
            watchdog.cancel()
    if code != 0:
        raise ValueError(f"exit code {code}")
    if not rows:
        raise ValueError("no rows")
    return rows


def environment():
    """The environment of a harness: QUICK is there only if it says something."""
    return {name: value for name, value in os.environ.items() if name != "QUICK" or value}


def main():
    asked = os.environ.get("LANGS", " ".join(harnesses.HARNESSES)).split()
    languages = [language for language in harnesses.HARNESSES if language in asked]
    if not languages:
        sys.exit(f"LANGS: got {' '.join(asked)!r}; allowed: some of {' '.join(harnesses.HARNESSES)}")
    stamp = {
        "run": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "quick": bool(os.environ.get("QUICK")),
        "machine": machine.describe(),
    }
    timeout_s = QUICK_TIMEOUT_S if stamp["quick"] else TIMEOUT_S
    rows, toolchains, failures = [], {}, []
    begin = time.monotonic()
    for language in languages:
        print(f"\n==> {harnesses.NAMES[language]}", flush=True)
        start = time.monotonic()
        try:
            rows += [row | stamp for row in measure(language, timeout_s)]
            toolchains[language] = harnesses.toolchain(language)
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            failures.append(f"{harnesses.NAMES[language]}: {error}")
        print(f"  {time.monotonic() - start:.0f} s", flush=True)

    measured = results.merge(results.load(), stamp["machine"], toolchains, rows, languages)
    verdicts, standings = targets.judge(measured["rows"]), peers.standings(measured["rows"])
    results.save(measured)
    report.write(measured, verdicts, standings)
    harnesses.draw()
    print(f"\n{report.summary(verdicts, standings)}")
    print("written: bench/results/latest.json, docs/benchmarks.md, docs/pictures/bench-*.svg")
    took_s = time.monotonic() - begin
    print(f"total: {took_s:.0f} s")
    if stamp["quick"] and took_s > QUICK_S:
        failures.append(f"QUICK: got {took_s:.0f} s; allowed: at most {QUICK_S} s")
    for failure in failures:
        print(f"FAILED {failure}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
