"""Hot calls from Python: 1000 of each, then as many more of each as is said. usage: calls.py CALL=TIMES..."""

import sys

from tidegate import ConcurrencyLimiter, KeyedRateLimiter, ManualClock, RateLimiter

# All on a clock that stands still; and nothing measures the machine's counter, which takes another count each time.
clock = ManualClock()
rate = RateLimiter("1000000/s", clock=clock)
keyed = KeyedRateLimiter("1000000/s", max_keys=64_000, clock=clock)
permits = ConcurrencyLimiter(10, clock=clock)
keys = [f"client-{number}" for number in range(1000)]


def gcra_allowed(calls):
    for _ in range(calls):
        rate.try_acquire()


def keyed_allowed(calls):
    for call in range(calls):
        keyed.try_acquire(keys[call % len(keys)])


def permit_taken_and_released(calls):
    for _ in range(calls):
        permits.try_acquire().release()


for loop in (gcra_allowed, keyed_allowed, permit_taken_and_released):
    loop(1000)
for argument in sys.argv[1:]:
    call, times = argument.split("=")
    globals()[call](int(times))
