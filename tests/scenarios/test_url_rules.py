"""Limits by URL: a FastAPI service behind its gate, over HTTP."""

import asyncio
import threading

import pytest
import tidegate
from waiters import Waiter, until
from web import get, served_by_uvicorn

PAGE = "url-rules"


class Work:
    """What the service's handlers do: they go on when told, and raise if told so."""

    def __init__(self):
        self.go = threading.Event()
        self.fails = False

    async def __call__(self, path):
        if self.fails:
            raise ZeroDivisionError
        # Not /nolimit, so that it can be asked while the others are held.
        while path != "nolimit" and not self.go.is_set():
            await asyncio.sleep(0.002)


@pytest.fixture
def work(page):
    page.code.work = Work()
    yield page.code.work
    page.code.work.go.set()


@pytest.fixture
def gate(page):
    return tidegate.Gate.open(page.file, watch=True)


def rule(gate, name="limit"):
    return gate.stats().rules[name]


def ask(port, path, count):
    return [Waiter(get, port, path) for _ in range(count)]


def ended(waiters):
    return [waiter for waiter in waiters if not waiter.is_waiting]


def test_each_pattern_has_a_limit_of_its_own(page, gate, work):
    limits = {"/limit": 4, "/reports/7": 2, "/assign/sso/user": 1}
    with served_by_uvicorn(page.code.service(gate)) as port:
        asked = {path: ask(port, path, limit + 2) for path, limit in limits.items()}
        until(lambda: all(len(ended(waiters)) == 2 for waiters in asked.values()))
        assert [rule(gate, name).in_flight for name in ("limit", "reports", "users")] == [4, 2, 1]
        work.go.set()
        for path, waiters in asked.items():
            assert sorted(waiter.join().status for waiter in waiters) == [200] * limits[path] + [429] * 2
    assert gate.explain(path="/reports/7/pages", method="GET").status == "no_rule"
    assert gate.explain(path="/assign/sso/user", method="POST").status == "no_rule"


def test_of_ten_requests_four_pass_and_six_are_told_limit_and_available_permits(page, gate, work):
    with served_by_uvicorn(page.code.service(gate)) as port:
        waiters = ask(port, "/limit", 10)
        until(lambda: len(ended(waiters)) == 6)
        for refused in (waiter.join() for waiter in ended(waiters)):
            assert refused.status == 429
            assert "limit: 4 permits, 0 available" in refused.json["detail"]
            told = [refused.json[member] for member in ("title", "status", "rule", "limit", "remaining")]
            assert told == ["Too Many Requests", 429, "limit", 4, 0]
        assert rule(gate).in_flight == 4
        untouched = [get(port, "/nolimit") for _ in range(10)]
        assert [response.status for response in untouched] == [200] * 10
        assert not any("RateLimit" in response.headers for response in untouched)
        assert gate.stats().unmatched == 10
        work.go.set()
        assert sorted(waiter.join().status for waiter in waiters) == [200] * 4 + [429] * 6
        until(lambda: rule(gate).in_flight == 0)


def test_a_permit_is_waited_for_50_ms_and_no_longer(page, clock, work):
    gate = tidegate.Gate(page.rules[0], clock=clock)
    with served_by_uvicorn(page.code.service(gate)) as port:
        inside = ask(port, "/limit", 4)
        until(lambda: rule(gate).in_flight == 4)
        held, page.code.work = page.code.work, Work()
        page.code.work.go.set()
        later = ask(port, "/limit", 6)
        until(lambda: rule(gate).waiting == 6)
        clock.advance(0.049_999_999)
        assert rule(gate).waiting == 6
        clock.advance_ns(1)
        assert [waiter.join().status for waiter in later] == [429] * 6
        third = Waiter(get, port, "/limit")
        until(lambda: rule(gate).waiting == 1)
        clock.advance(0.049)
        held.go.set()
        assert third.join().status == 200
        assert [waiter.join().status for waiter in inside] == [200] * 4


def test_permits_come_back_when_the_handler_raises(page, gate, work):
    work.fails = True
    with served_by_uvicorn(page.code.service(gate)) as port:
        assert [get(port, "/limit").status for _ in range(5)] == [500] * 5
        until(lambda: rule(gate).in_flight == 0)
        assert gate.stats().released_failed == 5
        work.fails = False
        work.go.set()
        assert get(port, "/limit").status == 200


def test_a_rule_that_is_added_while_it_runs_counts_from_the_next_request_on(page, gate, work):
    with served_by_uvicorn(page.code.service(gate)) as port:
        inside = ask(port, "/limit", 4)
        until(lambda: rule(gate).in_flight == 4)
        assert "RateLimit-Policy" not in get(port, "/nolimit").headers
        page.save(page.rules[0] + page.rules[1])
        until(lambda: "nolimit" in gate.stats().rules)
        assert rule(gate).in_flight == 4
        with gate.enter(path="/nolimit"):
            refused = get(port, "/nolimit")
            assert (refused.status, refused.json["rule"]) == (429, "nolimit")
        assert get(port, "/nolimit").status == 200
        work.go.set()
        assert [waiter.join().status for waiter in inside] == [200] * 4
