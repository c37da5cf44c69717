"""The ASGI middleware, in front of Starlette and FastAPI, served by uvicorn over HTTP."""

import asyncio
import contextlib
import time

import pytest
import websockets.exceptions
import websockets.sync.client
from fastapi import FastAPI, WebSocket
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route
from tidegate import Gate, ManualClock, Refusal
from tidegate._waiting import Turn
from tidegate.asgi import GateMiddleware
from waiters import Waiter, until
from web import get, opened, served_by_uvicorn

RULES = [
    {"name": "limit", "match": {"path": {"prefix": "/limit"}}, "concurrency": 4, "timeout": "50ms"},
    {"name": "search", "match": {"path": {"exact": "/search"}, "method": {"exact": "GET"}}, "key": "client"}
    | {"quota": "2/h"},
]


class Page:
    """Handlers that go on when told, and what they saw."""

    def __init__(self):
        self.go = asyncio.Event()
        self.loop = None
        self.ended = []

    async def plain(self, request):
        return PlainTextResponse("go ahead")

    async def held(self, request):
        self.loop = asyncio.get_running_loop()
        await self.go.wait()
        return PlainTextResponse("go ahead")

    async def failing(self, request):
        raise ZeroDivisionError

    async def unwell(self, request):
        return PlainTextResponse("unwell", 503)

    async def stream(self, request):
        self.loop = asyncio.get_running_loop()

        async def parts():
            try:
                yield "first"
                await self.go.wait()
                yield "last"
            finally:
                self.ended.append("stream")

        return StreamingResponse(parts())

    async def broken(self, request):
        async def parts():
            yield "first"
            raise ZeroDivisionError

        return StreamingResponse(parts())

    async def background(self, request):
        self.loop = asyncio.get_running_loop()
        return PlainTextResponse("go ahead", background=BackgroundTask(self.go.wait))

    def release(self):
        self.loop.call_soon_threadsafe(self.go.set)

    def routes(self):
        return [
            Route("/", self.plain),
            Route("/search", self.plain, methods=["GET", "POST"]),
            Route("/limit/plain", self.plain),
            Route("/limit/held", self.held),
            Route("/limit/failing", self.failing),
            Route("/limit/unwell", self.unwell),
            Route("/limit/stream", self.stream),
            Route("/limit/broken", self.broken),
            Route("/limit/background", self.background),
        ]


@pytest.fixture
def gate():
    it = Gate(RULES)
    yield it
    until(lambda: in_flight(it) == 0)


@pytest.fixture
def page():
    return Page()


@pytest.fixture(params=["h11", "httptools"])
def serve(request, page):
    """Serves the pages behind a gate."""

    def serve(gate, **options):
        app = Starlette(routes=page.routes(), middleware=[Middleware(GateMiddleware, gate, **options)])
        return served_by_uvicorn(app, http=request.param)

    return serve


def in_flight(gate):
    rule = gate.stats().rules.get("limit")
    return rule.in_flight if rule else 0


def test_an_admitted_response_has_the_headers_of_its_quota_and_a_refused_one_is_a_problem(gate, serve):
    with serve(gate) as port:
        first = get(port, "/search")
        assert (first.status, first.body) == (200, b"go ahead")
        assert first.headers["RateLimit-Policy"] == '"search";q=2;w=3600'
        assert first.headers["RateLimit"] == '"search";r=1;t=1800'
        assert "Retry-After" not in first.headers
        assert get(port, "/search").headers["RateLimit"] == '"search";r=0;t=3600'
        refused = get(port, "/search")
    assert refused.status == 429
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert 1_700 < int(refused.headers["Retry-After"]) <= 1_800
    assert refused.headers["RateLimit-Policy"] == '"search";q=2;w=3600'
    assert refused.headers["RateLimit"].startswith('"search";r=0;t=')
    assert refused.json["status"] == 429
    assert (refused.json["rule"], refused.json["limit"], refused.json["remaining"]) == ("search", 2, 0)


def test_what_no_rule_is_about_is_untouched(gate, serve):
    with serve(gate) as port:
        for _ in range(5):
            assert get(port, "/search", "POST").status == 200
            response = get(port)
            assert response.status == 200
            assert not any(name.lower().startswith(("ratelimit", "x-ratelimit")) for name in response.headers)
    assert gate.stats().unmatched == 10


