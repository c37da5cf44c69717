import copy
import math
import pickle
from datetime import timedelta
from decimal import Decimal

import pytest
from tidegate import ConfigError, ManualClock, Quota, RateLimiter

DAY_S = 86_400


def test_says_what_it_was_made_from():
    quota = Quota(100, per=1, burst=20)
    assert (quota.limit, quota.per, quota.period_ns, quota.burst) == (100, 1.0, 10**9, 20)
    assert (quota.algorithm, quota.anchor) == ("gcra", "first")
    window = Quota(3, 2, algorithm="fixed_window", anchor="clock")
    assert (window.algorithm, window.anchor, window.burst) == ("fixed_window", "clock", 3)


@pytest.mark.parametrize(
    ("per", "ns"),
    [
        (1, 10**9),
        (0.1, 100_000_000),
        (0.07, 70_000_000),
        (1e-9, 1),
        (1e-10, 1),
        (1.0000000001, 1_000_000_001),
        (timedelta(microseconds=1), 1_000),
        (timedelta(days=365), 365 * DAY_S * 10**9),
        (30 * DAY_S, 30 * DAY_S * 10**9),
        (30.0 * DAY_S, 30 * DAY_S * 10**9),
        ((2**31 + 1000) / 1000, (2**31 + 1000) * 10**6),
    ],
)
def test_a_period_is_taken_exactly_and_fractions_of_a_nanosecond_are_rounded_up(per, ns):
    assert Quota(1, per).period_ns == ns


def test_whole_seconds_as_float_are_exact():
    for seconds in range(1, 2 * 365 * DAY_S + 1, 1_001):
        assert Quota(1, float(seconds)).period_ns == seconds * 10**9
    assert Quota(1, 31_536_000.0).period_ns == 31_536_000 * 10**9
    assert Quota(1, 2.0 * 365 * DAY_S).period_ns == 2 * 365 * DAY_S * 10**9


def test_a_float_means_the_decimal_that_python_shows_of_it_rounded_up():
    written = ["0.3", "0.30000000000000004", "2.675", "1e-9", "1.1e-9", "5e-324", "8388607.999999999", "31536000.1"]
    written += [f"{whole}.{digit}" for whole in range(0, 60_000_000, 600_011) for digit in range(1, 10)]
    written += [f"{whole}.{ns:09}" for whole in (0, 1, 4_095, 8_388_607) for ns in range(1, 10**9, 9_990_001)]
    for text in written:
        ns = math.ceil(Decimal(repr(float(text))) * 10**9)
        assert Quota(1, float(text), algorithm="fixed_window").period_ns == ns, text
        if float(text) < 2**23:
            assert ns == math.ceil(Decimal(text) * 10**9), text


def test_seconds_as_float_are_never_too_few_where_floats_are_further_apart_than_nanoseconds():
    for ns in range(2**23 * 10**9 - 1, 2 * 365 * DAY_S * 10**9, 54_684_000_000_007):
        per = Quota.parse(f"1/{ns}ns fixed_window").per
        assert ns <= Quota(1, per, algorithm="fixed_window").period_ns <= ns + 16


def test_the_longest_period_is_two_years():
    years = 2 * 365 * DAY_S
    assert Quota(1, years).period_ns == years * 10**9
    with pytest.raises(
        ConfigError,
        match=r"^per: got datetime.timedelta\(days=730, microseconds=1\); allowed: seconds above 0, up to 730 days",
    ):
        Quota(1, timedelta(seconds=years, microseconds=1))


