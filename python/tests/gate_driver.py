"""Runs the vectors of the gate (tests/vectors/gate) on the Python package and prints its answers.

usage: gate_driver.py FILE...
"""

import math
import sys
from pathlib import Path

import tidegate


class Script:
    """The gates and entries of one script. Each `do_` method runs a command and returns what its line prints."""

    def __init__(self, folder):
        self.folder = folder
        self.clock = tidegate.ManualClock()
        self.gates = {}
        self.entries = {}

    def run(self, command):
        verb, *words = command.split()
        try:
            return getattr(self, f"do_{verb}")(*words)
        except tidegate.RulesError as error:
            places = (":".join(str(part or "-") for part in (f.line, f.rule, f.argument)) for f in error.faults)
            return " ".join(["faults", *places])

    def do_gate(self, name, file):
        self.gates[name] = tidegate.Gate.open(self.folder / file, clock=self.clock)
        return "ok"

    def do_reload(self, name, file):
        done = self.gates[name].reload_file(self.folder / file)
        kinds = ("changed", "restarted", "added", "removed", "unchanged")
        told = (f"{kind}={','.join(getattr(done, kind))}" for kind in kinds if getattr(done, kind))
        return " ".join(["ok", *told])

    def do_enter(self, name, *words):
        attributes, cost, kept = request_of(words)
        entered = self.gates[name].try_enter(attributes, cost=cost, timeout=0)
        if isinstance(entered, tidegate.Refusal):
            return refused(entered)
        told = f"allowed rules={','.join(sorted(entered.rules))}" if entered.applies else entered.status
        if kept:
            self.entries[kept] = entered
        else:
            entered.release()
        return told

    def do_leave(self, kept, outcome="ok"):
        self.entries.pop(kept).release(ok=outcome == "ok")
        return "ok"

    def do_explain(self, name, *words):
        attributes, cost, _ = request_of(words)
        explained = self.gates[name].explain(attributes, cost=cost)
        return " ".join([explained.status, *map(traced, explained.rules)])

    def do_stats(self, name):
        stats = self.gates[name].stats()
        told = (f"{rule}={it.admitted}:{it.refused}:{it.in_flight}" for rule, it in stats.rules.items())
        figures = f"admitted={stats.admitted} refused={stats.refused} unmatched={stats.unmatched}"
        return " ".join(["ok", figures, f"ok={stats.released_ok} failed={stats.released_failed}", *told])

    def do_advance(self, ns):
        self.clock.advance_ns(int(ns))
        return "ok"

    def end(self):
        for entry in self.entries.values():
            entry.release()


def request_of(words):
    """The attributes, the cost, and the name that the entry is kept under."""
    given = dict(word.split("=", 1) for word in words)
    cost, kept = int(given.pop("cost", 1)), given.pop("as", None)
    return given, cost, kept


def refused(refusal):
    waits = {None: "others", math.inf: "never"}.get(refusal.retry_after, refusal.retry_after_ns)
    told = f"{refusal.status} rule={refusal.rule} limit={refusal.limit} remaining={refusal.remaining}"
    return f"{told} retry_after={waits}" + (f" key={refusal.key}" if refusal.key is not None else "")


def traced(rule):
    if rule.mode == "off":
        return f"{rule.rule}=off"
    return f"{rule.rule}={f'{rule.status}:{rule.remaining}' if rule.matched else 'unmatched'}"


def main():
    for path in map(Path, sys.argv[1:]):
        print(f"file {path.name}")
        script = None
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.startswith("script "):
                if script:
                    script.end()
                script = Script(path.parent)
                print(line)
            elif line and line[0] not in "#=":
                print(number, script.run(line))
        script.end()


if __name__ == "__main__":
    main()
