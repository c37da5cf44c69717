"""Compares every language's gate driver with the answers that stand in the vectors of the gate.

usage: python3 gate.py [--driver LANG=COMMAND]...
"""

import argparse
import sys

from run import VECTORS, Report, driver_option, run_driver


def wanted(vector):
    """The transcript that a vector demands, and the commands by the numbers of their lines."""
    transcript, commands, last = [f"file {vector.name}"], {}, 0
    for number, line in enumerate(vector.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("script "):
            transcript.append(line)
        elif line.startswith("= "):
            transcript.append(f"{last} {line[2:]}")
        elif line and not line.startswith("#"):
            last = number
            commands[str(number)] = line
    return transcript, commands


def unanswered(transcript, commands):
    """Commands without an answer, or with several."""
    answered = [line.split()[0] for line in transcript]
    return [f"line {number}: {command}" for number, command in commands.items() if answered.count(number) != 1]


def differences(vector, got):
    transcript, commands = wanted(vector)
    problems = [
        f"{vector.name}:{line.split()[0]}: {commands.get(line.split()[0], '')}\n    got    {other}\n    wanted {line}"
        for line, other in zip(transcript, got, strict=False)
        if line != other
    ]
    if len(got) != len(transcript):
        problems.append(f"{len(got)} lines, wanted {len(transcript)}")
    return problems


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--driver", type=driver_option, action="append", default=[], metavar="LANG=COMMAND")
    drivers = arguments.parse_args().driver
    vectors = sorted((VECTORS / "gate").glob("*.txt"))
    report = Report()
    for vector in vectors:
        report.check(f"answers of {vector.name}", unanswered(*wanted(vector)))
    for language, command in drivers:
        transcripts, problems = run_driver(command, vectors)
        report.check(f"{language}: {command}", problems)
        for vector in vectors:
            got = [line.rstrip() for line in transcripts.get(vector.name, [])]
            report.check(f"{language}: {vector.name}", differences(vector, got))
    print(f"gate: {report.passed} passed, {report.failed} failed")
    return 1 if report.failed or not vectors else 0


if __name__ == "__main__":
    sys.exit(main())