@pytest.mark.parametrize("ns", [1, 3, 999_999_999, 10**9 + 1, 4_194_303 * 10**9 + 999_999_999])
def test_seconds_as_float_read_back_as_the_same_nanoseconds(ns):
    quota = Quota.parse(f"1/{ns}ns fixed_window")
    assert Quota(1, quota.per, algorithm="fixed_window").period_ns == ns


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((-1, 1), ConfigError, "limit: got -1; allowed: 0 to 9007199254740991"),
        ((2**53, 1), ConfigError, "limit: got 9007199254740992; allowed: 0 to 9007199254740991"),
        ((2**64, 1), ConfigError, "limit: got 18446744073709551616; allowed: 0 to 9007199254740991"),
        ((1.0, 1), TypeError, "limit: got 1.0 (float); allowed: an int, 0 to 9007199254740991"),
        ((True, 1), TypeError, "limit: got True (bool); allowed: an int, 0 to 9007199254740991"),
        (("5", 1), TypeError, "limit: got '5' (str); allowed: an int, 0 to 9007199254740991"),
        ((None, 1), TypeError, "limit: got None (NoneType); allowed: an int, 0 to 9007199254740991"),
        (
            (1, math.nan),
            ConfigError,
            "per: got nan; allowed: seconds above 0, up to 730 days, as int, float or timedelta; rounded up",
        ),
        ((1, math.inf), ConfigError, "per: got inf; allowed: seconds above 0, up to 730 days, as int"),
        ((1, -0.5), ConfigError, "per: got -0.5; allowed: seconds above 0, up to 730 days, as int"),
        ((1, -1), ConfigError, "per: got -1; allowed: seconds above 0, up to 730 days, as int"),
        ((1, timedelta(seconds=-1)), ConfigError, "per: got datetime.timedelta(days=-1, seconds=86399); allowed: "),
        ((1, True), TypeError, "per: got True (bool); allowed: seconds above 0, up to 730 days, as int"),
        ((1, "s"), TypeError, "per: got 's' (str); allowed: seconds above 0, up to 730 days, as int"),
        ((1, 0), ConfigError, "per: got 0; allowed: seconds above 0, up to 730 days, "),
        ((1, 0.0), ConfigError, "per: got 0.0; allowed: seconds above 0, up to 730 days, "),
        ((1, timedelta(0)), ConfigError, "per: got datetime.timedelta(0); allowed: seconds above 0, up to 730 days, "),
        ((1, 10 * 365 * DAY_S), ConfigError, "per: got 315360000; allowed: seconds above 0, up to 730 days, "),
        ((1, 1e300), ConfigError, "per: got 1e+300; allowed: seconds above 0, up to 730 days, "),
        (
            (1, 10**30),
            ConfigError,
            "per: got 1000000000000000000000000000000; allowed: seconds above 0, up to 730 days, ",
        ),
        ((10, 1e-10), ConfigError, "limit: got 10 with per=1e-10 (1 ns); allowed: with gcra at most about 9 tokens"),
        ((1, 1e-10, None, "sliding_window"), ConfigError, "per: got 1e-10; allowed: with sliding_window at least "),
        (("5" * 101, 1), TypeError, f"limit: got '{'5' * 100}'… (101 characters) (str); allowed: an int, "),
        (("é" * 100, 1), TypeError, f"limit: got '{'é' * 100}' (str); allowed: an int, "),
        ((1, 1, 0), ConfigError, "burst: got 0; allowed: 1 to 9007199254740991"),
        ((1, 1, -1), ConfigError, "burst: got -1; allowed: 1 to 9007199254740991"),
        ((1, 1, 1.5), TypeError, "burst: got 1.5 (float); allowed: an int, 1 to 9007199254740991"),
        ((1, 1, False), TypeError, "burst: got False (bool); allowed: an int, 1 to 9007199254740991"),
        ((1, 1, 1, "fixed_window"), ConfigError, "burst: got 1 with fixed_window; allowed: a burst with gcra only"),
        ((1, 1, None, "GCRA"), ConfigError, 'algorithm: got "GCRA"; allowed: gcra, fixed_window, sliding_window, '),
        ((1, 1, None, 1), TypeError, "algorithm: got 1 (int); allowed: a str"),
        ((1, 1, None, "fixed_window", "x"), ConfigError, 'anchor: got "x"; allowed: first, clock'),
        (
            (1, 1, None, "gcra", "clock"),
            ConfigError,
            "anchor: got clock with gcra; allowed: an anchor with fixed_window",
        ),
    ],
)
def test_a_wrong_argument_is_named_with_its_value_and_what_is_allowed(arguments, error, message):
    with pytest.raises(error) as raised:
        Quota(*arguments)
    assert str(raised.value).startswith(message)
    assert isinstance(raised.value, (ValueError, TypeError))


def test_an_int_too_long_to_show_is_refused_all_the_same():
    with pytest.raises(ConfigError, match=r"limit: got .*; allowed: 0 to 9007199254740991"):
        Quota(10**5000, 1)


