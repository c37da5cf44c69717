"""limit_req as a model of what a proxy's documentation says, and a gate on the same requests."""

import asyncio
from dataclasses import dataclass

import tidegate


@dataclass
class Zone:
    """What a proxy keeps of one key: how far its requests are ahead of the rate.

    It counts in thousandths of a request, of which `rate` come off in a second.
    """

    burst: int
    delay: int
    rate: int = 1_000
    excess: int = 0
    last_ms: int | None = None

    def request(self, now_ms):
        """For how many milliseconds a request is delayed; None: refused, which counts nowhere."""
        excess = 0
        if self.last_ms is not None:
            excess = max(0, self.excess - (now_ms - self.last_ms) * self.rate // 1_000 + 1_000)
        if excess > self.burst * 1_000:
            return None
        self.excess, self.last_ms = excess, now_ms
        return max(0, excess - self.delay * 1_000) * 1_000 // self.rate


def wanted(requests, zone_of):
    """When each of the requests, which are (time in ms, path, client), goes ahead; None if it is refused.

    zone_of makes the zone of a path, for each client.
    """
    zones, times = {}, []
    for now_ms, path, client in requests:
        if (path, client) not in zones:
            zones[path, client] = zone_of(path)
        delay = zones[path, client].request(now_ms)
        times.append(None if delay is None else now_ms + delay)
    return times


def times_of(rules, requests, ahead):
    """The same, as a gate does it; in nanoseconds of its clock, which also stops before and at each of the times in
    ms `ahead`, where requests are wanted to go ahead."""
    clock = tidegate.ManualClock()
    gate = tidegate.Gate(rules, clock=clock)
    times = [None] * len(requests)

    async def enter(number, path, client):
        entry = await gate.enter_async(path=path, client=client)
        times[number] = clock.now_ns
        entry.release()

    async def settle():
        for _ in range(8):
            await asyncio.sleep(0)

    async def run():
        tasks = []
        # Also a nanosecond before each request goes ahead, so that none does early.
        instants = {at * 1_000_000 - early for at in ahead for early in (0, 1) if at} | {0}
        for now in sorted(instants | {at * 1_000_000 for at, _, _ in requests}):
            clock.set_ns(now)
            await settle()
            while len(tasks) < len(requests) and requests[len(tasks)][0] * 1_000_000 == now:
                tasks.append(asyncio.create_task(enter(len(tasks), *requests[len(tasks)][1:])))
                await settle()
        # Who still waits is late, and is not to wait for ever.
        clock.advance(86_400)
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(outcome is None or isinstance(outcome, tidegate.GateRefused) for outcome in outcomes)

    asyncio.run(run())
    return times


def in_ns(times_ms):
    return [None if at is None else at * 1_000_000 for at in times_ms]
