"""Runs vector files on the Python package and prints their transcripts (docs/design.md, section 12, "Vectors").

usage: conformance_driver.py FILE...
"""

import asyncio
import sys
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote, unquote_to_bytes

import tidegate

SECOND_NS = 10**9
KEYED = (tidegate.KeyedRateLimiter, tidegate.KeyedConcurrencyLimiter)
OPTIONS = ("max_keys=", "when_full=", "track_denied=", "max_waiters=")
REFUSED = {
    tidegate.TimedOut: "timed_out",
    tidegate.QueueFull: "queue_full",
    tidegate.ExceedsCapacity: "exceeds_capacity",
    tidegate.Closed: "closed",
}
CALLS = ["allowed", "denied"]
RELEASES = ["released_ok", "released_failed"]
FIGURES = {
    tidegate.RateStats: CALLS,
    tidegate.KeyedRateStats: [*CALLS, "evicted_live", "capacity"],
    tidegate.ConcurrencyStats: ["limit", "in_flight", "available", *CALLS, *RELEASES],
    tidegate.KeyedConcurrencyStats: ["limit", *CALLS, *RELEASES, "capacity"],
}


class Script:
    """The objects of one script. Each `do_` method runs a command and returns what its line prints after the number."""

    def __init__(self):
        self.clock = tidegate.ManualClock()
        self.limiters = {}
        self.kept = {}
        self.nameless = []
        self.loop = asyncio.new_event_loop()
        self.waits = {}

    def run(self, command):
        """The answer to one command, and a line for each wait that it ended."""
        verb, *words = command.split()
        try:
            answer = getattr(self, f"do_{verb}")(*words)
        except tidegate.ConfigError as mistake:
            answer = f"error {'period' if mistake.argument == 'per' else mistake.argument}"
        if self.waits:
            self.run_tasks()
        ended = sorted((name for name, task in self.waits.items() if task.done()), key=str.encode)
        return [answer, *(f"{name} {self.outcome(name, self.waits.pop(name))}" for name in ended)]

    def run_tasks(self):
        """Until all have seen what they were told."""

        async def turns():
            for _ in range(5):
                await asyncio.sleep(0)

        self.loop.run_until_complete(turns())

    def outcome(self, name, task):
        """What a wait came to; its permit is kept under its name."""
        try:
            permit = task.result()
        except tidegate.Refused as refused:
            return REFUSED[type(refused)]
        if permit is not None:
            self.kept[name] = permit
        return "granted"

    def end(self):
        for task in self.waits.values():
            task.cancel()
        self.run_tasks()
        self.loop.close()

    def do_parse(self, text):
        return "ok " + "; ".join(map(str, tidegate.Quota.parse_list(text_of(text))))

    def do_rate(self, name, *words):
        options = options_of([word for word in words if word.startswith(OPTIONS)])
        quotas = quotas_of([word for word in words if not word.startswith(OPTIONS)])
        for number in options.keys() - {"when_full"}:
            options[number] = int(options[number])
        limiter = tidegate.KeyedRateLimiter if "max_keys" in options else tidegate.RateLimiter
        self.limiters[name] = limiter(quotas, **options, clock=self.clock)
        return "ok"

    def do_conc(self, name, *words):
        options = {option: int(value) for option, value in options_of(words).items()}
        options["track_hold_time"] = bool(options.get("track_hold_time"))
        limiter = tidegate.KeyedConcurrencyLimiter if "max_keys" in options else tidegate.ConcurrencyLimiter
        self.limiters[name] = limiter(options.pop("limit"), **options, clock=self.clock)
        return "ok"

    def do_advance(self, ns):
        self.clock.advance_ns(int(ns))
        return "ok"

    def do_set_clock(self, ns):
        self.clock.set_ns(int(ns))
        return "ok"

    def do_try(self, name, *words):
        limiter, options = self.limiters[name], options_of(words)
        answer = limiter.try_acquire(*self.key(name, options), int(options.get("cost", 1)))
        if isinstance(limiter, (tidegate.ConcurrencyLimiter, tidegate.KeyedConcurrencyLimiter)):
            if "as" in options:
                self.kept[options["as"]] = answer
            else:
                self.nameless.append(answer)
        return "allowed" if answer else "refused"

    def do_decide(self, name, *words):
        options = options_of(words)
        decision = self.limiters[name].decide(*self.key(name, options), int(options.get("cost", 1)))
        if "as" in options:
            self.kept[options["as"]] = decision
        return shown(decision)

    def do_peek(self, name, *words):
        options = options_of(words)
        return shown(self.limiters[name].peek(*self.key(name, options), int(options.get("cost", 1))))

    def do_many(self, name, *words):
        options = options_of(words)
        answers = self.limiters[name].try_acquire_many(keys_of(options["keys"]), int(options.get("cost", 1)))
        return "ok " + ",".join("allowed" if answer else "refused" for answer in answers)

    def do_refund(self, name, kept, *words):
        self.limiters[name].refund(*self.key(name, options_of(words)), self.kept[kept])
        return "ok"

    def do_release(self, kept, outcome="ok"):
        permit = self.kept[kept]
        if permit is None:
            return "error permit"
        permit.release(ok=outcome == "ok")
        return "ok"

    def do_reset(self, name, *words):
        self.limiters[name].reset(*self.key(name, options_of(words)))
        return "ok"

    def do_reconfigure(self, name, *words):
        self.limiters[name].reconfigure(quotas_of(words))
        return "ok"

    def do_quota(self, name, key, *words):
        self.limiters[name].set_quota(*self.key(name, options_of([key])), quotas_of(words))
        return "ok"

    def do_clear(self, name, *words):
        self.limiters[name].clear_quota(*self.key(name, options_of(words)))
        return "ok"

    def do_top(self, name, *words):
        top = self.limiters[name].top_denied(int(options_of(words)["n"]))
        return "ok" + "".join(f" {denied.key.hex()}:{denied.count}:{denied.error}" for denied in top)

    def do_limit(self, name, limit):
        self.limiters[name].limit = int(limit)
        return "ok"

    def do_wait(self, waiter, name, *words):
        options = options_of(words)
        timeout = seconds_of(int(options["timeout"])) if "timeout" in options else None
        key = self.key(name, options)
        acquire = self.limiters[name].acquire_async(*key, int(options.get("cost", 1)), timeout)
        task = self.loop.create_task(acquire)
        self.run_tasks()
        if task.done():
            return self.outcome(waiter, task)
        self.waits[waiter] = task
        return "pending"

    def do_cancel(self, waiter):
        task = self.waits.pop(waiter, None)
        if task is None:
            return "too_late"
        task.cancel()
        self.run_tasks()
        return "cancelled" if task.cancelled() else "too_late"

    def do_close(self, name):
        self.limiters[name].close()
        return "ok"

    def do_waiting(self, name):
        stats = self.limiters[name].stats()
        return f"ok waiting={stats.waiting} timed_out={stats.timed_out} cancelled={stats.cancelled}"

    def do_reserve(self, name, *words):
        options = options_of(words)
        max_wait = seconds_of(int(options["max_wait"])) if "max_wait" in options else None
        try:
            reservation = self.limiters[name].reserve(*self.key(name, options), int(options.get("cost", 1)), max_wait)
        except tidegate.Refused as refused:
            return REFUSED[type(refused)]
        if "as" in options:
            self.kept[options["as"]] = (self.limiters[name], *self.key(name, options), reservation)
        return f"granted wait={reservation.wait_ns}"

    def do_unreserve(self, name, kept, *words):
        *owner, reservation = self.kept.pop(kept)
        # One can't be given to another limiter or key here.
        if owner != [self.limiters[name], *self.key(name, options_of(words))]:
            return "error reservation"
        return "credited" if reservation.cancel() else "not_credited"

    def do_stats(self, name):
        stats = self.limiters[name].stats()
        figures = [f"{name}={getattr(stats, name)}" for name in FIGURES[type(stats)]]
        if getattr(stats, "hold_time_total_ns", None) is not None:
            figures += [f"hold_total={stats.hold_time_total_ns}", f"hold_max={stats.hold_time_max_ns}"]
        return " ".join(["ok", *figures])

    def do_in_flight(self, name, *words):
        return f"ok {self.limiters[name].in_flight(*self.key(name, options_of(words)))}"

    def do_key(self, *words):
        return "ok " + tidegate.key_of(*keys_of(options_of(words)["parts"])).hex()

    def do_ip(self, *words):
        options = options_of(words)
        prefix = int(options["prefix"]) if "prefix" in options else None
        return "ok " + tidegate.ip_key(unquote(options["address"], errors="strict"), prefix).hex()

    def key(self, name, options):
        """The key as the first argument of a keyed limiter, which must have one; none for the others."""
        return [key_of(options["key"])] if isinstance(self.limiters[name], KEYED) else []


def keys_of(words):
    return [key_of(word) for word in words.split(",")]


def key_of(word):
    """The key as a str, as users have it, where it is one."""
    key = unquote_to_bytes(word)
    try:
        return key.decode()
    except UnicodeDecodeError:
        return key


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
        words = [f"{quota.limit}/{ns}ns", f"burst {quota.burst}" if "burst" in options else "", quota.algorithm]
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
                if script:
                    script.end()
                script = Script()
                print(command)
            elif command and not command.startswith("#"):
                for answer in script.run(command):
                    print(f"{number} {answer}")
        if script:
            script.end()


if __name__ == "__main__":
    main()
