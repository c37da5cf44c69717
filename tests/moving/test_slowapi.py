"""Settings of slowapi and what the page puts in their place: the same requests of two applications."""

import random
from datetime import datetime

import pytest
import slowapi
import slowapi.util
from asgi_client import ask
from pages import Page
from slowapi.errors import RateLimitExceeded
from slowapi.middleware import SlowAPIMiddleware
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from tidegate import Gate, RulesError
from tidegate.asgi import GateMiddleware
from waiters import until

PAGE = Page("slowapi")
PATHS = ("/search", "/about", "/items/a", "/items/b")
FIVE = '@limiter.limit("5/minute")'
DEFAULTS = {"quota": 'quota = "5/minute fixed_window"', "key": 'key = "client"'}


def routes(wrap=lambda view, path: view):
    """A view for each path; both items are of one."""
    made = []
    for path in ("/search", "/about", "/items/{item}"):

        async def named(request):
            return PlainTextResponse("go ahead")

        # slowapi knows views by their names.
        named.__name__ = path
        made.append(Route(path, wrap(named, path), methods=["GET", "POST"]))
    return made


def theirs(*decorators, paths=("/search",), limiter="Limiter(key_func=get_remote_address)"):
    """An application with these decorators on the views of these paths, and slowapi's middleware."""
    names = {"Limiter": slowapi.Limiter, **vars(slowapi.util)}
    limiter = eval(limiter, names)

    def wrap(view, path):
        for decorator in decorators if path in paths else ():
            view = eval(decorator.removeprefix("@"), {"limiter": limiter})(view)
        return view

    app = Starlette(routes=routes(wrap))
    app.state.limiter = limiter
    app.add_exception_handler(RateLimitExceeded, slowapi._rate_limit_exceeded_handler)
    app.add_middleware(SlowAPIMiddleware)
    return app


@pytest.fixture
def ours(clock):
    """Makes an application behind a gate of one rule: the settings that are fields, others as they are by default."""

    def make(*settings):
        fields = [setting for setting in settings if " = " in setting]
        options = [setting for setting in settings if " = " not in setting]
        fields += [field for name, field in DEFAULTS.items() if not any(own.startswith(f"{name} = ") for own in fields)]
        gate = Gate("\n".join(["[[rules]]", 'name = "limit"', *fields]), clock=clock.ours)
        return GateMiddleware(Starlette(routes=routes()), gate, **eval(f"dict({', '.join(options)})"))

    return make


@pytest.fixture
def assert_the_same(clock):
    """Checks that two applications answer random requests alike, of which some are refused."""

    def check(one, other, paths=PATHS, clients=("203.0.113.7", "198.51.100.1"), methods=("GET",), headers=({},)):
        choose = random.Random(1)
        statuses = []
        for _ in range(100):
            clock.advance(choose.choice((0, 0, 0, 1, 8)))
            request = [choose.choice(options) for options in (paths, clients, methods)]
            more = choose.choice(headers)
            statuses.append((ask(one, *request, **more).status, ask(other, *request, **more).status))
        assert set(statuses) == {(200, 200), (429, 429)}

    return check


def statuses(app, times, *request, **headers):
    return [ask(app, *request, **headers).status for _ in range(times)]


def admitted(gate, **request):
    """Whether a gate admits a request, which is over at once."""
    entered = gate.try_enter(client="ann", **request)
    if entered:
        entered.release()
    return bool(entered)


@pytest.mark.parametrize("block", range(3))
def test_each_program_admits_five_searches_of_each_address(tmp_path, block):
    app = PAGE.load(block, tmp_path).app
    for client in ("203.0.113.7", "198.51.100.1"):
        assert statuses(app, 6, "/search", client) == [200] * 5 + [429]
    assert statuses(app, 6, "/about") == [200] * 6


def test_the_dependencys_answer_is_ones_own(tmp_path):
    app = PAGE.load(2, tmp_path).app
    statuses(app, 5)
    refused = ask(app)
    assert refused.body == '{"error":"slow down"}'
    assert 50 < int(refused.headers["retry-after"]) <= 60


@PAGE.row('`@limiter.limit("5/minute")`')
def test_a_limit_of_a_route_is_a_rule_of_its_path(row, ours, assert_the_same):
    assert_the_same(theirs(*row.theirs), ours(*row.ours))
    not_found = ours('match = { path = { exact = "/nowhere" } }')
    assert statuses(not_found, 6, "/nowhere") == [404] * 5 + [429]
    assert (
        statuses(theirs(limiter='Limiter(get_remote_address, default_limits=["5/minute"])'), 6, "/nowhere") == [404] * 6
    )


