"""A gate in front of an ASGI application, such as Starlette's, FastAPI's, Litestar's or Django's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from datetime import timedelta
from typing import Any

from tidegate import _web
from tidegate._tidegate import Entering, Entry, Gate, Refusal
from tidegate._waiting import Turn, until_over

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class GateMiddleware:
    """Lets requests through a gate, with the attributes path, method and client.

    gate: may be changed while it is in use, as by reload().
    trusted_hops: how many proxies of one's own forward requests: with 0 the client is the peer, with more it is taken
    from X-Forwarded-For, counted from the right. An IPv6 client is its /64, such as "2001:db8::/64". Where
    the server reads that header itself, as uvicorn by default does for proxies on its machine, leave it at 0.
    attributes: called with the scope of each request; the attributes that it returns are added, or replace these.
    timeout: seconds that a request may wait at most (int, float or timedelta); 0 never waits, None waits for as long as
    the rules say.
    legacy_headers: whether responses have X-RateLimit-Limit, -Remaining and -Reset (a Unix time) too.

    Permits are held until the response's body is sent, or until the application ends if that is sooner: as it does when
    the client goes away or when it fails. An exception, or a status of 500 or more, counts as failed work of theirs.
    A refused request is answered with 429 and a problem+json body; its body isn't read. Both kinds of response have
    RateLimit-Policy and RateLimit.

    A WebSocket is a request that lasts until it is closed, of the method GET; refused, it is answered with 429 where
    the server can (the extension websocket.http.response), else closed before it is accepted, which is a 403. Other
    scopes pass.
    """

    def __init__(
        self,
        app: App,
        gate: Gate,
        *,
        trusted_hops: int = 0,
        attributes: Callable[[Scope], _web.Attributes] | None = None,
        timeout: float | timedelta | None = None,
        legacy_headers: bool = False,
    ) -> None:
        self.app = app
        self.options = _web.Options(gate, trusted_hops, attributes, timeout, legacy_headers)
        # For those of whom the gate is told no more than what their scope says.
        is_plain = trusted_hops == 0 and attributes is None
        self.door = gate._asgi_door(Turn, timeout, legacy_headers) if is_plain else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "http" and self.door is not None:
            entered = self.door.ask(scope)
            if isinstance(entered, list):
                await self.app(scope, receive, with_headers(entered, send))
                return
        elif kind == "http" or kind == "websocket":
            entered = self.options.gate._begin(Turn, self.attributes(scope), 1, self.options.timeout)
        else:
            await self.app(scope, receive, send)
            return
        if isinstance(entered, Entering):
            entered = await until_over(entered)
        if isinstance(entered, Refusal):
            await self.refuse(entered, scope, receive, send)
        elif kind == "websocket":
            with entered:
                await self.app(scope, receive, send)
        else:
            send = with_headers(entered._raw_headers(self.options.legacy_headers), send)
            if entered._holds_permits():
                await self.hold(entered, scope, receive, send)
            else:
                entered._end(True)
                await self.app(scope, receive, send)

    async def hold(self, entry: Entry, scope: Scope, receive: Receive, send: Send) -> None:
        """Has the application answer, and what the request took held until it has."""
        ok = False

        def send_through(message: Message) -> Awaitable[None]:
            nonlocal ok
            kind = message["type"]
            if kind == "http.response.start":
                ok = message["status"] < 500
            elif kind == "http.response.body" and not message.get("more_body"):
                return send_last(entry, ok, send, message)
            return send(message)

        try:
            await self.app(scope, receive, send_through)
        except BaseException:
            entry._end(False)
            raise
        entry._end(ok)

    def attributes(self, scope: Scope) -> dict[str, Any]:
        """What the gate is told of a request, where that is more than its scope says."""
        options = self.options
        client = scope.get("client")
        peer = client[0] if client else None
        attributes = {"path": scope["path"], "method": scope.get("method", "GET"), "client": peer}
        options.complete(attributes, scope, forwarded_for(scope) if options.trusted_hops else None)
        return attributes

    async def refuse(self, refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
        response = "http.response"
        if scope["type"] == "websocket":
            await receive()  # its websocket.connect, which comes first
            response = "websocket.http.response"
            if response not in (scope.get("extensions") or {}):
                await send({"type": "websocket.close", "code": 1013, "reason": "rate limited"})
                return
        body = refusal.problem_json().encode()
        headers = refusal._raw_headers(self.options.legacy_headers)
        headers += [(b"content-type", _web.PROBLEM.encode()), (b"content-length", b"%d" % len(body))]
        await send({"type": f"{response}.start", "status": 429, "headers": headers})
        await send({"type": f"{response}.body", "body": body})


def forwarded_for(scope: Scope) -> str:
    """The header X-Forwarded-For; of several one after the other, as they came."""
    return b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for").decode("latin-1")


def with_headers(headers: list[tuple[bytes, bytes]], send: Send) -> Send:
    """Sends what it is given, and these headers with those of a response."""
    if not headers:
        return send

    # No coroutine of its own where the server's will do: coroutines are most of what middleware costs.
    def send_with_headers(message: Message) -> Awaitable[None]:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *headers]}
        return send(message)

    return send_with_headers


async def send_last(entry: Entry, ok: bool, send: Send, message: Message) -> None:
    await send(message)
    entry._end(ok)