def test_older_headers_come_by_option(gate, serve):
    with serve(gate, legacy_headers=True) as port:
        response = get(port, "/search")
        assert (response.headers["X-RateLimit-Limit"], response.headers["X-RateLimit-Remaining"]) == ("2", "1")
        assert abs(int(response.headers["X-RateLimit-Reset"]) - time.time() - 1_800) < 10
        get(port, "/search")
        refused = get(port, "/search")
        assert (refused.headers["X-RateLimit-Limit"], refused.headers["X-RateLimit-Remaining"]) == ("2", "0")
        assert abs(int(refused.headers["X-RateLimit-Reset"]) - time.time() - 1_800) < 10
        assert "X-RateLimit-Limit" not in get(port, "/limit/plain").headers


def test_ten_requests_at_four_permits_are_four_and_six(gate, serve, page):
    with serve(gate) as port:
        inside = [Waiter(get, port, "/limit/held") for _ in range(4)]
        until(lambda: in_flight(gate) == 4)
        refused = [Waiter(get, port, "/limit/held") for _ in range(6)]
        for waiter in refused:
            response = waiter.join()
            assert response.status == 429
            assert "4 permits, 0 available" in response.json["detail"]
            assert response.json["reason"] == "timed_out"
        page.release()
        assert [waiter.join().status for waiter in inside] == [200] * 4


def test_a_request_waits_as_long_as_its_rule_says_without_holding_up_others(gate, serve, page):
    gate.reload([RULES[0] | {"concurrency": 1, "timeout": "20s"}])
    with serve(gate) as port:
        first = Waiter(get, port, "/limit/held")
        until(lambda: in_flight(gate) == 1)
        second = Waiter(get, port, "/limit/plain")
        until(lambda: gate.stats().rules["limit"].waiting == 1)
        assert get(port).status == 200
        page.release()
        assert (first.join().status, second.join().status) == (200, 200)


def test_a_timeout_of_the_middleware_bounds_what_rules_say(gate, serve, page):
    gate.reload([RULES[0] | {"concurrency": 1, "timeout": "20s"}])
    with serve(gate, timeout=0) as port:
        first = Waiter(get, port, "/limit/held")
        until(lambda: in_flight(gate) == 1)
        assert get(port, "/limit/plain").json["reason"] == "denied"
        page.release()
        first.join()


def test_permits_come_back_when_the_handler_raises_and_failures_are_counted(gate, serve):
    with serve(gate) as port:
        for _ in range(6):
            assert get(port, "/limit/failing").status == 500
        until(lambda: gate.stats().released_failed == 6)
        assert get(port, "/limit/unwell").status == 503
        assert get(port, "/limit/plain").status == 200
        until(lambda: gate.stats().released_ok == 1)
        assert gate.stats().released_failed == 7


def test_permits_are_held_until_the_body_is_sent(gate, serve, page):
    with serve(gate) as port, opened(port, "/limit/stream") as response:
        assert response.read(5) == b"first"
        assert in_flight(gate) == 1
        page.release()
        assert response.read() == b"last"
        until(lambda: in_flight(gate) == 0)
    assert gate.stats().released_ok == 1


def test_permits_come_back_when_the_client_goes_away_in_the_middle_of_the_body(gate, serve, page):
    with serve(gate) as port:
        with opened(port, "/limit/stream") as response:
            assert response.read(5) == b"first"
        until(lambda: in_flight(gate) == 0)
        assert page.ended == ["stream"]


def test_permits_come_back_when_the_body_fails(gate, serve):
    with serve(gate) as port:
        with opened(port, "/limit/broken") as response, contextlib.suppress(Exception):
            response.read()
        until(lambda: in_flight(gate) == 0)
    assert gate.stats().released_failed == 1


def test_permits_come_back_once_the_body_is_sent_though_the_application_goes_on(gate, serve, page):
    with serve(gate) as port:
        with opened(port, "/limit/background") as response:
            assert response.read() == b"go ahead"
        until(lambda: in_flight(gate) == 0)
        assert not page.go.is_set()
        page.release()


