from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import timedelta
from os import PathLike
from types import FrameType, TracebackType
from typing import Any, Literal, SupportsIndex, TypeAlias, TypeVar, final

from tidegate._gate import EnterAsync, Pull
from tidegate._waiting import Turn
from tidegate.gate import Explanation, GateEvent, GateStats, Reloaded
from tidegate.stats import ConcurrencyStats, DeniedKey, KeyedConcurrencyStats, KeyedRateStats, RateStats

__all__ = [
    "AsgiDoor",
    "ConcurrencyLimiter",
    "Decision",
    "Entering",
    "Entry",
    "Events",
    "Gate",
    "KeyedConcurrencyLimiter",
    "KeyedRateLimiter",
    "ManualClock",
    "Permit",
    "Quota",
    "RateLimiter",
    "Refusal",
    "Reservation",
    "Wait",
    "Watch",
    "__version__",
    "ip_key",
    "key_of",
]

__version__: str

_F = TypeVar("_F", bound=Callable[..., Any])
_Seconds: TypeAlias = float | timedelta
_Key: TypeAlias = str | bytes
_Quotas: TypeAlias = Quota | str | Sequence[Quota | str]
_Algorithm: TypeAlias = Literal["gcra", "fixed_window", "sliding_window", "sliding_log"]
_Anchor: TypeAlias = Literal["first", "clock"]
_WhenFull: TypeAlias = Literal["evict", "deny_new"]
_Rules: TypeAlias = str | Mapping[str, Any] | Iterable[Mapping[str, Any]]
_Format: TypeAlias = Literal["toml", "json", "yaml"]
_Value: TypeAlias = str | bytes | None
_Attributes: TypeAlias = Mapping[str, str] | Mapping[str, bytes] | Mapping[str, str | bytes | None]

@final
class Quota:
    """What a rate limiter enforces: `limit` tokens per `per` seconds, and how.

    limit: tokens per period, 0 to 2**53-1; 0 refuses all.
    per: the period, in seconds (int or float) or as a timedelta: above 0, up to 730 days. It is rounded up to whole
    nanoseconds, so that the shortest is 1 ns.
    burst: the most tokens at once, for gcra only; the limit where it is None.
    algorithm: "gcra" (token bucket), "fixed_window", "sliding_window" or "sliding_log".
    anchor: where fixed windows begin: "first" (at the first admitted call) or "clock" (at multiples of the period since
    the Unix epoch).

    Quotas are values: equal if they enforce the same, hashable, and str() is a text that parse() reads back.
    Raises ConfigError, naming the argument.
    """

    def __new__(
        cls,
        limit: SupportsIndex,
        per: _Seconds,
        burst: SupportsIndex | None = None,
        algorithm: _Algorithm = "gcra",
        anchor: _Anchor = "first",
    ) -> Quota: ...
    @classmethod
    def parse(cls, text: str) -> Quota:
        """Reads one quota from its text, such as "100/s", "5 per 30s", "100/minute burst 20", "3/2s fixed_window
        anchor clock".

        The text is limit ("/" | "per") [count] unit ["burst" burst] [algorithm] ["anchor" anchor]; units are ns,
        us, ms, s, sec, second(s), min, minute(s), h, hour(s), d, day(s), w, week(s).
        Raises ConfigError, showing the text and the grammar. Several quotas in one text are for parse_list().
        """

    @classmethod
    def parse_list(cls, text: str) -> list[Quota]:
        """Reads one or more quotas that are joined by ";", such as "10/s; 1000/h".

        Raises ConfigError, showing the text and the grammar.
        """

    @property
    def limit(self) -> int:
        """Tokens per period."""

    @property
    def per(self) -> float:
        """The period in seconds."""

    @property
    def period_ns(self) -> int:
        """The period in nanoseconds, exact."""

    @property
    def burst(self) -> int:
        """The most tokens that may be spent at once: the burst for gcra, else the limit."""

    @property
    def algorithm(self) -> _Algorithm:
        """One of "gcra", "fixed_window", "sliding_window" and "sliding_log"."""

    @property
    def anchor(self) -> _Anchor:
        """One of "first" and "clock"."""

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Decision:
    """The answer of a rate limiter to one call; true if the work may go ahead.

    Times are in seconds, rounded up; the exact figures are those that end in _ns. A time that never comes is math.inf
    in seconds and None in nanoseconds. A copy, as pickle makes, has the same figures but can't be refunded.
    """

    @property
    def allowed(self) -> bool:
        """Whether the work may go ahead."""

    @property
    def status(self) -> Literal["allowed", "denied", "exceeds_capacity", "keys_full"]:
        """One of "allowed", "denied" (not now), "exceeds_capacity" (never: the cost is more than fits at once) and
        "keys_full" (not now: a keyed limiter has no room for a new key).
        """

    @property
    def limit(self) -> int:
        """The limit of the quota that this decision names, in tokens per period."""

    @property
    def remaining(self) -> int:
        """Tokens that could be spent now, after this decision; the least over all quotas."""

    @property
    def retry_after(self) -> float:
        """Seconds until the same call would be admitted, if nobody else asks: 0.0 when allowed, math.inf for never."""

    @property
    def retry_after_ns(self) -> int | None:
        """Nanoseconds until the same call would be admitted, exact; None for never."""

    @property
    def retry_after_seconds(self) -> int | None:
        """Whole seconds until the same call would be admitted, rounded up, as an HTTP header Retry-After has them:
        0 when allowed, at least 1 when refused, None for never: leave the header out then.
        """

    @property
    def reset_after(self) -> float:
        """Seconds until nothing counts any more, if nobody asks; the longest over all quotas."""

    @property
    def reset_after_ns(self) -> int:
        """Nanoseconds until nothing counts any more, exact."""

    @property
    def quota(self) -> int:
        """Which of the limiter's quotas this decision names, from 0: when refused the one to wait for longest, else
        the one with the least remaining.
        """

    def __bool__(self) -> bool: ...

