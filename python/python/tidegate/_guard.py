"""The decorators behind limiter.guard(): each kind of function is limited as what it is."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from tidegate._tidegate import ConcurrencyLimiter, KeyedConcurrencyLimiter, KeyedRateLimiter, RateLimiter

F = TypeVar("F", bound=Callable[..., Any])
Key = str | bytes
Admit = Callable[[tuple[Any, ...], dict[str, Any]], AbstractContextManager[object]]
"""Asks for what a call with these arguments takes; what it gives is held while the body runs."""

_NOTHING_HELD = nullcontext()


def tokens(limiter: RateLimiter, cost: int) -> Callable[[F], F]:
    """The decorator that takes tokens when the body starts."""

    def admit(_args: tuple[Any, ...], _kwargs: dict[str, Any]) -> AbstractContextManager[object]:
        limiter._admit(cost)
        return _NOTHING_HELD

    return _decorator(admit)


def permits(limiter: ConcurrencyLimiter, number: int) -> Callable[[F], F]:
    """The decorator that holds permits while the body runs."""
    return _decorator(lambda _args, _kwargs: limiter._admit(number))


def keyed_tokens(limiter: KeyedRateLimiter, key: Key | Callable[..., Key], cost: int) -> Callable[[F], F]:
    """The decorator that takes tokens of the call's key when the body starts."""
    key_of_call = _key_of_call(key)

    def admit(args: tuple[Any, ...], kwargs: dict[str, Any]) -> AbstractContextManager[object]:
        limiter._admit(key_of_call(*args, **kwargs), cost)
        return _NOTHING_HELD

    return _decorator(admit)


def keyed_permits(limiter: KeyedConcurrencyLimiter, key: Key | Callable[..., Key], number: int) -> Callable[[F], F]:
    """The decorator that holds permits of the call's key while the body runs."""
    key_of_call = _key_of_call(key)
    return _decorator(lambda args, kwargs: limiter._admit(key_of_call(*args, **kwargs), number))


def _key_of_call(key: Key | Callable[..., Key]) -> Callable[..., Key]:
    return key if callable(key) else lambda *_args, **_kwargs: key


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
        with admit(args, kwargs):
            return function(*args, **kwargs)

    return call


def _coroutine(function: Any, admit: Admit) -> Any:
    async def call(*args: Any, **kwargs: Any) -> Any:
        with admit(args, kwargs):
            return await function(*args, **kwargs)

    return call


def _generator(function: Any, admit: Admit) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        with admit(args, kwargs):
            return (yield from function(*args, **kwargs))

    return call


def _async_generator(function: Any, admit: Admit) -> Any:
    async def call(*args: Any, **kwargs: Any) -> Any:
        with admit(args, kwargs):
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
