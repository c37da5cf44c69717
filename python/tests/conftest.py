import signal

import pytest
from one_key import KEY, OneKey
from tidegate import ConcurrencyLimiter, KeyedConcurrencyLimiter, KeyedRateLimiter, ManualClock, RateLimiter

# A process in the background may have been told to ignore Ctrl-C, which then wouldn't end a wait, either.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture(params=["rate", "concurrency"])
def limiter(request, clock):
    """A limiter of either kind that admits once: one token a second, or one permit at a time."""
    return RateLimiter("1/s", clock=clock) if request.param == "rate" else ConcurrencyLimiter(1)


@pytest.fixture
def at_once():
    """A limiter of one permit, which must be back in the end."""
    limiter = ConcurrencyLimiter(1)
    yield limiter
    assert limiter.in_flight == 0


@pytest.fixture
def used(limiter):
    """Tells whether what `limiter` grants once is taken at the moment."""
    if isinstance(limiter, ConcurrencyLimiter):
        return lambda: limiter.in_flight == 1
    return lambda: limiter.peek().remaining == 0


@pytest.fixture(params=["without keys", "of a key"])
def keyed(request):
    """Whether `rate` and `concurrency` make limiters with keys."""
    return request.param == "of a key"


@pytest.fixture
def rate(keyed):
    """Makes a rate limiter: one without keys, or one key of one that has them."""
    return (lambda *args, **options: OneKey(KeyedRateLimiter(*args, **options))) if keyed else RateLimiter


@pytest.fixture
def concurrency(keyed):
    """Makes a concurrency limiter, likewise."""
    if not keyed:
        return ConcurrencyLimiter
    return lambda *args, **options: OneKey(KeyedConcurrencyLimiter(*args, max_keys=100, **options))


@pytest.fixture
def whose(keyed):
    """What the text of a refusal says of the key."""
    return f" for key '{KEY}'" if keyed else ""


@pytest.fixture(params=["rate", "concurrency"])
def waitable(request, clock, rate, concurrency):
    """What `limiter` is, with keys and without."""
    return rate("1/s", clock=clock) if request.param == "rate" else concurrency(1)
