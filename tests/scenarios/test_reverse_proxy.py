"""limit_req: the rules of the page against a model of what a proxy does, at the same times."""

import asyncio
import random

import limit_req
import pytest
import tidegate
from limit_req import in_ns
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from tidegate.asgi import GateMiddleware
from waiters import Waiter, until
from web import get, served_by_uvicorn

PAGE = "reverse-proxy"
# The paths of the page, and their burst and delay.
LIMITS = {"/delay/": (20, 0), "/nodelay/": (20, 20), "/some/": (20, 8)}
PATHS = list(LIMITS)


def wanted(requests):
    return limit_req.wanted(requests, lambda path: limit_req.Zone(*LIMITS[path]))


def times_of(rules, requests):
    return limit_req.times_of(rules, requests, [at for at in wanted(requests) if at is not None])


@pytest.mark.parametrize(
    ("path", "times_s"),
    [
        ("/delay/", [*range(21), *[None] * 4]),
        ("/nodelay/", [*[0] * 21, *[None] * 4]),
        ("/some/", [*[0] * 9, *range(1, 13), *[None] * 4]),
    ],
)
def test_of_25_requests_at_once_these_go_ahead_at_these_times(page, path, times_s):
    requests = [(0, path, "203.0.113.7")] * 25
    assert wanted(requests) == [None if at is None else at * 1_000 for at in times_s]
    assert times_of(page.rules[0], requests) == in_ns(wanted(requests))


@pytest.mark.parametrize("seed", range(20))
def test_random_requests_of_several_addresses_go_ahead_when_the_proxys_do(page, seed):
    choose = random.Random(seed)
    now_ms, requests = 0, []
    for _ in range(40):
        now_ms += choose.choice((0, 1, choose.randrange(1_000), 1_000, choose.randrange(4_000)))
        path, client = choose.choice(PATHS), choose.choice(("203.0.113.7", "198.51.100.1"))
        requests += [(now_ms, path, client)] * choose.randrange(1, 16)
    times = wanted(requests)
    assert None in times
    assert times_of(page.rules[0], requests) == in_ns(times)


def test_a_delayed_request_whose_client_has_gone_gives_its_place_to_those_behind(page, clock):
    gate = tidegate.Gate(page.rules[0], clock=clock)

    async def run():
        entered = [asyncio.create_task(enter()) for _ in range(3)]
        await asyncio.sleep(0)
        entered[1].cancel()
        await asyncio.sleep(0)
        clock.advance(1)
        await asyncio.wait_for(entered[2], 20)

    async def enter():
        async with gate.enter_async(path="/delay/", client="203.0.113.7"):
            pass

    asyncio.run(run())
    assert clock.now_ns == 1_000_000_000


def test_in_front_of_an_application_the_middleware_delays_and_refuses_by_address(page, clock):
    gate = tidegate.Gate(page.rules[0], clock=clock)

    async def answer(request):
        return PlainTextResponse("go ahead")

    app = GateMiddleware(Starlette(routes=[Route("/delay/", answer)]), gate, trusted_hops=1)

    def waiting():
        return gate.stats().rules["delay"].waiting

    with served_by_uvicorn(app) as port:
        assert get(port, "/delay/", X_Forwarded_For="203.0.113.7").status == 200
        delayed = []
        for place in range(20):
            delayed.append(Waiter(get, port, "/delay/", X_Forwarded_For="203.0.113.7"))
            until(lambda place=place: waiting() == place + 1)
        refused = get(port, "/delay/", X_Forwarded_For="203.0.113.7")
        assert (refused.status, refused.json["rule"]) == (429, "delay")
        assert get(port, "/delay/", X_Forwarded_For="198.51.100.1").status == 200
        for left in range(20):
            assert waiting() == 20 - left
            clock.advance(1)
            assert delayed[left].join().status == 200
