"""Counts the instructions of the hot calls under callgrind, and holds each against its budget in budgets.ini.

usage: run.py LANGUAGE...     of c, python and node; others are left out
What was built must be there: `make test-instructions` sees to it.
"""

import collections
import concurrent.futures
import configparser
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build/instructions"
CALLS = 1000
# What another version of a compiler or of the C library may add.
TOLERANCE = 0.05
# A budget that is this far from what is counted lets a slow-down pass.
SLACK = 0.1


def callgrind(name, *command):
    """What callgrind wrote of a command, in its own format, with all names in full."""
    out = BUILD / f"{name}.callgrind"
    valgrind = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", "--compress-strings=no"]
    settings = ["--compress-pos=no", "--smc-check=all-non-file"]
    done = subprocess.run([*valgrind, *settings, *command], capture_output=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        sys.exit(
            f"{' '.join(map(str, command))} under callgrind ended with {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return out.read_text("utf-8")


def called_by(function, profile):
    """The instructions of each call that a function made, with all that was called further down: {name: count}."""
    [body] = re.findall(rf"^fn={function}\n(.*?)(?=^fn=|\Z)", profile, re.MULTILINE | re.DOTALL)
    return {name: int(cost) for name, cost in re.findall(r"^cfn=(\w+)\ncalls=1 .*\n\S+ (\d+)$", body, re.MULTILINE)}


def inside(library, profile):
    """The instructions that were run in a shared library itself, without what it called elsewhere."""
    costs = collections.Counter()
    place, callee = None, False
    for line in profile.splitlines():
        if line.startswith("ob="):
            place = line[3:]
        elif line.startswith("calls="):
            callee = True  # the next line is what the callee took
        elif re.match(r"[\d+*-]", line):
            costs[place] += 0 if callee else int(line.split()[1])
            callee = False
    [place] = [place for place in costs if place and re.search(library, place)]
    return costs[place]


def count_c():
    program = BUILD / "calls"
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT / 'include'}"]
    link = [f"-L{ROOT / 'build/lib'}", "-ltidegate", "-Wl,-z,now", "-Wl,-rpath,$ORIGIN/../lib"]
    subprocess.run([os.environ.get("CC", "cc"), *flags, HERE / "calls.c", *link, "-o", program], check=True)
    profile = callgrind("c", program)
    once, twice = called_by("once", profile), called_by("twice", profile)
    return {name: (twice[name] - once[name]) / CALLS for name in once}


def count_library(language, library, names, *command):
    """Of what an interpreter runs only our own library is counted: a run without and, for each call, a run with it."""
    runs = {name: [f"{name}={CALLS}"] for name in names} | {"none": []}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        counting = {
            name: pool.submit(callgrind, f"{language}_{name}", *command, *arguments) for name, arguments in runs.items()
        }
    counted = {name: inside(library, run.result()) for name, run in counting.items()}
    return {name: (counted[name] - counted["none"]) / CALLS for name in names}


def judge(name, counted, budget):
    """What there is to say of a call: (whether it is within its budget, the words)."""
    if budget is None:
        return False, f"{name}: got {counted:g} instructions; allowed: a call that has a budget in budgets.ini"
    if counted is None:
        return False, f"{name}: has a budget, {budget:g} instructions, and is not counted"
    if counted > budget * (1 + TOLERANCE):
        return False, f"{name}: got {counted:g} instructions; allowed: {budget:g} and {TOLERANCE:.0%}"
    if counted < budget * (1 - SLACK):
        return True, f"{name}: {counted:g} instructions are far below the budget of {budget:g}: lower it"
    return True, f"{name}: {counted:g} of {budget:g} instructions"


def count(language, names):
    if language == "c":
        return count_c()
    if language == "python":
        return count_library(language, r"/_tidegate\.", names, ROOT / ".venv/bin/python", "-I", HERE / "calls.py")
    # Without a compiler at run time, which would make another program each time.
    node = [shutil.which("node"), "--jitless", "--single-threaded"]
    return count_library(language, r"/tidegate\.[\w-]+\.node$", names, *node, HERE / "calls.cjs")


def main(languages):
    if not shutil.which("valgrind"):
        sys.exit("valgrind is missing: install valgrind (Debian: apt install valgrind)")
    BUILD.mkdir(parents=True, exist_ok=True)
    budgets = configparser.ConfigParser()
    budgets.read(HERE / "budgets.ini", "utf-8")
    failed = 0
    for language in filter(budgets.has_section, languages):
        budget = {name: float(value) for name, value in budgets[language].items()}
        counted = count(language, list(budget))
        for name in budget | counted:
            right, words = judge(f"{language}: {name}", counted.get(name), budget.get(name))
            failed += not right
            print(words if right else f"FAILED {words}")
    sys.exit(min(failed, 1))


if __name__ == "__main__":
    main(sys.argv[1:])
