"""Runs vector files on the Python package and prints their transcripts (docs/design.md, section 12, "Vectors").

usage: conformance_driver.py FILE...
"""

import sys
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote

import tidegate

SECOND_NS = 10**9


class Script:
    """The objects of one script. Each `do_` method runs a command and returns what its line prints after the number."""

    def __init__(self):
        self.clock = tidegate.ManualClock()
        self.limiters = {}
        self.kept = {}
        self.nameless = []

    def run(self, command):
        verb, *words = command.split()
        try:
            return getattr(self, f"do_{verb}")(*words)
        except tidegate.ConfigError as mistake:
            return f"error {'period' if mistake.argument == 'per' else mistake.argument}"

    def do_parse(self, text):
        return "ok " + "; ".join(map(str, tidegate.Quota.parse_list(text_of(text))))

    def do_rate(self, name, *words):
        self.limiters[name] = tidegate.RateLimiter(quotas_of(words), clock=self.clock)
        return "ok"

    def do_conc(self, name, *words):
        options = options_of(words)
        track = options.get("track_hold_time") == "1"
        limit = int(options["limit"])
        self.limiters[name] = tidegate.ConcurrencyLimiter(limit, track_hold_time=track, clock=self.clock)
        return "ok"

    def do_advance(self, ns):
        self.clock.advance_ns(int(ns))
        return "ok"

    def do_set_clock(self, ns):
        self.clock.set_ns(int(ns))
        return "ok"

    def do_try(self, name, *words):
        limiter, options = self.limiters[name], options_of(words)
        answer = limiter.try_acquire(int(options.get("cost", 1)))
        if isinstance(limiter, tidegate.ConcurrencyLimiter):
            if "as" in options:
                self.kept[options["as"]] = answer
            else:
                self.nameless.append(answer)
        return "allowed" if answer else "refused"

    def do_decide(self, name, *words):
        options = options_of(words)
        decision = self.limiters[name].decide(int(options.get("cost", 1)))
        if "as" in options:
            self.kept[options["as"]] = decision
        return shown(decision)

    def do_peek(self, name, *words):
        return shown(self.limiters[name].peek(int(options_of(words).get("cost", 1))))

    def do_refund(self, name, kept):
        self.limiters[name].refund(self.kept[kept])
        return "ok"

    def do_release(self, kept, outcome="ok"):
        permit = self.kept[kept]
        if permit is None:
            return "error permit"
        permit.release(ok=outcome == "ok")
        return "ok"

    def do_reset(self, name):
        self.limiters[name].reset()
        return "ok"

    def do_reconfigure(self, name, *words):
        self.limiters[name].reconfigure(quotas_of(words))
        return "ok"

    def do_limit(self, name, limit):
        self.limiters[name].limit = int(limit)
        return "ok"

    def do_stats(self, name):
        stats = self.limiters[name].stats()
        if isinstance(stats, tidegate.RateStats):
            return f"ok allowed={stats.allowed} denied={stats.denied}"
        names = ["limit", "in_flight", "available", "allowed", "denied", "released_ok", "released_failed"]
        figures = [f"{name}={getattr(stats, name)}" for name in names]
        if stats.hold_time_total_ns is not None:
            figures += [f"hold_total={stats.hold_time_total_ns}", f"hold_max={stats.hold_time_max_ns}"]
        return " ".join(["ok", *figures])


def options_of(words):
    return dict(word.split("=", 1) for word in words)


def text_of(word):
    return unquote(word.removeprefix("text="), errors="strict")


def quotas_of(words):
    """`limit= per= [burst= algorithm= anchor=] [+ ...]`, or `text=`."""
    if words[0].startswith("text="):
        return text_of(words[0])
    return [quota_of(options_of(part.split())) for part in " ".join(words).split(" + ")]


def quota_of(options):
    """The quota, by its constructor where seconds can say the period, else by its text."""
    for number in ("limit", "per", "burst"):
        if number in options:
            options[number] = int(options[number])
    ns = options.pop("per")
    quota = tidegate.Quota(per=seconds_of(ns), **options)
    if quota.period_ns != ns:
        words = [f"{quota.limit}/{ns}ns", f"burst {quota.burst}" if quota.algorithm == "gcra" else "", quota.algorithm]
        quota = tidegate.Quota.parse(" ".join([*filter(None, words), f"anchor {quota.anchor}"]))
    return quota


def seconds_of(ns):
    """The period as the most exact of what Quota takes."""
    if ns % SECOND_NS == 0:
        return ns // SECOND_NS
    return timedelta(microseconds=ns // 1000) if ns % 1000 == 0 else ns / SECOND_NS


def shown(decision):
    retry_after = "never" if decision.retry_after_ns is None else decision.retry_after_ns
    return (
        f"{decision.status} limit={decision.limit} remaining={decision.remaining} retry_after={retry_after}"
        f" reset_after={decision.reset_after_ns} quota={decision.quota}"
    )


def main():
    for path in map(Path, sys.argv[1:]):
        print(f"file {path.name}")
        script = None
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            command = line.strip()
            if command.startswith("script "):
                script = Script()
                print(command)
            elif command and not command.startswith("#"):
                print(f"{number} {script.run(command)}")


if __name__ == "__main__":
    main()
