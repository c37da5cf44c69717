"""The rules of a gate: as text, as values, in files; changed while it is in use."""

from datetime import timedelta

import pytest
from tidegate import ConfigError, Fault, Gate, Quota, Reloaded, RulesError

TOML = """
[[rules]]
name = "search"
match = { path = { prefix = "/search" } }
key = "client"
quota = "10/min"

[[rules]]
name = "downloads"
match = { path = { glob = "/files/**" } }
concurrency = 4
timeout = "50ms"
"""
YAML = """
rules:
  - name: search
    match: { path: { prefix: /search } }
    key: client
    quota: 10/min
  - name: downloads
    match: { path: { glob: "/files/**" } }
    concurrency: 4
    timeout: 50ms
"""
VALUES = [
    {"name": "search", "match": {"path": {"prefix": "/search"}}, "key": "client", "quota": Quota(10, 60)},
    {
        "name": "downloads",
        "match": {"path": {"glob": ("/files/**",)}},
        "concurrency": 4,
        "timeout": timedelta(milliseconds=50),
    },
]
AS_WRITTEN = {
    "show_keys": False,
    "rules": [
        {
            "name": "search",
            "match": {"path": {"prefix": "/search"}},
            "key": "client",
            "quota": "10/min",
            "mode": "enforce",
        },
        {
            "name": "downloads",
            "match": {"path": {"glob": "/files/**"}},
            "concurrency": 4,
            "timeout": "50ms",
            "mode": "enforce",
        },
    ],
}


def test_rules_are_read_from_text_of_each_format_and_from_values():
    assert Gate(TOML).rules == AS_WRITTEN
    assert Gate(YAML, "yaml").rules == AS_WRITTEN
    as_values = Gate(VALUES).rules
    assert [rule["quota"] for rule in as_values["rules"][:1]] == ["10/min"]
    assert as_values["rules"][1]["timeout"] == "50000us"
    assert Gate(iter(VALUES)).rules == Gate({"rules": VALUES}).rules == as_values
    assert Gate(AS_WRITTEN).rules == AS_WRITTEN
    assert Gate([]).rules == {"show_keys": False, "rules": []}


def test_a_file_is_read_by_the_ending_of_its_name(tmp_path):
    for name, text in (("rules.toml", TOML), ("rules.yaml", YAML), ("rules.yml", YAML)):
        file = tmp_path / name
        file.write_text(text)
        assert Gate.open(file).rules == Gate.open(str(file)).rules == AS_WRITTEN


def test_g3_all_that_is_wrong_is_told_with_file_line_rule_and_what_is_allowed_and_nothing_changes(tmp_path):
    it = Gate(TOML)
    file = tmp_path / "rules.toml"
    file.write_text('[[rules]]\nname = "a"\nquota = "10/fortnight"\n\n[[rules]]\nname = "b"\nconcurency = 4\n')
    with pytest.raises(RulesError) as raised:
        it.reload_file(file)
    faults = raised.value.faults
    assert [(fault.file, fault.line, fault.rule) for fault in faults[:2]] == [(str(file), 3, "a"), (str(file), 7, "b")]
    assert faults[0].argument == "quota"
    assert "10/fortnight" in faults[0].value
    assert str(faults[0]).startswith(f"{file}:3: rule a: quota: got ")
    assert str(raised.value).splitlines()[0] == str(faults[0])
    assert it.rules == AS_WRITTEN
    with pytest.raises(RulesError):
        Gate.open(file)
    with pytest.raises(ValueError, match="line 3: rule a: quota"):
        Gate(file.read_text())


def test_what_is_wrong_with_values_has_no_line():
    with pytest.raises(RulesError) as raised:
        Gate([{"name": "a", "quota": "1/s"}, {"quota": "1/s"}, {"name": "a", "quota": 7}])
    assert {fault.line for fault in raised.value.faults} == {None}
    told = {(fault.rule, fault.argument) for fault in raised.value.faults}
    assert told == {("#2", "name"), ("a", "name"), ("a", "quota")}
    assert str(Fault(None, None, None, "name", "1", "a text")) == "name: got 1; allowed: a text"