@final
class ManualClock:
    """A clock that moves only when told: for tests.

    It starts at zero, which is the Unix epoch, and stops at 2**64-1 nanoseconds. Limiters that were given the same
    clock share its time. Times are seconds (int or float, rounded up to nanoseconds) or a timedelta.
    """

    def __new__(cls) -> ManualClock: ...
    def advance(self, seconds: _Seconds) -> None:
        """Moves the clock on.

        Raises ConfigError for negative or non-finite seconds.
        """

    def advance_ns(self, ns: SupportsIndex) -> None:
        """Moves the clock on by whole nanoseconds."""

    def set(self, seconds: _Seconds) -> None:
        """Sets the time, as a machine's clock is set: a step back counts as no time, and progress from there counts
        again.

        Raises ConfigError for negative or non-finite seconds.
        """

    def set_ns(self, ns: SupportsIndex) -> None:
        """Sets the time in whole nanoseconds, as set() does."""

    @property
    def now_ns(self) -> int:
        """The clock's time in nanoseconds, which never goes back."""

@final
class RateLimiter:
    """Decides whether work may go ahead, by one or several quotas that all must admit.

    quotas: a Quota, its text ("100/s burst 20", several joined by ";"), or a list of 1 to 16 of them.
    max_waiters: how many may wait at once, 0 to 2**32-2; None for no such limit. Who comes then gets QueueFull.
    clock: a ManualClock, for tests; the machine's monotonic clock where it is None. The first limiter of a process on
    that clock may take up to 200 ms to build, once: it calibrates the clock.

    `with limiter:` and `async with limiter:` wait for one token, and yield None.

    Every method may be called from any thread at once; each decision is one atomic step. Nobody is admitted past those
    who wait in acquire(). A cost is a number of tokens, 1 to 2**53-1. A wrong value raises ConfigError (a ValueError),
    a wrong type TypeError; nothing is taken then. In the child of a fork nobody waits, and what is used stays used.
    """

    def __new__(
        cls, quotas: _Quotas, *, max_waiters: SupportsIndex | None = None, clock: ManualClock | None = None
    ) -> RateLimiter: ...
    def try_acquire(self, cost: SupportsIndex = 1) -> bool:
        """Takes cost tokens if all can be had now, and tells whether it did. The fastest way to ask."""

    def decide(self, cost: SupportsIndex = 1) -> Decision:
        """Takes cost tokens if all can be had now, and tells the figures."""

    def peek(self, cost: SupportsIndex = 1) -> Decision:
        """What decide() would answer now, spending nothing; remaining is what is unspent."""

    def refund(self, decision: Decision) -> None:
        """Gives back what a decision took, as far as no bound is broken: a window takes it back only while it
        lasts, gcra only what has not come back by itself.

        Raises ConfigError if the decision granted nothing, was refunded before, is another limiter's, or is a copy.
        """

    def reset(self) -> None:
        """Makes everything unspent again. Decisions from before can no longer be refunded to any effect."""

    def reconfigure(self, quotas: _Quotas) -> None:
        """Changes limits, periods and bursts while in use, from the next call on. What is used stays used.

        Raises ConfigError if a quota is wrong, or the number of quotas, an algorithm or an anchor is not as before.
        """

    def acquire(self, cost: SupportsIndex = 1, timeout: _Seconds | None = None) -> None:
        """Takes cost tokens, waiting for its turn: first come, first served. They are charged when they are due, not
        before. Other threads run meanwhile, and signals are noticed.

        timeout: seconds to wait at most (int, float or timedelta); None for ever, 0 to try once. A wait that would take
        longer doesn't begin.

        Raises TimedOut (a TimeoutError), QueueFull or ExceedsCapacity, all Refused, with figures, and RuntimeError if
        it had to wait where an event loop runs on this thread; nothing is taken then.
        """

    def acquire_async(self, cost: SupportsIndex = 1, timeout: _Seconds | None = None) -> Coroutine[Any, Any, None]:
        """acquire() as a coroutine, for asyncio, on any loop: a task that waits blocks no other. Cancelling it leaves
        the queue.
        """

    def _begin(self, make_turn: type[Turn], _key: None, cost: int, timeout_ns: int | None) -> Wait | None:
        """Takes at once, or begins to wait as what make_turn makes: what acquire_async() does."""

    def reserve(self, cost: SupportsIndex = 1, max_wait: _Seconds | None = None) -> Reservation:
        """Charges cost now, for use as soon as it is due, for who has a scheduler of its own. For gcra with one quota.

        max_wait: seconds until it is due at most (int, float or timedelta); None for any time.

        Raises TimedOut if it would be due later, or somebody waits already, and ExceedsCapacity; ConfigError for other
        quotas. Nothing is charged then.
        """

    def guard(self, cost: SupportsIndex = 1, timeout: _Seconds | None = 0) -> Callable[[_F], _F]:
        """Makes a decorator: the function's body runs once cost tokens were had.

        timeout: seconds to wait for them at most: 0 to be refused at once, None to wait for ever. Functions wait as
        acquire() does, async ones as acquire_async() does.

        For functions, async functions, generators, async generators and methods. Raises Refused if they can't be had,
        as acquire() does; ExceedsCapacity, a Refused, where cost is more than fits at once. With a timeout of 0 the
        exception's decision has the figures.
        """

    def _admit(self, cost: int, _timeout: float) -> None:
        """Takes cost tokens or raises Refused: what a guard with a timeout of 0 does."""

    def __enter__(self) -> None: ...
    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None, /
    ) -> None:
        """Nothing: tokens come back by themselves."""

    def __aenter__(self) -> Awaitable[None]: ...
    def __aexit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None, /
    ) -> Awaitable[None]:
        """Nothing: tokens come back by themselves."""

    @property
    def waiting(self) -> int:
        """How many wait."""

    @property
    def quotas(self) -> tuple[Quota, ...]:
        """The quotas, in the order of the list."""

    @property
    def quota(self) -> Quota:
        """The quota; the first one where there are several."""

    def stats(self) -> RateStats:
        """What was allowed and denied since the limiter was built, in calls."""

