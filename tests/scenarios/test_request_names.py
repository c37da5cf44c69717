"""Calls a second by the name of a request, from a table that changes while it is in use."""

import subprocess
import sys

import pytest
import tidegate
from waiters import until

PAGE = "request-names"


@pytest.fixture
def code(page, clock):
    page.code.gate = tidegate.Gate.open(page.file, watch=True, clock=clock)
    return page.code


def admitted(code, request, calls=100):
    """How many of so many calls do their work."""
    done = []
    for number in range(calls):
        try:
            done.append(code.handle(request, lambda number=number: number))
        except tidegate.GateRefused as refused:
            assert (refused.rule, refused.key) == ("calls", request)
    assert done == list(range(len(done)))
    return len(done)


def save(page, *changes):
    """Edits the rule file."""
    text = page.file.read_text()
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    page.save(text)


def table(code):
    return code.gate.rules["rules"][0]["overrides"]


def test_each_name_has_its_calls_a_second_and_an_unknown_one_gets_one(code, clock):
    wanted = {"GetOrder": 50, "ListOrders": 5, "Export": 0, "Unknown": 1, "getorder": 1, "": 1}
    for _ in range(3):
        assert {request: admitted(code, request) for request in wanted} == wanted
        clock.advance(1)
    assert admitted(code, "Unknown") == 1
    clock.advance(0.999_999)
    assert admitted(code, "Unknown") == 0


def test_the_table_changes_while_it_is_in_use_and_what_is_used_stays_used(page, code, clock):
    assert (admitted(code, "ListOrders"), admitted(code, "GetOrder"), admitted(code, "Cancel")) == (5, 50, 1)
    save(page, ('ListOrders = "5/s"', 'ListOrders = "8/s"\nCancel = "3/s"'), ('GetOrder = "50/s"\n', ""))
    until(lambda: table(code).get("Cancel") == "3/s")
    assert (admitted(code, "ListOrders"), admitted(code, "GetOrder"), admitted(code, "Cancel")) == (3, 0, 2)
    clock.advance(1)
    assert (admitted(code, "ListOrders"), admitted(code, "GetOrder"), admitted(code, "Cancel")) == (8, 1, 3)


def test_a_table_with_a_mistake_is_told_by_its_line_and_the_one_before_stays(page, code):
    events = code.gate.events()
    save(page, ('"5/s"', '"5 a second"'))
    event = events.get(timeout=20)
    assert event.name == "reload_failed"
    [fault] = event.faults
    assert (fault.file, fault.line, fault.rule) == (str(page.file), 11, "calls")
    assert fault.argument == "overrides.ListOrders"
    assert admitted(code, "ListOrders", 5) == 5


def test_an_idle_name_owes_nothing(code, clock):
    for number in range(1_000):
        assert admitted(code, f"made up {number}", 1) == 1
    assert code.gate.stats().rules["calls"].live_keys > 100
    clock.advance(1)
    assert code.gate.stats().rules["calls"].live_keys == 0
    assert all(admitted(code, f"made up {number}", 1) == 1 for number in range(1_000))


# In a process of its own, since what is measured is the most that a process ever had.
MANY_NAMES = """
import resource
import tidegate
import request_names

clock = tidegate.ManualClock()
request_names.gate = gate = tidegate.Gate.open("rules.toml", clock=clock)


def call(numbers):
    for number in numbers:
        request_names.handle(f"made up {number}", int)


call(range(100_000))  # as many at once as there is room for
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for begin in range(100_000, 400_000, 50_000):
    clock.advance(1)
    call(range(begin, begin + 50_000))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, gate.stats().rules["calls"].evicted_live)
"""


def test_names_by_the_hundred_thousand_take_no_more_memory_than_the_table_has(page):
    said = subprocess.run([sys.executable, "-c", MANY_NAMES], check=True, capture_output=True, text=True, timeout=120)
    grown, evicted_live = map(int, said.stdout.split())
    assert grown * (1 if sys.platform == "darwin" else 1024) < 2_000_000  # a counter for each would be 24 MB and more
    assert evicted_live < 100
