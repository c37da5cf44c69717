"""Where a peer is ahead of tidegate.

Judged with the spread: one of two is ahead only where its whole spread is below that of the other; else they are equal.
"""

import dataclasses

from reasons import REASONS, reason
from targets import OURS

# Stands beside the subjects to tell what a part of the work costs, and limits nothing.
YARDSTICKS = (
    "clock alone",
    "FastAPI alone",
    "FastAPI and two constant headers",
    "Express alone",
    "Express and an empty layer",
    "Express and two constant headers",
    "two native calls of the JDK's",
)


@dataclasses.dataclass(frozen=True)
class Standing:
    """A subject of ours beside a peer in one case: `ahead` is tidegate's own, "tidegate", "peer", or None for equal."""

    ours: dict
    peer: dict
    ahead: str | None
    reason: str | None

    @property
    def unexplained(self):
        return self.ahead == "peer" and self.reason is None


def costs(row):
    """The spread of a row as amounts of which less is better."""
    if "ops_per_s" in row:
        return [1e9 / per_second for per_second in reversed(row["spread"])]
    return row["spread"]


def is_peer(subject):
    return not subject.startswith(OURS) and subject not in YARDSTICKS


def standings(rows, reasons=REASONS):
    """A standing for each peer in each case in which tidegate was measured."""
    ours = {(row["language"], row["case"]): row for row in rows if row["subject"] == OURS}
    found = []
    for row in rows:
        own = ours.get((row["language"], row["case"]))
        if own is None or not is_peer(row["subject"]):
            continue
        (our_least, our_most), (least, most) = costs(own), costs(row)
        ahead = "tidegate" if our_most < least else "peer" if most < our_least else None
        found.append(Standing(own, row, ahead, reason(row, reasons) if ahead == "peer" else None))
    return found
