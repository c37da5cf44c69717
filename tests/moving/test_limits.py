"""Settings of limits, in their memory storage, and what the page puts in their place, on the same calls."""

import asyncio
import functools
import random

import limits.aio.storage
import limits.aio.strategies
import limits.storage
import limits.strategies
import pytest
import tidegate
from limits import parse
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter
from pages import Page

PAGE = Page("limits")
TEN = parse("10/minute")


@pytest.fixture
def ours(clock):
    """Evaluates code of the second cell."""
    names = {
        "Quota": tidegate.Quota,
        "key_of": tidegate.key_of,
        "RateLimiter": functools.partial(tidegate.RateLimiter, clock=clock.ours),
        "KeyedRateLimiter": functools.partial(tidegate.KeyedRateLimiter, clock=clock.ours),
    }
    return lambda code, **more: eval(code, {**names, **more})


def theirs(code, **more):
    """Evaluates code of the first cell."""
    return eval(code, {**vars(limits), **vars(limits.storage), **vars(limits.strategies), **more})


@pytest.fixture
def per_user(ours):
    """A limiter of each, with the same budget."""
    return FixedWindowRateLimiter(MemoryStorage()), ours('KeyedRateLimiter("10/minute fixed_window")')


def assert_the_same(clock, period, one, other, keys=("ann", "bob")):
    """Both admit the same of some hundred calls at random times, and refuse some of them."""
    choose = random.Random(1)
    answers = []
    for _ in range(300):
        clock.advance(choose.choice((0, 0, 0, period / 64, period / 8)))
        key = choose.choice(keys)
        answers.append((one(key), bool(other(key))))
    assert set(answers) == {(True, True), (False, False)}


def test_both_programs_say_the_same(tmp_path, capsys):
    said = []
    for block in (0, 1):
        PAGE.load(block, tmp_path)
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert said[0].count("go ahead") == 11


@PAGE.row("`FixedWindowRateLimiter`")
def test_a_fixed_window_admits_the_same_but_a_refusal_takes_nothing(row, clock, ours):
    peer, limiter = theirs(row.theirs[0])(MemoryStorage()), ours(row.ours[0])
    assert_the_same(clock, 60, lambda key: peer.hit(TEN, key), limiter.try_acquire)
    for admitted, cost in ((True, 8), (False, 5)):
        assert peer.hit(TEN, "eve", cost=cost) is limiter.try_acquire("eve", cost) is admitted
    assert (peer.hit(TEN, "eve", cost=2), limiter.try_acquire("eve", 2)) == (False, True)


@PAGE.row("`MovingWindowRateLimiter`")
def test_a_log_admits_the_same_but_for_the_instant_in_which_a_hit_is_over(row, clock, ours):
    peer, limiter = theirs(row.theirs[0])(MemoryStorage()), ours(row.ours[0])
    choose = random.Random(2)
    for _ in range(300):
        # Never a whole number of seconds after another: in that instant they differ.
        clock.advance(choose.choice((0, 0, 1, 7)) + 2**-20)
        assert peer.hit(TEN, "") is limiter.try_acquire()
    clock.advance(1000)
    assert peer.hit(TEN, "", cost=10)
    assert limiter.try_acquire(10)
    clock.advance(60)
    assert (peer.hit(TEN, ""), limiter.try_acquire()) == (False, True)
    with pytest.raises(tidegate.ConfigError):
        ours(row.ours[0].replace("RateLimiter", "KeyedRateLimiter"))


@PAGE.row("`MovingWindowRateLimiter`, with keys")
def test_what_stands_for_the_log_of_a_key_never_admits_what_the_log_would_not(row, clock, ours):
    peer, limiter = theirs(row.theirs[0])(MemoryStorage()), ours(row.ours[0])
    assert [limiter.try_acquire("bob") for _ in range(6)] == [True] * 5 + [False]
    choose = random.Random(3)
    for _ in range(1000):
        clock.advance(choose.choice((0, 0, 1, 4, 12, 30)))
        if limiter.try_acquire("ann"):
            assert peer.hit(TEN, "ann")


