"""K3, K4, K7: which keys are one and which are two, and the functions that make keys."""

import pytest
from tidegate import ConfigError, KeyedConcurrencyLimiter, KeyedRateLimiter, ip_key, key_of

HALVES = "\ud83d\ude00"
DISTINCT = [
    "",
    b"\x00",
    "\x00\x00",
    "a",
    "a\x00",
    "a\x00b",
    "x" * 2**20,
    "x" * 2**20 + "y",
    b"\xff",
    b"\xff\xfe",
    b"\xc0\x80",
    "\ud800",
    "\udfff",
    "a\udc80",
    "\ude00\ud83d",
    "é",
    "e\u0301",
    "\N{GRINNING FACE}",
    "__proto__",
    "constructor",
    "__class__",
    "k" * 255 + "a",
    "k" * 255 + "b",
    "k" * 255,
]


def test_k3_k4_each_key_has_its_own_budget(clock):
    limiter = KeyedRateLimiter("1/h", max_keys=1000, clock=clock)
    for _ in range(2):
        assert all(limiter.peek(key).remaining == 1 for key in DISTINCT)
        assert all(limiter.try_acquire(key) for key in DISTINCT)
        assert not any(limiter.try_acquire(key) for key in DISTINCT)
        clock.advance(3600)


def test_k3_k4_each_key_has_its_own_permits():
    limiter = KeyedConcurrencyLimiter(1, max_keys=1000)
    permits = [limiter.try_acquire(key) for key in DISTINCT]
    assert all(permits)
    assert [limiter.in_flight(key) for key in DISTINCT] == [1] * len(DISTINCT)
    assert not any(limiter.try_acquire(key) for key in DISTINCT)
    for permit in permits:
        permit.release()
    assert not any(limiter.in_flight(key) for key in DISTINCT)


@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        ("", b""),
        ("ann", b"ann"),
        ("\x00", b"\x00"),
        ("é", b"\xc3\xa9"),
        ("\ud800", b"\xed\xa0\x80"),
        ("a\udfffb", b"a\xed\xbf\xbfb"),
        # Two halves are the character that they make where texts are UTF-16, and so is the key.
        (HALVES, "\N{GRINNING FACE}".encode()),
        ("\ude00" + HALVES, b"\xed\xb8\x80" + "\N{GRINNING FACE}".encode()),
    ],
)
def test_a_text_is_its_utf_8_and_lone_surrogates_wtf_8(clock, text, encoded):
    limiter = KeyedRateLimiter("1/h", max_keys=10, clock=clock)
    assert limiter.try_acquire(text)
    assert not limiter.try_acquire(encoded)
    assert key_of(text) == key_of(encoded)


def test_a_subclass_of_str_or_bytes_is_its_text_or_bytes_whatever_its_methods_say(clock):
    class Name(str):
        def encode(self, *_):
            return b"other"

        def __str__(self):
            return "other"

    class Raw(bytes):
        def __bytes__(self):
            return b"other"

    limiter = KeyedRateLimiter("1/h", max_keys=10, clock=clock)
    for key, same in ((Name("ann"), "ann"), (Raw(b"bob"), "bob"), (Name("\ud800"), "\ud800")):
        assert limiter.try_acquire(key)
        assert not limiter.try_acquire(same)
        assert limiter.try_acquire_many([key, same]) == [False, False]


def rate_calls(limiter):
    decision = limiter.decide("granted")
    return [
        limiter.try_acquire,
        limiter.decide,
        limiter.peek,
        limiter.reset,
        limiter.acquire,
        limiter.acquire_async,
        limiter.reserve,
        limiter.waiting,
        lambda key: limiter.refund(key, decision),
        lambda key: limiter._admit(key, 1, 0),
        lambda key: limiter.guard(key=lambda: key)(print)(),
    ]


