"""The decorators behind limiter.guard(): each kind of function is limited as what it is."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from tidegate._tidegate import ConcurrencyLimiter, RateLimiter

F = TypeVar("F", bound=Callable[..., Any])
Admit = Callable[[], AbstractContextManager[object]]

_NOTHING_HELD = nullcontext()


def tokens(limiter: RateLimiter, cost: int) -> Callable[[F], F]:
    """The decorator that takes tokens when the body starts."""

    def admit() -> AbstractContextManager[object]:
        limiter._admit(cost)
        return _NOTHING_HELD

    return _decorator(admit)


def permits(limiter: ConcurrencyLimiter, number: int) -> Callable[[F], F]:
    """The decorator that holds permits while the body runs."""
    return _decorator(functools.partial(limiter._admit, number))


def _decorator(admit: Admit) -> Callable[[F], F]:
    def decorate(function: Any) -> Any:
        if isinstance(function, (staticmethod, classmethod)):
            return type(function)(decorate(function.__func__))
        if not callable(function):
            raise TypeError(f"function: got {function!r} ({type(function).__name__}); allowed: a callable")
        return functools.wraps(function)(_wrapper(function)(function, admit))

    return decorate


def _wrapper(function: Any) -> Callable[[Any, Admit], Any]:
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


def _function(function: Any, admit: Admit) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        with admit():
            return function(*args, **kwargs)

    return call


def _coroutine(function: Any, admit: Admit) -> Any:
    async def call(*args: Any, **kwargs: Any) -> Any:
        with admit():
            return await function(*args, **kwargs)

    return call


def _generator(function: Any, admit: Admit) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        with admit():
            return (yield from function(*args, **kwargs))

    return call


def _async_generator(function: Any, admit: Admit) -> Any:
    async def call(*args: Any, **kwargs: Any) -> Any:
        with admit():
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
