import pickle
import re
from pathlib import Path

import pytest
import tidegate
from tidegate import (
    Closed,
    ConcurrencyLimiter,
    ConfigError,
    ExceedsCapacity,
    Forked,
    InternalError,
    QueueFull,
    RateLimiter,
    Refused,
    TidegateError,
    TimedOut,
)


def test_all_are_tidegate_errors_and_what_else_their_names_say():
    for error in (Refused, TimedOut, ExceedsCapacity, QueueFull, Closed, ConfigError, Forked, InternalError):
        assert issubclass(error, TidegateError)
        assert issubclass(error, Exception)
    for error in (ExceedsCapacity, TimedOut, QueueFull, Closed):
        assert issubclass(error, Refused)
    assert issubclass(TimedOut, TimeoutError)
    assert issubclass(ConfigError, ValueError)
    assert issubclass(InternalError, RuntimeError)
    assert issubclass(Forked, RuntimeError)


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
    assert str(raised.value) == "refused: 2 tokens asked, 0 of 2 available, retry in 0.5 s: 4/s burst 2"
    assert raised.value.decision.retry_after == 0.5
    with pytest.raises(ExceedsCapacity) as raised:
        limiter.guard(3)(call)()
    assert str(raised.value) == "cost 3 can never be had: 4/s burst 2 holds at most 2"


def test_a_refusal_by_a_limit_of_zero_says_so(clock):
    for limiter, message in (
        (RateLimiter("0/s", clock=clock), "refused: 1 token asked, and the limit is 0: 0/s"),
        (ConcurrencyLimiter(0), "refused: 1 permit asked, and the limit is 0"),
    ):
        with pytest.raises(Refused) as raised:
            limiter.guard()(print)()
        assert type(raised.value) is Refused
        assert str(raised.value) == message


def test_a_refusal_by_one_of_several_quotas_names_it(clock):
    limiter = RateLimiter("10/s; 5/min burst 3", clock=clock)
    with pytest.raises(ExceedsCapacity) as raised:
        limiter.guard(4)(print)()
    assert str(raised.value) == "cost 4 can never be had: 5/min burst 3 (quotas[1]) holds at most 3"
    assert limiter.try_acquire(2)
    with pytest.raises(Refused) as raised:
        limiter.guard(2)(print)()
    assert str(raised.value) == "refused: 2 tokens asked, 1 available, retry in 12 s: 5/min burst 3 (quotas[1])"


def test_a_refusal_never_tells_a_shorter_wait_than_the_decision(clock):
    limiter = RateLimiter("3/s burst 1", clock=clock)
    assert limiter.try_acquire()
    with pytest.raises(Refused, match=r"retry in 0\.333333334 s: 3/s burst 1$") as raised:
        limiter.guard()(print)()
    assert "retry in 0.333333334 s" in str(Refused(raised.value.decision))


def test_a_refusal_of_permits_tells_what_is_free_of_how_many():
    limiter = ConcurrencyLimiter(3)
    with limiter, pytest.raises(Refused) as raised:
        limiter.guard(permits=3)(print)()
    assert str(raised.value) == "refused: 3 permits asked, 2 of 3 available"
    with limiter.try_acquire(3), pytest.raises(Refused) as raised:
        limiter.limit = 2
        limiter.guard()(print)()
    assert str(raised.value) == "refused: 1 permit asked, 0 of 2 available"


