"""What type checkers and editors see: the stub, checked against the module that it describes."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import tidegate
from tidegate import _tidegate

PACKAGE = Path(tidegate.__file__).parent

USE = """
import asyncio
from datetime import timedelta

from typing_extensions import assert_type

import tidegate
from tidegate import ConcurrencyLimiter, ManualClock, Permit, Quota, RateLimiter
from tidegate import KeyedConcurrencyLimiter, KeyedRateLimiter

clock = ManualClock()
clock.advance(timedelta(seconds=1))
quotas: list[Quota] = [Quota(1, 0.5), Quota(2, timedelta(days=1), burst=3)]
limiter = RateLimiter(quotas, clock=clock)
limiter = RateLimiter("5/s")
limiter = RateLimiter(["5/s", Quota(1, 1, algorithm="fixed_window", anchor="clock")])
assert_type(limiter.try_acquire(), bool)
assert_type(limiter.decide(2).retry_after_ns, int | None)
assert_type(limiter.stats().allowed, int)
at_once = ConcurrencyLimiter(4, track_hold_time=True)
assert_type(at_once.try_acquire(), Permit | None)
at_once.limit = 5
with at_once as permit:
    assert_type(permit, Permit)
assert_type(at_once.acquire(2, timeout=timedelta(seconds=1)), Permit)
assert_type(limiter.reserve(max_wait=None).cancel(), bool)
with limiter as nothing:
    assert_type(nothing, None)


async def waits() -> None:
    assert_type(await at_once.acquire_async(permits=2, timeout=0.5), Permit)
    await limiter.acquire_async(1, None)
    task = asyncio.create_task(at_once.acquire_async())
    assert_type((await task).released, bool)
    async with at_once as permit, limiter as nothing:
        assert_type(permit, Permit)
        assert_type(nothing, None)
    async with await by_path.acquire_async("/", permits=2, timeout=0.5) as permit:
        assert_type(permit, Permit)
    await keyed.acquire_async("ann", 1, None)


@limiter.guard(cost=2)
def length(text: str) -> int:
    return len(text)


@at_once.guard(permits=2, timeout=None)
async def fetch(url: str) -> bytes:
    return url.encode()


keyed = KeyedRateLimiter("5/s", max_keys=1000, when_full="deny_new", clock=clock)
assert_type(keyed.try_acquire("ann", 2), bool)
assert_type(keyed.try_acquire_many([b"ann", "bob"]), list[bool])
assert_type(keyed.decide(tidegate.key_of("ann", b"bob")).allowed, bool)
assert_type(len(keyed) + keyed.stats().evicted_live, int)
by_path = KeyedConcurrencyLimiter(4, max_keys=1000)
assert_type(by_path.try_acquire(tidegate.ip_key("::1", prefix=48)), Permit | None)
with by_path.acquire("/", timeout=timedelta(seconds=1)) as permit:
    assert_type(permit, Permit)
keyed.acquire("ann", cost=2, timeout=0.5)
assert_type(keyed.reserve("ann", max_wait=0.5).wait, float)
assert_type(keyed.waiting(b"ann") + by_path.stats().waiting, int)
by_path.close()
assert_type(by_path.closed, bool)


@keyed.guard(key=lambda user: user, cost=2)
@by_path.guard(key="all", timeout=None)
def name(user: str) -> str:
    return user


assert_type(name("ann"), str)


class Service:
    @at_once.guard()
    def run(self, job: int) -> str:
        return str(job)

    @staticmethod
    @limiter.guard()
    def check(job: int) -> bool:
        return bool(job)


gate = tidegate.Gate([{"name": "a", "quota": "1/s"}], clock=clock)
gate = tidegate.Gate("", "yaml")
with gate.enter(path="/", client=b"x", caller=None, cost=2, timeout=timedelta(seconds=1)) as entry:
    assert_type(entry.rules, tuple[str, ...])
if got := gate.try_enter({"path": "/"}, timeout=0):
    assert_type(got, tidegate.Entry)
else:
    assert_type(got, tidegate.Refusal)
assert_type(gate.reload("").changed, tuple[str, ...])
assert_type(gate.stats().rules["a"].refused, int)
assert_type(gate.explain(path="/").rules[0].status, str | None)
gate.listen(lambda event: event.name)
gate.pull(lambda: None, every=timedelta(seconds=5), format="json").stop()