@final
class KeyedRateLimiter:
    """Decides for each key on its own whether work may go ahead, in memory that doesn't grow.

    quotas: a Quota, its text ("100/s burst 20", several joined by ";"), or a list of 1 to 16 of them: what each key
    may use. All algorithms but sliding_log.
    max_keys: for how many keys that owe something at once there is room, 1 to 2**32. Each takes 40 bytes a quota.
    when_full: what becomes of a new key that finds no room. "evict": the key that owes the smallest share of its quota
    is forgotten, and starts afresh when it comes again. "deny_new": the new key is refused, as "keys_full".
    max_waiters: how many may wait for each key at once, 0 to 2**32-2; None for no such limit. Who comes then gets
    QueueFull.
    track_denied: of how many keys refusals are counted, by name, for top_denied(); 0 to 65,536.
    clock: a ManualClock, for tests; the machine's monotonic clock where it is None. The first limiter of a process on
    that clock may take up to 200 ms to build, once: it calibrates the clock.

    A key is a str (its UTF-8 counts) or bytes, of any length: an address, a user, a path. key_of() joins several parts
    to one, ip_key() shortens addresses. Keys are not stored, and one that owes nothing takes no room.

    Every method may be called from any thread at once; each decision is one atomic step. Nobody is admitted past those
    who wait for the same key in acquire(). A cost is a number of tokens, 1 to 2**53-1. A wrong value raises ConfigError
    (a ValueError), a wrong type TypeError; nothing is taken then. In the child of a fork nobody waits, and what is used
    stays used.
    """

    def __new__(
        cls,
        quotas: _Quotas,
        *,
        max_keys: SupportsIndex = 100_000,
        when_full: _WhenFull = "evict",
        max_waiters: SupportsIndex | None = None,
        track_denied: SupportsIndex = 0,
        clock: ManualClock | None = None,
    ) -> KeyedRateLimiter: ...
    def try_acquire(self, key: _Key, cost: SupportsIndex = 1) -> bool:
        """Takes cost tokens of the key if all can be had now, and tells whether it did. The fastest way to ask."""

    def try_acquire_many(self, keys: Iterable[_Key], cost: SupportsIndex = 1) -> list[bool]:
        """try_acquire() for many keys, one after the other, in one call; a key may occur more than once. Tells of each
        whether its tokens were taken.
        """

    def decide(self, key: _Key, cost: SupportsIndex = 1) -> Decision:
        """Takes cost tokens of the key if all can be had now, and tells the figures."""

    def peek(self, key: _Key, cost: SupportsIndex = 1) -> Decision:
        """What decide() would answer now, spending nothing; remaining is what is unspent."""

    def refund(self, key: _Key, decision: Decision) -> None:
        """Gives back what a decision took from the key, as far as no bound is broken: a window takes it back only
        while it lasts, gcra only what has not come back by itself. Without effect once the key was evicted.

        Raises ConfigError if the decision granted nothing, was refunded before, is another limiter's or key's, or is a
        copy.
        """

    def reset(self, key: _Key) -> None:
        """Makes everything of the key unspent again. Its decisions from before can no longer be refunded to any
        effect.
        """

    def reconfigure(self, quotas: _Quotas) -> None:
        """Changes limits, periods and bursts of all keys without quotas of their own while in use, from the next call
        on. What is used stays used. Takes time in proportion to max_keys.

        Raises ConfigError if a quota is wrong, or the number of quotas, an algorithm or an anchor is not as before.
        """

    def set_quota(self, key: _Key, quotas: _Quotas) -> None:
        """Gives the key quotas of its own in place of the limiter's, from the next call on, and a place of its own: it
        is never evicted, nor refused as "keys_full". What is used stays used. At most 65,536 keys have some; others pay
        nothing for it.

        Raises ConfigError if a quota is wrong, the number of quotas, an algorithm or an anchor is not as the limiter's,
        or too many keys have some.
        """

    def clear_quota(self, key: _Key) -> None:
        """Gives the key the limiter's quotas again; does nothing if it has none of its own. What is used stays used."""

    def top_denied(self, n: SupportsIndex) -> list[DeniedKey]:
        """The n keys that were refused most often, the most refused first; none without track_denied."""

    def acquire(self, key: _Key, cost: SupportsIndex = 1, timeout: _Seconds | None = None) -> None:
        """Takes cost tokens of the key, waiting for its turn: first come, first served, for each key. They are charged
        when they are due, not before. Other threads run meanwhile, and signals are noticed.

        timeout: seconds to wait at most (int, float or timedelta); None for ever, 0 to try once. A wait that would take
        longer doesn't begin.

        Raises TimedOut (a TimeoutError), QueueFull or ExceedsCapacity, all Refused, with figures, Refused itself if
        there is no room for a new key, and RuntimeError if it had to wait where an event loop runs on this thread;
        nothing is taken then.
        """

    def acquire_async(
        self, key: _Key, cost: SupportsIndex = 1, timeout: _Seconds | None = None
    ) -> Coroutine[Any, Any, None]:
        """acquire() as a coroutine, for asyncio, on any loop: a task that waits blocks no other. Cancelling it leaves
        the queue.
        """

    def _begin(self, make_turn: type[Turn], key: _Key, cost: int, timeout_ns: int | None) -> Wait | None:
        """Takes at once, or begins to wait as what make_turn makes: what acquire_async() does."""

    def reserve(self, key: _Key, cost: SupportsIndex = 1, max_wait: _Seconds | None = None) -> Reservation:
        """Charges cost of the key now, for use as soon as it is due, for who has a scheduler of its own. For gcra with
        one quota.

        max_wait: seconds until it is due at most (int, float or timedelta); None for any time.

        Raises TimedOut if it would be due later, or somebody waits for the key already, ExceedsCapacity, and Refused
        itself if there is no room for a new key; ConfigError for other quotas. Nothing is charged then.
        """

    def guard(
        self, *, key: _Key | Callable[..., _Key], cost: SupportsIndex = 1, timeout: _Seconds | None = 0
    ) -> Callable[[_F], _F]:
        """Makes a decorator: the function's body runs once cost tokens of the key were had.

        key: a str or bytes, or a function that is called with the arguments of each call and returns one. What it
        raises, the call raises.
        timeout: seconds to wait for them at most: 0 to be refused at once, None to wait for ever. Functions wait as
        acquire() does, async ones as acquire_async() does.

        For functions, async functions, generators, async generators and methods. Raises Refused if they can't be had,
        as acquire() does; ExceedsCapacity, a Refused, where cost is more than fits at once. With a timeout of 0 the
        exception's decision has the figures; its status is "keys_full" where a new key found no room.
        """

    def _admit(self, key: _Key, cost: int, _timeout: float) -> None:
        """Takes cost tokens of the key or raises Refused: what a guard with a timeout of 0 does."""

    def waiting(self, key: _Key) -> int:
        """How many wait for the key."""

    @property
    def quotas(self) -> tuple[Quota, ...]:
        """The quotas, in the order of the list."""

    @property
    def quota(self) -> Quota:
        """The quota; the first one where there are several."""

    @property
    def capacity(self) -> int:
        """For how many keys that owe something at once there is room: max_keys."""

    def stats(self) -> KeyedRateStats:
        """What was allowed and denied since it was built, in calls over all keys, and what its memory holds."""

    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...