def concurrency_calls(limiter):
    return [
        limiter.try_acquire,
        limiter.in_flight,
        limiter.available,
        limiter.acquire,
        limiter.acquire_async,
        limiter.waiting,
        lambda key: limiter._admit(key, 1, 0),
        lambda key: limiter.guard(key=lambda: key)(print)(),
    ]


@pytest.mark.parametrize("key", [None, 5, 1.5, True, ("a", "b"), ["a"], bytearray(b"a"), memoryview(b"a"), object])
def test_other_types_are_refused_by_name_and_nothing_is_taken(clock, key):
    rate, at_once = KeyedRateLimiter("5/s", clock=clock), KeyedConcurrencyLimiter(1)
    for call in rate_calls(rate) + concurrency_calls(at_once):
        with pytest.raises(TypeError, match=r"^key: got .* \(\w+\); allowed: a str or bytes$"):
            call(key)
    assert rate.stats().denied == at_once.stats().denied == at_once.stats().allowed == 0


def test_k7_keys_of_parts_differ_where_the_parts_do():
    parts = [("a", "b/c"), ("a/b", "c"), ("a", "b", "c"), ("abc",), ("", "abc"), ("abc", ""), (), ("",), ("", "")]
    assert len({key_of(*each) for each in parts}) == len(parts)
    assert key_of("ann", b"\xff") == b"\x03" + b"\0" * 7 + b"ann" + b"\x01" + b"\0" * 7 + b"\xff"


def test_a_part_that_is_no_key_is_named_with_its_place():
    with pytest.raises(TypeError, match=r"^parts\[1\]: got 5 \(int\); allowed: a str or bytes$"):
        key_of("a", 5)


@pytest.mark.parametrize(
    ("address", "prefix", "key"),
    [
        ("203.0.113.7", None, "cb007107"),
        ("::ffff:203.0.113.7", None, "cb007107"),
        ("203.0.113.7", 24, "cb007100"),
        ("203.0.113.7", 0, "00000000"),
        ("::ffff:203.0.113.7", 24, "cb007100"),
        ("2001:db8:1:2:3::4", None, "20010db8000100020000000000000000"),
        ("2001:db8:1:2:3::4", 48, "20010db8000100000000000000000000"),
        ("2001:DB8:1:2:3::4", 128, "20010db8000100020003000000000004"),
        ("::", 0, "0" * 32),
    ],
)
def test_an_address_is_shortened_to_its_prefix(address, prefix, key):
    assert ip_key(address, prefix).hex() == key
    assert ip_key(address, prefix=prefix) == bytes.fromhex(key)


@pytest.mark.parametrize(
    "address", ["", "localhost", "203.0.113", "203.0.113.007", "203.0.113.7:80", "1.2.3.4/24", "\ud800"]
)
def test_what_is_no_address_is_shown(address):
    with pytest.raises(ConfigError, match=r"^address: got .*; allowed: an IPv4 or IPv6 address") as raised:
        ip_key(address)
    assert raised.value.argument == "address"


@pytest.mark.parametrize(
    ("address", "prefix", "message"),
    [
        ("203.0.113.7", 33, r"^prefix: got 33; allowed: 0 to 32 for this address$"),
        ("::ffff:203.0.113.7", 64, r"^prefix: got 64; allowed: 0 to 32 for this address$"),
        ("::1", 129, r"^prefix: got 129; allowed: 0 to 128$"),
        ("::1", 2**64 + 1, r"^prefix: got 18446744073709551617; allowed: 0 to 128$"),
        ("::1", -1, r"^prefix: got -1; allowed: 0 to 128$"),
    ],
)
def test_a_prefix_that_no_address_has_is_named(address, prefix, message):
    with pytest.raises(ConfigError, match=message):
        ip_key(address, prefix)


@pytest.mark.parametrize(("arguments", "name"), [((b"::1",), "address"), ((5,), "address"), (("::1", 1.5), "prefix")])
def test_wrong_types_of_addresses_and_prefixes_are_named(arguments, name):
    with pytest.raises(TypeError, match=rf"^{name}: got "):
        ip_key(*arguments)
