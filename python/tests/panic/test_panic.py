"""A panic inside the core, forced in a build that has a door for it, reaches Python as an InternalError.

The build is `make build-test-panic`; it is imported in interpreters of its own, since this one has the true package.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = Path(__file__).resolve().parents[3] / "build" / "test-panic" / "python"
COST = 666_666_666

PROLOGUE = """
import asyncio, gc, pickle, threading
import tidegate
from tidegate import ConcurrencyLimiter, InternalError, KeyedConcurrencyLimiter, KeyedRateLimiter, Quota, RateLimiter

def raises(call, *arguments):
    try:
        call(*arguments)
    except Exception as error:
        assert type(error) is InternalError, repr(error)
        assert isinstance(error, RuntimeError)
        assert "panic" in str(error), str(error)
    else:
        raise SystemExit("nothing was raised")
"""


def run(program):
    """Runs the program on the build with the door; what it printed."""
    assert BUILD.is_dir(), f"{BUILD} is missing: run `make build-test-panic`"
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROLOGUE + program],
        env={**os.environ, "PYTHONPATH": str(BUILD)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_build_with_the_door_is_the_one_that_is_tested():
    assert Path(run("print(tidegate.__file__)").strip()).is_relative_to(BUILD)


@pytest.mark.parametrize(
    "call",
    [
        "Quota.parse, 'test-panic'",
        "Quota.parse_list, '5/s;test-panic'",
        "RateLimiter, 'test-panic'",
        "RateLimiter, ['test-panic']",
        "RateLimiter('5/s').reconfigure, 'test-panic'",
        f"RateLimiter('5/s').try_acquire, {COST}",
        f"RateLimiter('5/s').decide, {COST}",
        f"RateLimiter('5/s').peek, {COST}",
        f"RateLimiter('5/s').guard({COST})(print)",
        f"RateLimiter('5/s').guard({COST}, timeout=1)(print)",
        f"RateLimiter('5/s').acquire, {COST}",
        f"RateLimiter('5/s').reserve, {COST}",
        f"asyncio.run, RateLimiter('5/s').acquire_async({COST})",
        f"ConcurrencyLimiter(5).try_acquire, {COST}",
        f"ConcurrencyLimiter(5).guard({COST})(print)",
        f"ConcurrencyLimiter(5).guard({COST}, timeout=1)(print)",
        f"ConcurrencyLimiter(5).acquire, {COST}",
        f"asyncio.run, ConcurrencyLimiter(5).acquire_async({COST})",
        "KeyedRateLimiter, 'test-panic'",
        "KeyedRateLimiter('5/s').reconfigure, 'test-panic'",
        "KeyedRateLimiter('5/s').set_quota, 'ann', 'test-panic'",
        f"KeyedRateLimiter('5/s').try_acquire, 'ann', {COST}",
        f"KeyedRateLimiter('5/s').try_acquire_many, ['ann'], {COST}",
        f"KeyedRateLimiter('5/s').decide, 'ann', {COST}",
        f"KeyedRateLimiter('5/s').peek, 'ann', {COST}",
        f"KeyedRateLimiter('5/s').guard(key='ann', cost={COST})(print)",
        f"KeyedRateLimiter('5/s').guard(key='ann', cost={COST}, timeout=1)(print)",
        f"KeyedRateLimiter('5/s').acquire, 'ann', {COST}",
        f"KeyedRateLimiter('5/s').reserve, 'ann', {COST}",
        f"asyncio.run, KeyedRateLimiter('5/s').acquire_async('ann', {COST})",
        f"KeyedConcurrencyLimiter(5).try_acquire, 'ann', {COST}",
        f"KeyedConcurrencyLimiter(5).guard(key='ann', permits={COST})(print)",
        f"KeyedConcurrencyLimiter(5).guard(key='ann', permits={COST}, timeout=1)(print)",
        f"KeyedConcurrencyLimiter(5).acquire, 'ann', {COST}",
        f"asyncio.run, KeyedConcurrencyLimiter(5).acquire_async('ann', {COST})",
        "tidegate.Gate, [{'name': 'a', 'quota': 'test-panic'}]",
        "tidegate.Gate([]).reload, [{'name': 'a', 'quota': 'test-panic'}]",
        f"lambda: tidegate.Gate([]).enter(cost={COST})",
        f"lambda: tidegate.Gate([]).try_enter(cost={COST})",
        f"lambda: tidegate.Gate([]).guard(cost={COST})(print)()",
        f"lambda: asyncio.run(tidegate.Gate([]).enter_async(cost={COST}))",
    ],
)
def test_every_entry_turns_a_panic_into_an_internal_error(call):
    run(f"raises({call})")


def test_limiters_go_on_after_a_panic():
    run(f"""
limiter, at_once = RateLimiter("2/h"), ConcurrencyLimiter(1)
for _ in range(100):
    raises(limiter.try_acquire, {COST})
    raises(at_once.try_acquire, {COST})
assert [limiter.try_acquire() for _ in range(3)] == [True, True, False]
with at_once:
    assert at_once.in_flight == 1
assert at_once.in_flight == 0
keyed = KeyedRateLimiter("2/h")
for _ in range(100):
    raises(keyed.try_acquire, "ann", {COST})
    raises(keyed.try_acquire_many, ["ann"], {COST})
gate = tidegate.Gate([{{"name": "a", "concurrency": 1}}])
for _ in range(100):
    raises(gate.reload, [{{"name": "a", "quota": "test-panic"}}])
    raises(lambda: gate.enter(cost={COST}))
gate.enter().release()
assert gate.reload([]).removed == ("a",)
assert [keyed.try_acquire("ann") for _ in range(3)] == [True, True, False]
""")


def test_a_panic_on_another_thread_ends_neither_the_thread_nor_the_program():
    run(f"""
limiter, survivors = RateLimiter("100/h"), []

def body():
    raises(limiter.decide, {COST})
    survivors.append(limiter.try_acquire())

threads = [threading.Thread(target=body) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert survivors == [True] * 8
""")
