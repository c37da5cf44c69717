"""L13: whatever is decorated is limited as what it is, with its own identity."""

import asyncio
import functools
import inspect
import pickle
import threading

import pytest
from tidegate import ConcurrencyLimiter, ExceedsCapacity, RateLimiter, Refused


def test_a_function_runs_if_admitted_with_its_arguments_and_result(limiter, used):
    @limiter.guard()
    def body(one, *, other):
        assert used()
        return one + other

    assert body(1, other=2) == 3
    assert limiter.stats().allowed == 1


def test_a_function_does_not_run_if_refused(limiter):
    ran = []

    @limiter.guard()
    def outer():
        with pytest.raises(Refused):
            inner()

    @limiter.guard()
    def inner():
        ran.append("inner")

    outer()
    assert ran == []
    assert (limiter.stats().allowed, limiter.stats().denied) == (1, 1)


def test_the_refusal_of_a_rate_limiter_has_the_decision(clock):
    limiter = RateLimiter("10/s", clock=clock)
    body = limiter.guard(cost=10)(lambda: "done")
    assert body() == "done"
    with pytest.raises(Refused) as raised:
        body()
    assert type(raised.value) is Refused
    assert (raised.value.decision.status, raised.value.decision.retry_after) == ("denied", 1.0)
    with pytest.raises(ExceedsCapacity) as raised:
        limiter.guard(11)(lambda: None)()
    assert raised.value.decision.status == "exceeds_capacity"


def test_the_refusal_of_a_concurrency_limiter_says_whether_waiting_would_help(at_once):
    @at_once.guard()
    def body():
        return at_once.guard()(lambda: None)()

    with pytest.raises(Refused) as raised:
        body()
    assert type(raised.value) is Refused
    assert raised.value.decision is None
    with pytest.raises(ExceedsCapacity, match=r"^2 permits can never be had: the limit is 1$"):
        at_once.guard(2)(lambda: None)()


def test_p2_a_body_that_fails_releases_and_its_error_flies_on(at_once):
    @at_once.guard()
    def body(error):
        raise error

    for error in (ValueError("mine"), Refused(), KeyboardInterrupt()):
        with pytest.raises(type(error)) as raised:
            body(error)
        assert raised.value is error
    assert (at_once.stats().released_ok, at_once.stats().released_failed) == (0, 3)


def test_an_async_function_is_limited_when_its_body_runs_and_not_when_it_is_called(limiter, used):
    @limiter.guard()
    async def body(number):
        assert used()
        await asyncio.sleep(0)
        return number

    async def main():
        coroutine = body(5)
        assert not used()
        assert await coroutine == 5

    assert inspect.iscoroutinefunction(body)
    asyncio.run(main())
    assert limiter.stats().allowed == 1


def test_an_async_function_holds_its_permit_across_awaits_and_until_it_is_cancelled(at_once):
    @at_once.guard()
    async def body():
        await asyncio.sleep(3600)

    async def main():
        task = asyncio.create_task(body())
        await asyncio.sleep(0)
        assert at_once.in_flight == 1
        with pytest.raises(Refused):
            await body()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert at_once.in_flight == 0

    asyncio.run(main())


def test_methods_of_every_kind(limiter, clock):
    class Service:
        factor = 3

        @limiter.guard()
        def method(self, number):
            return self.factor * number

        @limiter.guard()
        async def coroutine(self, number):
            return self.factor * number

        @staticmethod
        @limiter.guard()
        def inner_static(number):
            return number

        @limiter.guard()
        @staticmethod
        def outer_static(number):
            return number

        @classmethod
        @limiter.guard()
        def inner_class(cls, number):
            return cls.factor * number

        @limiter.guard()
        @classmethod
        def outer_class(cls, number):
            return cls.factor * number

        @property
        @limiter.guard()
        def value(self):
            return self.factor

    def after_a_second(call, *arguments):
        clock.advance(1)
        return call(*arguments)

    service = Service()
    assert after_a_second(service.method, 2) == 6
    assert after_a_second(lambda: asyncio.run(service.coroutine(2))) == 6
    for owner in (service, Service):
        assert after_a_second(owner.inner_static, 2) == 2
        assert after_a_second(owner.outer_static, 2) == 2
        assert after_a_second(owner.inner_class, 2) == 6
        assert after_a_second(owner.outer_class, 2) == 6
    assert after_a_second(lambda: service.value) == 3
    assert limiter.stats().allowed == 11
    assert Service.method.__qualname__.endswith("Service.method")


def test_partials_are_limited_as_what_they_wrap(limiter, used, clock):
    async def coroutine(number, *, other):
        assert used()
        return number + other

    def generator(number):
        assert used()
        yield number

    guarded = limiter.guard()(functools.partial(coroutine, other=1))
    assert inspect.iscoroutinefunction(guarded)
    assert asyncio.run(guarded(2)) == 3
    clock.advance(1)
    assert list(limiter.guard()(functools.partial(generator, 5))()) == [5]
    clock.advance(1)
    assert limiter.guard()(functools.partial(int, base=2))("101") == 5
    assert limiter.stats().allowed == 3


