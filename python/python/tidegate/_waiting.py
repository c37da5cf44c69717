"""Waiting as a task of an asyncio loop, whichever: the loop is only told to look, and asked to look later."""

from __future__ import annotations

from types import FrameType
from typing import TYPE_CHECKING, Any

from tidegate._tidegate import ConcurrencyLimiter, Entering, Permit, Wait

if TYPE_CHECKING:
    # Else only where a loop runs, and so it is there: to import it takes as long as all of this package.
    import asyncio


class Turn:
    """What a limiter tells of a wait, on any thread, and the task that hears of it in its loop."""

    __slots__ = ("future", "loop", "timer", "wait")

    wait: Wait | Entering | None
    """None once the task has gone: so no cycle is left for the garbage collector."""

    def __init__(self) -> None:
        import asyncio

        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[None] = self.loop.create_future()
        self.timer: asyncio.TimerHandle | None = None

    def told(self) -> None:
        """Called by the limiter when there is something to look at."""
        import asyncio

        try:
            # In its own loop a task can be told without waking the loop up by a system call.
            if asyncio._get_running_loop() is self.loop:
                self.loop.call_soon(self.look)
            else:
                self.loop.call_soon_threadsafe(self.look)
        except RuntimeError:
            if not self.loop.is_closed():
                raise
            # Read once: the task may go meanwhile.
            if (wait := self.wait) is not None:
                wait.leave()

    def look(self) -> None:
        """Wakes the task if its wait is over, else asks to look again when it may be."""
        self.forget_timer()
        if self.wait is None or self.future.done():
            return
        after = self.wait.poll()
        if self.wait.over:
            self.future.set_result(None)
        elif after is not None:
            self.timer = self.loop.call_later(after, self.look)

    def forget_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def end(self) -> None:
        self.forget_timer()
        self.wait = None

    def is_lost(self) -> bool:
        """Whether nobody will ever look."""
        return self.loop.is_closed()


async def until_over(wait: Any) -> Any:
    """Waits until it is over, and gives what came of it; a task that is cancelled leaves."""
    turn: Turn = wait.turn
    try:
        turn.look()
        await turn.future
    except BaseException:
        wait.leave()
        raise
    finally:
        turn.end()
    return wait.outcome()


async def acquire(limiter: Any, key: str | bytes | None, number: int, timeout_ns: int | None) -> Permit | None:
    """Takes so many, of the key if there are keys, waiting for its turn; a task that is cancelled leaves the queue."""
    taken: Permit | Wait | None = limiter._begin(Turn, key, number, timeout_ns)
    if isinstance(taken, Wait):
        permit: Permit | None = await until_over(taken)
        return permit
    return taken


async def enter(limiter: ConcurrencyLimiter, frame: FrameType | None) -> Permit:
    """Begins the block of an `async with` statement in this frame."""
    permit = await acquire(limiter, None, 1, None)
    assert permit is not None
    limiter._entered(frame, permit)
    return permit
