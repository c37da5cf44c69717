"""A gate in front of a WSGI application, such as Flask's or Django's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import Any

from tidegate import _web
from tidegate._tidegate import Entry, Gate, Refusal

Environ = dict[str, Any]
StartResponse = Callable[..., Callable[[bytes], object]]
App = Callable[[Environ, StartResponse], Iterable[bytes]]


class GateMiddleware:
    """Lets requests through a gate, with the attributes path, method and client. A request that waits holds its thread.

    gate: may be changed while it is in use, as by reload().
    trusted_hops: how many proxies of one's own forward requests: with 0 the client is the peer, with more it is taken
    from X-Forwarded-For, counted from the right. An IPv6 client is its /64, such as "2001:db8::/64".
    attributes: called with the environ of each request; the attributes that it returns are added, or replace these.
    timeout: seconds that a request may wait at most (int, float or timedelta); 0 never waits, None waits for as long as
    the rules say.
    legacy_headers: whether responses have X-RateLimit-Limit, -Remaining and -Reset (a Unix time) too.

    Permits are held until the response's body is sent, or the server gives it up because the client went away or it
    failed. An exception, or a status of 500 or more, counts as failed work of theirs. A refused request is answered
    with 429 and a problem+json body. Both kinds of response have RateLimit-Policy and RateLimit.
    """

    def __init__(
        self,
        app: App,
        gate: Gate,
        *,
        trusted_hops: int = 0,
        attributes: Callable[[Environ], _web.Attributes] | None = None,
        timeout: float | timedelta | None = None,
        legacy_headers: bool = False,
    ) -> None:
        self.app = app
        self.options = _web.Options(gate, trusted_hops, attributes, timeout, legacy_headers)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        options = self.options
        # PEP 3333 has bytes in these texts, as Latin-1.
        path = (environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")).encode("latin-1")
        peer = environ.get("REMOTE_ADDR") or None
        attributes = {"path": path, "method": environ["REQUEST_METHOD"], "client": peer}
        options.complete(attributes, environ, environ.get("HTTP_X_FORWARDED_FOR") if options.trusted_hops else None)
        entered = options.gate.try_enter(attributes, timeout=options.timeout)
        if isinstance(entered, Refusal):
            return refuse(entered, start_response, options.legacy_headers)
        return self.serve(entered, environ, start_response)

    def serve(self, entry: Entry, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        headers = list(entry.headers(legacy=self.options.legacy_headers).items())
        body = Body(entry)

        def start(status: str, own: list[tuple[str, str]], *exc_info: Any) -> Callable[[bytes], object]:
            body.ok = int(status[:3]) < 500
            return start_response(status, [*own, *headers], *exc_info)

        try:
            body.parts = self.app(environ, start)
        except BaseException:
            entry._end(False)
            raise
        return body


class Body:
    """A response's body, which holds the entry until it is sent or given up."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.ok = False
        self.parts: Iterable[bytes] = ()

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self.parts
        except GeneratorExit:
            raise
        except BaseException:
            self.ok = False
            raise

    def close(self) -> None:
        """Called by the server when it is done with the response, however that ended."""
        try:
            close = getattr(self.parts, "close", None)
            if close is not None:
                close()
        except BaseException:
            self.ok = False
            raise
        finally:
            self.entry._end(self.ok)


def refuse(refusal: Refusal, start_response: StartResponse, legacy_headers: bool) -> Iterable[bytes]:
    body = refusal.problem_json().encode()
    headers = [("Content-Type", _web.PROBLEM), ("Content-Length", str(len(body)))]
    start_response("429 Too Many Requests", [*headers, *refusal.headers(legacy=legacy_headers).items()])
    return [body]
