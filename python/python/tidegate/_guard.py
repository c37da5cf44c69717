"""The decorators behind limiter.guard(): each kind of function is limited as what it is."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, TypeVar

from tidegate._tidegate import ConcurrencyLimiter, KeyedConcurrencyLimiter, KeyedRateLimiter, RateLimiter

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
Key = str | bytes
Held = AbstractContextManager[object]

_NOTHING_HELD = nullcontext()

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


class Admission(NamedTuple):
    """Asks for what a call with these arguments takes; what it gives, if anything, is held while the body runs."""

    now: Callable[[Args, Kwargs], Held | None]
    """On this thread, however long it takes."""
    later: Callable[[Args, Kwargs], Awaitable[Held | None]]
    """Without blocking the event loop."""


def guard(
    limiter: ConcurrencyLimiter | KeyedConcurrencyLimiter | KeyedRateLimiter | RateLimiter,
    key: Key | Callable[..., Key] | None,
    number: int,
    timeout: float | None,
) -> Callable[[F], F]:
    """The decorator that takes so many, of a call's key if there are keys, when the body starts."""
    if timeout == 0:
        return decorator(_without_wait(_of_call(limiter._admit, key, number, timeout)))
    return decorator(
        Admission(
            now=_of_call(limiter.acquire, key, number, timeout),
            later=_of_call(limiter.acquire_async, key, number, timeout),
        )
    )


def _of_call(
    take: Callable[..., T], key: Key | Callable[..., Key] | None, number: int, timeout: float | None
) -> Callable[[Args, Kwargs], T]:
    """Takes so many as a call with these arguments must."""
    if key is None:
        return lambda _args, _kwargs: take(number, timeout)
    if callable(key):
        return lambda args, kwargs: take(key(*args, **kwargs), number, timeout)
    return lambda _args, _kwargs: take(key, number, timeout)


def _without_wait(now: Callable[[Args, Kwargs], Held | None]) -> Admission:
    """Nothing to wait for."""

    async def later(args: Args, kwargs: Kwargs) -> Held | None:
        return now(args, kwargs)

    return Admission(now, later)


def decorator(admission: Admission) -> Callable[[F], F]:
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
        with admission.now(args, kwargs) or _NOTHING_HELD:
            return function(*args, **kwargs)

    return call


def _coroutine(function: Any, admission: Admission) -> Any:
    async def call(*args: Any, **kwargs: Any) -> Any:
        with await admission.later(args, kwargs) or _NOTHING_HELD:
            return await function(*args, **kwargs)

    return call


def _generator(function: Any, admission: Admission) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        with admission.now(args, kwargs) or _NOTHING_HELD:
            return (yield from function(*args, **kwargs))

    return call


def _async_generator(function: Any, admission: Admission) -> Any:
    async def call(*args: Any, **kwargs: Any) -> Any:
        with await admission.later(args, kwargs) or _NOTHING_HELD:
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
