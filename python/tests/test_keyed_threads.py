"""K5, K6: real threads on the keys of one limiter, with totals that are exact whatever the interleaving."""

import sys
import threading

import pytest
from tidegate import KeyedConcurrencyLimiter, KeyedRateLimiter, Quota


def run_at_once(body, threads):
    """Runs `body` with the numbers of so many threads that start together; what each returned."""
    ready, results = threading.Barrier(threads), []

    def run(number):
        ready.wait()
        results.append(body(number))

    running = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert len(results) == threads
    return results


@pytest.fixture(autouse=True)
def many_switches():
    """Lets the interpreter change threads far more often than it would."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("algorithm", ["gcra", "fixed_window", "sliding_window"])
def test_k5_a_hundred_threads_that_meet_a_new_key_are_admitted_exactly_as_often_as_its_limit(clock, algorithm):
    limiter = KeyedRateLimiter(Quota(37, 3600, algorithm=algorithm), max_keys=100, clock=clock)
    for round_ in range(20):
        assert sum(run_at_once(lambda _, key=f"new {round_}": limiter.try_acquire(key), 100)) == 37


@pytest.mark.parametrize("real_clock", [False, True])
def test_each_key_is_admitted_exactly_as_often_as_the_limit_says(clock, real_clock):
    limiter = KeyedRateLimiter(Quota(500, 100 * 86_400), clock=None if real_clock else clock)
    keys = [f"key {number}" for number in range(20)]

    def body(number):
        order = keys[number:] + keys[:number]
        single = sum(limiter.try_acquire(key) for _ in range(50) for key in order)
        return single + sum(sum(limiter.try_acquire_many(order)) for _ in range(50))

    assert sum(run_at_once(body, 10)) == 500 * len(keys)
    assert (limiter.stats().allowed, limiter.stats().denied) == (10_000, 10_000)


def test_k6_permits_of_one_key_stay_within_the_limit_while_other_keys_come_and_go():
    limiter = KeyedConcurrencyLimiter(2, max_keys=64)
    inside, peak = [], []

    def body(number):
        for turn in range(500):
            # Keys that nobody else uses, and more than there is room for in all.
            other = limiter.try_acquire(f"{number} {turn}")
            permit = limiter.try_acquire("shared")
            if permit is not None:
                # list.append and list.pop are atomic.
                inside.append(None)
                peak.append(len(inside))
                inside.pop()
                permit.release()
            if other is not None:
                other.release()

    run_at_once(body, 8)
    assert 1 <= max(peak) <= 2
    assert limiter.in_flight("shared") == 0
    stats = limiter.stats()
    assert (stats.in_flight, stats.live_keys) == (0, 0)
    assert stats.allowed == stats.released_ok


def test_refunds_and_grants_of_one_key_at_once_lose_nothing(clock):
    limiter = KeyedRateLimiter("50/h fixed_window", clock=clock)

    def body(_):
        for _ in range(1_000):
            decision = limiter.decide("ann")
            if decision:
                limiter.refund("ann", decision)

    run_at_once(body, 10)
    assert limiter.peek("ann").remaining == 50


def test_quotas_may_change_and_keys_be_reset_while_all_decide(clock):
    limiter = KeyedRateLimiter("5/h", max_keys=1000, clock=clock)

    def body(number):
        for turn in range(300):
            if number == 0:
                limiter.reconfigure(f"{5 + turn % 3}/h")
            elif number == 1:
                limiter.reset("ann")
            limiter.try_acquire("ann")
            len(limiter)

    run_at_once(body, 6)
    limiter.reset("ann")
    limiter.reconfigure("5/h")
    assert sum(limiter.try_acquire("ann") for _ in range(10)) == 5
