import gc
import subprocess
import sys
import threading

import pytest
from tidegate import ConcurrencyLimiter, ConfigError


def test_a_with_block_releases_the_permit():
    limiter = ConcurrencyLimiter(2)
    with limiter.try_acquire(2) as permit:
        assert (permit.permits, permit.released, limiter.in_flight) == (2, False, 2)
    assert permit.released
    assert limiter.in_flight == 0
    assert limiter.stats().released_ok == 1


def test_an_exception_that_leaves_the_block_counts_as_failed_and_is_not_held_up():
    limiter = ConcurrencyLimiter(1)
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), limiter.try_acquire():
            raise error
    assert (limiter.in_flight, limiter.stats().released_failed) == (0, 2)


def test_p2_a_body_that_fails_with_an_error_of_the_limiter_itself_releases():
    limiter = ConcurrencyLimiter(1)
    with pytest.raises(ConfigError), limiter.try_acquire():
        limiter.try_acquire(0)
    assert limiter.in_flight == 0


def test_the_end_of_a_block_after_release_is_no_error_and_releases_nothing():
    limiter = ConcurrencyLimiter(2)
    other = limiter.try_acquire()
    with limiter.try_acquire() as permit:
        permit.release(ok=False)
    assert limiter.in_flight == 1
    assert (limiter.stats().released_ok, limiter.stats().released_failed) == (0, 1)
    other.release()


def test_a_permit_that_was_released_opens_no_block():
    permit = ConcurrencyLimiter(1).try_acquire()
    permit.release()
    with pytest.raises(ConfigError, match=r"^permit: got one that was released before"), permit:
        pass


def test_a_permit_outlives_its_limiter():
    limiter = ConcurrencyLimiter(1)
    permit = limiter.try_acquire()
    del limiter
    gc.collect()
    permit.release()
    assert permit.released


def test_a_permit_dropped_while_held_is_released_with_a_warning():
    limiter = ConcurrencyLimiter(3)
    permit = limiter.try_acquire(2)
    with pytest.warns(
        ResourceWarning, match=r"^2 permit\(s\) of a ConcurrencyLimiter were dropped without release\(\)$"
    ):
        del permit
    assert limiter.in_flight == 0
    with pytest.warns(ResourceWarning, match=r"^1 permit"):
        limiter.try_acquire()
    assert limiter.in_flight == 0


def test_a_permit_dropped_while_an_exception_is_on_its_way_leaves_it_alone():
    limiter = ConcurrencyLimiter(1)

    def fail():
        permit = limiter.try_acquire()
        assert permit
        raise KeyError("mine")

    with pytest.warns(ResourceWarning), pytest.raises(KeyError, match="mine"):
        fail()
    gc.collect()
    assert limiter.in_flight == 0


def test_a_warning_that_is_an_error_is_told_and_the_permit_is_released_all_the_same():
    limiter = ConcurrencyLimiter(1)
    told = []
    hook, sys.unraisablehook = sys.unraisablehook, told.append
    try:
        limiter.try_acquire()
    finally:
        sys.unraisablehook = hook
    assert [unraisable.exc_type for unraisable in told] == [ResourceWarning]
    assert limiter.in_flight == 0


def test_of_many_threads_one_releases_and_the_others_get_an_error():
    limiter = ConcurrencyLimiter(2)
    kept = limiter.try_acquire()
    for _ in range(50):
        permit = limiter.try_acquire()
        ready, outcomes = threading.Barrier(8), []

        def release(permit=permit, ready=ready, outcomes=outcomes):
            ready.wait()
            try:
                permit.release()
                outcomes.append("released")
            except ConfigError:
                outcomes.append("error")

        threads = [threading.Thread(target=release) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["error"] * 7 + ["released"]
        assert limiter.in_flight == 1
    kept.release()


@pytest.mark.parametrize("place", ["permit", "sys.permit", "limiter.__enter__(); permit"])
def test_a_permit_held_when_the_interpreter_ends_does_no_harm(place):
    program = f"import sys, tidegate; limiter = tidegate.ConcurrencyLimiter(2); {place} = limiter.try_acquire()"
    ended = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0
    assert "panic" not in ended.stderr
