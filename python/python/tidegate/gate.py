"""What a gate tells: of its rules, of what is wrong with others, and of what it did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tidegate._tidegate import Refusal


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with rules: where, what was written, and what is allowed. None: not known."""

    file: str | None
    """The file that the rules were read from."""
    line: int | None
    """The line, from 1."""
    rule: str | None
    """The rule's name; or, if it has none, its place, such as "#3"."""
    argument: str
    """What is wrong, such as "quota" or "match.path"."""
    value: str
    """What was written."""
    allowed: str
    """What could have been."""

    def __str__(self) -> str:
        place = f"{self.file}:" if self.file is not None else ""
        if self.line is not None:
            place += f"{self.line}:" if place else f"line {self.line}:"
        rule = f"rule {self.rule}: " if self.rule is not None else ""
        return f"{place}{' ' if place else ''}{rule}{self.argument}: got {self.value}; allowed: {self.allowed}"


@dataclass(frozen=True, slots=True)
class Reloaded:
    """What a change of rules did, by the rules' names, in the order in which they are written."""

    unchanged: tuple[str, ...]
    """Rules that are as they were."""
    changed: tuple[str, ...]
    """Rules that changed; what is used of them stays used."""
    restarted: tuple[str, ...]
    """Rules that changed so that nothing could be kept: from quota to concurrency, in the number of quotas or their
    algorithms, or in key, max_keys or when_full.
    """
    added: tuple[str, ...]
    """Rules that are new."""
    removed: tuple[str, ...]
    """Rules that are gone. Entries that hold something of them keep it until they are released."""


@dataclass(frozen=True, slots=True)
class RuleStats:
    """What a rule has done since it was added, and what its limiter holds."""

    mode: Literal["enforce", "shadow", "off"]
    """Whether it refuses, only counts what it would refuse, or is out of use."""
    admitted: int
    """Requests that were admitted and that it applied to."""
    refused: int
    """Requests that it refused; in shadow, that it would have."""
    in_flight: int
    """Permits that are out, of all keys; 0 of a quota."""
    waiting: int
    """How many wait for it now."""
    timed_out: int
    """Waits that outlasted their timeout, or would have and so did not begin."""
    cancelled: int
    """Waits that were left, as by a cancelled task."""
    live_keys: int
    """Keys that owe something or have permits out, about; 0 without a key."""
    evicted_live: int
    """Keys that were forgotten for new ones though they owed something."""


@dataclass(frozen=True, slots=True)
class GateStats:
    """What a gate has done since it was built, in requests."""

    admitted: int
    """Admitted, and some rule applied."""
    refused: int
    """Refused."""
    unmatched: int
    """Admitted, since no rule applied."""
    released_ok: int
    """Entries that held permits and whose work went well."""
    released_failed: int
    """Entries that held permits and whose work failed: release(ok=False), and blocks and guarded functions that an
    exception left."""
    rules: dict[str, RuleStats]
    """Each rule by its name, as they are written."""


@dataclass(frozen=True, slots=True)
class ConditionTrace:
    """Whether one condition of a rule holds."""

    attribute: str
    """The attribute's name."""
    mode: Literal["exact", "prefix", "glob", "regex"]
    """How it is compared."""
    texts: tuple[str, ...]
    """The texts, of which any would do."""
    value: str | None
    """The attribute's value, at most 100 characters of it; None if the request doesn't have it."""
    matched: bool
    """Whether it holds."""


@dataclass(frozen=True, slots=True)
class RuleTrace:
    """What one rule says to a request. Where it doesn't match, its answer is None."""

    rule: str
    """The rule's name."""
    mode: Literal["enforce", "shadow", "off"]
    """Whether it refuses, only counts what it would refuse, or is out of use."""
    matched: bool
    """Whether all its conditions hold."""
    conditions: tuple[ConditionTrace, ...]
    """Each of its conditions."""
    key: str | None
    """Whose budget it is, as in Refusal.key."""
    status: str | None
    """What it would answer: "allowed" or why not."""
    limit: int | None
    """Tokens per period, or permits."""
    remaining: int | None
    """Tokens or permits that could be taken."""
    retry_after_ns: int | None
    """Nanoseconds until it would admit the request, if nobody else asks; None for never, or if others decide that."""
    waiting: int | None
    """How many wait."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What each rule says to a request, and why. str() has a line for each rule."""

    status: str
    """What the request would be told: "allowed", "no_rule", or why not."""
    rules: tuple[RuleTrace, ...]
    """Each rule, as they are written."""
    text: str
    """All of it for people."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class GateEvent:
    """What a listener is told."""

    name: Literal["refused", "shadow_refused", "reloaded", "reload_failed"]
    """A request was refused; one would have been, by a rule in shadow; the rules were changed; they were to be changed,
    and are as they were.
    """
    refusal: Refusal | None = None
    """Of the first two."""
    reloaded: Reloaded | None = None
    """What a change did."""
    faults: tuple[Fault, ...] = ()
    """What was wrong with rules."""