def test_a_value_whose_repr_fails_is_refused_all_the_same():
    class Shy:
        def __repr__(self):
            raise RuntimeError("no")

    with pytest.raises(TypeError, match=r"limit: got a value of type Shy \(Shy\); allowed: an int"):
        Quota(Shy(), 1)


def test_whatever_counts_as_an_index_is_an_int_but_for_bool():
    class Five:
        def __index__(self):
            return 5

    assert Quota(Five(), Five()) == Quota(5, 5)


def test_an_error_from_an_index_is_passed_on():
    class Broken:
        def __index__(self):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Quota(Broken(), 1)


@pytest.mark.parametrize(
    ("text", "quota", "canonical"),
    [
        ("100/s", Quota(100, 1), "100/s"),
        ("5 per 30s", Quota(5, 30), "5/30s"),
        ("2/3s", Quota(2, 3), "2/3s"),
        ("100/minute burst 20", Quota(100, 60, 20), "100/min burst 20"),
        ("100/week", Quota(100, timedelta(weeks=1)), "100/w"),
        (" 10 / s ", Quota(10, 1), "10/s"),
        (
            "3/2000 ms fixed_window anchor clock",
            Quota(3, 2, algorithm="fixed_window", anchor="clock"),
            "3/2s fixed_window anchor clock",
        ),
        ("5/60s sliding_log", Quota(5, 60, algorithm="sliding_log"), "5/min sliding_log"),
    ],
)
def test_a_text_parses_in_full_and_is_told_in_canonical_form(text, quota, canonical):
    parsed = Quota.parse(text)
    assert parsed == quota
    assert hash(parsed) == hash(quota)
    assert str(parsed) == canonical
    assert repr(parsed) == f"Quota.parse('{canonical}')"
    assert Quota.parse(canonical) == quota


@pytest.mark.parametrize(
    "text",
    [
        "5/M",
        "100/s burst",
        "1e3/s",
        "\u0661\u0660/s",
        "",
        "-1/s",
        "1.5/s",
        "5/s x",
        "\ud800/s",
    ],
)
def test_a6_a_text_that_is_not_a_quota_is_shown_with_the_grammar(text):
    with pytest.raises(ConfigError) as raised:
        Quota.parse(text)
    assert raised.value.argument == "quota"
    assert "LIMIT/UNIT" in raised.value.allowed
    assert text.encode("utf-8", "surrogatepass") in raised.value.value.encode() or "\ud800" in text


@pytest.mark.parametrize("unit", ["month", "m"])
def test_a6_an_unknown_unit_in_a_text_is_named_with_the_units(unit):
    with pytest.raises(ConfigError, match=rf'^quota: got "5/{unit}", whose unit is .*; allowed: .*minute'):
        Quota.parse(f"5/{unit}")


def test_a6_a_period_of_zero_in_a_text_is_named():
    with pytest.raises(ConfigError, match=r"^period: got 0 second; allowed: 1 ns to "):
        Quota.parse("5/0 second")


@pytest.mark.parametrize("text", [b"5/s", 5, None])
def test_a_text_must_be_a_str(text):
    with pytest.raises(TypeError, match=r"^text: got .*; allowed: a str$"):
        Quota.parse(text)
    with pytest.raises(TypeError, match=r"^text: got .*; allowed: a str$"):
        Quota.parse_list(text)


def test_parse_reads_one_quota_and_parse_list_one_or_more():
    assert Quota.parse_list("10/s; 1000/h") == [Quota(10, 1), Quota(1000, 3600)]
    assert Quota.parse_list("10/s") == [Quota(10, 1)]
    with pytest.raises(ConfigError) as raised:
        Quota.parse("10/s; 1000/h")
    assert str(raised.value) == (
        'quota: got "10/s; 1000/h"; allowed: one quota; Quota.parse_list reads several, joined by ;'
    )
    with pytest.raises(ConfigError, match="quotas: got 17 quotas; allowed: 1 to 16 quotas"):
        Quota.parse_list("; ".join(["1/s"] * 17))