@PAGE.row("`SlidingWindowCounterRateLimiter`")
def test_an_estimate_isnt_rounded_down(row, clock, ours):
    peer, limiter = theirs(row.theirs[0])(MemoryStorage()), ours(row.ours[0])
    clock.advance(-clock.seconds % 60 + 59)
    assert peer.hit(TEN, "ann", cost=10)
    assert limiter.try_acquire("ann", 10)
    clock.advance(1.125)
    assert (peer.test(TEN, "ann"), limiter.try_acquire("ann")) == (True, False)
    assert limiter.peek("ann").retry_after == 6 - 0.125
    clock.advance(6 - 0.125)
    assert limiter.try_acquire("ann")


@PAGE.row('`parse("10/minute")`', '`parse("5/month")`', "`RateLimitItemPerMinute(10, 2)`")
def test_a_quota_is_the_same(row, clock, ours):
    assert len(row.theirs) == len(row.ours)
    for their, our in zip(row.theirs, row.ours, strict=True):
        peer, item, quota = FixedWindowRateLimiter(MemoryStorage()), theirs(their), ours(our)
        limiter = ours("KeyedRateLimiter(quota)", quota=quota)
        assert limiter.quota.per == item.get_expiry()
        assert_the_same(
            clock, item.get_expiry(), lambda key, peer=peer, item=item: peer.hit(item, key), limiter.try_acquire
        )


def test_a_month_and_730_days_are_the_ends_of_what_can_be_said():
    tidegate.Quota.parse("5/730 days")
    for text in ("5/731 days", "5/month", "5/year"):
        with pytest.raises(tidegate.ConfigError):
            tidegate.Quota.parse(text)


@PAGE.row("`parse_many(")
def test_of_several_quotas_none_is_charged_where_one_refuses(row, clock, ours):
    items, text = theirs(row.theirs[0]), ours(row.ours[0])
    peer, limiter = FixedWindowRateLimiter(MemoryStorage()), ours("KeyedRateLimiter(text)", text=text)
    assert [(quota.limit, quota.per) for quota in limiter.quotas] == [
        (item.amount, item.get_expiry()) for item in items
    ]

    def hit(key):
        return all(peer.hit(item, key) for item in items)

    assert [hit("ann") for _ in range(4)] == [limiter.try_acquire("ann") for _ in range(4)] == [True] * 3 + [False]
    for _ in range(2):
        clock.advance(1)
        assert [hit("ann") for _ in range(3)] == [True] * 3
        assert [limiter.try_acquire("ann") for _ in range(3)] == [True] * 3
    # The fourth of the first second was charged to the minute there, which is used up by now.
    clock.advance(1)
    assert (hit("ann"), limiter.try_acquire("ann")) == (False, True)
    with pytest.raises(tidegate.ConfigError):
        ours("KeyedRateLimiter(text)", text=text.replace(";", ","))


@PAGE.row("`limiter.hit(item, key)`")
def test_a_hit_is_a_try(row, clock, per_user, ours):
    peer, limiter = per_user
    assert_the_same(
        clock,
        60,
        lambda key: theirs(row.theirs[0], limiter=peer, item=TEN, key=key),
        lambda key: ours(row.ours[0], limiter=limiter, key=key),
    )


@PAGE.row("`limiter.hit(item, key, cost=3)`")
def test_a_cost_is_taken(row, per_user, ours):
    peer, limiter = per_user
    for admitted in (True, True, True, False):
        assert theirs(row.theirs[0], limiter=peer, item=TEN, key="ann") is admitted
        assert ours(row.ours[0], limiter=limiter, key="ann") is admitted
    assert peer.hit(TEN, "bob", cost=11) is limiter.try_acquire("bob", 11) is False


@PAGE.row('`limiter.hit(item, "a", "b/c")`')
def test_keys_of_parts_are_not_mistaken_for_others(row, per_user, ours):
    peer, limiter = per_user
    for _ in range(10):
        assert theirs(row.theirs[0], limiter=peer, item=TEN)
        assert ours(row.ours[0], limiter=limiter)
    assert theirs(row.theirs[0], limiter=peer, item=TEN) is ours(row.ours[0], limiter=limiter) is False
    assert peer.hit(TEN, "a/b", "c") is False
    assert limiter.try_acquire(tidegate.key_of("a/b", "c"))


