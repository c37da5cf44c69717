"""A gate: all rules that match must admit, or nothing is taken."""

import math
import pickle

import pytest
import tidegate
from tidegate import ConfigError, Entry, Gate, GateRefused, Quota, Refusal, Refused


def prefix(name, text, **limiter):
    return {"name": name, "match": {"path": {"prefix": text}}, **limiter}


@pytest.fixture
def gate(clock):
    """Makes a gate on the test's clock."""
    return lambda *rules: Gate(rules, clock=clock)


def remaining(gate, rule, **attributes):
    return next(trace.remaining for trace in gate.explain(attributes).rules if trace.rule == rule)


def test_g1_a_refusal_by_one_rule_gives_back_what_the_others_gave(gate):
    it = gate(prefix("a", "/", concurrency=4), prefix("b", "/", quota="1/h"), prefix("tokens", "/", quota="10/h"))
    with it.enter(path="/a") as entry:
        assert set(entry.rules) == {"a", "b", "tokens"}
    for _ in range(20):
        with pytest.raises(GateRefused) as refused:
            it.enter(path="/a")
        assert (refused.value.rule, refused.value.status) == ("b", "denied")
    assert (remaining(it, "a", path="/a"), remaining(it, "tokens", path="/a")) == (4, 9)


def test_g6_a_request_to_which_no_rule_applies_is_admitted_and_told_apart(gate):
    it = gate(prefix("a", "/a", concurrency=1))
    with it.enter(path="/b") as entry:
        assert (entry.applies, entry.status, entry.rules, entry.headers()) == (False, "no_rule", (), {})
    with it.enter(path="/a") as entry:
        assert (entry.applies, entry.status, entry.rules) == (True, "allowed", ("a",))
    assert (it.stats().admitted, it.stats().unmatched) == (1, 1)


def test_an_exception_tells_rule_key_limit_remaining_and_when_to_come_again(gate, clock):
    it = gate(prefix("search", "/search", key="client", quota="2/min"))
    for _ in range(2):
        it.enter(path="/search/cats", client="203.0.113.7").release()
    clock.advance(10)
    with pytest.raises(Refused) as caught:
        it.enter(path="/search", client="203.0.113.7")
    refused = caught.value
    assert type(refused) is GateRefused
    assert (refused.rule, refused.limit, refused.remaining) == ("search", 2, 0)
    assert (refused.retry_after, refused.refusal.retry_after_ns) == (20.0, 20_000_000_000)
    assert refused.refusal.retry_after_seconds == 20
    assert refused.refusal.quota == Quota(2, 60)
    assert (refused.in_flight, refused.waiting, refused.elapsed, refused.timeout) == (None, 0, 0.0, None)
    assert refused.key.startswith("#")
    assert "203.0.113.7" not in str(refused)
    assert "rule search" in str(refused)
    it.enter(path="/search", client="203.0.113.8").release()


def test_keys_are_shown_where_the_rules_say_so(clock):
    rules = [{"name": "all", "key": ["tenant", "client"], "quota": "1/h"}]
    it = Gate({"show_keys": True, "rules": rules}, clock=clock)
    it.enter(tenant="a", client="b").release()
    refusal = it.try_enter(tenant="a", client="b")
    assert refusal.key == "a, b"


def test_a_limit_of_permits_tells_how_many_are_inside_and_no_time(gate):
    it = gate(prefix("four", "/limit", concurrency=4))
    entries = [it.enter(path="/limit") for _ in range(4)]
    refusal = it.try_enter(path="/limit")
    assert (refusal.limit, refusal.remaining, refusal.in_flight, refusal.quota) == (4, 0, 4, None)
    assert (refusal.retry_after, refusal.retry_after_ns, refusal.retry_after_seconds) == (None, None, None)
    assert "4 permits, 0 available" in str(refusal)
    for entry in entries:
        entry.release()
    assert it.stats().rules["four"].in_flight == 0


def test_what_can_never_be_admitted_is_never_to_be_retried(gate):
    it = gate(prefix("a", "/", quota="2/s"))
    refusal = it.try_enter(path="/", cost=3)
    assert (refusal.status, refusal.retry_after, refusal.retry_after_ns) == ("exceeds_capacity", math.inf, None)
    assert "Retry-After" not in refusal.headers()


