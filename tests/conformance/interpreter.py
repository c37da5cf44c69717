"""Runs vector files on the naive model and prints the canonical transcript: the model as a driver.

usage: python3 interpreter.py FILE...        (the language of the files: docs/design.md §12, Vectors)
"""

import sys
from pathlib import Path
from urllib.parse import unquote, unquote_to_bytes

import model
from budgets import ALLOWED, NEVER
from keyed import SMALL_TABLE_KEYS, KeyedConcurrencyLimiter, KeyedRateLimiter, ip_key, key_of
from quota import Mistake, Quota, parse_list
from waiting import GRANTED, PENDING

LIMITER_OPTIONS = ("max_keys=", "when_full=", "track_denied=", "max_waiters=")


class ScriptFault(Exception):
    """The script itself is wrong: an unknown command, object or ID."""


class Interpreter:
    """The objects of one script. `run` takes a command and returns what follows the line number in the transcript."""

    def __init__(self, rate_limiter=model.RateLimiter, keyed_rate_limiter=KeyedRateLimiter):
        self.rate_limiter = rate_limiter
        self.keyed_rate_limiter = keyed_rate_limiter
        self.clock = model.Clock()
        self.limiters = {}
        self.kept = {}
        self.waiters = {}
        # The names of those that wait, and of those that did until the last command.
        self.pending = set()
        self.ended = []

    def run(self, command):
        verb, *words = command.split()
        handler = getattr(self, f"do_{verb}", None)
        if handler is None:
            raise ScriptFault(f"unknown command {verb!r}")
        try:
            return handler(*words)
        except Mistake as mistake:
            return f"error {mistake.argument}"
        finally:
            self.settle()

    def settle(self):
        """What is due by now happens, and permits are kept under the names of those who waited for them."""
        for limiter in self.limiters.values():
            limiter.settle()
        over = sorted(name for name in self.pending if self.waiters[name].status != PENDING)
        self.pending.difference_update(over)
        self.ended += over
        for name in over:
            self.keep_permit(name)

    def keep_permit(self, name):
        if self.waiters[name].permit:
            self.kept[name] = self.waiters[name].permit

    def told(self):
        """`W status` of each wait that the last command ended, by name."""
        ended, self.ended = self.ended, []
        return [f"{name} {self.waiters[name].status}" for name in ended]

    def do_parse(self, text):
        return "ok " + "; ".join(map(str, read_quotas([text])))

    def do_rate(self, name, *words):
        options = read_options(word for word in words if word.startswith(LIMITER_OPTIONS))
        words = [word for word in words if not word.startswith(LIMITER_OPTIONS)]
        if "max_keys" in options:
            self.limiters[name] = self.keyed_rate_limiter(
                self.clock,
                read_quotas(words),
                int(options["max_keys"]),
                options.get("when_full", "evict"),
                int(options.get("track_denied", 0)),
                self.rate_limiter,
                number(options, "max_waiters"),
            )
        else:
            self.limiters[name] = self.rate_limiter(self.clock, read_quotas(words), number(options, "max_waiters"))
        return "ok"

    def do_conc(self, name, *words):
        options = read_options(words)
        limit = int(options["limit"])
        if "max_keys" in options:
            max_keys = int(options["max_keys"])
            limiter = KeyedConcurrencyLimiter(self.clock, limit, max_keys, number(options, "max_waiters"))
        else:
            limiter = model.ConcurrencyLimiter(self.clock, limit, number(options, "max_waiters"))
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
        limiter, arguments, keep_as = self.call(name, words)
        if isinstance(limiter, (model.RateLimiter, KeyedRateLimiter)):
            return said(limiter.decide(*arguments).status == ALLOWED)
        permit = limiter.try_acquire(*arguments)
        if keep_as:
            self.kept[keep_as] = permit
        return said(permit.held)

    def do_many(self, name, keys, *words):
        limiter = self.keyed(name)
        keys = read_bytes_list(keys, "keys")
        admitted = limiter.many(keys, int(read_options(words).get("cost", 1)))
        return "ok " + ",".join(map(said, admitted))

    def do_decide(self, name, *words):
        limiter, arguments, keep_as = self.call(name, words)
        decision = limiter.decide(*arguments)
        if keep_as:
            self.kept[keep_as] = decision
        return show(decision)

    def do_peek(self, name, *words):
        limiter, arguments, _ = self.call(name, words)
        return show(limiter.peek(*arguments))

    def do_wait(self, waiter, name, *words):
        if waiter in self.pending:
            raise ScriptFault(f"{waiter!r} waits already")
        limiter, arguments, _ = self.call(name, words)
        self.demand_slots(limiter)
        wait = limiter.wait(*arguments, number(read_options(words), "timeout", NEVER))
        self.waiters[waiter] = wait
        if wait.status == PENDING:
            self.pending.add(waiter)
        self.keep_permit(waiter)
        return wait.status

    def do_cancel(self, waiter):
        if waiter not in self.waiters:
            raise ScriptFault(f"{waiter!r} never waited")
        wait = self.waiters[waiter]
        if not wait.limiter.cancel(wait):
            return "too_late"
        self.pending.remove(waiter)
        return wait.status

    def do_close(self, name):
        self.limiter(name).close()
        return "ok"

    def do_reserve(self, name, *words):
        limiter, arguments, keep_as = self.call(name, words)
        self.demand_slots(limiter)
        reservation = limiter.reserve(*arguments, number(read_options(words), "max_wait", NEVER))
        if reservation.status != GRANTED:
            return reservation.status
        if keep_as:
            self.kept[keep_as] = reservation
        return f"{GRANTED} wait={reservation.wait}"

    def do_unreserve(self, name, kept, *words):
        reservation = self.kept_as(kept)
        del self.kept[kept]
        key = self.key(name, read_options(words))
        return "credited" if self.limiter(name).cancel_reservation(*key, reservation) else "not_credited"

    def demand_slots(self, limiter):
        if getattr(limiter, "capacity", SMALL_TABLE_KEYS + 1) <= SMALL_TABLE_KEYS:
            raise ScriptFault("who waits for a key in so small a table hangs on what others hold")

    def do_waiting(self, name):
        return "ok " + figures(self.limiter(name), ("waiting", "timed_out", "cancelled"))

    def do_refund(self, name, kept, *words):
        self.limiter(name).refund(*self.key(name, read_options(words)), self.kept_as(kept))
        return "ok"

    def do_release(self, kept, outcome="ok"):
        permit = self.kept_as(kept)
        permit.limiter.release(permit, ok=outcome != "failed")
        return "ok"

    def do_reset(self, name, *words):
        self.limiter(name).reset(*self.key(name, read_options(words)))
        return "ok"

    def do_reconfigure(self, name, *words):
        self.limiter(name).reconfigure(read_quotas(words))
        return "ok"

    def do_quota(self, name, key, *words):
        self.keyed(name).set_quota(*self.key(name, read_options([key])), read_quotas(words))
        return "ok"

    def do_clear(self, name, key):
        self.keyed(name).clear_quota(*self.key(name, read_options([key])))
        return "ok"

    def do_top(self, name, most):
        top = self.keyed(name).top.top(int(read_options([most])["n"]))
        return " ".join(["ok", *(f"{key.hex()}:{count}:{error}" for key, count, error in top)])

    def do_limit(self, name, limit):
        self.limiter(name).set_limit(int(limit))
        return "ok"

    def do_stats(self, name):
        limiter = self.limiter(name)
        if isinstance(limiter, model.RateLimiter):
            return f"ok allowed={limiter.allowed} denied={limiter.denied}"
        if isinstance(limiter, KeyedRateLimiter):
            return "ok " + figures(limiter, ("allowed", "denied", "evicted_live", "capacity"))
        if isinstance(limiter, KeyedConcurrencyLimiter):
            names = ("limit", "allowed", "denied", "released_ok", "released_failed", "capacity")
        else:
            names = ("limit", "in_flight", "available", "allowed", "denied", "released_ok", "released_failed")
        text = "ok " + figures(limiter, names)
        if limiter.reports_hold_time:
            text += f" hold_total={sum(limiter.holds)} hold_max={max(limiter.holds, default=0)}"
        return text

    def do_in_flight(self, name, key):
        return f"ok {self.keyed(name).in_flight(*self.key(name, read_options([key])))}"

    def do_key(self, parts):
        return "ok " + key_of(read_bytes_list(parts, "parts")).hex()

    def do_ip(self, address, *words):
        prefix = read_options(words).get("prefix")
        address = unquote(read_options([address])["address"], errors="strict")
        return "ok " + ip_key(address, None if prefix is None else int(prefix)).hex()

    def call(self, name, words):
        """The limiter, what it is asked with (a key first if it is keyed), and the name to keep the answer under."""
        options = read_options(words)
        return self.limiter(name), (*self.key(name, options), int(options.get("cost", 1))), options.get("as")

    def key(self, name, options):
        """The key that a keyed limiter must be given and another must not: one or none."""
        keyed = isinstance(self.limiter(name), (KeyedRateLimiter, KeyedConcurrencyLimiter))
        if keyed != ("key" in options):
            raise ScriptFault(f"{name!r} {'needs a' if keyed else 'has no'} key")
        return (unquote_to_bytes(options["key"]),) if keyed else ()

    def keyed(self, name):
        limiter = self.limiter(name)
        if not isinstance(limiter, (KeyedRateLimiter, KeyedConcurrencyLimiter)):
            raise ScriptFault(f"{name!r} has no keys")
        return limiter

    def limiter(self, name):
        if name not in self.limiters:
            raise ScriptFault(f"no limiter {name!r}")
        return self.limiters[name]

    def kept_as(self, name):
        if name not in self.kept:
            raise ScriptFault(f"nothing was kept as {name!r}")
        return self.kept[name]


