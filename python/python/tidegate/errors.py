"""What tidegate raises. All of it is a TidegateError, but for the plain TypeError of a wrong type."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidegate._tidegate import Decision, Refusal
    from tidegate.gate import Fault


class TidegateError(Exception):
    """The base of all errors of tidegate."""


class Refused(TidegateError):
    """A limiter said no where the work must not go ahead: in acquire(), a guard, a with block.

    A rate limiter's guard without a timeout has the figures in `decision`, which is None else. Who waited, or would
    have, finds in the others how long it was and how it stood then; where nobody would wait they are None.
    """

    decision: Decision | None
    elapsed: float | None
    """Seconds that it waited."""
    timeout: float | None
    """Seconds that it would have waited at most; None if for ever."""
    limit: int | None
    """Permits at once, or tokens in a period."""
    in_flight: int | None
    """Permits that were out; None from a rate limiter."""
    waiting: int | None
    """How many others waited."""

    def __init__(
        self,
        decision: Decision | None = None,
        message: str | None = None,
        elapsed: float | None = None,
        timeout: float | None = None,
        limit: int | None = None,
        in_flight: int | None = None,
        waiting: int | None = None,
    ) -> None:
        super().__init__(message if message is not None else _told(decision))
        self.decision = decision
        self.elapsed = elapsed
        self.timeout = timeout
        self.limit = limit
        self.in_flight = in_flight
        self.waiting = waiting

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.decision, str(self)), self.__dict__


class ExceedsCapacity(Refused):
    """More was asked for than the limiter can ever grant at once: no waiting helps."""


class TimedOut(Refused, TimeoutError):
    """The wait outlasted, or would have outlasted, its timeout."""


class QueueFull(Refused):
    """As many callers wait as may."""


class Closed(Refused):
    """The limiter is closed."""


class GateRefused(Refused):
    """A rule of a gate refused a request; nothing was taken. All that is known is in `refusal`."""

    refusal: Refusal

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(
            None,
            str(refusal),
            refusal.elapsed,
            refusal.timeout,
            refusal.limit,
            refusal.in_flight,
            refusal.waiting,
        )
        self.refusal = refusal

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.refusal,), self.__dict__

    @property
    def rule(self) -> str:
        """The rule's name."""
        return self.refusal.rule

    @property
    def key(self) -> str | None:
        """Whose budget it is, as in Refusal.key; None if the rule has no key."""
        return self.refusal.key

    @property
    def status(self) -> str:
        """Why: "denied", "exceeds_capacity" or "keys_full"; after a wait "timed_out" or "queue_full"."""
        return self.refusal.status

    @property
    def remaining(self) -> int:
        """Tokens or permits that could be taken."""
        return self.refusal.remaining

    @property
    def retry_after(self) -> float | None:
        """Seconds until the rule would admit it, if nobody else asks; math.inf: never; None: others decide that."""
        return self.refusal.retry_after


class RulesError(TidegateError, ValueError):
    """Rules that are wrong; nothing was changed. `faults` has all that is, str() a line for each."""

    faults: tuple[Fault, ...]

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__(faults)
        self.faults = faults

    def __str__(self) -> str:
        return "\n".join(map(str, self.faults))


class ConfigError(TidegateError, ValueError):
    """A wrong value: which `argument`, its `value` as text, and what is `allowed`. The call changed nothing.

    Within a list of quotas the argument has its place: `quotas[1]`, or `quotas[1].limit` for a part of that quota.
    """

    argument: str
    value: str
    allowed: str

    def __init__(self, argument: str, value: str, allowed: str) -> None:
        super().__init__(argument, value, allowed)
        self.argument = argument
        self.value = value
        self.allowed = allowed

    def __str__(self) -> str:
        return f"{self.argument}: got {self.value}; allowed: {self.allowed}"


class Forked(TidegateError, RuntimeError):
    """A permit that the parent of this process took was to be given back here. It is out there, and not here."""


class InternalError(TidegateError, RuntimeError):
    """A fault inside tidegate itself, caught before it could do harm. Please report it."""


def _told(decision: Decision | None) -> str:
    """What a refusal says that was made from a decision alone; a limiter's own also say what was asked."""
    if decision is None:
        return "refused"
    if decision.limit == 0:
        return f"{decision.status}: the limit is 0"
    retry = "never" if decision.retry_after == math.inf else f"in {decision.retry_after} s"
    return f"{decision.status}: {decision.remaining} available, retry {retry}"