@pytest.mark.parametrize(
    ("rules", "kind", "named"),
    [
        (7, TypeError, "rules: got 7 (int)"),
        (None, TypeError, "rules: got None (NoneType)"),
        ([{"name": {1, 2}}], TypeError, "rules: got {1, 2} (set)"),
        (b"rules", TypeError, "rules: got b'rules' (bytes)"),
    ],
)
def test_what_is_no_rules_at_all_is_told(rules, kind, named):
    with pytest.raises(kind) as raised:
        Gate(rules)
    assert str(raised.value).startswith(named)


def test_a_format_that_there_is_not_is_told():
    with pytest.raises(ConfigError, match='format: got "ini"; allowed: toml, json, yaml'):
        Gate(TOML, "ini")
    with pytest.raises(RulesError, match=r"a name that ends in \.toml"):
        Gate.open("rules.ini")


def test_g4_a_change_tells_what_it_did_and_what_is_used_stays_used(clock):
    it = Gate(TOML, clock=clock)
    for _ in range(8):
        it.enter(path="/search", client="x").release()
    assert it.reload(TOML) == Reloaded(("search", "downloads"), (), (), (), ())
    changed = it.reload(TOML.replace("10/min", "20/min") + '[[rules]]\nname = "new"\nquota = "1/s"\n')
    assert changed == Reloaded(("downloads",), ("search",), (), ("new",), ())
    trace = it.explain(path="/search", client="x").rules[0]
    assert (trace.limit, trace.remaining) == (20, 12)
    assert it.reload([]).removed == ("search", "downloads", "new")


def test_a_removed_rule_lets_its_entries_finish():
    it = Gate(TOML)
    with it.enter(path="/files/a") as entry:
        it.reload([])
        assert entry.rules == ("downloads",)
        with it.enter(path="/files/a") as other:
            assert not other.applies


def test_g5_a_raised_limit_counts_from_the_next_request(clock):
    rule = {"name": "a", "quota": "1/h"}
    it = Gate([rule], clock=clock)
    it.enter().release()
    assert not any(it.try_enter() for _ in range(100))
    it.reload([rule | {"quota": "5/h"}])
    for _ in range(4):
        it.enter().release()
    assert not it.try_enter()


def test_g2_an_explanation_tells_which_rules_match_and_why_not_and_spends_nothing(clock):
    it = Gate(
        [
            {"name": "glob", "match": {"path": {"glob": "ass*"}}, "quota": "1/h"},
            {"name": "prefix", "match": {"path": {"prefix": "/assign"}, "method": {"exact": ["GET", "HEAD"]}}}
            | {"concurrency": 2},
        ],
        clock=clock,
    )
    for _ in range(5):
        told = it.explain(path="/assign/sso/user", method="GET")
    assert told.status == "allowed"
    glob, prefix = told.rules
    assert (glob.rule, glob.matched, glob.status) == ("glob", False, None)
    assert (glob.conditions[0].mode, glob.conditions[0].value) == ("glob", "/assign/sso/user")
    assert (prefix.matched, prefix.status, prefix.limit, prefix.remaining) == (True, "allowed", 2, 2)
    assert prefix.conditions[0].texts == ("GET", "HEAD")
    assert "rule glob: does not match, since path" in str(told)
    assert it.explain({}).status == "no_rule"
    assert it.stats().admitted == 0


def test_counters_are_told_in_all_and_by_rule(clock):
    it = Gate(
        [
            {"name": "quota", "quota": "2/h"},
            {"name": "shadow", "mode": "shadow", "concurrency": 1},
            {"name": "off", "mode": "off", "quota": "0/s"},
        ],
        clock=clock,
    )
    with it.enter(), it.enter():
        assert not it.try_enter()
        stats = it.stats()
    assert (stats.admitted, stats.refused, stats.unmatched) == (2, 1, 0)
    assert list(stats.rules) == ["quota", "shadow", "off"]
    assert (stats.rules["quota"].admitted, stats.rules["quota"].refused) == (2, 1)
    shadow = stats.rules["shadow"]
    assert (shadow.mode, shadow.admitted, shadow.refused, shadow.in_flight) == ("shadow", 1, 1, 1)
    assert (stats.rules["off"].mode, stats.rules["off"].refused) == ("off", 0)
