"""Threads that wait, for the tests."""

import threading
import time


class Waiter:
    """A thread that makes one call; its end and what came of it."""

    def __init__(self, call, *args, **kwargs):
        self.result = self.error = None
        self.thread = threading.Thread(target=self.run, args=(call, args, kwargs), daemon=True)
        self.thread.start()

    def run(self, call, args, kwargs):
        try:
            self.result = call(*args, **kwargs)
        except BaseException as error:
            self.error = error

    def join(self):
        """What the call gave, or raises what it raised."""
        self.thread.join(20)
        assert not self.thread.is_alive(), "it still waits"
        if self.error is not None:
            raise self.error
        return self.result

    @property
    def is_waiting(self):
        return self.thread.is_alive()


def waiting(limiter, count, call, *args, **kwargs):
    """A Waiter that is in the queue, as the last of so many."""
    waiter = Waiter(call, *args, **kwargs)
    until(lambda: limiter.waiting == count or not waiter.is_waiting)
    assert limiter.waiting == count, waiter.error
    return waiter


def until(condition, seconds=20):
    """Lets other threads run until it is so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.0002)
