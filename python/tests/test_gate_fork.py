"""L5: in the child of a fork a gate works at once; what the parent's requests hold is the parent's."""

import asyncio

from test_fork import in_child
from tidegate import Gate
from waiters import Waiter, until


def stats(gate):
    return gate.stats().rules["one"]


def test_a_child_enters_at_once_and_gives_back_nothing_of_its_parents():
    gate = Gate([{"name": "one", "concurrency": 1, "timeout": "1h"}, {"name": "all", "quota": "1000000/s"}])
    held = gate.enter()
    thread = Waiter(gate.enter)
    until(lambda: stats(gate).waiting == 1)

    def child():
        held.release()
        assert (stats(gate).in_flight, stats(gate).waiting) == (0, 0)
        with gate.enter(timeout=1):
            assert not gate.try_enter(timeout=0)
        asyncio.run(enters())
        gate.reload([{"name": "one", "concurrency": 2}])
        with gate.enter(), gate.enter():
            pass

    async def enters():
        async with gate.enter_async(timeout=1):
            assert stats(gate).in_flight == 1

    for _ in range(10):
        assert in_child(child) is None
    assert stats(gate).in_flight == 1
    held.release()
    thread.join().release()
    assert stats(gate).in_flight == 0
