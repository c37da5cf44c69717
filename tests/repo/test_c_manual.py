"""The manual of the C API is that of the header, and has every function and type of it."""

import re
import sys
import unittest

from project import ROOT, output


class CManual(unittest.TestCase):
    def setUp(self):
        self.page = (ROOT / "docs/c-api.md").read_text("utf-8")

    def test_it_is_made_from_the_header(self):
        made = output(sys.executable, ROOT / "scripts/c_manual.py")
        self.assertTrue(made == self.page, "docs/c-api.md is stale: run `make header`")

    def test_it_has_every_function_and_macro_and_type(self):
        header = (ROOT / "include/tidegate.h").read_text("utf-8")
        functions = set((ROOT / "tests/c/symbols.txt").read_text("utf-8").split())
        types = set(re.findall(r"^typedef struct \w+ (\w+);|^\} (\w+);", header, re.MULTILINE))
        macros = set(re.findall(r"^#define (TIDEGATE_\w+) ", header, re.MULTILINE))
        headings = re.findall(r"^### (\w+)$", self.page, re.MULTILINE)
        self.assertEqual((functions | {name for names in types for name in names if name}) - set(headings), set())
        self.assertEqual(macros - set(re.findall(r"^\| `(\w+)`", self.page, re.MULTILINE)), set())
        self.assertEqual(len(headings), len(set(headings)))


if __name__ == "__main__":
    unittest.main()