@PAGE.row('`@limiter.limit("5/minute;2/second")`')
def test_of_several_quotas_none_is_charged_where_one_refuses(row, clock, ours):
    one, other = theirs(*row.theirs), ours(*row.ours)
    assert statuses(one, 5) == statuses(other, 5) == [200, 200, 429, 429, 429]
    clock.advance(1)
    # The refused ones were charged to the minute there.
    assert (statuses(one, 2), statuses(other, 2)) == ([429, 429], [200, 200])
    clock.advance(60)
    for admitted in (200, 200, 200, 200, 200, 429):
        assert statuses(one, 1) == statuses(other, 1) == [admitted]
        clock.advance(1)


@PAGE.row("`Limiter(key_func=get_remote_address)`")
def test_a_client_of_ipv6_is_its_network(row, ours, assert_the_same):
    one, other = (
        theirs(FIVE, paths=PATHS, limiter=row.theirs[0]),
        ours('match = { path = { exact = "/search" } }', *row.ours),
    )
    assert_the_same(one, other, ["/search"])
    for app, admitted in ((one, 200), (other, 429)):
        assert statuses(app, 5, "/search", "2001:db8::1") == [200] * 5
        assert statuses(app, 1, "/search", "2001:db8::2") == [admitted]


@PAGE.row("`Limiter(key_func=get_ipaddr)`")
def test_the_client_is_as_the_last_proxy_says(row, ours):
    one, other = theirs(FIVE, limiter=row.theirs[0]), ours(*row.ours)
    # One's own proxy adds the address that it sees; whatever a client wrote is before it.
    headers = [{"X_Forwarded_For": f"192.0.2.{forged}, 198.51.100.1"} for forged in range(6)]
    assert [ask(other, **header).status for header in headers] == [200] * 5 + [429]
    assert ask(other, X_Forwarded_For="192.0.2.1, 198.51.100.2").status == 200
    # slowapi takes what a client wrote, and all behind a proxy for one.
    assert [ask(one, X_FORWARDED_FOR=f"192.0.2.{forged}").status for forged in range(20)] == [200] * 20
    assert [ask(one, X_Forwarded_For=f"198.51.100.{client}").status for client in range(6)] == [200] * 5 + [429]


@PAGE.row("`Limiter(key_func=lambda")
def test_a_key_may_be_a_header(row, ours, assert_the_same):
    one, other = theirs(FIVE, limiter=row.theirs[0]), ours(*row.ours)
    assert_the_same(one, other, ["/search"], headers=({"x_user": "ann"}, {"x_user": "bob"}))
    assert statuses(one, 6) == [200] * 6
    assert statuses(other, 6) == [200] * 5 + [429]


@PAGE.row("`default_limits=")
def test_each_path_has_a_budget_of_its_own(row, ours, assert_the_same):
    limiter = f"Limiter(key_func=get_remote_address, {row.theirs[0]})"
    assert_the_same(theirs(limiter=limiter), ours(*row.ours))
    with_own = theirs('@limiter.limit("10/minute")', limiter=limiter)
    assert statuses(with_own, 10, "/search") == [200] * 10
    assert statuses(ours(*row.ours, 'match = { path = { exact = ["/about"] } }'), 10, "/search") == [200] * 10


@PAGE.row("`application_limits=")
def test_all_paths_share_a_budget(row, ours, assert_the_same):
    limiter = f"Limiter(key_func=get_remote_address, {row.theirs[0]})"
    assert_the_same(theirs(limiter=limiter), ours(*row.ours))
    one, other = theirs('@limiter.limit("10/minute")', limiter=limiter), ours(*row.ours)
    assert statuses(one, 10, "/search") + statuses(one, 5, "/about") == [200] * 15
    assert statuses(other, 5, "/search") + statuses(other, 1, "/about") == [200] * 5 + [429]


@PAGE.row("`@limiter.shared_limit(")
def test_some_paths_share_a_budget(row, ours, assert_the_same):
    assert_the_same(theirs(*row.theirs, paths=("/search", "/about")), ours(*row.ours))


@PAGE.row("`@limiter.exempt`")
def test_a_path_that_no_rule_matches_is_not_limited(row, ours, assert_the_same):
    limiter = 'Limiter(key_func=get_remote_address, default_limits=["5/minute"])'
    one = theirs(*row.theirs, paths=("/about", "/items/{item}"), limiter=limiter)
    assert_the_same(one, ours(*row.ours))
    for spelt in ("not", "except", "exclude"):
        with pytest.raises(RulesError):
            ours(f'match = {{ path = {{ {spelt} = "/about" }} }}')


