"""A FastAPI service that says hello, served by uvicorn over HTTP: as it is, behind a gate, and behind the peer.

Each is a process of its own, so that they share nothing; they take turns. `python web.py SUBJECT PORT` is such a
process.
"""

import contextlib
import socket
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import tidegate
from rounds import ROUNDS, report

CASE = "FastAPI hello world"
HEADERS = "FastAPI and two constant headers"
SUBJECTS = {
    "FastAPI alone": metadata.version("fastapi"),
    HEADERS: metadata.version("fastapi"),
    "tidegate": tidegate.__version__,
    "slowapi": metadata.version("slowapi"),
}
CONNECTIONS = 8
# Of each subject, which take turns: what a process finds where in memory makes it a little faster or slower for good.
SERVERS = 6
# In a turn.
CALLS = 800
BODY = b'{"hello":"world"}'
REQUEST = b"GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"
PLENTY = 1_000_000
TWO_HEADERS = [
    (b"ratelimit-policy", b'"hello";q=%d;w=60' % PLENTY),
    (b"ratelimit", b'"hello";r=%d;t=1' % (PLENTY - 1)),
]


def serve(subject, port):
    """Serves until it is killed: a budget for each client where there is a limiter, and headers that tell of it."""
    import uvicorn
    from fastapi import FastAPI, Request

    app = FastAPI()

    async def hello():
        return {"hello": "world"}

    async def asked_hello(request: Request):  # as slowapi wants it
        return {"hello": "world"}

    if subject == "tidegate":
        from tidegate.asgi import GateMiddleware

        rule = {"name": "hello", "match": {"path": {"prefix": "/hello"}}, "key": "client", "quota": f"{PLENTY}/min"}
        app.add_middleware(GateMiddleware, gate=tidegate.Gate([rule]))
    if subject == HEADERS:
        app.add_middleware(TwoHeaders)
    if subject == "slowapi":
        from slowapi import Limiter
        from slowapi.util import get_remote_address

        app.state.limiter = Limiter(key_func=get_remote_address)
        asked_hello = app.state.limiter.limit(f"{PLENTY}/minute")(asked_hello)
    app.get("/hello")(asked_hello if subject == "slowapi" else hello)
    uvicorn.run(app, port=port, log_level="critical", http="httptools", proxy_headers=False, timeout_keep_alive=3600)


class TwoHeaders:
    """What adds to responses the headers that tidegate's have, and nothing else."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        def send_through(message):
            if message["type"] == "http.response.start":
                message["headers"] += TWO_HEADERS
            return send(message)

        await self.app(scope, receive, send_through)


class Served:
    """A server in a process of its own, and connections to it that stay open."""

    def __init__(self, subject, stack):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        process = stack.enter_context(subprocess.Popen([sys.executable, Path(__file__), subject, str(port)]))
        stack.callback(process.kill)
        self.connections = [stack.enter_context(connected(port, process)) for _ in range(CONNECTIONS)]
        [answer] = self.ask(self.connections[:1])
        assert answer.startswith(b"HTTP/1.1 200") and answer.endswith(BODY), answer
        assert (b"ratelimit: " in answer) == (subject in ("tidegate", HEADERS)), answer

    def ask(self, connections):
        """One request on each connection, all at once."""
        for connection in connections:
            connection.sendall(REQUEST)
        return [read(connection) for connection in connections]

    def round(self, calls):
        """Nanoseconds a request, over so many."""
        began = time.perf_counter_ns()
        for _ in range(calls // CONNECTIONS):
            self.ask(self.connections)
        return (time.perf_counter_ns() - began) / (calls // CONNECTIONS * CONNECTIONS)


def connected(port, process):
    """A connection; the server may still be starting."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=60)
        except ConnectionRefusedError:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)


def read(connection):
    answer = connection.recv(65_536)
    while not answer.endswith(BODY):
        more = connection.recv(65_536)
        assert more, answer
        answer += more
    return answer


def all_cases():
    """Nanoseconds a request, as whoever asks it sees them."""
    with contextlib.ExitStack() as stack:
        served = {subject: [Served(subject, stack) for _ in range(SERVERS)] for subject in SUBJECTS}
        taken = {subject: [] for subject in SUBJECTS}
        for round_number in range(ROUNDS + SERVERS):
            for subject, servers in served.items():
                time_ns = servers[round_number % SERVERS].round(CALLS)
                # The first of each is to warm up.
                if round_number >= SERVERS:
                    taken[subject].append(time_ns)
    for subject, version in SUBJECTS.items():
        report(CASE, subject, version, taken[subject])


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
