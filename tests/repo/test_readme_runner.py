"""The test of the guides' code blocks can fail: on a tag, a command or an output that isn't right."""

import sys
import unittest

from project import ROOT

sys.path.insert(0, str(ROOT / "tests/readme"))
import languages
import run
import shell

FENCE = "`" * 3


def page(*blocks):
    return "\n".join(f"{FENCE}{tag}\n{code}\n{FENCE}\n" for tag, code in blocks)


class ReadmeRunner(unittest.TestCase):
    def test_a_block_whose_tag_is_unknown_or_missing_fails(self):
        for tag in ("perl", ""):
            [block] = run.blocks_of("page.md", page((tag, "1")))
            self.assertIn(f"got {tag!r}; allowed: sh, text", run.fault_of(block))

    def test_only_a_text_straight_behind_a_block_is_what_it_prints(self):
        straight, text = run.blocks_of("page.md", page(("python", "print(1)"), ("text", "1")))
        self.assertEqual((straight.printed, text.printed), ("1\n", None))
        text = page(("python", "print(1)")) + "\nAnd so on:\n\n" + page(("text", "1"))
        self.assertIsNone(run.blocks_of("page.md", text)[0].printed)

    def test_a_line_of_the_shell_is_a_target_of_make_or_known(self):
        self.assertIsNone(shell.fault_of("# First\nmake build LANGS=rust  # only one\nmake test"))
        self.assertIn("is no target of make", shell.fault_of("make tea"))
        self.assertIn("got 'rm -rf .'; allowed:", shell.fault_of("rm -rf ."))

    def test_what_another_test_runs_of_the_shell_is_run_by_a_test_that_exists(self):
        self.assertEqual([test for test in shell.ELSEWHERE.values() if not (ROOT / test).is_file()], [])

    def test_pages_that_another_test_runs_are_left_to_one_that_exists(self):
        for pattern, test in run.ELSEWHERE.items():
            if list(ROOT.glob(pattern)):
                self.assertTrue((ROOT / test).exists(), test)

    def test_every_page_with_code_is_for_this_test_or_for_a_named_one(self):
        self.assertLessEqual({"README.md", "docs/keyed.md", "python/README.md"}, set(run.pages()))
        self.assertNotIn("docs/scenarios/rpc.md", run.pages())
        self.assertEqual(languages.ROOT, ROOT)


if __name__ == "__main__":
    unittest.main()
