"""What tidegate raises. All of it is a TidegateError, but for the plain TypeError of a wrong type."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidegate._tidegate import Decision


class TidegateError(Exception):
    """The base of all errors of tidegate."""


class Refused(TidegateError):
    """A limiter said no to a guard or a with block. `decision` has the figures; None from a concurrency limiter."""

    decision: Decision | None

    def __init__(self, decision: Decision | None = None, message: str | None = None) -> None:
        super().__init__(message if message is not None else _told(decision))
        self.decision = decision

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.decision, str(self)), self.__dict__


class ExceedsCapacity(Refused):
    """More was asked for than the limiter can ever grant at once: no waiting helps."""


class TimedOut(TidegateError, TimeoutError):
    """The wait outlasted, or would have outlasted, its timeout."""


class QueueFull(TidegateError):
    """As many callers wait as may."""


class Closed(TidegateError):
    """The limiter is closed."""


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
