"""Rules that come from elsewhere while a gate is in use: from a file that is watched, from a function that is asked."""

import gc
import os
import queue
import subprocess
import sys
import threading
import time
import weakref

import pytest
from tidegate import ConfigError, Gate, RulesError
from waiters import until

RULE = '[[rules]]\nname = "{}"\nquota = "1/s"\n'


def names(gate):
    return list(gate.stats().rules)


class TestWatchedFiles:
    @pytest.fixture
    def file(self, tmp_path):
        file = tmp_path / "rules.toml"
        file.write_text(RULE.format("first"))
        return file

    def test_a_change_in_place_or_by_a_rename_is_seen_and_a_wrong_one_is_told(self, file):
        gate = Gate.open(file, watch=True)
        events = gate.events()
        assert names(gate) == ["first"]
        file.write_text(RULE.format("second"))
        until(lambda: names(gate) == ["second"])
        other = file.with_name("rules.new")
        other.write_text(RULE.format("third"))
        os.replace(other, file)
        until(lambda: names(gate) == ["third"])
        file.write_text("wrong")
        told = [events.get(timeout=20) for _ in range(3)]
        assert [event.name for event in told] == ["reloaded", "reloaded", "reload_failed"]
        assert told[2].faults[0].file == str(file)
        assert names(gate) == ["third"]

    def test_it_ends_when_it_is_stopped_but_not_when_it_is_forgotten(self, file):
        gate = Gate([])
        watch = gate.watch_file(file)
        assert names(gate) == ["first"]
        watch.stop()
        watch.stop()
        file.write_text(RULE.format("second"))
        time.sleep(0.2)
        assert names(gate) == ["first"]
        gate.watch_file(str(file))
        gc.collect()
        file.write_text(RULE.format("third"))
        until(lambda: names(gate) == ["third"])

    def test_a_file_that_is_wrong_or_missing_at_first_is_not_watched(self, file):
        gate = Gate([])
        with pytest.raises(RulesError, match="missing"):
            gate.watch_file(file.with_name("missing.toml"))
        with pytest.raises(TypeError):
            Gate.open(7)

    def test_a_file_that_is_not_watched_is_read_once(self, file):
        gate = Gate.open(file)
        file.write_text(RULE.format("second"))
        time.sleep(0.2)
        assert names(gate) == ["first"]


class TestPull:
    def test_rules_come_from_a_source_off_the_callers_thread(self):
        gate, answers = Gate([]), queue.Queue()
        watch = gate.pull(answers.get, every=0.001)
        for answer in (None, RULE.format("a"), RULE.format("b")):
            answers.put(answer)
        until(lambda: names(gate) == ["b"])
        watch.stop()
        answers.put(RULE.format("c"))
        answers.put(None)
        assert names(gate) == ["b"]

    def test_what_is_pulled_may_be_values_or_text_in_any_format(self):
        for rules, how in (([{"name": "a", "quota": "1/s"}], "toml"), ("rules: [{name: a, quota: 1/s}]", "yaml")):
            gate = Gate([])
            gate.pull(lambda rules=rules: rules, every=3600, format=how)
            until(lambda gate=gate: names(gate) == ["a"])

    def test_the_last_good_rules_stay_when_the_source_fails_or_is_wrong(self):
        gate = Gate([{"name": "first", "quota": "1/s"}])
        events = gate.events()
        answers = iter(["wrong", ZeroDivisionError("no database"), 7, RULE.format("good")])
        seen = []

        def source():
            seen.append(names(gate()))
            answer = next(answers, None)
            if isinstance(answer, Exception):
                raise answer
            return answer

        it, gate = gate, weakref.ref(gate)
        watch = it.pull(source, every=0.001)
        told = [events.get(timeout=20) for _ in range(4)]
        watch.stop()
        assert events.get(timeout=0) is None
        assert [event.name for event in told] == ["reload_failed"] * 3 + ["reloaded"]
        assert "no database" in str(told[1].faults[0])
        assert "'int' object is not iterable" in str(told[2].faults[0])
        assert seen[:4] == [["first"]] * 4
        assert names(it) == ["good"]

    def test_it_ends_with_its_gate(self):
        gate, asked = Gate([]), threading.Event()
        gate.pull(asked.set, every=0.001)
        assert asked.wait(20)
        del gate
        until(lambda: asked.clear() or not asked.wait(0.05))

    def test_a_wrong_argument_is_named(self):
        for wrong, kind, named in (
            ({"source": 7}, TypeError, "source: got 7 (int)"),
            ({"source": list, "every": 0}, ConfigError, "every: got 0; allowed: seconds above 0"),
            ({"source": list, "every": "5s"}, TypeError, "every: got '5s' (str)"),
            ({"source": list, "format": "ini"}, ConfigError, 'format: got "ini"'),
        ):
            with pytest.raises(kind) as raised:
                Gate([]).pull(**wrong)
            assert str(raised.value).startswith(named)


def test_a_process_ends_while_sources_are_asked(tmp_path):
    (tmp_path / "rules.toml").write_text(RULE.format("a"))
    code = """
import tidegate, time
gate = tidegate.Gate.open("rules.toml", watch=True)
gate.pull(lambda: time.sleep(0.01), every=0.001)
time.sleep(0.1)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
