"""Real servers and real requests, for the tests of the middleware."""

import contextlib
import http.client
import json
import socket
import threading
from wsgiref.simple_server import WSGIRequestHandler, make_server

import uvicorn
import werkzeug.serving
from waiters import until


@contextlib.contextmanager
def served_by_uvicorn(app, **options):
    """Serves an ASGI application; gives the port."""
    config = uvicorn.Config(app, port=0, log_level="critical", lifespan="auto", proxy_headers=False, **options)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        until(lambda: server.started or not thread.is_alive())
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


class QuietErrors(werkzeug.serving.WSGIRequestHandler):
    def log(self, *_):
        pass


@contextlib.contextmanager
def served_by_wsgi(app, kind):
    """Serves a WSGI application by the standard library or by werkzeug; gives the port."""
    if kind == "wsgiref":
        server = make_server("127.0.0.1", 0, app, handler_class=Quiet)
    else:
        server = werkzeug.serving.make_server("127.0.0.1", 0, app, threaded=True, request_handler=QuietErrors)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join(20)
        server.server_close()


class Response:
    """A response that was read whole."""

    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)


def get(port, path="/", method="GET", **headers):
    """Asks once, on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        return Response(connection.getresponse())
    finally:
        connection.close()


@contextlib.contextmanager
def opened(port, path):
    """A request whose response has begun: gives the response, and goes away at the end."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.connect()
        # The response may take it over.
        kept = connection.sock
        connection.request("GET", path)
        with connection.getresponse() as response:
            yield response
            # At once, whatever is unread.
            with contextlib.suppress(OSError):
                kept.shutdown(socket.SHUT_RDWR)
    finally:
        connection.close()
