"""What gates do in Python's own words: coroutines, decorators, threads that listen."""

from __future__ import annotations

import json
import logging
import random
import threading
import weakref
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextlib import suppress
from datetime import timedelta
from types import TracebackType
from typing import Any

from tidegate._guard import Admission, decorator
from tidegate._tidegate import Entering, Entry, Events, Gate, Quota, Refusal
from tidegate._waiting import Turn, until_over
from tidegate.errors import GateRefused, RulesError
from tidegate.gate import ConditionTrace, Explanation, GateEvent, RuleTrace

_LOG = logging.getLogger("tidegate")


def rules_json(rules: Any) -> str:
    """The text of a rule file that holds these values; a list is one of rules."""
    return json.dumps(rules if isinstance(rules, Mapping) else {"rules": list(rules)}, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Quota):
        return str(value)
    if isinstance(value, timedelta):
        return f"{value // timedelta(microseconds=1)}us"
    if isinstance(value, Mapping):
        return dict(value)
    kind = type(value).__name__
    raise TypeError(f"rules: got {value!r} ({kind}); allowed: what a rule file holds, a Quota and a timedelta")


def explanation(of: str, text: str) -> Explanation:
    """An explanation from its JSON form."""
    told = json.loads(of)

    def rule(trace: dict[str, Any]) -> RuleTrace:
        return RuleTrace(**{**trace, "conditions": tuple(condition(each) for each in trace["conditions"])})

    def condition(trace: dict[str, Any]) -> ConditionTrace:
        return ConditionTrace(**{**trace, "texts": tuple(trace["texts"])})

    return Explanation(told["status"], tuple(rule(trace) for trace in told["rules"]), text)


async def enter(gate: Gate, attributes: Mapping[str, Any], cost: int, timeout: float | None) -> Entry:
    """Enters, waiting for its turn; a task that is cancelled leaves all lines."""
    entered = gate._begin(Turn, attributes, cost, timeout)
    if isinstance(entered, Entering):
        entered = await until_over(entered)
    if isinstance(entered, Refusal):
        raise GateRefused(entered)
    return entered


class EnterAsync(Coroutine[Any, Any, Entry]):
    """The coroutine of enter_async(), which is also the block that holds the entry."""

    __slots__ = ("_coroutine", "_entry")

    def __init__(self, gate: Gate, attributes: Mapping[str, Any], cost: int, timeout: float | None) -> None:
        self._coroutine = enter(gate, attributes, cost, timeout)

    def send(self, value: Any) -> Any:
        return self._coroutine.send(value)

    def throw(self, *raised: Any) -> Any:
        return self._coroutine.throw(*raised)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Entry]:
        return self._coroutine.__await__()

    async def __aenter__(self) -> Entry:
        self._entry = await self._coroutine
        return self._entry

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._entry.__exit__(exc_type, exc_value, traceback)


def guard(
    gate: Gate,
    attributes_of: Callable[..., Mapping[str, Any]] | None,
    attributes: Mapping[str, Any] | None,
    cost: int,
    timeout: float | None,
) -> Callable[[Any], Any]:
    """The decorator that enters with a call's attributes when the body starts."""

    def of_call(args: Any, kwargs: Any) -> Mapping[str, Any]:
        if attributes_of is None:
            return attributes or {}
        return {**attributes_of(*args, **kwargs), **(attributes or {})}

    return decorator(
        Admission(
            now=lambda args, kwargs: gate.enter(of_call(args, kwargs), cost=cost, timeout=timeout),
            later=lambda args, kwargs: gate.enter_async(of_call(args, kwargs), cost=cost, timeout=timeout),
        )
    )


def listen(gate: Gate, callback: Callable[[GateEvent], object] | None) -> None:
    if callback is not None and not callable(callback):
        raise TypeError(f"callback: got {callback!r} ({type(callback).__name__}); allowed: a callable, or None")
    events = gate.events()  # who listened before hears that there is nothing more
    if callback is not None:
        # It has the events and not the gate, so that they end with it.
        threading.Thread(target=_tell, args=(events, callback), name="tidegate-events", daemon=True).start()


def _tell(events: Events, callback: Callable[[GateEvent], object]) -> None:
    for event in events:
        try:
            callback(event)
        except Exception:
            _LOG.exception("the listener of a gate failed with %s", event.name)


class Pull:
    """Keeps a gate's rules as a source has them, until stop() or the end of the gate."""

    def __init__(self, gate: Gate, source: Callable[[], Any], every: float, format: str) -> None:
        self._over = threading.Event()
        self._changing = threading.Lock()
        self._gate = weakref.ref(gate, lambda _: self._over.set())
        self._source = source
        self._every = every
        self._format: Any = format
        self._last: str | None = None
        threading.Thread(target=self._run, name="tidegate-pull", daemon=True).start()

    def stop(self) -> None:
        """From here on the rules stay as they are."""
        with self._changing:
            self._over.set()

    def _run(self) -> None:
        while not self._over.is_set():
            self._ask()
            # Not all processes of a service at the same time.
            self._over.wait(self._every * random.uniform(0.9, 1.1))

    def _ask(self) -> None:
        try:
            rules = self._source()
            if rules is None:
                return
            text, failed = rules if isinstance(rules, str) else rules_json(rules), False
        except Exception as error:
            text, failed = f"{type(error).__name__}: {error}", True
        with self._changing:
            gate = self._gate()
            # What is as before was told before.
            if gate is None or self._over.is_set() or text == self._last:
                return
            self._last = text
            if failed:
                gate._reload_failed(text)
                return
            with suppress(RulesError):  # which are told as an event
                gate.reload(rules, self._format)