def said(admitted):
    return "allowed" if admitted else "refused"


def figures(limiter, names):
    return " ".join(f"{name}={getattr(limiter, name)}" for name in names)


def number(options, name, otherwise=None):
    return int(options[name]) if name in options else otherwise


def read_options(words):
    return dict(word.split("=", 1) for word in words)


def read_bytes_list(word, name):
    """`NAME=%XX,%XX`: at least one, which may be empty."""
    return [unquote_to_bytes(part) for part in read_options([word])[name].split(",")]


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


def transcript(path):
    """The lines that a driver prints for one file."""
    yield f"file {Path(path).name}"
    interpreter = None
    for line_number, line in enumerate(Path(path).read_text(encoding="utf-8").split("\n"), start=1):
        command = line.strip()
        if not command or command.startswith("#"):
            continue
        if command.startswith("script "):
            interpreter = Interpreter()
            yield command
            continue
        try:
            for answer in (interpreter.run(command), *interpreter.told()):
                yield f"{line_number} {answer}"
        except (ScriptFault, KeyError, ValueError, TypeError) as fault:
            raise ScriptFault(f"{path}:{line_number}: {command}: {fault}") from fault


if __name__ == "__main__":
    for file in sys.argv[1:]:
        for printed in transcript(file):
            print(printed)
