"""A limit of calls under way and a quota, around a real pool of threads."""

import threading
from concurrent.futures import CancelledError

import pytest
import tidegate
from waiters import until

PAGE = "thread-pool"


@pytest.fixture
def code(page, clock):
    page.code.gate = tidegate.Gate(page.rules[0], clock=clock)
    yield page.code
    page.code.pool.shutdown(cancel_futures=True)
    until(lambda: page.code.gate.stats().rules["under way"].in_flight == 0)


@pytest.fixture
def slow(code):
    """A service that hangs until it is told to go on."""
    slow = threading.Event()
    yield slow
    slow.set()


def refusal(submit, *arguments):
    with pytest.raises(tidegate.GateRefused) as refused:
        submit(*arguments)
    return refused.value


def test_one_slow_service_cannot_take_all_threads(code, slow):
    hanging = [code.submit("ann", "slow", lambda: slow.wait(20)) for _ in range(4)]
    for _ in range(6):
        refused = refusal(code.submit, "ann", "slow", slow.wait)
        assert (refused.rule, refused.key, refused.status) == ("under way", "slow", "denied")
        assert str(refused) == "denied by rule under way for slow: 4 permits, 0 available"
    others = [code.submit("ann", "fast", lambda number=number: number) for number in range(4)]
    assert [future.result(20) for future in others] == [0, 1, 2, 3]
    assert not any(future.done() for future in hanging)
    slow.set()
    assert all(future.result(20) for future in hanging)
    until(lambda: code.gate.stats().released_ok == 8)
    assert code.submit("ann", "slow", lambda: "again").result(20) == "again"


def test_each_caller_has_a_quota_for_a_period(code, clock):
    def calls_admitted(caller):
        admitted = 0
        while admitted < 100:
            try:
                future = code.submit(caller, f"service {admitted}", lambda: None)
            except tidegate.GateRefused as refused:
                assert (refused.rule, refused.key, refused.limit) == ("calls", caller, 20)
                return admitted, refused.retry_after
            future.result(20)
            admitted += 1
        raise AssertionError("nothing was refused")

    assert calls_admitted("ann") == (20, 0.5)
    assert calls_admitted("bob") == (20, 0.5)
    clock.advance(10)
    assert calls_admitted("ann") == (20, 0.5)


def test_a_call_that_is_refused_for_its_service_costs_nothing_of_the_quota(code, slow):
    for _ in range(4):
        code.submit("ann", "slow", lambda: slow.wait(20))
    for _ in range(50):
        assert refusal(code.submit, "ann", "slow", slow.wait).rule == "under way"
    trace = code.gate.explain(service="other", caller="ann").rules[1]
    assert (trace.rule, trace.remaining) == ("calls", 16)


def test_calls_that_fail_or_are_cancelled_or_find_the_pool_shut_give_back_their_permit(code, slow):
    failing = code.submit("ann", "failing", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        failing.result(20)
    for service in ("a", "b", "c"):
        for _ in range(4):
            queued = code.submit("ann", service, lambda: slow.wait(20))
    assert queued.cancel()
    with pytest.raises(CancelledError):
        queued.result(20)
    until(lambda: code.gate.stats().released_failed == 2)
    assert code.gate.stats().rules["under way"].in_flight == 11
    code.pool.shutdown(wait=False)
    with pytest.raises(RuntimeError):
        code.submit("ann", "late", slow.wait)
    assert code.gate.stats().released_failed == 3
    assert code.gate.stats().rules["under way"].in_flight == 11
