"""The FastAPI dependency, served by uvicorn over HTTP."""

import asyncio
from typing import Annotated

import pytest
from fastapi import Depends, FastAPI, HTTPException
from fastapi.responses import StreamingResponse
from tidegate import Entry, Gate
from tidegate.fastapi import Limit, TooManyRequests, problem_response
from waiters import Waiter, until
from web import get, opened, served_by_uvicorn


@pytest.fixture
def gate():
    it = Gate(
        [
            {"name": "limit", "match": {"path": {"prefix": "/limit"}}, "concurrency": 1, "timeout": "20s"},
            {"name": "search", "match": {"path": {"exact": "/search"}}, "key": "client", "quota": "1/h"},
        ]
    )
    yield it
    until(lambda: in_flight(it) == 0)


def in_flight(gate):
    return gate.stats().rules["limit"].in_flight


@pytest.fixture
def app(gate):
    app = FastAPI()
    limit = Limit(gate)
    app.state.go = asyncio.Event()

    @app.get("/")
    async def free():
        return {}

    @app.get("/search", dependencies=[Depends(limit)])
    async def search():
        return {}

    @app.get("/limit/{what}")
    async def limited(what: str, entry: Annotated[Entry, Depends(limit)]):
        app.state.loop = asyncio.get_running_loop()
        assert entry.rules == ("limit",)
        if what == "missing":
            raise HTTPException(404)
        if what == "failing":
            raise ZeroDivisionError

        async def parts():
            yield "first"
            await app.state.go.wait()
            yield "last"

        return StreamingResponse(parts()) if what == "stream" else {}

    return app


def test_only_routes_that_depend_on_it_are_limited_and_a_refusal_is_an_http_exception(app):
    with served_by_uvicorn(app) as port:
        assert get(port, "/search").headers["RateLimit"] == '"search";r=0;t=3600'
        refused = get(port, "/search")
        assert "RateLimit" not in get(port).headers
    assert refused.status == 429
    assert refused.headers["Retry-After"] == "3600"
    assert refused.headers["RateLimit-Policy"] == '"search";q=1;w=3600'
    assert "denied by rule search" in refused.json["detail"]


def test_with_its_handler_a_refusal_is_a_problem(app):
    app.add_exception_handler(TooManyRequests, problem_response)
    with served_by_uvicorn(app) as port:
        get(port, "/search")
        refused = get(port, "/search")
    assert (refused.status, refused.json["rule"]) == (429, "search")
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert refused.headers["Retry-After"] == "3600"


def test_permits_are_held_until_the_response_is_sent_and_others_wait(app, gate):
    with served_by_uvicorn(app) as port:
        with opened(port, "/limit/stream") as response:
            assert response.read(5) == b"first"
            assert in_flight(gate) == 1
            waiter = Waiter(get, port, "/limit/other")
            until(lambda: gate.stats().rules["limit"].waiting == 1)
            app.state.loop.call_soon_threadsafe(app.state.go.set)
            assert response.read() == b"last"
        assert waiter.join().status == 200


def test_an_exception_counts_as_failed_unless_it_is_the_clients(app, gate):
    with served_by_uvicorn(app) as port:
        assert get(port, "/limit/missing").status == 404
        assert get(port, "/limit/failing").status == 500
        assert get(port, "/limit/fine").status == 200
        until(lambda: gate.stats().released_ok == 2)
    assert gate.stats().released_failed == 1