async def enters() -> None:
    async with gate.enter_async(path="/") as entry:
        assert_type(entry, tidegate.Entry)
    assert_type(await gate.enter_async(), tidegate.Entry)
    async with await asyncio.create_task(gate.enter_async()) as entry:
        assert_type(entry.applies, bool)


@gate.guard(lambda text: {"path": text}, timeout=0)
def page(text: str) -> int:
    return len(text)


assert_type(page("x"), int)
assert_type(length("x"), int)
assert_type(asyncio.run(fetch("x")), bytes)
assert_type(Service().run(1), str)
assert_type(Service.check(1), bool)
try:
    length("x")
except tidegate.Refused as refused:
    if refused.decision is not None:
        assert_type(refused.decision.retry_after, float)
    assert_type(refused.waiting, int | None)
"""

MISUSE = {
    "RateLimiter(5)": "arg-type",
    "RateLimiter('5/s', ManualClock())": "call-arg",
    "RateLimiter('5/s').try_acquire(1.5)": "arg-type",
    "Quota(1, 1, algorithm='token_bucket')": "arg-type",
    "Quota(1, 1).limit = 5": "misc",
    "ConcurrencyLimiter(4).try_acquire().release()": "union-attr",
    "ConcurrencyLimiter(4).acquire(timeout='1')": "arg-type",
    "RateLimiter('5/s').guard()(print)(1, nothing=2)": "call-overload",
    "RateLimiter('5/s').guard(print)": "arg-type",
    "Gate([]).enter(path=7)": "arg-type",
    "Gate(7)": "arg-type",
    "Gate('', 'ini')": "arg-type",
    "ConcurrencyLimiter(4).guard(cost=2)": "call-arg",
    "KeyedRateLimiter('5/s', 1000)": "call-arg",
    "KeyedRateLimiter('5/s', when_full='deny')": "arg-type",
    "KeyedRateLimiter('5/s').try_acquire(5)": "arg-type",
    "KeyedRateLimiter('5/s').guard(cost=2)": "call-arg",
    "KeyedRateLimiter('5/s').guard(key=lambda: 5)": "arg-type",
    "KeyedConcurrencyLimiter(4).acquire(2)": "arg-type",
}


def mypy(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-incremental", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_package_is_strictly_typed():
    ended = mypy("-p", "tidegate")
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_user_s_code_is_checked_against_the_stub(tmp_path):
    (tmp_path / "use.py").write_text(USE)
    ended = mypy(str(tmp_path / "use.py"))
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_what_would_fail_when_run_is_found_by_the_checker(tmp_path):
    program = "from tidegate import *\n\n" + "\n".join(MISUSE)
    (tmp_path / "misuse.py").write_text(program + "\n")
    told = mypy(str(tmp_path / "misuse.py")).stdout
    for line, (statement, code) in enumerate(MISUSE.items(), 3):
        assert any(f"misuse.py:{line}: error:" in text and f"[{code}]" in text for text in told.splitlines()), (
            f"{statement}: no {code} in\n{told}"
        )


def documented():
    """(dotted name, docstring in the stub) of everything that the stub documents."""
    tree = ast.parse((PACKAGE / "_tidegate.pyi").read_text("utf-8"))
    for kind in tree.body:
        if isinstance(kind, ast.ClassDef):
            yield kind.name, ast.get_docstring(kind)
            for member in kind.body:
                # A setter is documented by its getter.
                if isinstance(member, ast.FunctionDef) and not any(
                    ast.unparse(by).endswith(".setter") for by in member.decorator_list
                ):
                    yield f"{kind.name}.{member.name}", ast.get_docstring(member)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, text in documented() if text])
def test_the_stub_and_the_module_document_the_same(name, text):
    thing = _tidegate
    for part in name.split("."):
        thing = inspect.getattr_static(thing, part)
    assert " ".join(text.split()) == " ".join(inspect.getdoc(thing).split())


def test_everything_public_is_documented_in_the_stub():
    assert [name for name, text in documented() if not text and "__" not in name] == []


def test_py_typed_is_shipped():
    assert (PACKAGE / "py.typed").is_file()