def test_a_refusal_made_from_a_decision_alone_measures_by_nothing_that_the_decision_does_not_know(clock):
    """The limit is no measure of what remains where the burst is another."""
    limiter = RateLimiter("4/s burst 2", clock=clock)
    assert limiter.try_acquire(2)
    assert str(Refused(limiter.decide())) == "denied: 0 available, retry in 0.25 s"
    assert str(ExceedsCapacity(limiter.decide(3))) == "exceeds_capacity: 0 available, retry never"
    assert str(Refused(RateLimiter("0/s", clock=clock).decide())) == "denied: the limit is 0"
    assert str(Refused()) == "refused"
    assert " of " not in repr(limiter.decide())


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_l6_errors_make_the_round_trip_through_pickle(clock, protocol):
    decision = RateLimiter("4/s burst 2", clock=clock).decide(3)
    errors = [
        TidegateError("x"),
        Refused(decision),
        Refused(None, "refused: 1 permit asked, 0 of 1 available"),
        ExceedsCapacity(decision),
        TimedOut(None, "timed out", 0.5, 1.0, 3, 2, 7),
        QueueFull(None, "full", limit=3),
        Closed(None, "closed", elapsed=1.5),
        Closed(),
        Forked("of another process"),
        ConfigError("cost", "0", "1 to 9"),
        InternalError("a fault"),
    ]
    for error in errors:
        error.request = "GET /"
        copy = pickle.loads(pickle.dumps(error, protocol))
        assert type(copy) is type(error)
        assert str(copy) == str(error)
        assert repr(vars(copy)) == repr(vars(error))


@pytest.mark.parametrize(
    ("quota", "printed"),
    [
        ("100/s burst 20", ""),
        ("1/h burst 5", "429 {'Retry-After': '3600'}\n"),
        ("0/s", "429 {}\n"),
    ],
)
def test_the_example_of_the_readme_runs_and_has_no_header_for_never(capsys, quota, printed):
    run_example(0, "100/s burst 20", quota)
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize(
    ("quota", "printed"), [("5/s burst 10", "200 /visit for 203.0.113.7\n"), ("0/s", "429 None\n")]
)
def test_the_keyed_example_of_the_readme_runs(capsys, quota, printed):
    run_example(3, "5/s burst 10", quota)
    assert capsys.readouterr().out == printed


def test_the_waiting_examples_of_the_readme_run(capsys):
    run_example(1)
    permit, late, *pages, later = capsys.readouterr().out.splitlines()
    assert permit == "<Permit of 1, held> 2"
    assert re.fullmatch(
        r"0 timed out: 2 permits asked, limit 2, 1 in flight, 0 waiting, waited \d\.\d+ s of 0\.01 s", late
    )
    assert pages == ["0", "1", "2"]
    assert re.fullmatch(r"0\.0\d* (True|False)", later)
    run_example(2)
    assert capsys.readouterr().out == "[0, 1, 2, 3, 4]\n<Permit of 1, held>\n2 0\n"


def test_the_example_of_the_readme_that_waits_for_keys_runs(capsys):
    run_example(4)
    permit, late, page, reports, waiting = capsys.readouterr().out.splitlines()
    assert permit == "<Permit of 1, held> 1 0"
    text = r"timed out: 1 permit asked for key 'ann', limit 1, 1 in flight, 0 waiting, waited \d\.\d+ s of 0\.01 s"
    assert re.fullmatch(text, late)
    assert (page, reports, waiting) == ("7", "[0, 1, 2]", "1 0")


def test_the_example_of_the_readme_with_a_gate_runs(capsys):
    run_example(5)
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "('downloads',) True"
    assert told[1].startswith("search 100 20 inf exceeds_capacity by")
    assert told[2] == "cats"
    assert any(line.startswith("rule search: matches, since path") for line in told)


def run_example(index, written=None, quota=None):
    """Runs an example of the README, perhaps with another quota than it is written with."""
    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    examples = re.findall(r"^```python\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    assert len(examples) == 6
    example = examples[index]
    if written:
        assert example.count(written) == 1
        example = example.replace(written, quota)
    exec(compile(example, "README.md", "exec"), {})


def test_every_public_name_is_there_and_documented():
    for name in tidegate.__all__:
        thing = getattr(tidegate, name)
        assert name == "__version__" or thing.__doc__
    assert tidegate.__version__.count(".") == 2