@final
class Permit:
    """Permits held: given back once, by release() or at the end of a with block (async with does the same), on any
    thread.

    In such a block, an exception that leaves it counts as failed work (GeneratorExit doesn't: it only ends a generator
    early). One that is dropped while held is released, with a ResourceWarning.
    """

    @property
    def permits(self) -> int:
        """How many permits this holds, or held."""

    @property
    def released(self) -> bool:
        """Whether they were given back."""

    def release(self, ok: bool = True) -> None:
        """Gives the permits back; ok tells the statistics whether the work went well.

        Raises ConfigError if they were given back before, and Forked if the parent of this process took them.
        """

    def __enter__(self) -> Permit: ...
    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None, /
    ) -> None:
        """Gives the permits back, if release() didn't."""

    def __aenter__(self) -> Awaitable[Permit]: ...
    def __aexit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None, /
    ) -> Awaitable[None]:
        """Gives the permits back, if release() didn't."""

@final
class Reservation:
    """Tokens that are charged already, to be used from a fixed time on; reserve() makes them."""

    @property
    def wait(self) -> float:
        """Seconds from when it was reserved until it may be used; 0.0 if at once."""

    @property
    def wait_ns(self) -> int:
        """Nanoseconds from when it was reserved until it may be used, exact."""

    @property
    def due_ns(self) -> int:
        """From when on it may be used, in nanoseconds on the limiter's clock."""

    def cancel(self) -> bool:
        """Gives it back, unused. True if the tokens are credited: it isn't due yet, and nobody reserved after it; else
        somebody would have to be told another time than was promised.

        Raises ConfigError if it was cancelled before.
        """

@final
class Wait:
    """One task's place in a queue."""

    @property
    def turn(self) -> Turn:
        """What is told."""

    @property
    def over(self) -> bool:
        """Whether it waits no longer."""

    def poll(self) -> float | None:
        """After how many seconds to poll again; None if it will be told."""

    def leave(self) -> None:
        """Goes without what was asked for; what was granted goes back."""

    def outcome(self) -> Permit | None:
        """What was granted; raises if it was refused."""

