"""The demo's table judges the figures itself: each wrong one is named, whatever the demo thinks of itself."""

import contextlib
import importlib.util
import io
import sys
import unittest
from unittest import mock

from project import ROOT

spec = importlib.util.spec_from_file_location("demo_run", ROOT / "demo/run.py")
demo = importlib.util.module_from_spec(spec)
spec.loader.exec_module(demo)

RIGHT = {
    "language": "python",
    "limit_ok": 4,
    "limit_refused": 6,
    "retry_after": True,
    "nolimit_ok": 10,
    "visit": "200 200 200 429 200",
    "race_limit": 1_000_000,
    "race_admitted": 4_000_000,
    "race_refused": 31_000_000,
    "race_calls_per_s": 10_000_000,
    "ok": True,
}
WRONG = {
    "language": "node",
    "limit_ok": 5,
    "limit_refused": 5,
    "retry_after": 1,
    "nolimit_ok": 9,
    "visit": "200 200 200 200 200",
    "race_limit": 5_000_000,
    "race_admitted": 4_000_001,
    "race_refused": 0,
    "race_calls_per_s": 1_000_000,
}


class DemoTable(unittest.TestCase):
    def test_right_figures_pass(self):
        self.assertEqual(demo.problems("python", RIGHT, 0), [])

    def test_each_wrong_figure_is_named_though_the_demo_says_ok(self):
        for name, value in WRONG.items():
            with self.subTest(figure=name):
                found = demo.problems("python", RIGHT | {name: value}, 0)
                self.assertTrue(found[0].startswith(f"{name}: got {value!r}"), found)

    def test_each_missing_figure_is_named(self):
        for name in WRONG:
            with self.subTest(figure=name):
                figures = {key: value for key, value in RIGHT.items() if key != name}
                self.assertTrue(demo.problems("python", figures, 0)[0].startswith(f"{name}: got None"))

    def test_a_demo_that_finds_itself_wrong_is_wrong(self):
        self.assertEqual(len(demo.problems("python", RIGHT | {"ok": False}, 0)), 1)

    def test_a_demo_that_ends_badly_is_wrong_though_its_figures_are_right(self):
        self.assertIn("exit code -11", demo.problems("python", RIGHT, -11))

    def test_a_demo_without_figures_is_wrong(self):
        self.assertEqual(demo.problems("python", None, 3), ["exit code 3 and no DEMO line"])

    def test_the_table_has_a_row_for_each_language_and_the_exit_code_tells_of_a_wrong_one(self):
        code, shown = self.run_with({"python": RIGHT, "c": RIGHT | {"limit_ok": 10}}, skipped="node java")
        self.assertEqual(code, 1)
        last = [line.split()[0] for line in shown.splitlines() if line and not line.startswith(("=", "-"))]
        self.assertEqual(last[:5], ["language", "Python", "C", "Node", "Java"])
        self.assertIn("FAILED C: limit_ok: got 10; expected 4", shown)

    def test_right_figures_exit_with_zero_and_skipped_languages_are_named(self):
        code, shown = self.run_with({"python": RIGHT}, skipped="java")
        self.assertEqual(code, 0)
        self.assertRegex(shown, r"Java .*skipped: toolchain missing")

    def run_with(self, figures, skipped):
        """main() over demos that print these figures; returns (exit code, what was shown)."""

        def command(language):
            return [sys.executable, "-c", f"print('DEMO ' + {demo.json.dumps(figures[language])!r})"]

        shown = io.StringIO()
        with (
            mock.patch.object(demo, "command", command),
            mock.patch.object(sys, "argv", ["run.py", "--skipped", skipped, *figures]),
            contextlib.redirect_stdout(shown),
            self.assertRaises(SystemExit) as ended,
        ):
            demo.main()
        return ended.exception.code, shown.getvalue()


if __name__ == "__main__":
    unittest.main()
