"""The decorators behind limiter.guard(): each kind of function is limited as what it is."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, TypeVar

from tidegate._tidegate import ConcurrencyLimiter, KeyedConcurrencyLimiter, KeyedRateLimiter, RateLimiter

F = TypeVar("F", bound=Callable[..., Any])
Key = str | bytes
Held = AbstractContextManager[object]

_NOTHING_HELD = nullcontext()


Args = tuple[Any, ...]
Kwargs = dict[str, Any]


class Admission(NamedTuple):
    """Asks for what a call with these arguments takes; what it gives is held while the body runs."""

    now: Callable[[Args, Kwargs], Held]
    """On this thread, however long it takes."""
    later: Callable[[Args, Kwargs], Awaitable[Held]]
    """Without blocking the event loop."""


def tokens(limiter: RateLimiter, cost: int, timeout: float | None) -> Callable[[F], F]:
    """The decorator that takes tokens when the body starts."""

    def at_once(_args: Args, _kwargs: Kwargs) -> Held:
        limiter._admit(cost)
        return _NOTHING_HELD

    def now(_args: Args, _kwargs: Kwargs) -> Held:
        limiter.acquire(cost, timeout)
        return _NOTHING_HELD

    async def later(_args: Args, _kwargs: Kwargs) -> Held:
        await limiter.acquire_async(cost, timeout)
        return _NOTHING_HELD

    return _decorator(_without_wait(at_once) if timeout == 0 else Admission(now, later))


def permits(limiter: ConcurrencyLimiter, number: int, timeout: float | None) -> Callable[[F], F]:
    """The decorator that holds permits while the body runs."""
    if timeout == 0:
        return _decorator(_without_wait(lambda _args, _kwargs: limiter._admit(number)))
    return _decorator(
        Admission(
            now=lambda _args, _kwargs: limiter.acquire(number, timeout),
            later=lambda _args, _kwargs: limiter.acquire_async(number, timeout),
        )
    )


def keyed_tokens(limiter: KeyedRateLimiter, key: Key | Callable[..., Key], cost: int) -> Callable[[F], F]:
    """The decorator that takes tokens of the call's key when the body starts."""
    key_of_call = _key_of_call(key)

    def now(args: Args, kwargs: Kwargs) -> Held:
        limiter._admit(key_of_call(*args, **kwargs), cost)
        return _NOTHING_HELD

    return _decorator(_without_wait(now))


def keyed_permits(limiter: KeyedConcurrencyLimiter, key: Key | Callable[..., Key], number: int) -> Callable[[F], F]:
    """The decorator that holds permits of the call's key while the body runs."""
    key_of_call = _key_of_call(key)
    return _decorator(_without_wait(lambda args, kwargs: limiter._admit(key_of_call(*args, **kwargs), number)))


def _without_wait(now: Callable[[Args, Kwargs], Held]) -> Admission:
    """Nothing to wait for."""

    async def later(args: Args, kwargs: Kwargs) -> Held:
        return now(args, kwargs)

    return Admission(now, later)


def _key_of_call(key: Key | Callable[..., Key]) -> Callable[..., Key]:
    return key if callable(key) else lambda *_args, **_kwargs: key


def _decorator(admission: Admission) -> Callable[[F], F]:
    def decorate(function: Any) -> Any:
        if isinstance(function, (staticmethod, classmethod)):
            return type(function)(decorate(function.__func__))
        if not callable(function):
            raise TypeError(f"function: got {function!r} ({type(function).__name__}); allowed: a callable")
        return functools.wraps(function)(_wrapper(function)(function, admission))

    return decorate


def _wrapper(function: Any) -> Callable[[Any, Admission], Any]:
    """How to limit a callable: by what its body is, which may be behind partials, or in an object's __call__."""
    body = function
    while isinstance(body, functools.partial):
        body = body.func
    if not (inspect.isroutine(body) or inspect.isclass(body)):
        body = type(body).__call__
    if inspect.isasyncgenfunction(body):
        return _async_generator
    if inspect.isgeneratorfunction(body):
        return _generator
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(body):
        return _coroutine
    return _function


def _function(function: Any, admission: Admission) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        with admission.now(args, kwargs):
            return function(*args, **kwargs)

    return call


def _coroutine(function: Any, admission: Admission) -> Any:
    async def call(*args: Any, **kwargs: Any) -> Any:
        with await admission.later(args, kwargs):
            return await function(*args, **kwargs)

    return call


def _generator(function: Any, admission: Admission) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        with admission.now(args, kwargs):
            return (yield from function(*args, **kwargs))

    return call


def _async_generator(function: Any, admission: Admission) -> Any:
    async def call(*args: Any, **kwargs: Any) -> Any:
        with await admission.later(args, kwargs):
            body = function(*args, **kwargs)
            # What `yield from` does for generators; there is no such statement for async ones.
            try:
                value = await anext(body)
                while True:
                    try:
                        sent = yield value
                    except GeneratorExit:
                        raise
                    except BaseException as thrown:
                        value = await body.athrow(thrown)
                    else:
                        value = await body.asend(sent)
            except StopAsyncIteration:
                return
            finally:
                await body.aclose()

    return call