@final
class ConcurrencyLimiter:
    """Lends at most limit permits at once.

    limit: 0 to 2**31-1; 0 refuses all, and who waits waits until it is raised.
    max_waiters: how many may wait at once, 0 to 2**32-2; None for no such limit. Who comes then gets QueueFull.
    track_hold_time: whether stats() tells how long permits are held, at the price of two clock readings each.
    clock: the clock of hold times and timeouts: a ManualClock, for tests, or None for the machine's monotonic clock.
    The first limiter of a process on that clock may take up to 200 ms to build, once: it calibrates the clock.

    `with limiter:` and `async with limiter:` wait for one permit, which they yield and hold. An exception that leaves
    the block counts as failed work in stats(). Blocks may be nested and overlap on threads, in tasks and in generators.

    Every method may be called from any thread at once. A wrong value raises ConfigError (a ValueError), a wrong type
    TypeError; nothing is taken then. In the child of a fork no permit is out and nobody waits: what the parent holds is
    the parent's.
    """

    def __new__(
        cls,
        limit: SupportsIndex,
        *,
        max_waiters: SupportsIndex | None = None,
        track_hold_time: bool = False,
        clock: ManualClock | None = None,
    ) -> ConcurrencyLimiter: ...
    def try_acquire(self, permits: SupportsIndex = 1) -> Permit | None:
        """Takes so many permits if all can be had now, and lends them as one Permit; None if not."""

    def acquire(self, permits: SupportsIndex = 1, timeout: _Seconds | None = None) -> Permit:
        """Takes so many permits, all at once, waiting for its turn: first come, first served. Other threads run
        meanwhile, and signals are noticed.

        timeout: seconds to wait at most (int, float or timedelta); None for ever, 0 to try once.

        Raises TimedOut (a TimeoutError), QueueFull, Closed or ExceedsCapacity, all Refused, with figures, and
        RuntimeError if it had to wait where an event loop runs on this thread; nothing is taken then.
        """

    def acquire_async(self, permits: SupportsIndex = 1, timeout: _Seconds | None = None) -> Coroutine[Any, Any, Permit]:
        """acquire() as a coroutine, for asyncio, on any loop: a task that waits blocks no other. Cancelling it leaves
        the queue.
        """

    def _begin(self, make_turn: type[Turn], _key: None, permits: int, timeout_ns: int | None) -> Wait | Permit:
        """Takes at once, or begins to wait as what make_turn makes: what acquire_async() does."""

    def guard(self, permits: SupportsIndex = 1, timeout: _Seconds | None = 0) -> Callable[[_F], _F]:
        """Makes a decorator: the function's body runs once so many permits were had, which are held until it ends; an
        exception that leaves it counts as failed work.

        timeout: seconds to wait for them at most: 0 to be refused at once, None to wait for ever. Functions wait as
        acquire() does, async ones as acquire_async() does.

        For functions, async functions, generators, async generators and methods. Raises Refused if they can't be had,
        as acquire() does; ExceedsCapacity, a Refused, where permits is more than the limit.
        """

    def _admit(self, permits: int, _timeout: float) -> Permit:
        """Takes permits or raises Refused: what a guard with a timeout of 0 does."""

    def _entered(self, frame: FrameType | None, permit: Permit) -> None:
        """Notes that a block of this frame holds the permit."""

    @property
    def limit(self) -> int:
        """How many permits may be out at once. Can be set at any time, and never waits: permits that are out stay
        out.
        """

    @limit.setter
    def limit(self, limit: SupportsIndex) -> None: ...
    @property
    def in_flight(self) -> int:
        """How many permits are out."""

    @property
    def available(self) -> int:
        """How many permits could be taken now; 0 while anybody waits, more are out than a lowered limit, or it is
        closed.
        """

    @property
    def waiting(self) -> int:
        """How many wait."""

    @property
    def closed(self) -> bool:
        """Whether close() was called."""

    def close(self) -> None:
        """Lends nothing any more, for ever: who waits and who comes gets Closed, and try_acquire() gives None. Permits
        that are out can be given back.
        """

    def stats(self) -> ConcurrencyStats:
        """What was allowed, denied and released since the limiter was built, in calls, and what is out now."""

    def __enter__(self) -> Permit: ...
    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None, /
    ) -> None:
        """Gives the block's permit back, if the block didn't."""

    def __aenter__(self) -> Awaitable[Permit]: ...
    def __aexit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None, /
    ) -> Awaitable[None]:
        """Gives the block's permit back, if the block didn't."""