def test_rules_change_while_the_server_runs(gate, serve):
    with serve(gate) as port:
        assert get(port).status == 200
        gate.reload([{"name": "none", "quota": "0/s"}])
        assert get(port).status == 429
        gate.reload([])
        assert get(port).status == 200


def test_further_attributes_come_of_the_scope(serve):
    def of(scope):
        return {"tenant": dict(scope["headers"]).get(b"x-tenant"), "path": "/all"}

    gate = Gate([{"name": "one", "match": {"path": {"exact": "/all"}}, "key": "tenant", "quota": "1/h"}])
    with serve(gate, attributes=of) as port:
        assert [get(port, X_Tenant=tenant).status for tenant in ("a", "a", "b")] == [200, 429, 200]


def test_the_client_is_the_peer_or_who_asked_the_outermost_trusted_proxy(serve):
    gate = Gate([{"name": "one", "key": "client", "quota": "1/h"}])
    with serve(gate) as port:
        assert [get(port, X_Forwarded_For=forged).status for forged in ("1.1.1.1", "2.2.2.2")] == [200, 429]
    gate = Gate([{"name": "one", "key": "client", "quota": "1/h"}])
    with serve(gate, trusted_hops=1) as port:
        asked = ("1.1.1.1, 9.9.9.9", "2.2.2.2, 9.9.9.9", "9.9.9.9, 1.1.1.1")
        assert [get(port, X_Forwarded_For=forged).status for forged in asked] == [200, 429, 200]


class TestWebSockets:
    @pytest.fixture
    def app(self, gate):
        app = FastAPI()
        app.add_middleware(GateMiddleware, gate=gate)

        @app.websocket("/limit")
        async def echo(socket: WebSocket):
            await socket.accept()
            async for text in socket.iter_text():
                await socket.send_text(text)

        gate.reload([RULES[0] | {"concurrency": 1, "timeout": "1ms"}])
        return app

    def test_one_counts_as_a_request_until_it_is_closed(self, app, gate):
        with served_by_uvicorn(app) as port:
            with websockets.sync.client.connect(f"ws://127.0.0.1:{port}/limit") as socket:
                socket.send("hello")
                assert socket.recv(timeout=10) == "hello"
                assert in_flight(gate) == 1
                with pytest.raises(websockets.exceptions.InvalidStatus) as refused:
                    websockets.sync.client.connect(f"ws://127.0.0.1:{port}/limit")
                assert refused.value.response.status_code == 429
                assert refused.value.response.headers["Content-Type"] == "application/problem+json"
            until(lambda: in_flight(gate) == 0)

    def test_a_server_that_cannot_say_429_closes_it(self, gate):
        sent = []

        async def send(message):
            sent.append(message)

        async def receive():
            return {"type": "websocket.connect"}

        gate.reload([{"name": "limit", "concurrency": 0}])
        app = GateMiddleware(None, gate)
        scope = {"type": "websocket", "path": "/limit", "headers": [], "client": None}
        asyncio.run(app(scope, receive, send))
        assert [(message["type"], message["code"]) for message in sent] == [("websocket.close", 1013)]


def test_the_lifespan_passes(gate):
    seen = []

    @contextlib.asynccontextmanager
    async def lifespan(_app):
        seen.append("up")
        yield
        seen.append("down")

    app = FastAPI(lifespan=lifespan)
    app.add_middleware(GateMiddleware, gate=gate)
    with served_by_uvicorn(app):
        assert seen == ["up"]
    assert seen == ["up", "down"]
    assert gate.stats().unmatched == 0


SCOPE = {"type": "http", "path": "/search", "method": "GET", "client": ("203.0.113.7", 80), "headers": []}
ON_SEARCH = {"match": {"path": {"prefix": "/search"}}}
POLICY, LIMIT = b"ratelimit-policy", b"ratelimit"


def opened_door(gate, timeout=None, legacy_headers=False):
    """What the middleware asks about requests of whom it knows no more than their scope."""
    return gate._asgi_door(Turn, timeout, legacy_headers)


