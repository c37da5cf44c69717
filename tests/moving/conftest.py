import time

import pytest
import tidegate


class BothClocks:
    """Their clock, which is time.time, and ours, in step: from 2**20 seconds on, so that no sum is rounded."""

    def __init__(self):
        self.seconds = 1 << 20
        self.ours = tidegate.ManualClock()
        self.ours.set(self.seconds)

    def advance(self, seconds):
        self.seconds += seconds
        self.ours.advance(seconds)


@pytest.fixture
def clock(monkeypatch):
    clock = BothClocks()
    monkeypatch.setattr(time, "time", lambda: clock.seconds)
    return clock