def test_try_enter_gives_an_entry_that_is_true_or_a_refusal_that_is_false(gate):
    it = gate(prefix("a", "/", concurrency=1))
    entry = it.try_enter(path="/")
    assert entry
    assert isinstance(entry, Entry)
    refusal = it.try_enter(path="/")
    assert not refusal
    assert isinstance(refusal, Refusal)
    entry.release()


def test_a_cost_counts_as_often_in_each_rule_times_the_costs_of_rules(gate):
    it = gate(prefix("one", "/", quota="100/h"), prefix("three", "/", quota="100/h", cost=3))
    it.enter(path="/", cost=5).release()
    assert (remaining(it, "one", path="/"), remaining(it, "three", path="/")) == (95, 85)


@pytest.mark.parametrize(
    "request_of",
    [
        lambda it: it.enter(path="/a", client="x"),
        lambda it: it.enter({"path": "/a", "client": "x"}),
        lambda it: it.enter({"path": b"/a"}, client="x"),
        lambda it: it.enter({"path": "/other"}, path="/a", client=b"x"),
        lambda it: it.enter(__import__("types").MappingProxyType({"path": "/a", "client": "x", "other": None})),
    ],
)
def test_attributes_are_given_by_name_in_a_mapping_or_both_as_text_or_bytes(gate, request_of):
    it = gate(prefix("a", "/a", key="client", quota="1/h"))
    request_of(it).release()
    assert remaining(it, "a", path="/a", client="x") == 0
    assert remaining(it, "a", path="/a", client="y") == 1


def test_an_attribute_that_is_none_is_one_that_the_request_does_not_have(gate):
    it = gate({"name": "a", "match": {"caller": {"glob": "**"}}, "concurrency": 1})
    with it.enter(caller=None) as entry:
        assert not entry.applies


def test_an_attribute_may_have_the_name_of_an_argument_in_a_mapping(gate):
    it = gate({"name": "a", "match": {"cost": {"exact": "high"}}, "quota": "5/h"})
    it.enter({"cost": "high", "timeout": "x"}, cost=2).release()
    assert remaining(it, "a", cost=None) is None
    assert next(iter(it.explain({"cost": "high"}).rules)).remaining == 3


@pytest.mark.parametrize(
    ("call", "kind", "named"),
    [
        (lambda it: it.enter(path=7), TypeError, "path: got 7 (int)"),
        (lambda it: it.enter("path"), TypeError, "attributes: got 'path' (str)"),
        (lambda it: it.enter({7: "x"}), TypeError, "attributes: got 7 (int)"),
        (lambda it: it.enter(path="/", cost=0), ConfigError, "cost: got 0"),
        (lambda it: it.enter(path="/", cost="1"), TypeError, "cost: got '1' (str)"),
        (lambda it: it.enter(path="/", timeout=-1), ConfigError, "timeout: got -1"),
        (lambda it: it.try_enter(path=1.5), TypeError, "path: got 1.5 (float)"),
        (lambda it: it.enter_async(path=7), TypeError, "path: got 7 (int)"),
        (lambda it: it.explain(path=7), TypeError, "path: got 7 (int)"),
        (lambda it: it.guard(path=7), TypeError, "path: got 7 (int)"),
    ],
)
def test_a_wrong_argument_is_named_and_nothing_is_taken(gate, call, kind, named):
    it = gate({"name": "all", "quota": "1/h"})
    with pytest.raises(kind) as raised:
        call(it)
    assert str(raised.value).startswith(named)
    assert remaining(it, "all") == 1


def test_a_text_with_lone_surrogates_is_a_value_like_others(gate):
    it = gate({"name": "a", "key": "client", "quota": "1/h"})
    it.enter(client="\ud800").release()
    assert not it.try_enter(client="\ud800")
    it.enter(client="\ud801").release()