def test_quotas_are_equal_if_they_enforce_the_same():
    assert Quota(100, 1) == Quota(100, 1.0) == Quota(100, timedelta(seconds=1)) == Quota(100, 1, burst=100)
    assert hash(Quota(100, 1)) == hash(Quota(100, 1, burst=100))
    others = {Quota(99, 1), Quota(100, 2), Quota(100, 1, 20), Quota(100, 1, algorithm="fixed_window")}
    assert len(others) == 4
    assert Quota(100, 1) not in others
    assert Quota(100, 1) != "100/s"
    with pytest.raises(TypeError):
        Quota(1, 1) < Quota(2, 1)  # noqa: B015


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_l6_a_quota_makes_the_round_trip_through_pickle(protocol):
    for quota in (Quota(7, 3e-9), Quota(3, 2, algorithm="fixed_window", anchor="clock"), Quota(5, 1, burst=2)):
        assert pickle.loads(pickle.dumps(quota, protocol)) == quota
        assert copy.deepcopy(quota) == quota


def test_cannot_be_changed():
    with pytest.raises(AttributeError):
        Quota(1, 1).limit = 5
    with pytest.raises(AttributeError):
        Quota(1, 1).note = 5


@pytest.mark.parametrize(
    "quotas",
    ["10/s; 1000/h", Quota.parse_list("10/s; 1000/h"), (Quota(10, 1), "1000/h"), ["10/s", "1000/hour"]],
)
def test_a_limiter_takes_a_quota_a_text_or_a_sequence_of_either(quotas):
    limiter = RateLimiter(quotas)
    assert limiter.quotas == (Quota(10, 1), Quota(1000, 3600))
    assert limiter.quota == Quota(10, 1)
    assert RateLimiter(Quota(5, 1)).quotas == (Quota(5, 1),)


@pytest.mark.parametrize(
    ("quotas", "error", "message"),
    [
        (5, TypeError, r"^quotas: got 5 \(int\); allowed: a Quota, its text, or a list of them$"),
        (None, TypeError, r"^quotas: got None"),
        (b"5/s", TypeError, r"^quotas: got b'5/s' \(bytes\)"),
        (bytearray(b"5/s"), TypeError, r"^quotas: got bytearray\(b'5/s'\) \(bytearray\)"),
        ([5], TypeError, r"^quotas\[0\]: got 5 \(int\); allowed: a Quota or its text$"),
        (["5/s", None], TypeError, r"^quotas\[1\]: got None \(NoneType\); allowed: a Quota or its text$"),
        ([Quota(5, 1), "5/fortnight"], ConfigError, r"^quotas\[1\]: got \"5/fortnight\""),
        (["5/s", "9007199254740992/s"], ConfigError, r"^quotas\[1\]\.limit: got 9007199254740992; allowed: 0 to "),
        (["5/s", "5/0s"], ConfigError, r"^quotas\[1\]\.period: got 0 s; allowed: "),
        (["5/s", "x" * 5000], ConfigError, r"^quotas\[1\]: got \"x{100}\"… \(5000 bytes\); allowed: "),
        ({"5/s"}, TypeError, r"^quotas: got \{'5/s'\} \(set\)"),
        ([], ConfigError, r"^quotas: got 0 quotas; allowed: 1 to 16 quotas$"),
        (["1/s"] * 17, ConfigError, r"^quotas: got 17 quotas; allowed: 1 to 16 quotas$"),
        (
            ["1/s; 2/s"],
            ConfigError,
            r"^quotas\[0\]: got \"1/s; 2/s\"; allowed: one quota; in a list each has a text of its own$",
        ),
        ("", ConfigError, r"^quota: got \"\""),
        ("5/fortnight", ConfigError, r"^quota: got \"5/fortnight\""),
    ],
)
def test_what_is_no_list_of_quotas_is_named(quotas, error, message):
    with pytest.raises(error, match=message):
        RateLimiter(quotas)
    limiter = RateLimiter("5/s")
    with pytest.raises(error, match=message):
        limiter.reconfigure(quotas)
    assert limiter.quotas == (Quota(5, 1),)


@pytest.mark.parametrize("clock", [5, "monotonic", ManualClock, object()])
def test_a_clock_must_be_a_manual_one_or_none(clock):
    with pytest.raises(TypeError, match=r"^clock: got .*; allowed: a ManualClock or None$"):
        RateLimiter("5/s", clock=clock)
    assert RateLimiter("5/s", clock=None).try_acquire()
