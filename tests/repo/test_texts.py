"""What may not be committed: unfinished places, tests that don't run, traces of one person's machine, broken lines."""

import re
import unittest

from project import ROOT, committed_texts

CODE = (".rs", ".py", ".pyi", ".ts", ".js", ".mjs", ".cjs", ".java", ".c", ".h", ".hpp", ".cpp", ".sh")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b|\b(todo|unimplemented)!\(|NotImplementedError")
NOT_RUN = re.compile(r"#\[ignore|mark\.(skip|xfail)|unittest\.skip|\b(it|test|describe)\.(skip|todo)\b|@Disabled")
HOME = re.compile(r"(?<![\w.$}])/(root|home|Users|work)/")
# Which one is asked is for each user's own settings to say.
REGISTRY = re.compile(
    r"https?://[\w.-]*(registry|npmjs|pypi|pythonhosted|repo1?\.maven|crates\.io)|index-url|<mirrorOf>"
)
FOLDERS = ("core", "ffi", "include", "python", "node", "java", "demo", "bench", "docs", "tests")


def places(pattern, suffixes=("",)):
    """`file:line: text` of each committed line that the pattern matches; this file, which has them all, left out."""
    return [
        f"{name}:{number}: {line.strip()}"
        for name, text in committed_texts()
        if name.endswith(suffixes) and not name.endswith("tests/repo/test_texts.py")
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


class Texts(unittest.TestCase):
    def test_nothing_is_left_unfinished(self):
        self.assertEqual(places(UNFINISHED, CODE), [])

    def test_every_test_is_run(self):
        self.assertEqual(places(NOT_RUN, CODE), [])

    def test_no_path_of_one_machine_is_named(self):
        self.assertEqual(places(HOME), [])

    def test_no_lock_file_says_where_a_package_was_downloaded(self):
        self.assertEqual(places(re.compile(r'"resolved"\s*:\s*"https?:'), ("package-lock.json",)), [])

    def test_no_registry_of_packages_is_named(self):
        self.assertEqual(places(REGISTRY), [])

    def test_lines_end_in_one_newline_without_trailing_space(self):
        broken = [
            name
            for name, text in committed_texts()
            if text and ("\r" in text or not text.endswith("\n") or re.search(r"[ \t]$", text, re.MULTILINE))
        ]
        self.assertEqual(broken, [])

    def test_each_folder_says_what_lives_there(self):
        self.assertEqual([name for name in FOLDERS if not (ROOT / name / "README.md").is_file()], [])


if __name__ == "__main__":
    unittest.main()