@final
class KeyedConcurrencyLimiter:
    """Lends at most limit permits of each key at once, in memory that doesn't grow.

    limit: 0 to 2**31-1; 0 refuses all, and who waits waits until it is raised.
    max_keys: for how many keys with permits out, or that somebody waits for, there is room, 1 to 2**32. Each takes 40
    bytes.
    max_waiters: how many may wait for each key at once, 0 to 2**32-2; None for no such limit. Who comes then gets
    QueueFull.
    track_hold_time: whether stats() tells how long permits are held, at the price of two clock readings each.
    clock: the clock of hold times and timeouts: a ManualClock, for tests, or None for the machine's monotonic clock.
    The first limiter of a process on that clock may take up to 200 ms to build, once: it calibrates the clock.

    A key is a str (its UTF-8 counts) or bytes, of any length; key_of() joins several parts to one. Keys are not
    stored. A key with permits out keeps its place until they are back; a new key that finds no place is refused.

    Every method may be called from any thread at once. A wrong value raises ConfigError (a ValueError), a wrong type
    TypeError; nothing is taken then. In the child of a fork no permit is out and nobody waits: what the parent holds is
    the parent's.
    """

    def __new__(
        cls,
        limit: SupportsIndex,
        *,
        max_keys: SupportsIndex = 100_000,
        max_waiters: SupportsIndex | None = None,
        track_hold_time: bool = False,
        clock: ManualClock | None = None,
    ) -> KeyedConcurrencyLimiter: ...
    def try_acquire(self, key: _Key, permits: SupportsIndex = 1) -> Permit | None:
        """Takes so many permits of the key if all can be had now, and lends them as one Permit; None if not."""

    def acquire(self, key: _Key, permits: SupportsIndex = 1, timeout: _Seconds | None = None) -> Permit:
        """Takes so many permits of the key, all at once, waiting for its turn: first come, first served, for each key.
        Other threads run meanwhile, and signals are noticed.

        timeout: seconds to wait at most (int, float or timedelta); None for ever, 0 to try once.

        Raises TimedOut (a TimeoutError), QueueFull, Closed or ExceedsCapacity, all Refused, with figures, Refused
        itself if there is no room for a new key, and RuntimeError if it had to wait where an event loop runs on this
        thread; nothing is taken then.
        """

    def acquire_async(
        self, key: _Key, permits: SupportsIndex = 1, timeout: _Seconds | None = None
    ) -> Coroutine[Any, Any, Permit]:
        """acquire() as a coroutine, for asyncio, on any loop: a task that waits blocks no other. Cancelling it leaves
        the queue.
        """

    def _begin(self, make_turn: type[Turn], key: _Key, permits: int, timeout_ns: int | None) -> Wait | Permit:
        """Takes at once, or begins to wait as what make_turn makes: what acquire_async() does."""

    def guard(
        self, *, key: _Key | Callable[..., _Key], permits: SupportsIndex = 1, timeout: _Seconds | None = 0
    ) -> Callable[[_F], _F]:
        """Makes a decorator: the function's body runs once so many permits of the key were had, which are held until it
        ends; an exception that leaves it counts as failed work.

        key: a str or bytes, or a function that is called with the arguments of each call and returns one. What it
        raises, the call raises.
        timeout: seconds to wait for them at most: 0 to be refused at once, None to wait for ever. Functions wait as
        acquire() does, async ones as acquire_async() does.

        For functions, async functions, generators, async generators and methods. Raises Refused if they can't be had,
        as acquire() does; ExceedsCapacity, a Refused, where permits is more than the limit.
        """

    def _admit(self, key: _Key, permits: int, _timeout: float) -> Permit:
        """Takes permits of the key or raises Refused: what a guard with a timeout of 0 does."""

    @property
    def limit(self) -> int:
        """How many permits of each key may be out at once. Can be set at any time, and never waits: permits that are
        out stay out.
        """

    @limit.setter
    def limit(self, limit: SupportsIndex) -> None: ...
    def in_flight(self, key: _Key) -> int:
        """How many permits of the key are out."""

    def available(self, key: _Key) -> int:
        """How many permits of the key could be taken now, if there is room for it; 0 while anybody waits for it, more
        are out than a lowered limit, or it is closed.
        """

    def waiting(self, key: _Key) -> int:
        """How many wait for the key."""

    @property
    def closed(self) -> bool:
        """Whether close() was called."""

    def close(self) -> None:
        """Lends nothing any more, of any key, for ever: who waits and who comes gets Closed, and try_acquire() gives
        None. Permits that are out can be given back.
        """

    @property
    def capacity(self) -> int:
        """For how many keys with permits out there is room: max_keys."""

    def stats(self) -> KeyedConcurrencyStats:
        """What was allowed, denied and released since the limiter was built, in calls, over all keys, and what is out
        now. Takes time in proportion to max_keys.
        """

def key_of(*parts: _Key) -> bytes:
    """One key of several parts, each a str or bytes, such that other parts never make the same key.

    key_of("a", "b/c") and key_of("a/b", "c") differ: each part is preceded by its length. The same in every language.
    """

def ip_key(address: str, prefix: SupportsIndex | None = None) -> bytes:
    """The key of a network address that is written as text: its bytes, four or sixteen, with all bits behind the
    prefix zero.

    prefix: the leading bits that count; where it is None, all 32 of IPv4 and 64 of IPv6, since whoever has one address
    of a /64 has them all. IPv4 written as IPv6 ("::ffff:203.0.113.7") is the IPv4 address. The same in every language.

    Raises ConfigError if the address is none, or the prefix is longer than it.
    """