def test_objects_that_can_be_called_are_limited_as_their_call_is(limiter, used, clock):
    class Sync:
        def __call__(self):
            assert used()
            return "sync"

    class Async:
        async def __call__(self):
            assert used()
            return "async"

    assert limiter.guard()(Sync())() == "sync"
    clock.advance(1)
    guarded = limiter.guard()(Async())
    assert inspect.iscoroutinefunction(guarded)
    assert asyncio.run(guarded()) == "async"


def test_a_bound_method_and_a_class_can_be_guarded(limiter, clock):
    class Service:
        def run(self):
            return self

    service = limiter.guard()(Service)()
    assert type(service) is Service
    clock.advance(1)
    assert limiter.guard()(service.run)() is service
    assert limiter.stats().allowed == 2


def test_two_functions_of_one_name_are_two_functions(clock):
    def make(limiter, result):
        @limiter.guard()
        def work():
            return result

        return work

    shared = RateLimiter("2/s", clock=clock)
    other = RateLimiter("1/s", clock=clock)
    one, two, third = make(shared, "one"), make(shared, "two"), make(other, "third")
    assert (one(), two(), third()) == ("one", "two", "third")
    assert (shared.stats().allowed, other.stats().allowed) == (2, 1)
    assert one.__wrapped__ is not two.__wrapped__


def test_the_function_keeps_its_name_text_and_signature(limiter):
    @limiter.guard()
    def body(number: int, other: str = "x") -> bool:
        """Says something."""
        return bool(number and other)

    assert (body.__name__, body.__doc__, body.__module__) == ("body", "Says something.", __name__)
    assert str(inspect.signature(body)) == "(number: int, other: str = 'x') -> bool"


@RateLimiter("5/s").guard()
def module_level():
    return "here"


def test_a_function_of_a_module_can_still_be_pickled():
    assert pickle.loads(pickle.dumps(module_level)) is module_level


def test_guards_of_several_limiters_stack_and_a_refusal_inside_gives_back_what_is_held_outside(clock, at_once):
    rate = RateLimiter("1/s", clock=clock)

    @at_once.guard()
    @rate.guard()
    def body():
        return "done"

    assert body() == "done"
    with pytest.raises(Refused):
        body()
    assert at_once.in_flight == 0


def test_as_many_tokens_or_permits_are_taken_for_each_call_as_the_guard_says(clock):
    rate = RateLimiter("10/s", clock=clock)
    assert rate.guard(4)(lambda: rate.peek().remaining)() == 6
    limiter = ConcurrencyLimiter(5)
    assert limiter.guard(permits=3)(lambda: limiter.in_flight)() == 3
    assert limiter.in_flight == 0


def test_a_guard_takes_its_number_under_the_name_that_try_acquire_has(clock):
    rate, at_once = RateLimiter("10/s", clock=clock), ConcurrencyLimiter(5)
    with pytest.raises(TypeError, match="permits"):
        rate.guard(permits=1)
    with pytest.raises(TypeError, match="cost"):
        at_once.guard(cost=1)


@pytest.mark.parametrize("number", [0, -1, 2**53, 2**64, 1.5, True, None, "1"])
def test_a1_a_wrong_number_is_named_when_the_guard_is_made(limiter, number):
    name = "cost" if isinstance(limiter, RateLimiter) else "permits"
    with pytest.raises((ValueError, TypeError), match=rf"^{name}: got .*; allowed: .*1 to 9007199254740991$"):
        limiter.guard(number)


class Callable:
    def __call__(self):
        return None


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (print, "function"),
        (lambda: None, "function"),
        (functools.partial(print), "function"),
        (staticmethod(print), "function"),
        (classmethod(print), "function"),
        (Callable(), "function"),
        (Callable, "class"),
    ],
)
def test_a_guard_without_parentheses_is_told_as_what_it_is(limiter, function, kind):
    with pytest.raises(TypeError, match=rf"^guard: got a {kind}; allowed: @limiter\.guard\(\)$"):
        limiter.guard(function)
    assert limiter.stats().allowed == 0


@pytest.mark.parametrize("function", [None, 5, "body"])
def test_only_what_can_be_called_can_be_guarded(limiter, function):
    with pytest.raises(TypeError, match=r"^function: got .*; allowed: a callable$"):
        limiter.guard()(function)


def test_p1_threads_in_a_guarded_function_are_never_more_than_the_limit():
    limiter = ConcurrencyLimiter(3)
    inside, peak, refused = [], [], []

    @limiter.guard()
    def body():
        inside.append(None)
        peak.append(len(inside))
        inside.pop()

    def run():
        for _ in range(500):
            try:
                body()
            except Refused:
                refused.append(None)

    threads = [threading.Thread(target=run) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(peak) <= 3
    assert len(peak) + len(refused) == 5_000
    assert limiter.in_flight == 0