@PAGE.row("`key_style=")
def test_the_paths_of_a_route_share_a_budget(row, ours, assert_the_same):
    limiter = f"Limiter(key_func=get_remote_address, {row.theirs[0]})"
    assert_the_same(theirs(FIVE, paths=("/items/{item}",), limiter=limiter), ours(*row.ours))
    by_url = theirs(FIVE, paths=("/items/{item}",))
    assert statuses(by_url, 5, "/items/a") + statuses(by_url, 5, "/items/b") == [200] * 10


def with_argument(argument, limit="5/minute"):
    return f'@limiter.limit("{limit}", {argument})'


@PAGE.row("`per_method=True`", "`methods=[")
def test_a_budget_may_be_of_a_method(row, ours, assert_the_same):
    one = theirs(with_argument(row.theirs[0]), paths=("/search",))
    assert_the_same(one, ours(*row.ours), ["/search"], methods=("GET", "POST"))


@PAGE.row("`exempt_when=")
def test_what_a_rule_cannot_see_is_an_attribute(row, ours, assert_the_same):
    one = theirs(with_argument(row.theirs[0]))
    assert_the_same(one, ours(*row.ours), ["/search"], headers=({"x_internal": "yes"}, {}))


@PAGE.row("`cost=3`")
def test_a_request_may_cost_more(row, clock, ours):
    one, other = theirs(with_argument(row.theirs[0], "10/minute")), ours('quota = "10/minute fixed_window"', *row.ours)
    for _ in range(2):
        assert statuses(one, 4) == statuses(other, 4) == [200] * 3 + [429]
        clock.advance(60)


@PAGE.row("`cost=lambda")
def test_a_cost_of_each_request_is_asked_for_by_hand(row, clock):
    one = theirs(with_argument(row.theirs[0]))
    assert [ask(one, x_pages=pages).status for pages in ("3", "2", "1")] == [200, 200, 429]
    gate = Gate([{"name": "pages", "key": "client", "quota": "5/minute fixed_window"}], clock=clock.ours)
    assert 'async with gate.enter_async(path="/search", client="ann", cost=3):' in row.differs
    outcomes = [admitted(gate, path="/search", cost=pages) for pages in (3, 2, 1)]
    assert outcomes == [True, True, False]


@PAGE.row("`@limiter.limit(lambda")
def test_single_keys_may_have_more(row, ours, assert_the_same):
    limiter = 'Limiter(key_func=lambda request: request.headers.get("x-user"))'
    user = 'attributes=lambda scope: {"user": dict(scope["headers"]).get(b"x-user")}'
    other = ours(user, 'key = "user"', 'quota = "2/minute fixed_window"', *row.ours)
    assert_the_same(
        theirs(*row.theirs, limiter=limiter), other, ["/search"], headers=({"x_user": "ann"}, {"x_user": "bob"})
    )


@PAGE.row("`strategy=")
def test_what_stands_for_the_log_never_admits_what_the_log_would_not(row, clock, ours):
    one = theirs(FIVE, limiter=f"Limiter(key_func=get_remote_address, {row.theirs[0]})")
    [quota] = [code.strip("`") for code in row.differs.split("`") if code.startswith("quota = ")]
    other = ours(quota)
    choose = random.Random(1)
    refused = 0
    for _ in range(200):
        clock.advance(choose.choice((0, 0, 1, 8, 30)))
        if ask(other).status == 200:
            assert ask(one).status == 200
        else:
            refused += 1
    assert refused > 50
    with pytest.raises(RulesError):
        ours('quota = "5/minute sliding_log"')


@PAGE.row("`_rate_limit_exceeded_handler`")
def test_a_refusal_is_429_with_retry_after(row, ours):
    one, other = theirs(FIVE), ours()
    statuses(one, 5)
    statuses(other, 5)
    their, our = ask(one), ask(other)
    assert their.status == our.status == 429
    assert (their.headers["content-type"], our.headers["content-type"]) == (
        "application/json",
        "application/problem+json",
    )
    assert ("retry-after" in their.headers, our.headers["retry-after"]) == (False, "60")


@PAGE.row("`error_message=")
def test_the_middlewares_answer_is_fixed_and_the_dependencys_is_not(row, ours, tmp_path):
    one, other = theirs(with_argument(row.theirs[0])), ours()
    statuses(one, 5)
    statuses(other, 5)
    assert ask(one).body == '{"error":"Rate limit exceeded: slow down"}'
    with pytest.raises(TypeError):
        ours('message="slow down"')
    assert row.ours[0] in PAGE.blocks[2][1]
    assert "limit" in ask(other).body


