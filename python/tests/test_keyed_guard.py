"""Guards whose key is made of the arguments of each call."""

import asyncio
import inspect

import pytest
from tidegate import ConfigError, ExceedsCapacity, KeyedConcurrencyLimiter, KeyedRateLimiter, Refused


@pytest.fixture(params=["rate", "concurrency"])
def limiter(request, clock):
    """A keyed limiter of either kind that admits a key once."""
    return KeyedRateLimiter("1/s", clock=clock) if request.param == "rate" else KeyedConcurrencyLimiter(1)


@pytest.fixture
def used(limiter):
    """Tells whether what `limiter` grants a key once is taken at the moment."""
    if isinstance(limiter, KeyedConcurrencyLimiter):
        return lambda key: limiter.in_flight(key) == 1
    return lambda key: limiter.peek(key).remaining == 0


def test_the_key_is_made_of_the_arguments_of_each_call(limiter, used):
    @limiter.guard(key=lambda user, *, tenant="none": f"{tenant}/{user}")
    def body(user, *, tenant="none"):
        assert used(f"{tenant}/{user}")
        return user

    assert body("ann") == body("ann", tenant="a") == body(user="ann", tenant="b") == "ann"
    assert limiter.stats().allowed == 3


@pytest.mark.parametrize("key", ["all", b"all"])
def test_a_key_that_is_no_function_is_that_of_every_call(limiter, used, key):
    @limiter.guard(key=key)
    def body(user):
        assert used("all")
        with pytest.raises(Refused):
            body("other")
        return user

    assert body("ann") == "ann"


def test_a_refused_key_does_not_run_and_another_does(limiter):
    @limiter.guard(key=lambda user: user)
    def outer(user):
        with pytest.raises(Refused):
            inner(user)
        return inner("other")

    inner = limiter.guard(key=lambda user: user)(lambda user: user)
    assert outer("ann") == "other"


def test_methods_and_every_kind_of_function(limiter, used):
    class Service:
        name = "service"

        @limiter.guard(key=lambda self, user: f"{self.name} method {user}")
        def method(self, user):
            assert used(f"service method {user}")
            return user

        @limiter.guard(key=lambda self, user: f"coroutine {user}")
        async def coroutine(self, user):
            assert used(f"coroutine {user}")
            return user

        @limiter.guard(key=lambda self, user: f"generator {user}")
        def generator(self, user):
            assert used(f"generator {user}")
            yield user

        @limiter.guard(key=lambda self, user: f"async generator {user}")
        async def async_generator(self, user):
            assert used(f"async generator {user}")
            yield user

        @limiter.guard(key=lambda user: f"static {user}")
        @staticmethod
        def static(user):
            assert used(f"static {user}")
            return user

    async def of(iterator):
        return [value async for value in iterator]

    service = Service()
    assert inspect.iscoroutinefunction(service.coroutine)
    for user in ("ann", "bob"):
        assert service.method(user) == user
        assert asyncio.run(service.coroutine(user)) == user
        assert list(service.generator(user)) == [user]
        assert asyncio.run(of(service.async_generator(user))) == [user]
        assert service.static(user) == user
    assert limiter.stats().allowed == 10


def test_as_many_tokens_or_permits_are_taken_as_the_guard_says(clock):
    rate, at_once = KeyedRateLimiter("10/s", clock=clock), KeyedConcurrencyLimiter(5)
    assert rate.guard(key="a", cost=4)(lambda: rate.peek("a").remaining)() == 6
    assert at_once.guard(key="a", permits=3)(lambda: at_once.in_flight("a"))() == 3
    assert at_once.in_flight("a") == 0
    for limiter, name in ((rate, "cost"), (at_once, "permits")):
        with pytest.raises(ConfigError, match=rf"^{name}: got 0; allowed: 1 to 9007199254740991$"):
            limiter.guard(key="a", **{name: 0})


