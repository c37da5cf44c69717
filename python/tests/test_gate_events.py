"""Word of what a gate refuses and of its reloads."""

import gc
import queue
import subprocess
import sys
import threading

import pytest
from tidegate import Gate, RulesError
from waiters import Waiter, until


@pytest.fixture
def gate(clock):
    rules = [{"name": "one", "quota": "1/h"}, {"name": "shadow", "mode": "shadow", "quota": "0/s"}]
    return Gate(rules, clock=clock)


def test_events_tell_of_refusals_of_shadow_and_of_reloads_in_order(gate):
    events = gate.events()
    gate.enter().release()
    gate.try_enter()
    gate.reload([])
    with pytest.raises(RulesError):
        gate.reload("wrong")
    told = [events.get(timeout=10) for _ in range(4)]
    assert [event.name for event in told] == ["shadow_refused", "refused", "reloaded", "reload_failed"]
    assert [told[0].refusal.rule, told[1].refusal.rule] == ["shadow", "one"]
    assert told[2].reloaded.removed == ("one", "shadow")
    assert told[3].faults[0].line == 1
    assert (told[0].reloaded, told[0].faults, told[2].refusal) == (None, (), None)
    assert events.get(timeout=0) is None
    assert events.dropped == 0


def test_events_that_nobody_takes_are_dropped_and_counted(gate):
    events = gate.events()
    gate.reload([{"name": "none", "quota": "0/s"}])
    for _ in range(2_000):
        gate.try_enter()
    assert events.dropped == 2_001 - 1_024


def test_how_many_were_dropped_is_told_while_somebody_waits(gate):
    events = gate.events()
    gate.reload([{"name": "none", "quota": "0/s"}])
    for _ in range(1_024):
        gate.try_enter()
    took = []
    thread = Waiter(lambda: took.extend(events))
    until(lambda: len(took) == 1_024)
    assert events.dropped == 1
    gate.events()
    thread.join()


def test_iterating_waits_and_ends_when_another_listens_or_the_gate_is_gone(gate):
    first = gate.events()
    thread = Waiter(lambda: [event.name for event in first])
    gate.reload([])
    second = gate.events()
    assert thread.join() == ["reloaded"]
    thread = Waiter(list, second)
    del gate
    gc.collect()
    # The fixture's cache has the gate until the test ends; another listener is as good.
    assert thread.is_waiting or thread.join() == []


def test_events_end_with_their_gate():
    gate = Gate([])
    events = gate.events()
    del gate
    assert list(events) == []
    assert events.get() is None


def test_g7_a_listener_that_fails_breaks_no_decision_and_hears_of_the_next(gate, caplog):
    heard = queue.Queue()

    def listener(event):
        heard.put((event.name, threading.current_thread().daemon))
        raise ZeroDivisionError

    gate.listen(listener)
    gate.enter().release()
    assert not gate.try_enter()
    assert not gate.try_enter()
    assert [heard.get(timeout=10) for _ in range(3)] == [("shadow_refused", True), ("refused", True), ("refused", True)]
    until(lambda: len(caplog.records) == 3)
    assert caplog.records[0].name == "tidegate"
    assert "ZeroDivisionError" in caplog.text


def test_nobody_listens_once_the_listener_is_none(gate):
    heard = []
    gate.listen(heard.append)
    thread = next(thread for thread in threading.enumerate() if thread.name == "tidegate-events")
    gate.listen(None)
    thread.join(10)
    assert not thread.is_alive()
    gate.reload([])
    assert heard == []
    with pytest.raises(TypeError, match=r"callback: got 7 \(int\)"):
        gate.listen(7)


def test_a_process_ends_while_a_listener_waits():
    code = "import tidegate, time; gate = tidegate.Gate([]); gate.listen(print); time.sleep(0.1)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")
