"""Settings of nginx, as its documentation has them (limit_req.py is the model), and the rules of the page."""

import ipaddress
import random
import re

import limit_req
import pytest
import tidegate
from asgi_client import ask
from pages import Page
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from tidegate.asgi import GateMiddleware
from waiters import Waiter, until

PAGE = Page("nginx")
PATH = "/search/"
CLIENTS = ("203.0.113.7", "198.51.100.1")
ZONE = "limit_req_zone $binary_remote_addr zone=one:10m rate=10r/s;"


def zone_of(zone, limit="limit_req zone=one;"):
    """What the directives limit_req_zone and limit_req keep of a key."""
    rate, unit = re.search(r"rate=(\d+)r/([sm])", zone).groups()
    burst = int((re.search(r"burst=(\d+)", limit) or [0, 0])[1])
    delay = burst if "nodelay" in limit else int((re.search(r"delay=(\d+)", limit) or [0, 0])[1])
    return limit_req.Zone(burst, delay, int(rate) * 1_000 // (1 if unit == "s" else 60))


def rule(*settings, name="limit"):
    """A rule in which these are set, and else what must be there."""
    return "\n".join(["[[rules]]", f'name = "{name}"', *settings, ""])


def admitted(gate, **request):
    entry = gate.try_enter(**request)
    if entry:
        entry.release()
    return bool(entry)


def random_requests(seed, token_ms=100, paths=(PATH,)):
    """Some at once, some just before and just when a token is there, some after a pause."""
    choose = random.Random(seed)
    now_ms, requests = 0, []
    for _ in range(30):
        pause = choose.randrange(20 * token_ms)
        now_ms += choose.choice((0, 1, choose.randrange(token_ms), token_ms - 1, token_ms, pause))
        requests += [(now_ms, choose.choice(paths), choose.choice(CLIENTS))] * choose.randrange(1, 12)
    return requests


def assert_the_same(rules, zone_of_path, requests, theirs=None):
    """Some go ahead, at the same times, and some are refused. `theirs` are the requests as the zones see them."""
    wanted = limit_req.wanted(theirs or requests, zone_of_path)
    assert {None} < set(wanted)
    ahead = [at for at in wanted if at is not None]
    assert limit_req.times_of(rules, requests, ahead) == limit_req.in_ns(wanted)


@pytest.mark.parametrize("seed", range(3))
def test_the_rules_admit_what_the_locations_admit_at_the_same_times(seed):
    [nginx], [rules] = ([code for tag, code in PAGE.blocks if tag == kind] for kind in ("nginx", "toml"))
    zones = {name: zone for zone, name in re.findall(r"(limit_req_zone .* zone=(\w+):.*)", nginx)}
    limits = dict(re.findall(r"location (\S+) +{ (limit_req .*;) }", nginx))
    assert set(limits) == {"/search/", "/pages/"}
    zone_of_path = {path: re.search(r"zone=(\w+)", limit)[1] for path, limit in limits.items()}
    assert sorted(zone_of_path.values()) == sorted(zones), "each location has a zone of its own, as the model has it"
    requests = random_requests(seed, paths=list(limits))
    assert_the_same(rules, lambda path: zone_of(zones[zone_of_path[path]], limits[path]), requests)
    [(path, most)] = re.findall(r"location (\S+) +{ limit_conn addr (\d+); }", nginx)
    gate = tidegate.Gate(rules)
    entries = [gate.try_enter(path=path, client=client) for client in CLIENTS for _ in range(int(most) + 1)]
    assert [bool(entry) for entry in entries] == [*[True] * int(most), False] * len(CLIENTS)
    for entry in filter(None, entries):
        entry.release()


def test_the_program_reads_the_rules(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kinds = [tag for tag, _ in PAGE.blocks]
    (tmp_path / "rules.toml").write_text(PAGE.blocks[kinds.index("toml")][1], encoding="utf-8")
    app = PAGE.load(kinds.index("python"), tmp_path).app
    statuses = []
    while 429 not in statuses and len(statuses) < 500:
        statuses.append(ask(app, "/search/cats").status)
    assert len(statuses) > 21
    assert statuses[-1] == 429


@PAGE.row(f"`{ZONE}`")
def test_a_rate_is_a_quota(row):
    assert_the_same(rule(*row.ours), lambda _: zone_of(*row.theirs), random_requests(1))


@PAGE.row("`limit_req_zone $binary_remote_addr zone=one:10m rate=30r/m;`")
def test_a_rate_may_be_of_a_minute(row):
    assert_the_same(rule('key = "client"', *row.ours), lambda _: zone_of(*row.theirs), random_requests(1, 2_000))


@PAGE.row("`limit_req_zone $server_name")
def test_without_a_key_there_is_one_budget(row):
    [quota, without] = row.ours
    assert without == "key"
    requests = [(now_ms, path, CLIENTS[0]) for now_ms, path, _ in random_requests(1)]
    assert_the_same(rule(quota), lambda _: zone_of(*row.theirs), requests)
    gate = tidegate.Gate(rule(quota), clock=tidegate.ManualClock())
    assert [admitted(gate, client=client) for client in CLIENTS] == [True, False]
    hosts = tidegate.Gate(rule(quota, 'key = "host"'), clock=tidegate.ManualClock())
    assert [admitted(hosts, host=host) for host in ("a", "a", "b")] == [True, False, True]


@PAGE.row("`limit_req_zone $binary_remote_addr$uri")
def test_a_key_may_have_several_parts(row):
    requests = random_requests(1, paths=("/a", "/b"))
    assert_the_same(rule(*row.ours, 'quota = "10/s burst 1"'), lambda _: zone_of(*row.theirs), requests)


@PAGE.row(
    "`limit_req zone=one;`",
    "`limit_req zone=one burst=20 nodelay;`",
    "`limit_req zone=one burst=20;`",
    "`limit_req zone=one burst=20 delay=8;`",
)
@pytest.mark.parametrize("seed", range(3))
def test_a_burst_is_admitted_delayed_and_refused_at_the_same_times(row, seed):
    requests = random_requests(seed)
    assert_the_same(rule('key = "client"', *row.ours), lambda _: zone_of(ZONE, *row.theirs), requests)


@PAGE.row("`limit_req zone=one burst=4 nodelay;")
def test_of_two_limits_both_must_admit_or_none_is_charged(row):
    # The second is of all clients together.
    narrow, wide = row.theirs[0].split("; ")
    one, all_of_them = {client: zone_of(ZONE, narrow) for client in CLIENTS}, zone_of(ZONE, wide)
    rules = rule('key = "client"', row.ours[0]) + rule(row.ours[1], name="all")
    clock = tidegate.ManualClock()
    gate = tidegate.Gate(rules, clock=clock)
    answers = set()
    for now_ms, _, client in random_requests(1):
        clock.set_ns(now_ms * 1_000_000)
        before = [vars(zone).copy() for zone in (one[client], all_of_them)]
        wanted = [zone.request(now_ms) is not None for zone in (one[client], all_of_them)]
        if not all(wanted):
            for zone, state in zip((one[client], all_of_them), before, strict=True):
                vars(zone).update(state)
        entry = gate.try_enter(client=client)
        assert bool(entry) is all(wanted)
        if entry:
            entry.release()
        answers.add(tuple(wanted))
    assert answers == {(True, True), (True, False), (False, True), (False, False)}


@PAGE.row("`location /search/ {")
@pytest.mark.parametrize("seed", range(3))
def test_locations_of_one_zone_share_its_budget(row, seed):
    locations = dict(re.findall(r"location (\S+) { (limit_req [^;]*;) }", row.theirs[0]))
    [limit] = set(locations.values())
    requests = random_requests(seed, paths=["/search/", "/pages/"])
    assert set(locations) == {path for _, path, _ in requests}
    theirs = [(now_ms, "one", client) for now_ms, _, client in requests]
    rules = rule('key = "client"', 'quota = "10/s burst 21"', *row.ours)
    assert_the_same(rules, lambda _: zone_of(ZONE, limit), requests, theirs)


@PAGE.row("`zone=one:10m`")
def test_who_owes_least_is_forgotten_or_nobody(row):
    clock = tidegate.ManualClock()
    small = row.ours[0].replace("80_000", "3")
    assert tidegate.Gate(rule('key = "client"', 'quota = "10/s burst 21"', *row.ours)).rules
    for more, forgotten in (([], True), (['when_full = "deny_new"'], False)):
        gate = tidegate.Gate(rule('key = "client"', 'quota = "1/h burst 4"', small, *more), clock=clock)
        answers = [admitted(gate, client=f"{number}") for number in range(100) for _ in range(4)]
        assert all(answers) is forgotten
        assert (gate.stats().rules["limit"].evicted_live > 0) is forgotten


@PAGE.row("`limit_req_dry_run on;`")
def test_a_rule_in_shadow_counts_only(row):
    gate = tidegate.Gate(rule('quota = "1/h"', *row.ours))
    assert [admitted(gate) for _ in range(5)] == [True] * 5
    assert gate.stats().rules["limit"].refused == 4


@pytest.fixture
def behind():
    """Makes an application behind rules."""

    async def answer(request):
        return PlainTextResponse("go ahead")

    def make(rules, **options):
        return GateMiddleware(Starlette(routes=[Route(PATH, answer)]), tidegate.Gate(rules), **options)

    return make


@PAGE.row("`limit_req_status 429;`")
def test_a_refusal_is_429_with_retry_after(row, behind):
    app = behind(rule('quota = "1/h"'))
    answers = [ask(app, PATH) for _ in range(2)]
    assert [answer.status for answer in answers] == [200, int(re.search(r"\d+", row.theirs[0])[0])]
    assert 3_590 <= int(answers[1].headers["retry-after"]) <= 3_600


@PAGE.row("`limit_req_log_level warn;`")
def test_refusals_are_events_and_delays_are_not(row):
    clock = tidegate.ManualClock()
    gate = tidegate.Gate(rule('quota = "1/s burst 1"', 'timeout = "1s"'), clock=clock)
    events = []
    eval(row.ours[0], {"gate": gate, "print": events.append})
    gate.enter().release()
    delayed = Waiter(lambda: gate.enter().release())
    until(lambda: gate.stats().rules["limit"].waiting == 1)
    assert not admitted(gate)
    clock.advance(1)
    delayed.join()
    until(lambda: events)
    assert [event.refusal.rule for event in events] == ["limit"]


@PAGE.row("`limit_conn_zone $binary_remote_addr", "`limit_conn_zone $server_name")
def test_so_many_requests_are_under_way_at_once(row):
    limit = int(re.search(r"limit_conn \w+ (\d+);", row.theirs[0])[1])
    of_client = "$binary_remote_addr" in row.theirs[0]
    settings = [code for code in row.ours if code != "key"]
    gate = tidegate.Gate(rule(*settings))
    choose = random.Random(1)
    under_way = []
    refused = 0
    for _ in range(500):
        client = choose.choice(CLIENTS)
        if under_way and choose.random() < 0.5:
            under_way.pop(choose.randrange(len(under_way)))[1].release()
            continue
        room = sum(other == client or not of_client for other, _ in under_way) < limit
        entry = gate.try_enter(client=client)
        assert bool(entry) is room
        if entry:
            under_way.append((client, entry))
        else:
            refused += 1
    assert refused > 20
    for _, entry in under_way:
        entry.release()


def test_a_request_may_wait_for_its_place():
    gate = tidegate.Gate(rule("concurrency = 1", 'timeout = "60s"'))
    entry = gate.enter()
    waiter = Waiter(lambda: gate.enter().release())
    until(lambda: gate.stats().rules["limit"].waiting == 1)
    entry.release()
    waiter.join()


@PAGE.row("`limit_conn_dry_run on;`")
def test_a_rule_of_permits_in_shadow_counts_only(row):
    gate = tidegate.Gate(rule("concurrency = 1", *row.ours))
    entries = [gate.try_enter() for _ in range(3)]
    assert all(entries)
    assert gate.stats().rules["limit"].refused == 2
    for entry in entries:
        entry.release()


@PAGE.row("`limit_conn_status 429;`")
def test_a_refusal_for_want_of_a_permit_tells_no_time(row, behind):
    app = behind(rule("concurrency = 1"))
    with app.options.gate.enter(path=PATH):
        answer = ask(app, PATH)
    assert answer.status == int(re.search(r"\d+", row.theirs[0])[0])
    assert "retry-after" not in answer.headers


@PAGE.row("`limit_rate 100k;`")
def test_bytes_are_not_limited(row):
    with pytest.raises(tidegate.RulesError):
        tidegate.Gate(rule('quota = "1/s"', "limit_rate = 100_000"))


NAMES = {"ip_address": ipaddress.ip_address, "ip_network": ipaddress.ip_network}


@PAGE.row("`geo $limit")
def test_some_networks_are_not_limited(row, behind):
    [network] = re.findall(r"(\S+) 0;", row.theirs[0])
    attributes, match = row.ours
    app = behind(rule('key = "client"', 'quota = "1/h"', match), **eval(f"dict({attributes})", NAMES))
    inside = [f"{address}" for address in (ipaddress.ip_network(network)[1], ipaddress.ip_network(network)[-2])]
    for client in (*inside, *CLIENTS):
        assert [ask(app, PATH, client).status for _ in range(2)] == [200, 200 if client in inside else 429]
    # An empty key is a client like any other, and there is no "not".
    gate = tidegate.Gate(rule('key = "client"', 'quota = "1/h"'))
    assert [admitted(gate, client="") for _ in range(2)] == [True, False]
    for mode in ("not", "cidr", "network"):
        with pytest.raises(tidegate.RulesError):
            tidegate.Gate(rule('quota = "1/h"', f'match = {{ client = {{ {mode} = "10.0.0.0/8" }} }}'))


@PAGE.row("`map $http_x_api_key")
def test_some_keys_are_not_limited(row, behind):
    [secret] = re.findall(r'"(\w+)" "";', row.theirs[0])
    attributes, match = row.ours
    app = behind(rule('key = "client"', 'quota = "1/h"', match), **eval(f"dict({attributes})"))
    assert [ask(app, PATH, x_api_key=secret).status for _ in range(2)] == [200, 200]
    assert [ask(app, PATH, x_api_key="other").status for _ in range(2)] == [200, 429]


def test_each_row_is_tested():
    assert not PAGE.untested