@PAGE.row("`limiter.test(", "`limiter.get_window_stats(item, key).remaining`")
def test_what_is_left_is_told_and_not_spent(row, per_user, ours):
    peer, limiter = per_user
    for _ in range(11):
        told = ours(row.ours[0], limiter=limiter, key="ann")
        assert theirs(row.theirs[0], limiter=peer, item=TEN, key="ann") == (
            told if isinstance(told, int) else bool(told)
        )
        assert peer.hit(TEN, "ann") is limiter.try_acquire("ann")
    assert not ours(row.ours[0], limiter=limiter, key="ann")


@PAGE.row("`limiter.get_window_stats(item, key).reset_time`")
def test_when_a_window_is_over_is_told_from_now(row, clock, per_user, ours):
    peer, limiter = per_user
    for _ in range(3):
        peer.hit(TEN, "ann")
        limiter.try_acquire("ann")
        clock.advance(7)
        reset_time = theirs(row.theirs[0], limiter=peer, item=TEN, key="ann")
        assert reset_time - clock.seconds == ours(row.ours[0], limiter=limiter, key="ann") > 0


@PAGE.row("`limiter.clear(")
def test_a_key_can_begin_anew(row, per_user, ours):
    peer, limiter = per_user
    assert peer.hit(TEN, "ann", cost=10)
    assert limiter.try_acquire("ann", 10)
    theirs(row.theirs[0], limiter=peer, item=TEN, key="ann")
    ours(row.ours[0], limiter=limiter, key="ann")
    assert peer.hit(TEN, "ann", cost=10)
    assert limiter.try_acquire("ann", 10)


@PAGE.row("`storage.reset()`")
def test_all_keys_begin_anew_by_a_new_limiter(row, per_user, ours):
    peer, limiter = per_user
    for key in ("ann", "bob"):
        assert peer.hit(TEN, key, cost=10)
        assert limiter.try_acquire(key, 10)
    theirs(row.theirs[0], storage=peer.storage)
    limiter = ours("KeyedRateLimiter(quotas)", quotas=limiter.quotas)
    for key in ("ann", "bob"):
        assert peer.hit(TEN, key, cost=10)
        assert limiter.try_acquire(key, 10)
    with pytest.raises(TypeError):
        limiter.reset()


@PAGE.row("`await limiter.hit(item, key)`")
def test_there_is_nothing_to_await(row, per_user, ours):
    peer = limits.aio.strategies.FixedWindowRateLimiter(limits.aio.storage.MemoryStorage())

    async def hits():
        return [
            await theirs(row.theirs[0].removeprefix("await "), limiter=peer, item=TEN, key="ann") for _ in range(11)
        ]

    _, limiter = per_user
    assert asyncio.run(hits()) == [ours(row.ours[0], limiter=limiter, key="ann") for _ in range(11)]


@PAGE.row("`MemoryStorage()`")
def test_memory_does_not_grow(row, ours):
    storage, limiter = theirs(row.theirs[0]), ours(row.ours[0])
    peer = FixedWindowRateLimiter(storage)
    for number in range(5000):
        assert peer.hit(TEN, f"{number}")
        assert limiter.try_acquire(f"{number}")
    assert len(storage.storage) == 5000
    assert limiter.capacity == 1000
    assert limiter.stats().evicted_live > 2000


@PAGE.row("`storage_from_string(")
def test_two_limiters_share_a_budget_only_where_there_is_a_storage(row, ours):
    storage = theirs(row.theirs[0])
    peers = [FixedWindowRateLimiter(storage) for _ in range(2)]
    limiters = [ours('KeyedRateLimiter("10/minute fixed_window")') for _ in range(2)]
    assert sum(peer.hit(TEN, "ann") for peer in peers for _ in range(10)) == 10
    assert sum(limiter.try_acquire("ann") for limiter in limiters for _ in range(10)) == 20


def test_each_row_is_tested():
    assert not PAGE.untested
