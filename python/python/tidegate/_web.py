"""What web middleware asks a gate, and what responses say; the frameworks are in modules of their own."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import lru_cache
from typing import Any, Generic, TypeAlias, TypeVar

from tidegate._tidegate import Gate
from tidegate.errors import ConfigError

PROBLEM = "application/problem+json"

Attributes: TypeAlias = Mapping[str, str | bytes | None]
Request = TypeVar("Request")


class Options(Generic[Request]):
    """How requests are told to the gate: what the arguments of the same names say in all middleware."""

    def __init__(
        self,
        gate: Gate,
        trusted_hops: int,
        attributes: Callable[[Request], Attributes] | None,
        timeout: float | timedelta | None,
        legacy_headers: bool,
    ) -> None:
        if not isinstance(gate, Gate):
            raise TypeError(f"gate: got {gate!r} ({type(gate).__name__}); allowed: a tidegate.Gate")
        if not isinstance(trusted_hops, int) or isinstance(trusted_hops, bool):
            kind = type(trusted_hops).__name__
            raise TypeError(f"trusted_hops: got {trusted_hops!r} ({kind}); allowed: an int, 0 or more")
        if trusted_hops < 0:
            raise ConfigError("trusted_hops", repr(trusted_hops), "0 or more")
        if attributes is not None and not callable(attributes):
            kind = type(attributes).__name__
            raise TypeError(f"attributes: got {attributes!r} ({kind}); allowed: a callable, or None")
        gate.enter_async(timeout=timeout).close()  # names a wrong one
        self.gate = gate
        self.trusted_hops = trusted_hops
        self.attributes = attributes
        self.timeout = timeout
        self.legacy_headers = legacy_headers

    def complete(self, attributes: dict[str, Any], request: Request, forwarded: str | None) -> None:
        """Makes of the peer's address, as `client`, whose budget it is, and adds further attributes."""
        attributes["client"] = self.client(attributes["client"], forwarded)
        if self.attributes is not None:
            attributes.update(self.attributes(request))

    def client(self, peer: str | None, forwarded: str | None) -> str | None:
        """Who asks: the peer, or by the header X-Forwarded-For whoever asked the outermost trusted proxy.

        Only what trusted proxies added counts: so many entries from the right, or all if there are fewer.
        """
        if forwarded:
            peer = bare_address(forwarded.split(",")[-self.trusted_hops :][0]) or peer
        return client_of(peer) if peer is not None else None


def shortened(peer: str) -> str:
    """An IPv6 address as budgets are kept by: its /64, since whoever has one address of it has them all."""
    try:
        address = ipaddress.IPv6Address(peer.partition("%")[0])
    except ValueError:
        return peer
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((address, 64), strict=False))


# To read and write one takes longer than a whole decision.
client_of = lru_cache(4_096)(shortened)


def bare_address(entry: str) -> str | None:
    """The address in an entry of X-Forwarded-For, which may have a port; None if there is none."""
    entry = entry.strip()
    if entry.startswith("["):
        entry = entry[1:].partition("]")[0]
    elif entry.count(":") == 1:
        entry = entry.partition(":")[0]
    try:
        ipaddress.ip_address(entry)
    except ValueError:
        return None
    return entry
