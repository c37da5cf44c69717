import pytest
from tidegate import ManualClock


@pytest.fixture
def clock():
    return ManualClock()