@final
class Gate:
    """Admits requests by named rules, which can be changed while it is in use: all rules that match a request must
    admit it, and if one refuses, nothing is taken.

    rules: what a rule file holds, as its text or as Python values: a list of rules, each a dict, or a dict with "rules"
    and perhaps "show_keys". A text is in the format "toml", "json" or "yaml".
    clock: the clock of quotas and waits: a ManualClock, for tests, or None for the machine's monotonic clock. The first
    limiter of a process on that clock may take up to 200 ms to build, once: it calibrates the clock.

    A request is its attributes, by name: str or bytes, or None for one that it doesn't have; path="/search", or in a
    dict. Which there are is up to rules and callers.

    Every method may be called from any thread at once. Raises RulesError with all that is wrong with rules, and
    ConfigError (a ValueError) or TypeError for a wrong argument; nothing is taken then. In the child of a fork nobody
    waits, and entries of the parent are the parent's.
    """

    def __new__(cls, rules: _Rules, format: _Format = "toml", *, clock: ManualClock | None = None) -> Gate: ...
    @classmethod
    def open(cls, path: str | PathLike[str], *, watch: bool = False, clock: ManualClock | None = None) -> Gate:
        """A gate with the rules of a file, whose name ends in .toml, .json, .yaml or .yml.

        watch: whether it is read again whenever it changes, as by watch_file().
        """

    def enter(
        self,
        attributes: _Attributes | None = None,
        /,
        *,
        cost: SupportsIndex = 1,
        timeout: _Seconds | None = None,
        **more: _Value,
    ) -> Entry:
        """Admits a request, as an Entry that holds what its rules gave until it is released: `with
        gate.enter(path="/search"):`. A rule that says so makes it wait, on this thread. Other threads run meanwhile,
        and signals are noticed.

        cost: what the request costs, which rules may multiply: 1 to 2**53-1.
        timeout: seconds to wait at most in all (int, float or timedelta); 0 never waits; None waits for as long as the
        rules say. An attribute of one of these names is given in a dict.

        Raises GateRefused if a rule refuses, and RuntimeError if it had to wait where an event loop runs on this
        thread; nothing is taken then. A request to which no rule applies is admitted: entry.applies tells.
        """

    def try_enter(
        self,
        attributes: _Attributes | None = None,
        /,
        *,
        cost: SupportsIndex = 1,
        timeout: _Seconds | None = None,
        **more: _Value,
    ) -> Entry | Refusal:
        """enter() that gives a Refusal, which is false, where enter() would raise it: `if entry :=
        gate.try_enter(...):`.
        """

    def enter_async(
        self,
        attributes: _Attributes | None = None,
        /,
        *,
        cost: SupportsIndex = 1,
        timeout: _Seconds | None = None,
        **more: _Value,
    ) -> EnterAsync:
        """enter() for asyncio, on any loop: `async with gate.enter_async(path="/search") as entry:`, or `entry = await
        gate.enter_async(...)`. A task that waits blocks no other; cancelling it gives all back.
        """

    def _begin(
        self, make_turn: type[Turn], attributes: Mapping[str, Any], cost: int, timeout: _Seconds | None
    ) -> Entry | Refusal | Entering:
        """Enters or is refused at once, or begins to wait as what make_turn makes: what enter_async() does."""

    def _asgi_door(self, make_turn: type[Turn], timeout: _Seconds | None, legacy_headers: bool) -> AsgiDoor:
        """What asks this gate about requests over ASGI, for middleware whose arguments these are."""

    def guard(
        self,
        attributes: _Attributes | Callable[..., _Attributes] | None = None,
        /,
        *,
        cost: SupportsIndex = 1,
        timeout: _Seconds | None = None,
        **more: _Value,
    ) -> Callable[[_F], _F]:
        """Makes a decorator: the function's body runs once the request was admitted, and what that took is held until
        it ends; an exception that leaves it counts as failed work.

        attributes: of each call; or a function that is called with the arguments of each call and returns them, as a
        dict. What it raises, the call raises.
        timeout: as in enter(). Functions wait as enter() does, async ones as enter_async() does.

        For functions, async functions, generators, async generators and methods. Raises GateRefused as enter() does.
        """

    def explain(
        self, attributes: _Attributes | None = None, /, *, cost: SupportsIndex = 1, **more: _Value
    ) -> Explanation:
        """What each rule says to a request, and why; spends nothing. As lines of text: str()."""

    def reload(self, rules: _Rules, format: _Format = "toml") -> Reloaded:
        """Puts other rules in the place of those in use, and tells what that did. A rule that keeps its name keeps what
        is used, unless it becomes one of another kind; entries of one that is gone keep what they hold until they are
        released.

        Raises RulesError with all that is wrong; nothing changes then.
        """

    def reload_file(self, path: str | PathLike[str]) -> Reloaded:
        """reload() with the rules of a file, whose name ends in .toml, .json, .yaml or .yml."""

    @property
    def rules(self) -> dict[str, Any]:
        """The rules in use, as a rule file would hold them: a dict with "show_keys" and "rules"."""

    def stats(self) -> GateStats:
        """What was admitted and refused since the gate was built, in all and by rule."""

    def events(self) -> Events:
        """The events from now on, for who takes them on a thread of their own: an iterator that waits for each. One
        listens at a time: whoever did before gets no more.
        """

    def listen(self, callback: Callable[[GateEvent], object] | None) -> None:
        """Calls the callback with each event from now on, on a daemon thread of its own, until the gate is gone or
        another listens. One that fails is called with the next event all the same; what it raised is logged. None:
        nobody listens any more.
        """

    def watch_file(self, path: str | PathLike[str]) -> Watch:
        """Reads the rules of a file, as reload_file() does, and again whenever it changes: in place, by a rename, or
        when a link to it leads elsewhere, as those of Kubernetes do; seen at once where the file system tells, and
        within 30 s everywhere. What is wrong then is told as the event reload_failed; the last good rules stay. Goes on
        until stop() or the end of the gate, off the threads of requests; not in the child of a fork: call it there
        again.

        Raises RulesError if the file is wrong now, or can't be read.
        """

    def pull(self, source: Callable[[], _Rules | None], every: _Seconds = 5.0, format: _Format = "toml") -> Pull:
        """Calls the function now and about every so many seconds, on a daemon thread of its own, and puts the rules
        that it returns, as reload() takes them, in the place of those in use: for a database, or whatever can be asked.
        None means that nothing is new. When it raises, or what it returns is wrong, that is told as the event
        reload_failed, once; the last good rules stay. Goes on until stop() or the end of the gate; not in the child of
        a fork: call it there again.
        """

    def _reload_failed(self, told: str) -> None:
        """Tells that rules couldn't be had from a source."""

@final
class Watch:
    """Keeps a gate's rules as a file has them, until stop() or the end of the gate."""

    def stop(self) -> None:
        """From here on the rules stay as they are."""