class TestEntry:
    @pytest.fixture
    def it(self):
        it = Gate([prefix("one", "/", concurrency=1)])
        yield it
        assert it.stats().rules["one"].in_flight == 0

    def test_a_block_releases_and_its_exception_counts_as_failed(self, it):
        with it.enter(path="/"):
            assert it.stats().rules["one"].in_flight == 1
        with pytest.raises(KeyError), it.enter(path="/"):
            raise KeyError
        assert (it.stats().released_ok, it.stats().released_failed) == (1, 1)

    def test_release_says_whether_it_went_well_and_a_second_one_is_an_error(self, it):
        entry = it.enter(path="/")
        assert not entry.released
        entry.release(ok=False)
        assert entry.released
        assert it.stats().released_failed == 1
        for again in (entry.release, entry.__enter__, entry.headers, lambda: entry.rules):
            with pytest.raises(ConfigError, match="entry: got one that was released before"):
                again()
        assert (entry.applies, entry.status) == (True, "allowed")
        assert (it.stats().released_ok, it.stats().released_failed) == (0, 1)

    def test_a_block_may_release_before_it_ends(self, it):
        with it.enter(path="/") as entry:
            entry.release()
            assert it.stats().rules["one"].in_flight == 0

    def test_one_that_is_dropped_is_released_with_a_warning(self, it):
        with pytest.warns(ResourceWarning, match="an Entry was dropped without release"):
            it.enter(path="/")


def test_the_older_headers_never_have_more_remaining_than_the_limit(gate):
    def limit_and_remaining(answer):
        headers = answer.headers(legacy=True)
        return headers["X-RateLimit-Limit"], headers["X-RateLimit-Remaining"]

    it = gate(prefix("burst", "/", quota="5/min burst 10"))
    with it.enter(path="/") as entry:
        assert limit_and_remaining(entry) == ("10", "9")
        assert entry.headers()["RateLimit"] == '"burst";r=5;t=12'
    for _ in range(9):
        it.enter(path="/").release()
    assert limit_and_remaining(it.try_enter(path="/")) == ("10", "0")
    it = gate(prefix("slow", "/", quota="100/min burst 10"))
    with it.enter(path="/") as entry:
        assert limit_and_remaining(entry) == ("100", "9")


def test_headers_tell_policies_and_what_is_left(gate, clock):
    it = gate(prefix("search", "/", quota="100/min"), prefix("burst", "/", quota="5/s"))
    with it.enter(path="/") as entry:
        headers = entry.headers()
    assert set(headers) == {"RateLimit-Policy", "RateLimit"}
    assert '"search";q=100;w=60' in headers["RateLimit-Policy"]
    assert '"burst";r=4;t=1' in headers["RateLimit"]
    for _ in range(4):
        it.enter(path="/").release()
    refusal = it.try_enter(path="/")
    assert refusal.headers()["Retry-After"] == "1"
    assert '"type":"about:blank"' in refusal.problem_json()


@pytest.mark.parametrize("of", ["permits", "quota"])
def test_l6_refusals_survive_pickling_with_all_they_say(gate, of):
    limiter = {"concurrency": 1} if of == "permits" else {"quota": ["1/h", "5/s burst 7"]}
    it = gate({"name": "a", "key": "client", **limiter})
    with it.enter(client="x"), pytest.raises(GateRefused) as caught:
        it.enter(client="x", timeout=0)
    refused = caught.value
    copy = pickle.loads(pickle.dumps(refused))
    assert type(copy) is GateRefused
    assert copy.args == refused.args
    assert {**copy.__dict__, "refusal": None} == {**refused.__dict__, "refusal": None}
    figures = [name for name in dir(Refusal) if not name.startswith("_") and not callable(getattr(Refusal, name))]
    assert len(figures) == 13
    for name in figures:
        assert getattr(copy.refusal, name) == getattr(refused.refusal, name), name
    assert copy.refusal.headers() == refused.refusal.headers()
    assert copy.refusal.problem_json() == refused.refusal.problem_json()
    assert str(copy.refusal) == str(refused.refusal)


def test_a_gate_and_an_entry_refuse_to_be_pickled(gate):
    it = gate()
    with pytest.raises(TypeError, match="cannot pickle or copy a Gate"):
        pickle.dumps(it)
    with it.enter() as entry, pytest.raises(TypeError, match="Entry"):
        pickle.dumps(entry)


def test_g8_an_evil_pattern_takes_linear_time():
    it = Gate([{"name": "evil", "match": {"path": {"regex": "(a+)+$"}}, "quota": "1000/s"}])
    text = "a" * 100_000
    with it.enter(path=text) as entry:
        assert entry.applies
    with it.enter(path=text + "b") as entry:
        assert not entry.applies


def test_names_of_the_package_are_its_own():
    for name in ("Gate", "Entry", "Refusal", "GateRefused"):
        assert getattr(tidegate, name).__module__ in ("tidegate", "tidegate.errors")
