"""Compares every language's driver with the golden transcripts, with the naive model and with one another.

usage: python3 run.py [--driver LANG=COMMAND]... [--seed N] [--count 1000] [--update-golden]

COMMAND is split as a shell does and gets all vector files as arguments; each driver runs once. On hand-written vectors
all drivers and the model must print the golden transcripts. On random scripts all drivers must print the same, and the
same as the model but for 1 ns in retry_after and reset_after: a core counts in ticks of up to 1 ns (resolution.py).
"""

import argparse
import shlex
import subprocess
import sys
import tempfile
import time
from itertools import zip_longest
from pathlib import Path

from interpreter import transcript
from random_keyed import KEY_QUOTA_KINDS, KEYED_KINDS
from random_scripts import KINDS, write_scripts
from random_waiting import KEYED_WAITING_KINDS, WAITING_KINDS

VECTORS = Path(__file__).resolve().parent.parent / "vectors"
GOLDEN = VECTORS / "golden"
KEY_QUOTA_VECTORS = ("key_quotas.txt", "top_denied.txt", "keyed_hold_times.txt")
TIMEOUT_SECONDS = 300
SHOWN_DIFFERENCES = 5
TOLERANT = ("retry_after=", "reset_after=")


class Report:
    """Counts the checks and shows the first differences of each."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def check(self, what, problems):
        """`problems` is a list of lines, empty if all is well."""
        if not problems:
            self.passed += 1
            return
        self.failed += 1
        print(f"FAILED {what}")
        for problem in problems[:SHOWN_DIFFERENCES]:
            print(f"  {problem}")
        if len(problems) > SHOWN_DIFFERENCES:
            print(f"  and {len(problems) - SHOWN_DIFFERENCES} more differences")


def equal(got, wanted):
    return got == wanted


def equal_within_1_ns(got, wanted):
    if got == wanted:
        return True
    got, wanted = got.split(), wanted.split()
    return len(got) == len(wanted) and all(map(equal_field, got, wanted))


def equal_field(got, wanted):
    if got == wanted:
        return True
    (name, equals, value), (wanted_name, _, wanted_value) = got.partition("="), wanted.partition("=")
    if name != wanted_name or name + equals not in TOLERANT or not (value.isdigit() and wanted_value.isdigit()):
        return False
    # A wait of 0 is no wait: it never stands for one of a nanosecond.
    is_wait_of_0 = name == "retry_after" and "0" in (value, wanted_value)
    return abs(int(value) - int(wanted_value)) <= 1 and not is_wait_of_0


def differences(source, got, wanted, are_equal):
    """The lines in which a transcript differs from what is wanted, with the script and the command that led to them."""
    if not got:
        return ["nothing was printed for it"]
    commands = source.read_text(encoding="utf-8").split("\n")
    script = ""
    problems = []
    for got_line, wanted_line in zip_longest(got, wanted, fillvalue="(nothing)"):
        if wanted_line.startswith("script "):
            script = wanted_line
        if are_equal(got_line, wanted_line):
            continue
        number = wanted_line.split()[0]
        command = f": {commands[int(number) - 1]}" if number.isdigit() else ""
        problems.append(f"{source.name}:{number} {script}{command}\n    got    {got_line}\n    wanted {wanted_line}")
    return problems


def run_driver(command, files):
    """The transcript of each file by its name, and the problems of the run itself."""
    try:
        done = subprocess.run(
            [*shlex.split(command), *map(str, files)], capture_output=True, timeout=TIMEOUT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {}, [str(error)]
    problems = []
    if done.returncode != 0:
        # Only then: permits that a script leaves unreleased may rightly be warned about.
        errors = done.stderr.decode("utf-8", "replace").splitlines()
        if len(errors) > 10:
            errors = [*errors[:5], "...", *errors[-5:]]
        problems.append("\n    ".join([f"exit status {done.returncode}", *errors]))
    transcripts = {}
    lines = []
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        if line.startswith("file "):
            lines = transcripts.setdefault(line.removeprefix("file "), [])
        lines.append(line)
    if list(transcripts) != [file.name for file in files]:
        problems.append(f"files in the transcript: {', '.join(transcripts) or 'none'}")
    return transcripts, problems


def all_parts():
    """Of each part its name, its files and its random scripts."""
    keyed = sorted((VECTORS / "keyed").glob("*.txt"))
    quotas = [vector for vector in keyed if vector.name in KEY_QUOTA_VECTORS]
    waiting = sorted((VECTORS / "waiting").glob("*.txt"))
    return (
        ("unkeyed", sorted(VECTORS.glob("*.txt")), KINDS),
        ("keyed", [vector for vector in keyed if vector not in quotas], KEYED_KINDS),
        ("key_quotas", quotas, KEY_QUOTA_KINDS),
        ("waiting", waiting, WAITING_KINDS + KEYED_WAITING_KINDS),
    )


def golden_of(vector):
    return GOLDEN / vector.relative_to(VECTORS)


def read_golden(vector):
    golden = golden_of(vector)
    return golden.read_text(encoding="utf-8").splitlines() if golden.exists() else []


def stale_golden(vectors):
    return sorted(set(GOLDEN.rglob("*.txt")) - {golden_of(vector) for vector in vectors})


def update_golden(vectors):
    for stale in stale_golden(vectors):
        stale.unlink()
    for vector in vectors:
        golden_of(vector).parent.mkdir(parents=True, exist_ok=True)
        golden_of(vector).write_text("\n".join([*transcript(vector), ""]), encoding="utf-8")
    print(f"{len(vectors)} golden transcripts written from the model")


def check_model(report, vectors):
    for vector in vectors:
        report.check(f"model: {vector.name}", differences(vector, list(transcript(vector)), read_golden(vector), equal))
    names = [vector.name for vector in vectors]
    report.check("two vector files of one name", sorted({name for name in names if names.count(name) > 1}))
    stale = [str(path.relative_to(GOLDEN)) for path in stale_golden(vectors)]
    report.check("golden transcripts without a vector file", stale)


def compare(report, vectors, drivers, random_file):
    """Runs each driver over all the files."""
    model_random = list(transcript(random_file))
    first = None
    for language, command in drivers:
        started = time.monotonic()
        transcripts, problems = run_driver(command, [*vectors, random_file])
        seconds = time.monotonic() - started
        report.check(f"{language}: {command}", problems)
        lines = 0
        for vector in vectors:
            got = transcripts.get(vector.name, [])
            lines += len(got)
            report.check(f"{language}: {vector.name}", differences(vector, got, read_golden(vector), equal))
        got = transcripts.get(random_file.name, [])
        report.check(
            f"{language}: {random_file.name} against the model",
            differences(random_file, got, model_random, equal_within_1_ns),
        )
        if first is None:
            first = (language, got)
        else:
            report.check(
                f"{language}: {random_file.name} against {first[0]}", differences(random_file, got, first[1], equal)
            )
        print(
            f"{language}: {lines} golden lines and {len(got)} of {random_file.name} compared ({seconds:.1f} s)",
            flush=True,
        )


def driver_option(text):
    language, separator, command = text.partition("=")
    if not (language and separator and command):
        raise argparse.ArgumentTypeError(f"{text!r} is not LANG=COMMAND")
    return language, command


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--driver", type=driver_option, action="append", default=[], metavar="LANG=COMMAND")
    arguments.add_argument("--seed", type=int, default=int(time.time()))
    arguments.add_argument("--count", type=int, default=1000, help="random scripts, and as many keyed ones")
    arguments.add_argument("--update-golden", action="store_true", help="write the golden transcripts from the model")
    given = arguments.parse_args()
    parts = all_parts()
    vectors = [vector for _, files, _ in parts for vector in files]
    if given.update_golden:
        update_golden(vectors)
    print(f"{given.count} random scripts; the same again with --seed {given.seed} --count {given.count}")
    report = Report()
    check_model(report, vectors)
    with tempfile.TemporaryDirectory() as folder:
        for part, files, kinds in parts:
            random_file = Path(folder) / f"random_{part}.txt"
            write_scripts(random_file, given.seed, given.count, kinds)
            compare(report, files, given.driver, random_file)
    print(f"{report.passed} passed, {report.failed} failed")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
