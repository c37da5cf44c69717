"""L5: a child that is forked while another thread uses something for the first time can use it, too."""

import subprocess
import sys

import pytest

FIRST_USES = {
    "a coroutine": "limiter.acquire_async",
    "a block": "limiter.__aenter__",
    "a refusal": "partial(limiter.acquire, 2)",
    "a wrong value": "partial(tidegate.Quota, 'x')",
    "a mapping": "partial(gate.enter, collections.UserDict(path='/'))",
    "quotas": "partial(tidegate.RateLimiter, collections.UserList(['1/s']))",
    "a timedelta": "partial(limiter.acquire, timeout=datetime.timedelta(1))",
    "statistics": "limiter.stats",
    "a gate's statistics": "gate.stats",
    "a gate's rules": "partial(gate.explain, path='/')",
    "a request over ASGI": "partial(door.ask, scope)",
    "a request over ASGI by other rules": "partial(stale_door.ask, scope)",
}


@pytest.mark.parametrize("use", FIRST_USES.values(), ids=FIRST_USES)
def test_a_child_uses_what_another_thread_of_its_parent_was_making(use):
    script = f"""
import collections, datetime, os, sys, threading, time
from functools import partial
import tidegate
from tidegate import _waiting
{"from tidegate import asgi" if "door" in use else ""}
limiter, gate = tidegate.ConcurrencyLimiter(1), tidegate.Gate([])
scope = {{'type': 'http', 'path': '/', 'method': 'GET', 'client': ('::1', 1)}}
matches = {{"path": {{"exact": "/"}}, "method": {{"exact": "GET"}}}}
rules = [{{"name": "one", "match": matches, "key": "client", "quota": "9/h"}}]
web_gate = tidegate.Gate(rules)
stale_door = web_gate._asgi_door(_waiting.Turn, None, False)
web_gate.reload(rules)
door = web_gate._asgi_door(_waiting.Turn, None, False)
use = partial({use})
threading.excepthook = lambda told: None

lock, going = threading.Lock(), threading.Event()
lock.acquire()
# Whoever wants the GIL says so at once, and whoever then lets go of it is not the next to get it.
sys.setswitchinterval(1e-6)
# In one call each, so that nobody lets go of it in between unless he lets go by himself.
busy = partial(sum, range(2_000_000))
def first():
    going.set()
    list(map(partial.__call__, [partial(lock.release), busy, use]))
threading.Thread(target=first, daemon=True).start()
going.wait()
child = list(map(partial.__call__, [partial(lock.acquire), busy, partial(os.fork)]))[2]
if child == 0:
    try:
        use()
    except Exception:
        pass
    os._exit(7)
end = time.monotonic() + 20
while (told := os.waitpid(child, os.WNOHANG)) == (0, 0):
    if time.monotonic() > end:
        os.kill(child, 9)
    time.sleep(0.001)
print(os.waitstatus_to_exitcode(told[1]), flush=True)
os._exit(0)
"""
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.stderr) == ("7\n", "")
