"""Each stage has seconds that it may take, and one that takes longer fails by name; so does `make test` as a whole."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from project import ROOT, output

SECONDS = {
    name: int(seconds)
    for name, seconds in re.findall(r"^([\w-]+) (\d+)$", (ROOT / "scripts/stage_seconds.txt").read_text(), re.MULTILINE)
}


class Stages(unittest.TestCase):
    def run_stages(self, budgets, recipe="sleep 1.1", **environment):
        """What is said of one stage, `slow`, which by its recipe takes more than a second, and of all as `test`."""
        with tempfile.TemporaryDirectory() as folder:
            scripts = pathlib.Path(folder)
            shutil.copy(ROOT / "scripts/stages.sh", scripts)
            (scripts / "stage_seconds.txt").write_text(budgets)
            (scripts / "make").write_text(f"#!/bin/sh\n{recipe}\n")
            (scripts / "make").chmod(0o755)
            return subprocess.run(
                ["bash", scripts / "stages.sh", "test", "slow"],
                cwd=folder,
                env=os.environ | {"MAKE": str(scripts / "make")} | environment,
                capture_output=True,
                encoding="utf-8",
                check=False,
            )

    def test_a_stage_within_its_seconds_passes(self):
        for budgets, environment in (("slow 60\ntest 60\n", {}), ("", {}), ("slow 0.5\n", {"STAGE_FACTOR": "99"})):
            done = self.run_stages(budgets, **environment)
            self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (0, "1 passed, 0 failed"))

    def test_a_stage_that_takes_longer_fails_by_name(self):
        done = self.run_stages("slow 0.5\n")
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (1, "0 passed, 1 failed"))
        self.assertRegex(done.stdout, r"(?m)^slow +\d+ s  FAILED: took more than 0 s")

    def test_all_together_fail_if_they_take_longer(self):
        done = self.run_stages("slow 60\ntest 0.5\n")
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (1, "1 passed, 1 failed"))
        self.assertRegex(done.stdout, r"(?m)^total +\d+ s  FAILED: took more than 0 s")

    def test_what_a_failed_stage_printed_last_is_shown_once_more_before_the_table(self):
        done = self.run_stages("", recipe="echo first; seq 100; echo the reason >&2; exit 3")
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (1, "0 passed, 1 failed"))
        shown = done.stdout.split("==> slow failed; its last lines:\n")[1]
        self.assertNotIn("first", shown)
        self.assertLess(shown.index("the reason"), shown.index("make test, stage by stage"))

    def test_each_stage_of_make_test_has_its_seconds_and_all_have_25_minutes(self):
        told = output("make", "-n", "test", "LANGS=rust c cpp python node java")
        stages = re.search(r"scripts/stages\.sh test (.*)", told)[1].split()
        self.assertIn("test-rust", stages)
        self.assertEqual(set(stages) - set(SECONDS), set())
        self.assertLessEqual(SECONDS["test"], 25 * 60)


if __name__ == "__main__":
    unittest.main()
