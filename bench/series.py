"""What the pictures show, as series of rows: how cost grows, and each language's subjects side by side."""

from harnesses import NAMES
from peers import is_peer
from targets import OURS

KEYS = ((1, "1 key"), (1_000, "1,000 keys"), (100_000, "100,000 keys"), (1_000_000, "1,000,000 keys"))
THREADS = ((1, ""), (2, ", 2 threads"), (10, ", 10 threads"))

# A picture of growth: its title, what cost grows with, and the name of each case by the way of growing and by how much.
GROWTH = {
    "keys": (
        "How cost grows with keys",
        "keys",
        {
            "uniform": {count: f"keyed gcra, {name}" for count, name in KEYS},
            "Zipf": {count: f"keyed gcra, {name}, Zipf" for count, name in KEYS},
        },
    ),
    "threads": (
        "How cost grows with threads on one limiter",
        "threads",
        {way: {count: f"gcra {way}{name}" for count, name in THREADS} for way in ("allowed", "refused")},
    ),
    "quotas": (
        "How cost grows with quotas that are one decision",
        "quotas",
        {"allowed": {1: "gcra allowed", 2: "2 quotas", 3: "3 quotas"}},
    ),
}


def path(name):
    """Where a picture is, from docs/."""
    return f"pictures/bench-{name}.svg"


def growth(rows, name, language):
    """{(subject, way): {how much: row}} of what was measured for two amounts or more; of peers only beside tidegate."""
    by_name = {(row["case"], row["subject"]): row for row in rows if row["language"] == language}
    subjects = dict.fromkeys(subject for _, subject in by_name if subject == OURS or is_peer(subject))
    series = {}
    for way, cases in GROWTH[name][2].items():
        for subject in subjects:
            found = {amount: by_name[case, subject] for amount, case in cases.items() if (case, subject) in by_name}
            if len(found) > 1:
                series[subject, way] = found
    return series if any(subject == OURS for subject, _ in series) else {}


def growing(rows, name):
    """{language: series} of the languages that have any."""
    found = {language: growth(rows, name, language) for language in NAMES}
    return {language: series for language, series in found.items() if series}


def side_by_side(rows, language):
    """{case: rows} of the cases that take time and have tidegate and a peer: tidegate first."""
    cases = {}
    for row in rows:
        timed = "ns_per_op" in row and (row["subject"] == OURS or is_peer(row["subject"]))
        if row["language"] == language and timed:
            cases.setdefault(row["case"], []).append(row)
    return {
        case: sorted(subjects, key=lambda row: row["subject"] != OURS)
        for case, subjects in cases.items()
        if len(subjects) > 1 and any(row["subject"] == OURS for row in subjects)
    }