def counts(gate):
    stats = gate.stats()
    rules = {name: (rule.admitted, rule.refused) for name, rule in stats.rules.items()}
    return stats.admitted, stats.refused, stats.unmatched, rules


@pytest.mark.parametrize(
    "rules",
    [
        [],
        [{"name": "other", "match": {"path": {"exact": "/other"}}, "quota": "1/h"}],
        [{"name": "path", **ON_SEARCH, "quota": "3/min"}],
        [{"name": "method", "match": {"method": {"exact": "GET"}}, "cost": 2, "quota": "5/min"}],
        [{"name": "client", "key": "client", "quota": "2/h sliding_window"}],
        [{"name": "log", "quota": "2/h sliding_log"}],
        [{"name": "all", "match": ON_SEARCH["match"] | {"method": {"exact": "GET"}}, "key": "client", "quota": "2/h"}],
        [{"name": "parts", "key": ["method", "client", "path"], "quota": "2/h"}],
        [{"name": "nobody", "key": "tenant", "match": {"tenant": {"prefix": "a"}}, "quota": "1/h"}],
        [{"name": "absent", "key": ["tenant", "client", "x", "path", "y"], "quota": "3/h"}],
        [{"name": "two", "quota": ["9/min", "4/h"]}],
        [{"name": "one", "quota": "3/h"}, {"name": "another", "key": "client", "quota": "2/h"}],
        [{"name": "shadow", "mode": "shadow", "quota": "1/h"}, {"name": "one", "quota": "3/h"}],
        [{"name": "off", "mode": "off", "quota": "1/h"}, {"name": "one", "quota": "3/h"}],
        [{"name": "most", "quota": "9000000000000000/h fixed_window"}],
        [{"name": "none", "quota": "0/s"}],
    ],
    ids=lambda rules: " ".join(rule["name"] for rule in rules) or "no rules",
)
@pytest.mark.parametrize("legacy_headers", [False, True])
def test_a_request_by_its_scope_comes_to_what_one_by_its_attributes_comes_to(rules, legacy_headers):
    clock = ManualClock()
    by_scope, by_attributes = Gate(rules, clock=clock), Gate(rules, clock=clock)
    door = opened_door(by_scope, 7, legacy_headers)
    for path in ("/search", "/search/cats", "/search", "/none", "/search"):
        clock.advance(1.234)
        attributes = {"path": path, "method": "GET", "client": "203.0.113.7"}
        told, entered = door.ask(SCOPE | {"path": path}), by_attributes._begin(Turn, attributes, 1, 7)
        if isinstance(entered, Refusal):
            assert isinstance(told, Refusal)
            assert (str(told), told.timeout, told.headers()) == (str(entered), 7.0, entered.headers())
        else:
            headers = entered._raw_headers(legacy_headers)
            assert (told, type(told)) == (headers, list)
            entered.release()
    assert counts(by_scope) == counts(by_attributes)


def test_a_response_tells_the_quota_that_has_least():
    clock = ManualClock()
    door = opened_door(Gate([{"name": "two", "quota": ["2/s", "3/h"]}], clock=clock))
    policy = (POLICY, b'"two/1";q=2;w=1, "two/2";q=3;w=3600')
    assert door.ask(SCOPE) == [policy, (LIMIT, b'"two/1";r=1;t=1')]
    clock.advance(1)
    assert door.ask(SCOPE) == [policy, (LIMIT, b'"two/1";r=1;t=1')]
    clock.advance(1)
    assert door.ask(SCOPE) == [policy, (LIMIT, b'"two/2";r=0;t=3598')]