def test_a_body_that_fails_releases_and_its_error_flies_on():
    limiter = KeyedConcurrencyLimiter(1)

    @limiter.guard(key=lambda error: "a")
    def body(error):
        raise error

    for error in (ValueError("mine"), Refused(), KeyboardInterrupt()):
        with pytest.raises(type(error)) as raised:
            body(error)
        assert raised.value is error
    assert (limiter.in_flight("a"), limiter.stats().released_failed) == (0, 3)


def test_what_the_key_function_raises_the_call_raises_and_nothing_is_taken(limiter):
    @limiter.guard(key=lambda user: user["name"])
    def body(user):
        return user

    with pytest.raises(KeyError, match="name"):
        body({})
    with pytest.raises(TypeError, match=r"^key: got 5 \(int\); allowed: a str or bytes$"):
        body({"name": 5})
    assert (limiter.stats().allowed, limiter.stats().denied) == (0, 0)


@pytest.mark.parametrize("key", [None, 5, ("a", "b"), bytearray(b"a")])
def test_a_key_that_can_be_none_is_named_when_the_guard_is_made(limiter, key):
    with pytest.raises(TypeError, match=r"^key: got .*; allowed: a str or bytes, or a function that makes one"):
        limiter.guard(key=key)


def test_a_guard_without_its_key_is_an_error_when_it_is_made(limiter):
    with pytest.raises(TypeError, match="key"):
        limiter.guard()
    # A function in its place would else be taken for what makes the key.
    with pytest.raises(TypeError, match="positional"):
        limiter.guard(lambda user: user)


def test_refusals_say_whose_they_are_and_what_stops_them(clock):
    rate = KeyedRateLimiter("4/s burst 2", clock=clock)
    call = rate.guard(key=lambda user: user, cost=2)(lambda user: user)
    assert call("ann") == "ann"
    with pytest.raises(Refused) as raised:
        call("ann")
    assert str(raised.value) == ("refused: 2 tokens asked for key 'ann', 0 of 2 available, retry in 0.5 s: 4/s burst 2")
    assert raised.value.decision.retry_after == 0.5
    with pytest.raises(ExceedsCapacity, match=r"^cost 3 can never be had: 4/s burst 2 holds at most 2$"):
        rate.guard(key="ann", cost=3)(print)()
    with pytest.raises(Refused, match=r"^refused: 1 token asked for key b'a', and the limit is 0: 0/s$"):
        KeyedRateLimiter("0/s", clock=clock).guard(key=b"a")(print)()

    at_once = KeyedConcurrencyLimiter(3)
    with at_once.try_acquire("ann"), pytest.raises(Refused) as raised:
        at_once.guard(key="ann", permits=3)(print)()
    assert str(raised.value) == "refused: 3 permits asked for key 'ann', 2 of 3 available"
    assert raised.value.decision is None
    with pytest.raises(ExceedsCapacity, match=r"^4 permits can never be had: the limit is 3$"):
        at_once.guard(key="ann", permits=4)(print)()


def test_a_long_key_is_cut_in_the_text_of_a_refusal(clock):
    limiter = KeyedRateLimiter("0/s", clock=clock)
    with pytest.raises(Refused) as raised:
        limiter.guard(key="x" * 2**20)(print)()
    assert len(str(raised.value)) < 250


def test_a_new_key_without_room_is_refused_as_what_it_is(clock):
    rate = KeyedRateLimiter("1/min", max_keys=1, when_full="deny_new", clock=clock)
    rate.try_acquire_many(map(str, range(8)))
    with pytest.raises(Refused) as raised:
        rate.guard(key="new")(print)()
    assert type(raised.value) is Refused
    assert raised.value.decision.status == "keys_full"
    assert str(raised.value) == (
        "refused: no room for key 'new' beside those that count already (max_keys=1), retry in 60 s"
    )
    at_once = KeyedConcurrencyLimiter(1, max_keys=1)
    held = [at_once.try_acquire(str(number)) for number in range(8)]
    with pytest.raises(Refused) as raised:
        at_once.guard(key="new")(print)()
    assert type(raised.value) is Refused
    assert str(raised.value) == "refused: no room for key 'new' beside those that count already (max_keys=1)"
    for permit in held:
        permit.release()
