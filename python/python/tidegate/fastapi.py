"""A gate for some of a FastAPI application's routes, as a dependency; in front of all of them put tidegate.asgi."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import timedelta

from fastapi import HTTPException, Request, Response

from tidegate import _web
from tidegate._tidegate import Entering, Entry, Gate, Refusal
from tidegate._waiting import Turn, until_over
from tidegate.asgi import forwarded_for


class TooManyRequests(HTTPException):
    """A rule refused the request: 429, with Retry-After, RateLimit-Policy and RateLimit, and `refusal`.

    FastAPI answers with its own JSON; for a problem+json body add `problem_response` as the exception's handler.
    """

    def __init__(self, refusal: Refusal, headers: dict[str, str]) -> None:
        super().__init__(429, str(refusal), headers)
        self.refusal = refusal


async def problem_response(request: Request, error: Exception) -> Response:
    """The handler: `app.add_exception_handler(TooManyRequests, problem_response)`."""
    assert isinstance(error, TooManyRequests)
    return Response(error.refusal.problem_json(), 429, dict(error.headers or {}), _web.PROBLEM)


class Limit:
    """The dependency: `dependencies=[Depends(Limit(gate))]` of a route, a router or an application; or `entry:
    Annotated[Entry, Depends(limit)]` where the entry is wanted.

    The arguments are those of tidegate.asgi.GateMiddleware; attributes is called with the Request. What a request took
    is held for as long as FastAPI keeps dependencies: from 0.118 on until the response is sent. An exception that
    leaves the route, unless its status is below 500, counts as failed work. RateLimit-Policy and RateLimit are added to
    responses that FastAPI makes of what a route returns.
    """

    def __init__(
        self,
        gate: Gate,
        *,
        trusted_hops: int = 0,
        attributes: Callable[[Request], _web.Attributes] | None = None,
        timeout: float | timedelta | None = None,
        legacy_headers: bool = False,
    ) -> None:
        self.options = _web.Options(gate, trusted_hops, attributes, timeout, legacy_headers)

    async def __call__(self, request: Request, response: Response) -> AsyncIterator[Entry]:
        options = self.options
        peer = request.client.host if request.client else None
        attributes = {"path": request.scope["path"], "method": request.method, "client": peer}
        options.complete(attributes, request, forwarded_for(request.scope) if options.trusted_hops else None)
        entered = options.gate._begin(Turn, attributes, 1, options.timeout)
        if isinstance(entered, Entering):
            entered = await until_over(entered)
        if isinstance(entered, Refusal):
            raise TooManyRequests(entered, entered.headers(legacy=options.legacy_headers))
        response.headers.update(entered.headers(legacy=options.legacy_headers))
        ok = False
        try:
            yield entered
            ok = True
        except HTTPException as error:
            ok = error.status_code < 500
            raise
        finally:
            entered._end(ok)
