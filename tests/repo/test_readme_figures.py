"""Each measured figure of the README is one that `make bench` wrote."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def cells(row):
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


class ReadmeFigures(unittest.TestCase):
    def test_each_row_of_the_measured_table_stands_in_the_benchmarks(self):
        section = (ROOT / "README.md").read_text(encoding="utf-8").split("## How fast")[1]
        shown = [cells(row) for row in section.splitlines() if re.match(r"\| [A-Z]", row)]
        measured = [
            cells(row)[:5]
            for row in (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8").splitlines()
            if row.startswith("| ")
        ]
        self.assertGreaterEqual(len(shown), 6)
        self.assertEqual([row for row in shown if row not in measured], [])


if __name__ == "__main__":
    unittest.main()
