"""What the README says is so elsewhere, too: its figures, and its rules."""

import re
import unittest

from project import ROOT


def cells(row):
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


class Readme(unittest.TestCase):
    def setUp(self):
        self.text = (ROOT / "README.md").read_text("utf-8")

    def test_each_row_of_the_measured_table_stands_in_the_benchmarks(self):
        section = self.text.split("## How fast")[1]
        shown = [cells(row) for row in section.splitlines() if re.match(r"\| [A-Z]", row)]
        measured = [
            cells(row)[:5]
            for row in (ROOT / "docs/benchmarks.md").read_text("utf-8").splitlines()
            if row.startswith("| ")
        ]
        self.assertGreaterEqual(len(shown), 6)
        self.assertEqual([row for row in shown if row not in measured], [])

    def test_its_rules_are_those_with_which_the_example_servers_are_tested(self):
        rules = re.search(r"^```toml\n# rules.toml\n(.*?)^```$", self.text, re.MULTILINE | re.DOTALL)[1].strip()
        for language in ("python", "node"):
            with self.subTest(language=language):
                tested = (ROOT / language / "examples/rules.toml").read_text("utf-8")
                self.assertEqual(tested.partition("\n")[2].strip(), rules)


if __name__ == "__main__":
    unittest.main()
