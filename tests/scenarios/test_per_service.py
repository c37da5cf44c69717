"""Calls of each service, whose settings come from a database while requests go on."""

import sqlite3
import threading

import pytest
import tidegate
from waiters import until

PAGE = "per-service"


@pytest.fixture
def store(page, tmp_path):
    # Whole, since who reads it may be a step behind a test that has ended.
    page.code.STORE = tmp_path / page.code.STORE
    store = sqlite3.connect(page.code.STORE, isolation_level=None)
    store.execute("CREATE TABLE settings (service TEXT PRIMARY KEY, calls INTEGER)")
    yield store
    store.close()


@pytest.fixture
def code(page, store, clock):
    page.code.gate = tidegate.Gate(page.rules[0], clock=clock)
    return page.code


@pytest.fixture
def follow(code):
    watch = code.follow(every=0.001)
    yield watch
    watch.stop()


def admitted(gate, service, calls=10):
    """How many of so many calls go ahead."""
    count = 0
    for _ in range(calls):
        if entry := gate.try_enter(service=service):
            entry.release()
            count += 1
    return count


def set_calls(store, service, calls):
    store.execute("REPLACE INTO settings VALUES (?, ?)", (service, calls))


def override(gate, service):
    return gate.rules["rules"][0].get("overrides", {}).get(service)


def test_each_service_may_be_called_three_times_in_30_s(code, clock):
    gate = code.gate
    assert admitted(gate, "a") == 3
    clock.advance(29.999)
    assert admitted(gate, "a") == 0
    assert admitted(gate, "b") == 3
    clock.advance(0.001)
    assert admitted(gate, "a") == 3


def test_a_hundred_services_are_remembered_and_what_many_more_take_is_bounded(code, clock):
    gate = code.gate
    for number in range(100):
        assert admitted(gate, f"service {number}", 4) == 3
    for number in range(100, 20_000):
        admitted(gate, f"service {number}", 1)
    rule = gate.stats().rules["calls"]
    assert rule.live_keys <= 252
    assert rule.evicted_live > 15_000
    assert sum(admitted(gate, f"service {number}", 1) for number in range(100)) <= 3
    clock.advance(30)
    assert gate.stats().rules["calls"].live_keys == 0


def test_settings_come_from_the_store_and_leave_used_what_is_used(code, store, follow):
    gate = code.gate
    assert admitted(gate, "search") == 3
    set_calls(store, "search", 5)
    until(lambda: override(gate, "search") == "5/30s fixed_window")
    assert admitted(gate, "search") == 2
    assert admitted(gate, "other") == 3
    store.execute("DELETE FROM settings")
    until(lambda: override(gate, "search") is None)
    assert admitted(gate, "search") == 0


def test_while_the_store_hangs_requests_go_at_once_and_never_ask_it(code, store):
    read, asked, goes_on, readers = code.settings, threading.Event(), threading.Event(), set()

    def hanging():
        readers.add(threading.get_ident())
        asked.set()
        assert goes_on.wait(20)
        return read()

    set_calls(store, "search", 5)
    code.settings = hanging
    watch = code.follow(every=0.001)
    assert asked.wait(20)
    assert [admitted(code.gate, f"service {number}") for number in range(100)] == [3] * 100
    assert admitted(code.gate, "search") == 3
    goes_on.set()
    until(lambda: override(code.gate, "search") is not None)
    watch.stop()
    assert threading.get_ident() not in readers


def test_when_the_store_fails_that_is_told_and_the_last_good_settings_stay(code, store):
    events = code.gate.events()
    set_calls(store, "search", 5)
    watch = code.follow(every=0.001)
    assert events.get(timeout=20).name == "reloaded"
    store.execute("BEGIN EXCLUSIVE")
    failed = events.get(timeout=20)
    assert failed.name == "reload_failed"
    assert "database is locked" in str(failed.faults[0])
    assert admitted(code.gate, "search", 5) == 5
    store.execute("UPDATE settings SET calls = 7")
    store.execute("COMMIT")
    assert events.get(timeout=20).name == "reloaded"
    assert admitted(code.gate, "search") == 2
    watch.stop()


def test_settings_that_are_wrong_are_told_and_change_nothing(code, store):
    events = code.gate.events()
    set_calls(store, "search", -1)
    watch = code.follow(every=0.001)
    failed = events.get(timeout=20)
    assert failed.name == "reload_failed"
    assert failed.faults[0].argument == "overrides.search"
    assert admitted(code.gate, "search") == 3
    watch.stop()
