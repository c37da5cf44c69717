"""L7: Ctrl-C while the main thread waits."""

import signal
import threading
import time

import pytest
from waiters import until


@pytest.fixture(params=[None, 30], ids=["for ever", "with a timeout"])
def timeout(request):
    return request.param


def interrupted(limiter, wait):
    """Sends SIGINT once the main thread waits; how many seconds later it was noticed."""
    sent = []

    def send():
        until(lambda: limiter.waiting == 1)
        time.sleep(0.02)
        sent.append(time.monotonic())
        signal.raise_signal(signal.SIGINT)

    sender = threading.Thread(target=send)
    sender.start()
    with pytest.raises(KeyboardInterrupt):
        wait()
    noticed = time.monotonic() - sent[0]
    sender.join()
    return noticed


def test_ctrl_c_ends_a_wait_for_permits_soon_and_takes_nothing(timeout, concurrency):
    limiter = concurrency(1)
    with limiter:
        assert min(interrupted(limiter, lambda: limiter.acquire(timeout=timeout)) for _ in range(3)) < 0.1
        assert (limiter.waiting, limiter.in_flight) == (0, 1)
        assert limiter.stats().cancelled == 3
    assert limiter.in_flight == 0


def test_ctrl_c_ends_a_wait_for_tokens_soon_and_takes_nothing(clock, timeout, rate):
    limiter = rate("1/min", clock=clock)
    limiter.acquire()
    timeout = timeout and 60 + timeout
    assert min(interrupted(limiter, lambda: limiter.acquire(timeout=timeout)) for _ in range(3)) < 0.1
    assert limiter.waiting == 0
    clock.advance(60)
    assert limiter.try_acquire()


def test_ctrl_c_ends_a_block_before_it_begins(concurrency):
    limiter = concurrency(1)

    def block():
        with limiter:
            pytest.fail("entered")

    with limiter:
        interrupted(limiter, block)
        assert limiter.in_flight == 1
    assert limiter.in_flight == 0


def test_a_handler_that_returns_does_not_end_the_wait(concurrency):
    limiter = concurrency(1)
    held, handled = limiter.acquire(), threading.Event()
    before = signal.signal(signal.SIGUSR1, lambda *_: handled.set())
    try:

        def send():
            until(lambda: limiter.waiting == 1)
            signal.raise_signal(signal.SIGUSR1)
            assert handled.wait(10)
            held.release()

        sender = threading.Thread(target=send)
        sender.start()
        limiter.acquire().release()
        sender.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert handled.is_set()