@final
class Entry:
    """A request that was admitted, and what it holds: given back once, by release() or at the end of a with block
    (async with does the same), on any thread or task.

    In such a block, an exception that leaves it counts as failed work (GeneratorExit doesn't: it only ends a generator
    early). One that is dropped unreleased is released, with a ResourceWarning.
    """

    @property
    def applies(self) -> bool:
        """Whether a rule applies to the request; if none does, it is admitted all the same."""

    @property
    def status(self) -> Literal["allowed", "no_rule"]:
        """ "allowed", or "no_rule" if none applies."""

    @property
    def released(self) -> bool:
        """Whether it was released."""

    @property
    def rules(self) -> tuple[str, ...]:
        """The names of the rules that gave something, while it is held."""

    def headers(self, *, legacy: bool = False) -> dict[str, str]:
        """The headers that an HTTP response has by it, such as RateLimit; while it is held.

        legacy: X-RateLimit-Limit, -Remaining and -Reset too, of the quota with the least remaining; the last is a Unix
        time.
        """

    def _raw_headers(self, legacy: bool) -> list[tuple[bytes, bytes]]:
        """Likewise, as ASGI has them."""

    def _holds_permits(self) -> bool:
        """Whether its release gives something back."""

    def release(self, ok: bool = True) -> None:
        """Gives back what it holds; ok tells the statistics whether the work went well.

        Raises ConfigError if it was released before.
        """

    def _end(self, ok: bool) -> None:
        """Gives back what it holds, if that wasn't done before."""

    def __enter__(self) -> Entry: ...
    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None, /
    ) -> None:
        """Gives back what it holds, if release() didn't."""

    def __aenter__(self) -> Awaitable[Entry]: ...
    def __aexit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None, /
    ) -> Awaitable[None]:
        """Gives back what it holds, if release() didn't."""

@final
class Refusal:
    """Why a request was not admitted, and by which rule; false. Nothing was taken.

    If several rules refuse, it is of the one that has to be waited for longest. Times are in seconds, rounded up; the
    exact figures are those that end in _ns. str() is a line for people.
    """

    @property
    def rule(self) -> str:
        """The rule's name."""

    @property
    def key(self) -> str | None:
        """Whose budget it is: the key's value, or several joined by ", ", at most 100 characters; or, unless the rules
        say show_keys, "#" and 16 hexadecimal digits that stand for it in this process. None if the rule has no key.
        """

    @property
    def status(self) -> str:
        """ "denied" (not now), "exceeds_capacity" (never: the cost is more than fits at once) or "keys_full" (no room
        for a new key); after a wait "timed_out" or "queue_full".
        """

    @property
    def limit(self) -> int:
        """Tokens per period, or permits at once."""

    @property
    def remaining(self) -> int:
        """Tokens or permits that could be taken."""

    @property
    def quota(self) -> Quota | None:
        """The quota that refused; None if it was a limit of permits."""

    @property
    def retry_after(self) -> float | None:
        """Seconds until the same request would be admitted by the rule, if nobody else asks; math.inf for never; None
        if that depends on others that are inside.
        """

    @property
    def retry_after_ns(self) -> int | None:
        """Nanoseconds until then, exact; None for never, or if that depends on others."""

    @property
    def retry_after_seconds(self) -> int | None:
        """Whole seconds until then, at least 1, as the header Retry-After has them; None for never, or if that depends
        on others: leave the header out then.
        """

    @property
    def in_flight(self) -> int | None:
        """How many are inside; None if it was a quota."""

    @property
    def waiting(self) -> int:
        """How many wait."""

    @property
    def elapsed(self) -> float:
        """Seconds that it waited."""

    @property
    def timeout(self) -> float | None:
        """Seconds that it would have waited at most: the call's timeout; None if it had none."""

    def headers(self, *, legacy: bool = False) -> dict[str, str]:
        """The headers that an HTTP response of status 429 has by it: Retry-After, RateLimit-Policy and RateLimit, those
        that apply.

        legacy: X-RateLimit-Limit, -Remaining and -Reset too; the last is a Unix time.
        """

    def _raw_headers(self, legacy: bool) -> list[tuple[bytes, bytes]]:
        """Likewise, as ASGI has them."""

    def problem_json(self) -> str:
        """The body of that response, of the media type application/problem+json (RFC 9457)."""

    def __bool__(self) -> Literal[False]: ...

@final
class Events:
    """The events of a gate, in order: an iterator that waits for each, until the gate is gone or another listens. 1,024
    events wait to be taken; those that find no room are dropped.
    """

    def get(self, timeout: _Seconds | None = None) -> GateEvent | None:
        """The next event; None if none came within so many seconds (int, float or timedelta), or none will; None waits
        for ever.
        """

    @property
    def dropped(self) -> int:
        """How many events found no room, since nobody took those before."""

    def __iter__(self) -> Events: ...
    def __next__(self) -> GateEvent: ...

@final
class AsgiDoor:
    """The way into a gate for requests over ASGI, whose peers are the clients."""

    def ask(self, scope: Mapping[str, Any]) -> Entry | list[tuple[bytes, bytes]] | Refusal | Entering:
        """What Gate._begin() does, of an HTTP request by its scope. Who is admitted and holds no permits has nothing to
        release: in place of an Entry there are only its _raw_headers().
        """

@final
class Entering:
    """One task's request."""

    @property
    def turn(self) -> Turn:
        """What is told."""

    @property
    def over(self) -> bool:
        """Whether it waits no longer."""

    def poll(self) -> float | None:
        """After how many seconds to poll again; None if it will be told."""

    def leave(self) -> None:
        """Goes without what was asked for; what it got goes back."""

    def outcome(self) -> Entry | Refusal:
        """What became of it: an Entry or a Refusal."""
