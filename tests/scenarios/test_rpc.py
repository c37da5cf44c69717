"""The three filters of an RPC stack, in front of XML-RPC over HTTP."""

import contextlib
import threading
from types import SimpleNamespace
from xmlrpc.client import Fault

import pytest
import tidegate
from waiters import Waiter, until

PAGE = "rpc"


class Catalogue:
    """A service; what it is asked to find slowly it finds when told."""

    def __init__(self):
        self.go = threading.Event()

    def find(self, name):
        return f"found {name}"

    def find_slowly(self, name):
        assert self.go.wait(20)
        return self.find(name)


@pytest.fixture
def catalogue():
    catalogue = Catalogue()
    yield catalogue
    catalogue.go.set()


@pytest.fixture
def client_gate(page, clock):
    return tidegate.Gate(page.rules[0], clock=clock)


@pytest.fixture
def server_gate(page, clock):
    return tidegate.Gate(page.rules[1], clock=clock)


@pytest.fixture
def client(page, catalogue, client_gate, server_gate):
    """A client of a server that runs."""
    with served(page, catalogue, server_gate) as url:
        yield page.code.Client(client_gate, url)
        catalogue.go.set()
        until(lambda: in_flight(client_gate, "under way") == in_flight(server_gate, "at work") == 0)


@contextlib.contextmanager
def served(page, catalogue, gate):
    with page.code.Server(gate) as server:
        for method in ("find", "find_slowly"):
            server.register_function(getattr(catalogue, method), f"catalogue.{method}")
            server.register_function(getattr(catalogue, method), f"prices.{method}")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield "http://{}:{}".format(*server.server_address)
        finally:
            server.shutdown()
            thread.join(20)


def in_flight(gate, rule):
    stats = gate.stats().rules.get(rule)
    return stats.in_flight if stats else 0


def begin_slow(client, gate, count, rule, service="catalogue"):
    """Calls that are under way until the catalogue is told to go on."""
    calls = [Waiter(client.call, service, "find_slowly", number, timeout=20) for number in range(count)]
    until(lambda: in_flight(gate, rule) == count or not all(call.is_waiting for call in calls))
    assert in_flight(gate, rule) == count
    return calls


def test_a_clients_call_waits_for_its_turn_for_as_long_as_it_may_take(client, client_gate, catalogue):
    slow = begin_slow(client, client_gate, 2, "under way")
    third = Waiter(client.call, "catalogue", "find_slowly", "more", timeout=20)
    until(lambda: client_gate.stats().rules["under way"].waiting == 1)
    assert client.call("catalogue", "find", "other method", timeout=20) == "found other method"
    assert third.is_waiting
    catalogue.go.set()
    assert [call.join() for call in slow] == ["found 0", "found 1"]
    assert third.join() == "found more"


def test_a_call_whose_turn_does_not_come_in_time_is_told_how_it_stood(client, client_gate, catalogue, clock):
    begin_slow(client, client_gate, 2, "under way")
    late = Waiter(client.call, "catalogue", "find_slowly", "late", timeout=0.75)
    until(lambda: client_gate.stats().rules["under way"].waiting == 1)
    patient = Waiter(client.call, "catalogue", "find_slowly", "patient", timeout=20)
    until(lambda: client_gate.stats().rules["under way"].waiting == 2)
    clock.advance(0.75)
    with pytest.raises(tidegate.GateRefused) as refused:
        late.join()
    told = refused.value
    assert (told.rule, told.status) == ("under way", "timed_out")
    assert (told.elapsed, told.timeout, told.in_flight, told.limit, told.waiting) == (0.75, 0.75, 2, 2, 1)
    catalogue.go.set()
    assert patient.join() == "found patient"


def test_the_server_gets_what_the_wait_left_of_the_timeout(page, client, client_gate, catalogue, clock, monkeypatch):
    given = []

    class Noted(page.code.Transport):
        def __init__(self, timeout):
            given.append(timeout)
            super().__init__(timeout)

    monkeypatch.setattr(page.code, "Transport", Noted)
    monkeypatch.setattr(page.code, "time", SimpleNamespace(monotonic=lambda: clock.now_ns / 1e9))
    slow = begin_slow(client, client_gate, 2, "under way")
    third = Waiter(client.call, "catalogue", "find_slowly", "more", timeout=20)
    until(lambda: client_gate.stats().rules["under way"].waiting == 1)
    clock.advance(5)
    catalogue.go.set()
    assert [call.join() for call in (*slow, third)] == ["found 0", "found 1", "found more"]
    assert given == [20, 20, 15]


def test_the_server_refuses_at_once_what_is_more_than_it_may_work_on(page, catalogue, client_gate, server_gate):
    client_gate.reload([])  # a client without limits
    with served(page, catalogue, server_gate) as url:
        client = page.code.Client(client_gate, url)
        slow = begin_slow(client, server_gate, 3, "at work")
        with pytest.raises(Fault, match=r"denied by rule at work for .*: 3 permits, 0 available") as refused:
            client.call("catalogue", "find_slowly", "more", timeout=20)
        assert refused.value.faultCode == 429
        assert client.call("catalogue", "find", "other method", timeout=20) == "found other method"
        assert client.call("prices", "find", "other service", timeout=20) == "found other service"
        catalogue.go.set()
        assert [call.join() for call in slow] == ["found 0", "found 1", "found 2"]
        until(lambda: in_flight(server_gate, "at work") == 0)
        assert client.call("catalogue", "find_slowly", "again", timeout=20) == "found again"


class TestCallsPerInterval:
    @pytest.fixture
    def set_calls(self, page, server_gate):
        """Changes the settings of calls in an interval, beside the rules of the server's file."""
        of_file = server_gate.rules["rules"]
        return lambda **settings: server_gate.reload(of_file + page.code.calls_per_interval(settings))

    @pytest.fixture
    def calls(self, client):
        """How many calls of a service go ahead until one is refused."""

        def calls(service, most=10):
            for number in range(most):
                try:
                    client.call(service, "find", number, timeout=20)
                except Fault as refused:
                    assert f"denied by rule calls of {service}: " in refused.faultString
                    return number
            return most

        return calls

    def test_the_interval_is_60_s_unless_it_is_set(self, set_calls, calls, clock):
        set_calls(catalogue=(3, None), prices=(2, 5))
        assert (calls("catalogue"), calls("prices")) == (3, 2)
        clock.advance(5)
        assert (calls("catalogue"), calls("prices")) == (0, 2)
        clock.advance(54.999)
        assert calls("catalogue") == 0
        clock.advance(0.001)
        assert calls("catalogue") == 3

    def test_it_can_be_removed_and_changed_while_calls_are_at_work(
        self, set_calls, calls, client, client_gate, server_gate, catalogue
    ):
        set_calls(catalogue=(3, None))
        slow = begin_slow(client, client_gate, 2, "under way")
        until(lambda: in_flight(server_gate, "at work") == 2)
        assert calls("catalogue") == 1
        assert set_calls(catalogue=(4, None)).changed == ("calls of catalogue",)
        assert calls("catalogue") == 1
        assert set_calls().removed == ("calls of catalogue",)
        assert calls("catalogue", most=50) == 50
        assert in_flight(server_gate, "at work") == 2
        catalogue.go.set()
        assert [call.join() for call in slow] == ["found 0", "found 1"]
        set_calls(catalogue=(3, None))
        assert calls("catalogue") == 3
