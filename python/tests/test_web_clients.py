"""Whose budget a web request is taken from, and what middleware accepts."""

import asyncio
import json

import pytest
from tidegate import ConfigError, Gate
from tidegate._web import Options
from tidegate.asgi import GateMiddleware as Asgi
from tidegate.wsgi import GateMiddleware as Wsgi


def client(peer, forwarded=None, hops=0):
    return Options(Gate([]), hops, None, None, False).client(peer, forwarded)


@pytest.mark.parametrize(
    ("peer", "shown"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("::1", "::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("testclient", "testclient"),
        ("not:an:address", "not:an:address"),
        (None, None),
    ],
)
def test_a_peer_is_told_as_its_address_and_ipv6_by_its_64(peer, shown):
    assert client(peer) == shown


def asked(app, scope):
    """What an ASGI application sends to one that asks."""
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(app({"type": "http", "path": "/", "method": "GET", "headers": []} | scope, None, send))
    return sent


@pytest.mark.parametrize("options", [{}, {"attributes": lambda _: {}}])
@pytest.mark.parametrize(
    ("peer", "shown"),
    [
        ({"client": ("203.0.113.7", 80)}, "203.0.113.7"),
        ({"client": ["203.0.113.7", 80]}, "203.0.113.7"),
        ({"client": ("2001:db8:1:2:3:4:5:6", 80)}, "2001:db8:1:2::/64"),
        ({"client": ("::ffff:203.0.113.7", 80)}, "203.0.113.7"),
        ({"client": None}, None),
        ({"client": ()}, None),
        ({"client": []}, None),
        ({"client": (None, None)}, None),
        ({}, None),
    ],
)
def test_an_asgi_server_tells_the_peer_in_its_scope(options, peer, shown):
    rule = {"name": "one", "match": {"client": {"glob": "**"}}, "key": "client", "quota": "0/s"}
    sent = asked(Asgi(answer, Gate({"show_keys": True, "rules": [rule]}), **options), peer)
    if shown is None:
        assert sent == [{"type": "http.response.start", "status": 200}]
    else:
        assert json.loads(sent[1]["body"])["key"] == shown


async def answer(scope, receive, send):
    await send({"type": "http.response.start", "status": 200})


def test_what_an_asgi_application_sends_stays_its_own():
    begin, headers = {"type": "http.response.start", "status": 200}, [(b"a", b"b")]
    ours = [(b"ratelimit-policy", b'"one";q=9;w=1'), (b"ratelimit", b'"one";r=8;t=1')]

    async def app(scope, receive, send):
        await send(begin | scope["answer"])

    for answered in ({"headers": headers}, {"headers": tuple(headers)}, {}):
        [message] = asked(Asgi(app, Gate([{"name": "one", "quota": "9/s"}])), {"answer": answered})
        assert message == begin | {"headers": [*answered.get("headers", ()), *ours]}
    assert (len(begin), headers) == (2, [(b"a", b"b")])


@pytest.mark.parametrize(
    ("forwarded", "hops", "shown"),
    [
        ("1.1.1.1, 2.2.2.2, 3.3.3.3", 1, "3.3.3.3"),
        ("1.1.1.1, 2.2.2.2, 3.3.3.3", 2, "2.2.2.2"),
        ("1.1.1.1,2.2.2.2", 5, "1.1.1.1"),
        (" 1.1.1.1:8080 ", 1, "1.1.1.1"),
        ("[2001:db8::1]:8080", 1, "2001:db8::/64"),
        ("[2001:db8::1]", 1, "2001:db8::/64"),
        ("2001:db8::1", 1, "2001:db8::/64"),
        ("unknown", 1, "9.9.9.9"),
        ("1.1.1.1, ", 1, "9.9.9.9"),
        ("", 1, "9.9.9.9"),
    ],
)
def test_a_forwarded_client_is_counted_from_the_right(forwarded, hops, shown):
    assert client("9.9.9.9", forwarded, hops) == shown


@pytest.mark.parametrize("middleware", [Asgi, Wsgi])
@pytest.mark.parametrize(
    ("options", "kind", "named"),
    [
        ({"gate": None}, TypeError, "gate: got None (NoneType)"),
        ({"trusted_hops": -1}, ConfigError, "trusted_hops: got -1; allowed: 0 or more"),
        ({"trusted_hops": True}, TypeError, "trusted_hops: got True (bool)"),
        ({"attributes": {}}, TypeError, "attributes: got {} (dict)"),
        ({"timeout": -1}, ConfigError, "timeout: got -1"),
    ],
)
def test_a_wrong_option_is_named(middleware, options, kind, named):
    with pytest.raises(kind) as raised:
        middleware(None, **{"gate": Gate([]), **options})
    assert str(raised.value).startswith(named)