def test_changed_rules_are_told_and_asked_from_the_next_request_on():
    gate = Gate([{"name": "before", **ON_SEARCH, "quota": "9/h"}])
    door = opened_door(gate)
    assert door.ask(SCOPE) == [(POLICY, b'"before";q=9;w=3600'), (LIMIT, b'"before";r=8;t=400')]
    gate.reload([{"name": "before", **ON_SEARCH, "quota": "4/h"}])
    [policy, _] = door.ask(SCOPE)
    assert policy == (POLICY, b'"before";q=4;w=3600')
    gate.reload([{"name": "other", "quota": "9/h"}, {"name": "after", "key": "client", "quota": "5/h"}])
    [policy, limit] = door.ask(SCOPE)
    assert policy == (POLICY, b'"other";q=9;w=3600, "after";q=5;w=3600')
    assert limit == (LIMIT, b'"other";r=8;t=400, "after";r=4;t=720')
    gate.reload([{"name": "after", "key": "method", "quota": "5/h"}])
    # Of another key: a budget of its own.
    assert door.ask(SCOPE)[1] == (LIMIT, b'"after";r=4;t=720')
    assert door.ask(SCOPE | {"method": "PUT"})[1] == (LIMIT, b'"after";r=4;t=720')
    gate.reload([{"name": "permits", "concurrency": 1}])
    with door.ask(SCOPE):
        assert isinstance(door.ask(SCOPE), Refusal)
    gate.reload([])
    assert door.ask(SCOPE) == []


def test_rules_may_change_while_a_scope_is_read():
    gate = Gate([{"name": "before", "key": "client", "quota": "9/h"}])
    door = opened_door(gate)

    class Scope(dict):
        def __getitem__(self, name):
            if "before" in gate.stats().rules:
                gate.reload([{"name": "after", **ON_SEARCH, "quota": "9/h"}])
                assert door.ask(SCOPE)[1] == (LIMIT, b'"after";r=8;t=400')
            return super().__getitem__(name)

    assert door.ask(Scope(SCOPE))[1] == (LIMIT, b'"after";r=7;t=800')
    assert gate.stats().admitted == 2


def test_only_what_rules_ask_for_is_read_of_a_scope():
    gate = Gate([{"name": "path", **ON_SEARCH, "quota": "9/h"}])
    door = opened_door(gate)
    assert door.ask({"path": "/search"})[1] == (LIMIT, b'"path";r=8;t=400')
    with pytest.raises(KeyError, match="path"):
        door.ask({"method": "GET"})
    with pytest.raises(TypeError, match="path: got 7"):
        door.ask({"path": 7})
    gate.reload([{"name": "method", "match": {"method": {"exact": "GET"}}, "quota": "9/h"}])
    assert door.ask(SCOPE | {"method": "PUT"}) == []
    assert door.ask({"method": "GET", "path": 7})[1] == (LIMIT, b'"method";r=8;t=400')
    with pytest.raises(KeyError, match="method"):
        door.ask({"path": "/search"})
    gate.reload([{"name": "client", "key": "client", "quota": "9/h"}])
    assert door.ask(SCOPE)[1] == (LIMIT, b'"client";r=8;t=400')
    assert door.ask({})[1] == (LIMIT, b'"client";r=8;t=400')
    gate.reload([])
    assert door.ask({}) == door.ask({"path": 7}) == []


def test_a_rule_of_permits_beside_one_of_quotas_is_held():
    gate = Gate([RULES[0] | {"match": ON_SEARCH["match"]}, {"name": "all", "quota": "9/h"}])
    door = opened_door(gate)
    with door.ask(SCOPE) as entry:
        assert entry.rules == ("all", "limit")
        assert gate.stats().rules["limit"].in_flight == 1
        assert entry._raw_headers(False) == [(POLICY, b'"all";q=9;w=3600'), (LIMIT, b'"all";r=8;t=400')]
    assert door.ask(SCOPE | {"path": "/"})[1] == (LIMIT, b'"all";r=7;t=800')
    assert gate.stats().released_ok == 1


@pytest.mark.parametrize("options", [{}, {"attributes": lambda _: {}}, {"trusted_hops": 1}])
def test_who_holds_no_permits_sends_as_the_server_would(options):
    awaited = asyncio.sleep(0)
    seen = []

    async def app(scope, receive, send):
        seen.append(send({"type": "http.response.start", "status": 200}) is awaited)
        seen.append(send({"type": "http.response.body", "body": b""}) is awaited)

    gate = Gate([{"name": "all", "quota": "1/h"}])
    asyncio.run(GateMiddleware(app, gate, **options)(SCOPE, None, lambda message: awaited))
    awaited.close()
    assert seen == [True, True]
    assert gate.stats().admitted == 1
