import pytest
from tidegate import ConcurrencyLimiter, ManualClock, RateLimiter


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
