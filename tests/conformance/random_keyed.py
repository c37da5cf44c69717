"""Writes random scripts with keys for the conformance run, as random_scripts.py does those without.

usage: python3 random_keyed.py --seed N [--count 1000] --out FILE
"""

from ipaddress import IPv4Address, IPv6Address
from urllib.parse import quote

from keyed import check_keyed
from quota import MAX_COUNT, Mistake, Quota
from random_scripts import ScriptWriter, as_text, fields, main, random_quota, similar_quota
from resolution import Blurred

KEYS = (b"", b"a", b"b", b"\0", b"\xff", b"__proto__", b"constructor", "\u00fc".encode(), b"\xed\xa0\x80", b"k" * 300)
SMALL = (1, 2, 3)
LARGE = (100, 1000, 100_000)


def as_key(key):
    return quote(key, safe="")


def keyed_quota(rng, like=None):
    """A quota that fits beside a key; one that a limiter with the quota `like` may be reconfigured to."""
    while True:
        quota = (
            similar_quota(rng, like)
            if like
            else random_quota(rng, rng.choice(("gcra", "fixed_window", "sliding_window")))
        )
        try:
            check_keyed([quota])
            return quota
        except Mistake:
            if like and rng.random() < 0.2:
                return like


class KeyedRateScript(ScriptWriter):
    """A keyed limiter; in a small table more keys than slots."""

    def write(self):
        rng = self.rng
        self.quotas = [keyed_quota(rng) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
        small = rng.random() < 0.7
        self.keys = [b"%d" % number for number in range(rng.choice((2, 10, 12)))] if small else list(KEYS[:7])
        self.keys += rng.sample(KEYS, 2)
        self.decisions = []
        how = as_text(";".join(map(str, self.quotas))) if rng.random() < 0.2 else fields(self.quotas)
        when_full = rng.choice(("", " when_full=evict", " when_full=deny_new"))
        self.say(f"rate r {how} max_keys={rng.choice(SMALL if small else LARGE)}{when_full}{self.more_options()}")
        steps = (
            *self.more_steps(),
            (self.call, 14),
            (self.probe, 5),
            (self.flood, 3 if small else 1),
            (self.advance, 4),
            (self.refund, 4),
            (self.many, 2),
            (self.reconfigure, 1),
            (self.reset, 1),
            (self.mistake, 1),
        )
        for _ in range(rng.randint(8, 30)):
            rng.choices([step for step, _ in steps], [weight for _, weight in steps])[0]()
        self.say("stats r")
        return self.lines

    def more_options(self):
        return ""

    def more_steps(self):
        return ()

    def a_key(self):
        return self.rng.choice(self.keys)

    def cost(self):
        capacity = max(1, min(quota.capacity for quota in self.quotas))
        some = self.rng.randint(1, capacity)
        return min(MAX_COUNT, self.rng.choice((1, 1, 1, 2, some, some, max(1, capacity - 1), capacity, capacity + 1)))

    def ask(self, verb, key, cost):
        self.say(f"{verb} r key={as_key(key)}" + ("" if cost == 1 and self.rng.random() < 0.5 else f" cost={cost}"))

    def call(self):
        key, cost = self.a_key(), self.cost()
        verb = self.rng.choice(("try", "decide", "decide", "peek"))
        if verb == "decide":
            kept = self.new_name("d")
            if self.say(f"decide r key={as_key(key)} cost={cost} as={kept}") is not None:
                self.decisions.append((key, kept))
        else:
            self.ask(verb, key, cost)
        if self.rng.random() < 0.5:
            self.say(f"advance {self.rng.randint(1, 9)}")

    def flood(self):
        """Every key once, each owing another share."""
        cost = self.cost()
        for key in self.rng.sample(self.keys, len(self.keys)):
            if self.rng.random() < 0.3:
                cost = self.cost()
            self.ask(self.rng.choice(("try", "try", "decide", "peek")), key, cost)
            self.say(f"advance {self.rng.choice((1, 3, 1000))}")

    def probe(self):
        """Asks one nanosecond before and at the instant at which the answer should change."""
        key, cost = self.a_key(), self.cost()
        try:
            decision = self.world.limiters["r"].peek(key, cost)
        except Blurred:
            return
        wait = decision.retry_after if decision.status in ("denied", "keys_full") else decision.reset_after
        if not 0 < wait <= MAX_COUNT:
            return
        self.say(f"advance {wait - 1}")
        self.ask("decide", key, cost)
        self.say("advance 1")
        self.ask(self.rng.choice(("try", "decide", "peek")), key, cost)

    def advance(self):
        period = self.rng.choice(self.quotas).period
        by = self.rng.choice((0, 1, period, period - 1, period // 3, 2 * period, self.rng.randint(0, 2 * period)))
        self.say(f"advance {MAX_COUNT if self.rng.random() < 0.03 else min(by, MAX_COUNT)}")

    def refund(self):
        if self.decisions:
            key, kept = self.rng.choice(self.decisions[-4:])
            self.say(f"refund r {kept} key={as_key(key if self.rng.random() < 0.85 else self.a_key())}")

    def many(self):
        keys = ",".join(as_key(self.a_key()) for _ in range(self.rng.choice((1, 2, 3, 17))))
        self.say(f"many r keys={keys} cost={self.cost()}")

    def reconfigure(self):
        quotas = [keyed_quota(self.rng, quota) if self.rng.random() < 0.7 else quota for quota in self.quotas]
        if self.rng.random() < 0.1:
            quotas = [*quotas, keyed_quota(self.rng)]
        if self.say(f"reconfigure r {fields(quotas)}") == "ok":
            self.quotas = quotas

    def reset(self):
        self.say(f"reset r key={as_key(self.a_key())}")

    def mistake(self):
        bad = self.new_name("bad")
        mistakes = (
            f"{self.rng.choice(('try', 'decide', 'peek'))} r key=a cost=0",
            "many r keys=a,b cost=0",
            f"rate {bad} limit=5 per=1000 max_keys=0",
            f"rate {bad} limit=5 per=1000 max_keys={2**32 + 1}",
            f"rate {bad} limit=5 per=0 max_keys=3",
            f"rate {bad} limit=5 per=1000 algorithm=sliding_log max_keys=3",
            f"rate {bad} limit={2**24} per=1000 algorithm=fixed_window max_keys=3",
            f"rate {bad} limit=5 per={10**7} algorithm=sliding_window max_keys=3",
            f"rate {bad} {fields([Quota(1, 1000)] * 17)} max_keys=3",
            "reconfigure r limit=1 per=0",
        )
        self.say(self.rng.choice(mistakes))


class KeyQuotaScript(KeyedRateScript):
    """A keyed limiter whose keys get quotas of their own, and that counts refusals."""

    def more_options(self):
        return self.rng.choice(("", " track_denied=3", " track_denied=100"))

    def more_steps(self):
        return (self.set_quota, 5), (self.clear_quota, 3), (self.top, 2)

    def set_quota(self):
        quotas = [keyed_quota(self.rng, quota) if self.rng.random() < 0.8 else quota for quota in self.quotas]
        if self.rng.random() < 0.05:
            quotas = [*quotas, keyed_quota(self.rng)]
        self.say(f"quota r key={as_key(self.a_key())} {fields(quotas)}")

    def clear_quota(self):
        self.say(f"clear r key={as_key(self.a_key())}")

    def top(self):
        self.say(f"top r n={self.rng.choice((0, 1, 3, 200))}")

    def mistake(self):
        if self.rng.random() < 0.5:
            return super().mistake()
        mistakes = (
            "quota r key=a limit=1 per=0",
            "quota r key=a limit=5 per=1000 algorithm=sliding_log",
            f"rate {self.new_name('bad')} limit=5 per=1000 max_keys=3 track_denied=65537",
        )
        return self.say(self.rng.choice(mistakes))


class KeyedPermitScript(ScriptWriter):
    """A keyed concurrency limiter."""

    options = ""

    def write(self):
        rng = self.rng
        limit = rng.choice((0, 1, 2, 5, 2**31 - 1))
        keys = [b"%d" % number for number in range(rng.choice((2, 10)))]
        self.say(f"conc c limit={limit} max_keys={rng.choice((*SMALL, *LARGE))}{self.options}")
        permits = []
        for _ in range(rng.randint(8, 40)):
            step, key = rng.random(), as_key(rng.choice(keys))
            if step < 0.5:
                cost = rng.choice((1, 1, 1, 2, max(1, limit), limit + 1, rng.choice((0, MAX_COUNT))))
                kept = self.new_name("p")
                if self.say(f"try c key={key} cost={cost} as={kept}") in ("allowed", "refused"):
                    permits.append(kept)
            elif step < 0.75 and permits:
                self.say(f"release {rng.choice(permits)}{rng.choice(('', '', ' failed'))}")
            elif step < 0.8:
                limit = rng.choice((0, 1, 2, 5, limit, 2**31 - 1))
                self.say(f"limit c {limit}")
            elif step < 0.85:
                self.say(
                    rng.choice(
                        (f"limit c {2**31}", "conc bad limit=1 max_keys=0", f"conc bad limit={2**31} max_keys=1")
                    )
                )
            elif step < 0.95:
                self.say(f"in_flight c key={key}")
            else:
                self.say("stats c")
            if self.options and rng.random() < 0.3:
                self.say(f"advance {rng.randint(0, 1000)}")
        self.say("stats c")
        return self.lines


class KeyedHoldScript(KeyedPermitScript):
    """One that measures how long permits are held."""

    options = " track_hold_time=1"


class KeyTextScript(ScriptWriter):
    """Keys of parts and of addresses."""

    def write(self):
        for _ in range(self.rng.randint(4, 12)):
            if self.rng.random() < 0.4:
                parts = [self.rng.choice(KEYS) for _ in range(self.rng.randint(1, 4))]
                self.say("key parts=" + ",".join(map(as_key, parts)))
            else:
                self.address()
        return self.lines

    def address(self):
        rng = self.rng
        four = str(IPv4Address(rng.getrandbits(32)))
        six = str(IPv6Address(rng.getrandbits(128) & rng.choice((2**128 - 1, 2**64 - 1, 0xFFFF << 112 | 0xFFFF))))
        text = rng.choice(
            (four, six, six.upper(), f"::ffff:{four}", f"{six}%1", four + ".1", four[:-1] + "x", f" {four}", "")
        )
        prefix = rng.choice(("", "", f" prefix={rng.randint(0, 32)}", f" prefix={rng.randint(0, 128)}", " prefix=129"))
        self.say(f"ip address={quote(text, safe=':')}{prefix}")


KEYED_KINDS = ((KeyedRateScript, 75), (KeyedPermitScript, 15), (KeyTextScript, 10))
KEY_QUOTA_KINDS = ((KeyQuotaScript, 85), (KeyedHoldScript, 15))


if __name__ == "__main__":
    main(KEYED_KINDS)
