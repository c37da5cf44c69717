"""Whose budget a web request is taken from, and what middleware accepts."""

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