@PAGE.row("`headers_enabled=True`")
def test_headers_tell_what_is_left(row, clock, ours):
    one = theirs(FIVE, limiter=f"Limiter(key_func=get_remote_address, {row.theirs[0]})")
    other = ours(*row.ours)
    clock.advance(0.25)
    for number in range(7):
        before = datetime.now().timestamp()
        their, our = ask(one), ask(other)
        assert their.status == our.status
        for name in ("x-ratelimit-limit", "x-ratelimit-remaining"):
            assert their.headers[name] == our.headers[name]
        reset_after = 60 - 3 * number
        assert float(their.headers["x-ratelimit-reset"]) == clock.seconds + reset_after + 1
        # Of the machine's own clock, whichever clock counts.
        assert before <= int(our.headers["x-ratelimit-reset"]) - reset_after < datetime.now().timestamp() + 1
        assert {"ratelimit", "ratelimit-policy"} <= set(our.headers)
        assert ("retry-after" in their.headers, "retry-after" in our.headers) == (True, our.status == 429)
        clock.advance(3)


@PAGE.row("`retry_after=")
def test_retry_after_is_seconds(row, ours):
    one = theirs(FIVE, limiter=f"Limiter(key_func=get_remote_address, headers_enabled=True, {row.theirs[0]})")
    other = ours()
    statuses(one, 5)
    statuses(other, 5)
    assert ask(one).headers["retry-after"].endswith(" GMT") or "-0000" in ask(one).headers["retry-after"]
    assert ask(other).headers["retry-after"].isdigit()


@PAGE.row("`enabled=False`")
def test_limits_can_be_off(row, clock):
    one = theirs(FIVE, limiter=f"Limiter(key_func=get_remote_address, {row.theirs[0]})")
    assert statuses(one, 10) == [200] * 10
    rule = '[[rules]]\nname = "limit"\nkey = "client"\nquota = "5/minute fixed_window"\n'
    gate = Gate(rule + row.ours[0], clock=clock.ours)
    other = GateMiddleware(Starlette(routes=routes()), gate)
    assert statuses(other, 10) == [200] * 10
    gate.reload(rule)
    assert statuses(other, 6) == [200] * 5 + [429]
    gate.reload(rule + 'mode = "shadow"')
    assert statuses(other, 2) == [200] * 2
    assert gate.stats().rules["limit"].refused == 3


@PAGE.row("`auto_check=False`")
def test_without_the_middleware_nothing_is_asked(row, clock):
    one = theirs(FIVE, limiter=f"Limiter(key_func=get_remote_address, {row.theirs[0]})")
    # slowapi then expects the figures that nobody asked for.
    with pytest.raises(AttributeError):
        ask(one)
    gate = Gate([{"name": "limit", "key": "client", "quota": "5/minute fixed_window"}], clock=clock.ours)
    assert [admitted(gate) for _ in range(6)] == [True] * 5 + [False]


@PAGE.row("`limiter.reset()`")
def test_all_begins_anew_by_a_new_gate(row, clock):
    one = theirs(FIVE)
    assert statuses(one, 6)[-1] == 429
    eval(row.theirs[0], {"limiter": one.state.limiter})
    assert statuses(one, 6) == [200] * 5 + [429]
    rules = [{"name": "limit", "key": "client", "quota": "5/minute fixed_window"}]
    gate = Gate(rules, clock=clock.ours)
    assert [admitted(gate) for _ in range(5)] == [True] * 5
    gate.reload(rules)
    assert not admitted(gate)
    assert admitted(Gate(rules, clock=clock.ours))


@PAGE.row("`storage_uri=", "`in_memory_fallback_enabled=")
def test_a_gate_has_no_store(row, ours):
    one = theirs(FIVE, limiter=f"Limiter(key_func=get_remote_address, {', '.join(row.theirs)})")
    assert statuses(one, 6) == [200] * 5 + [429]
    for setting in row.theirs:
        with pytest.raises(TypeError):
            ours(setting)
    assert [ask(ours()).status for _ in range(6)] == [200] * 6


@PAGE.row("`config_filename=")
def test_settings_are_read_from_a_file(row, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "limits.env").write_text('RATELIMIT_DEFAULT="5/minute"\n')
    one = theirs(limiter=f"Limiter(key_func=get_remote_address, {row.theirs[0]})")
    assert statuses(one, 6) == [200] * 5 + [429]
    rules = '[[rules]]\nname = "limit"\nquota = "5/minute fixed_window"\n'
    (tmp_path / "rules.toml").write_text(rules)
    gate = eval(row.ours[0], {"Gate": Gate})
    assert [admitted(gate) for _ in range(6)] == [True] * 5 + [False]
    (tmp_path / "new.toml").write_text(rules.replace("5", "7"))
    (tmp_path / "new.toml").replace(tmp_path / "rules.toml")
    until(lambda: gate.rules["rules"][0]["quota"] != "5/minute fixed_window" and admitted(gate))


def test_each_row_is_tested():
    assert not PAGE.untested
