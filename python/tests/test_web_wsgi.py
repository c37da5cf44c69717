"""The WSGI middleware, served by the standard library and by werkzeug over HTTP."""

import contextlib
import threading

import pytest
from tidegate import Gate
from tidegate.wsgi import GateMiddleware
from waiters import Waiter, until
from web import get, opened, served_by_wsgi

RULES = [
    {"name": "limit", "match": {"path": {"prefix": "/limit"}}, "concurrency": 1},
    {"name": "search", "match": {"path": {"exact": "/search"}}, "key": "client", "quota": "1/h"},
]


class Body:
    """Parts of a body that go on when told; whether it was closed."""

    def __init__(self, go, fails):
        self.go = go
        self.fails = fails
        self.closed = False

    def __iter__(self):
        yield b"x" * 5
        if self.fails:
            raise ZeroDivisionError
        assert self.go.wait(20)
        # More than a socket takes unread, so that a client that is away is noticed.
        for _ in range(300):
            yield b"y" * 100_000

    def close(self):
        self.closed = True


class App:
    def __init__(self):
        self.go = threading.Event()
        self.bodies = []

    def __call__(self, environ, start_response):
        path = environ["PATH_INFO"]
        if path == "/limit/failing":
            raise ZeroDivisionError
        if path == "/limit/held":
            assert self.go.wait(20)
        start_response("503 Unwell" if path == "/limit/unwell" else "200 OK", [("Content-Type", "text/plain")])
        if path.startswith("/limit/stream"):
            self.bodies.append(Body(self.go, path.endswith("failing")))
            return self.bodies[-1]
        return [b"go ", b"ahead"]


@pytest.fixture
def gate():
    it = Gate(RULES)
    yield it
    assert in_flight(it) == 0


@pytest.fixture
def app():
    return App()


@pytest.fixture(params=["wsgiref", "werkzeug"])
def serve(request, app):
    return lambda gate, **options: served_by_wsgi(GateMiddleware(app, gate, **options), request.param)


@pytest.fixture
def serve_many(app):
    """By threads, of which one may wait."""
    return lambda gate, **options: served_by_wsgi(GateMiddleware(app, gate, **options), "werkzeug")


def in_flight(gate):
    rule = gate.stats().rules.get("limit")
    return rule.in_flight if rule else 0


def test_an_admitted_response_has_the_headers_of_its_quota_and_a_refused_one_is_a_problem(gate, serve):
    with serve(gate, legacy_headers=True) as port:
        first = get(port, "/search")
        assert (first.status, first.body) == (200, b"go ahead")
        assert first.headers["RateLimit-Policy"] == '"search";q=1;w=3600'
        assert first.headers["RateLimit"] == '"search";r=0;t=3600'
        assert first.headers["X-RateLimit-Limit"] == "1"
        refused = get(port, "/search")
        assert refused.status == 429
        assert refused.headers["Content-Type"] == "application/problem+json"
        assert refused.headers["Retry-After"] == "3600"
        assert (refused.json["rule"], refused.json["limit"]) == ("search", 1)
        assert "RateLimit" not in get(port).headers


def test_permits_come_back_when_the_application_fails_and_failures_are_counted(gate, serve, capfd):
    with serve(gate) as port:
        for path, status in (("failing", 500), ("failing", 500), ("failing", 500), ("unwell", 503), ("plain", 200)):
            assert get(port, f"/limit/{path}").status == status
            # The server closes the body after the client has it.
            until(lambda: in_flight(gate) == 0)
        until(lambda: gate.stats().released_ok == 1)
    assert gate.stats().released_failed == 4


def test_permits_are_held_until_the_body_is_sent(gate, serve, app):
    with serve(gate) as port, opened(port, "/limit/stream") as response:
        assert response.read(5) == b"x" * 5
        assert in_flight(gate) == 1
        app.go.set()
        assert response.read() == b"y" * 30_000_000
        until(lambda: in_flight(gate) == 0)
    assert app.bodies[0].closed
    assert gate.stats().released_ok == 1


def test_permits_come_back_when_the_client_goes_away(gate, serve, app, capfd):
    with serve(gate) as port:
        with opened(port, "/limit/stream") as response:
            assert response.read(5) == b"x" * 5
        app.go.set()
        until(lambda: in_flight(gate) == 0)
        assert app.bodies[0].closed


def test_permits_come_back_when_the_body_fails(gate, serve, app, capfd):
    with serve(gate) as port:
        with opened(port, "/limit/stream/failing") as response, contextlib.suppress(Exception):
            response.read()
        until(lambda: in_flight(gate) == 0)
    assert app.bodies[0].closed
    assert gate.stats().released_failed == 1


def test_a_request_waits_on_its_thread_as_long_as_its_rule_says(gate, serve_many, app):
    gate.reload([RULES[0] | {"timeout": "20s"}])
    with serve_many(gate) as port:
        first = Waiter(get, port, "/limit/held")
        until(lambda: in_flight(gate) == 1)
        second = Waiter(get, port, "/limit/plain")
        until(lambda: gate.stats().rules["limit"].waiting == 1)
        assert get(port).status == 200
        app.go.set()
        assert (first.join().status, second.join().status) == (200, 200)


def test_the_path_is_the_whole_one_in_utf_8(serve):
    gate = Gate([{"name": "umlaut", "match": {"path": {"exact": "/käse"}}, "concurrency": 0}])
    with serve(gate) as port:
        assert get(port, "/k%C3%A4se").status == 429
        assert get(port, "/kase").status == 200


def test_the_client_is_the_peer_or_who_asked_the_outermost_trusted_proxy(serve):
    rules = [{"name": "one", "key": ["client", "tenant"], "quota": "1/h"}]
    with serve(Gate(rules), attributes=lambda environ: {"tenant": environ.get("HTTP_X_TENANT")}) as port:
        assert [get(port, X_Forwarded_For=forged).status for forged in ("1.1.1.1", "2.2.2.2")] == [200, 429]
        assert get(port, X_Tenant="b").status == 200
    with serve(Gate(rules), trusted_hops=1) as port:
        asked = ("1.1.1.1, 9.9.9.9", "2.2.2.2, 9.9.9.9", "9.9.9.9, 1.1.1.1")
        assert [get(port, X_Forwarded_For=forged).status for forged in asked] == [200, 429, 200]
