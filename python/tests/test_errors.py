import pickle
import re
from pathlib import Path

import pytest
import tidegate
from tidegate import (
    Closed,
    ConfigError,
    ExceedsCapacity,
    InternalError,
    QueueFull,
    RateLimiter,
    Refused,
    TidegateError,
    TimedOut,
)


def test_all_are_tidegate_errors_and_what_else_their_names_say():
    for error in (Refused, TimedOut, ExceedsCapacity, QueueFull, Closed, ConfigError, InternalError):
        assert issubclass(error, TidegateError)
        assert issubclass(error, Exception)
    assert issubclass(ExceedsCapacity, Refused)
    assert issubclass(TimedOut, TimeoutError)
    assert issubclass(ConfigError, ValueError)
    assert issubclass(InternalError, RuntimeError)


def test_a_config_error_has_its_parts():
    with pytest.raises(ConfigError) as raised:
        RateLimiter("10/s").try_acquire(0)
    error = raised.value
    assert (error.argument, error.value, error.allowed) == ("cost", "0", "1 to 9007199254740991")
    assert str(error) == "cost: got 0; allowed: 1 to 9007199254740991"


def test_a_refusal_tells_its_figures(clock):
    limiter = RateLimiter("4/s burst 2", clock=clock)
    call = limiter.guard(2)(lambda: "done")
    assert call() == "done"
    with pytest.raises(Refused) as raised:
        call()
    assert str(raised.value) == "denied: 0 of 4 remaining, retry in 0.5 s"
    assert raised.value.decision.retry_after == 0.5
    with pytest.raises(ExceedsCapacity) as raised:
        limiter.guard(3)(call)()
    assert str(raised.value) == "exceeds_capacity: 0 of 4 remaining, retry never"
    assert str(Refused()) == "refused"


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_l6_errors_make_the_round_trip_through_pickle(clock, protocol):
    decision = RateLimiter("4/s burst 2", clock=clock).decide(3)
    errors = [
        TidegateError("x"),
        Refused(decision),
        Refused(None, "denied: 1 permit(s) of 1"),
        ExceedsCapacity(decision),
        TimedOut("after 1 s"),
        QueueFull("full"),
        Closed("closed"),
        ConfigError("cost", "0", "1 to 9"),
        InternalError("a fault"),
    ]
    for error in errors:
        error.request = "GET /"
        copy = pickle.loads(pickle.dumps(error, protocol))
        assert type(copy) is type(error)
        assert str(copy) == str(error)
        assert vars(copy).keys() == vars(error).keys()
        if isinstance(error, Refused) and error.decision is not None:
            assert repr(copy.decision) == repr(error.decision)


def test_the_example_of_the_readme_runs():
    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    examples = re.findall(r"^```python\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    assert len(examples) == 1
    exec(compile(examples[0], "README.md", "exec"), {})


def test_every_public_name_is_there_and_documented():
    for name in tidegate.__all__:
        thing = getattr(tidegate, name)
        assert name == "__version__" or thing.__doc__
    assert tidegate.__version__.count(".") == 2
