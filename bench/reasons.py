"""Why a peer is ahead where it is. `make bench` names each peer that is ahead without a reason here."""

import dataclasses
import fnmatch


@dataclasses.dataclass(frozen=True)
class Reason:
    """Why a peer is ahead in the cases of a language that a pattern matches, as in a shell."""

    language: str
    case: str
    peer: str
    text: str


REASONS = [
    Reason(
        "rust",
        "gcra *",
        "governor",
        "Both are the clock and one exchange; ours also counts, and sees whether somebody waits.",
    ),
    Reason(
        "rust",
        "gcra refused*",
        "tower",
        "tower reads no clock while it refuses: it looks whether a timer fired, and belongs to one task.",
    ),
    Reason(
        "rust",
        "check with figures*",
        "*",
        "`decide` tells five figures and what a refund needs; governor and ratelimit tell the one that is asked for.",
    ),
    Reason(
        "rust",
        "? quotas",
        "governor",
        "Not one decision: what the first limiter gave stays spent where a later one refuses. Ours undoes it, "
        "and knows which quota refused.",
    ),
    Reason(
        "rust",
        "await acquire*",
        "*",
        "A future of ours has a place in a queue, a deadline and a timer, which it takes time to make and to drop; "
        "governor's has no queue, tokio's and tower's no deadline.",
    ),
    Reason(
        "rust",
        "memory, 10,000 waiters",
        "tokio",
        "A place in our queue also has a deadline, and room for any kind of waiter: thread, future or callback.",
    ),
    Reason(
        "node",
        "*acquire + release",
        "async-sema",
        "async-sema is an array in JavaScript; our permit is an object that is given back once, also if dropped.",
    ),
    Reason(
        "node",
        "check with figures",
        "express-rate-limit",
        "Its store counts, and hands out the record in which it goes on counting. A `Decision` has ten figures, and "
        "nobody can change it: to freeze it is 42 of its 132 ns (measured apart).",
    ),
    Reason(
        "node",
        "check with figures",
        "limiter",
        "Two numbers are read off its bucket; a `Decision` has ten figures, and nobody can change it: to freeze it is "
        "42 of its 132 ns (measured apart).",
    ),
    Reason(
        "java",
        "*acquire + release*",
        "j.u.c. Semaphore",
        "Two exchanges; ours lends a permit that is given back once and that a `Cleaner` watches, which takes two more."
        " Who takes several at once crosses the border twice, which alone takes 4 times as long.",
    ),
    Reason(
        "java",
        "*acquire + release*",
        "resilience4j",
        "A Bulkhead is a `Semaphore` that tells listeners, of whom there are none here: the same reason.",
    ),
    Reason(
        "java",
        "check with figures",
        "bucket4j",
        "`decide` tells five figures and what a refund needs, by a clock of nanoseconds; bucket4j two, by one of "
        "milliseconds.",
    ),
    Reason(
        "java",
        "? quotas",
        "bucket4j",
        "All quotas are one object there, made anew for each call and swapped at once; ours is an exchange a quota, "
        "and no garbage.",
    ),
]


def reason(row, reasons):
    """Why this peer is ahead; the first that fits."""
    for one in reasons:
        pairs = ((row["language"], one.language), (row["case"], one.case), (row["subject"], one.peer))
        if all(fnmatch.fnmatchcase(text, pattern) for text, pattern in pairs):
            return one.text
    return None
