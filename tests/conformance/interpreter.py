"""Runs vector files on the naive model and prints the canonical transcript: the model as a driver.

usage: python3 interpreter.py FILE...        (the language of the files: docs/design.md §12, Vectors)
"""

import sys
from pathlib import Path
from urllib.parse import unquote

import model
from budgets import ALLOWED, NEVER
from quota import Mistake, Quota, parse_list


class ScriptFault(Exception):
    """The script itself is wrong: an unknown command, object or ID."""


class Interpreter:
    """The objects of one script. `run` takes a command and returns what follows the line number in the transcript."""

    def __init__(self, rate_limiter=model.RateLimiter):
        self.rate_limiter = rate_limiter
        self.clock = model.Clock()
        self.limiters = {}
        self.kept = {}

    def run(self, command):
        verb, *words = command.split()
        handler = getattr(self, f"do_{verb}", None)
        if handler is None:
            raise ScriptFault(f"unknown command {verb!r}")
        try:
            return handler(*words)
        except Mistake as mistake:
            return f"error {mistake.argument}"

    def do_parse(self, text):
        return "ok " + "; ".join(map(str, read_quotas([text])))

    def do_rate(self, name, *words):
        self.limiters[name] = self.rate_limiter(self.clock, read_quotas(words))
        return "ok"

    def do_conc(self, name, *words):
        options = read_options(words)
        limiter = model.ConcurrencyLimiter(self.clock, int(options["limit"]))
        limiter.reports_hold_time = options.get("track_hold_time") == "1"
        self.limiters[name] = limiter
        return "ok"

    def do_advance(self, by):
        self.clock.advance(int(by))
        return "ok"

    def do_set_clock(self, to):
        self.clock.set(int(to))
        return "ok"

    def do_try(self, name, *words):
        limiter, cost, keep_as = self.call(name, words)
        if isinstance(limiter, model.RateLimiter):
            return "allowed" if limiter.decide(cost).status == ALLOWED else "refused"
        permit = limiter.try_acquire(cost)
        if keep_as:
            self.kept[keep_as] = permit
        return "allowed" if permit.held else "refused"

    def do_decide(self, name, *words):
        limiter, cost, keep_as = self.call(name, words)
        decision = limiter.decide(cost)
        if keep_as:
            self.kept[keep_as] = decision
        return show(decision)

    def do_peek(self, name, *words):
        limiter, cost, _ = self.call(name, words)
        return show(limiter.peek(cost))

    def do_refund(self, name, kept):
        self.limiter(name).refund(self.kept_as(kept))
        return "ok"

    def do_release(self, kept, outcome="ok"):
        permit = self.kept_as(kept)
        permit.limiter.release(permit, ok=outcome != "failed")
        return "ok"

    def do_reset(self, name):
        self.limiter(name).reset()
        return "ok"

    def do_reconfigure(self, name, *words):
        self.limiter(name).reconfigure(read_quotas(words))
        return "ok"

    def do_limit(self, name, limit):
        self.limiter(name).set_limit(int(limit))
        return "ok"

    def do_stats(self, name):
        limiter = self.limiter(name)
        if isinstance(limiter, model.RateLimiter):
            return f"ok allowed={limiter.allowed} denied={limiter.denied}"
        names = ("limit", "in_flight", "available", "allowed", "denied", "released_ok", "released_failed")
        figures = [f"{name}={getattr(limiter, name)}" for name in names]
        if limiter.reports_hold_time:
            figures += [f"hold_total={sum(limiter.holds)}", f"hold_max={max(limiter.holds)}"]
        return " ".join(["ok", *figures])

    def call(self, name, words):
        options = read_options(words)
        return self.limiter(name), int(options.get("cost", 1)), options.get("as")

    def limiter(self, name):
        if name not in self.limiters:
            raise ScriptFault(f"no limiter {name!r}")
        return self.limiters[name]

    def kept_as(self, name):
        if name not in self.kept:
            raise ScriptFault(f"nothing was kept as {name!r}")
        return self.kept[name]


def read_options(words):
    return dict(word.split("=", 1) for word in words)


def read_quotas(words):
    """`limit= per= [burst= algorithm= anchor=] [+ …]`, or `text=%XX`."""
    if words[0].startswith("text="):
        return parse_list(unquote(words[0].removeprefix("text="), errors="strict"))
    quotas = []
    for part in " ".join(words).split(" + "):
        options = read_options(part.split())
        quotas.append(
            Quota(
                limit=int(options["limit"]),
                period=int(options["per"]),
                burst=int(options["burst"]) if "burst" in options else None,
                algorithm=options.get("algorithm", "gcra"),
                anchor=options.get("anchor", "first"),
            )
        )
    return quotas


def show(decision):
    never = decision.retry_after == NEVER
    return (
        f"{decision.status} limit={decision.limit} remaining={decision.remaining}"
        f" retry_after={'never' if never else decision.retry_after}"
        f" reset_after={decision.reset_after} quota={decision.quota}"
    )


def transcript(path, rate_limiter=model.RateLimiter):
    """The lines that a driver prints for one file."""
    yield f"file {Path(path).name}"
    interpreter = None
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").split("\n"), start=1):
        command = line.strip()
        if not command or command.startswith("#"):
            continue
        if command.startswith("script "):
            interpreter = Interpreter(rate_limiter)
            yield command
            continue
        try:
            yield f"{number} {interpreter.run(command)}"
        except (ScriptFault, KeyError, ValueError, TypeError) as fault:
            raise ScriptFault(f"{path}:{number}: {command}: {fault}") from fault


if __name__ == "__main__":
    for file in sys.argv[1:]:
        for printed in transcript(file):
            print(printed)
