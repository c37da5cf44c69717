"""A missing or old tool is named, with what to install and how to do without."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from project import ROOT

# A machine on which everything is there. Each tool prints one line.
TOOLS = {
    "cargo": "cargo 1.88.0 (873a06493 2025-05-10)",
    "cc": "cc (Debian 12.2.0-14) 12.2.0",
    "c++": "c++ (Debian 12.2.0-14) 12.2.0",
    "python3": "Python 3.10.0",
    "node": "v20.0.0",
    "npm": "10.1.0",
    "javac": "javac 17.0.15",
    "java": 'openjdk version "17.0.15" 2025-04-15',
    "mvn": "Apache Maven 3.8.7",
    "valgrind": "valgrind-3.19.0",
}
SHELL_TOOLS = ("bash", "grep", "head", "sed")
LANGUAGES = ("rust", "c", "cpp", "python", "node", "java")


class Toolchain(unittest.TestCase):
    def check(self, mode, *languages, without=(), **instead):
        """The check on a machine that has TOOLS, some missing, some answering otherwise."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            for name in SHELL_TOOLS:
                found = subprocess.run(["bash", "-c", f"type -P {name}"], check=True, capture_output=True, text=True)
                (path / name).symlink_to(found.stdout.strip())
            for name, answer in (TOOLS | instead).items():
                if name not in without:
                    (path / name).write_text(f"#!{path}/bash\n{answer if name in instead else f'echo {answer!r}'}\n")
                    (path / name).chmod(0o755)
            environment = {"PATH": folder, "CC": "cc", "CXX": "c++", "PYTHON": "python3", "HOME": os.devnull}
            return subprocess.run(
                [path / "bash", ROOT / "scripts/toolchain.sh", mode, *languages],
                env=environment,
                capture_output=True,
                text=True,
            )

    def test_a_machine_with_the_oldest_tools_allowed_will_do(self):
        result = self.check("require", *LANGUAGES)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_each_missing_tool_fails_its_language_and_shows_the_way_out(self):
        for tool, language, advice in (
            ("c++", "cpp", "build-essential"),
            ("node", "node", "Node 20"),
            ("npm", "node", "npm"),
            ("javac", "java", "JDK 17"),
            ("mvn", "java", "Maven 3.6"),
        ):
            with self.subTest(tool=tool):
                result = self.check("require", *LANGUAGES, without=[tool])
                self.assertEqual(result.returncode, 1)
                self.assertRegex(result.stderr, rf"(?m)^{language}: .* is missing: install .*{advice}")
                others = " ".join(name for name in LANGUAGES if name != language)
                self.assertIn(f'LANGS="{others}"', result.stderr)

    def test_a_language_left_out_is_not_asked_for(self):
        self.assertEqual(self.check("require", "rust", "c", without=["node", "javac", "mvn"]).returncode, 0)

    def test_each_old_tool_is_named_with_its_version(self):
        for tool, answer, said in (
            ("cargo", "cargo 1.87.0", "Rust 1.87.0 is too old, 1.88 or later"),
            ("python3", "Python 3.9.18", "Python 3.9.18 is too old, 3.10 or later"),
            ("node", "v18.19.0", "Node 18.19.0 is too old, 20 or later"),
            ("javac", "javac 11.0.2", "JDK 11.0.2 is too old, 17 or later"),
            ("mvn", "Apache Maven 3.5.4", "Maven 3.5.4 is too old, 3.6 or later"),
        ):
            with self.subTest(tool=tool):
                result = self.check("require", *LANGUAGES, **{tool: f"echo {answer}"})
                self.assertEqual(result.returncode, 1)
                self.assertIn(said, result.stderr)

    def test_neither_bold_type_nor_picked_up_options_are_taken_for_a_version(self):
        picked_up = "echo 'Picked up JAVA_TOOL_OPTIONS: -Xmx2g'; echo 'javac 21'"
        result = self.check("require", "java", mvn=r"printf '\033[1mApache Maven 3.8.7\033[m\n'", javac=picked_up)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_a_missing_or_old_valgrind_is_named_with_what_to_install(self):
        for tools, said in (
            ({"without": ["valgrind"]}, "valgrind is missing"),
            ({"valgrind": "echo valgrind-3.14.0"}, "3.14.0 is too old"),
        ):
            result = self.check("require-valgrind", **tools)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr, f"{said}.*: install valgrind .*apt install valgrind")
        self.assertEqual(self.check("require-valgrind").returncode, 0)

    def test_a_python_without_venv_is_told_apart(self):
        without_venv = 'case $1 in -c) exit 1 ;; *) echo "Python 3.11.2" ;; esac'
        result = self.check("require", "rust", "python", python3=without_venv)
        self.assertEqual(result.returncode, 1)
        self.assertIn("install python3-venv", result.stderr)
        self.assertIn('LANGS="rust"', result.stderr)

    def test_the_demo_gets_the_languages_that_can_be_run_and_names_the_rest(self):
        result = self.check("available", *LANGUAGES, without=["node", "mvn"])
        self.assertEqual((result.returncode, result.stdout), (0, "rust c cpp python\n"))
        self.assertRegex(result.stderr, r"(?m)^node: Node is missing")
        self.assertRegex(result.stderr, r"(?m)^java: Maven is missing")

    def test_without_rust_nothing_can_be_built(self):
        result = self.check("available", *LANGUAGES, without=["cargo"])
        self.assertEqual(result.stdout, "\n")

    def test_an_unknown_language_is_refused_by_name(self):
        result = self.check("require", "rust", "perl")
        self.assertEqual(result.returncode, 2)
        self.assertIn("LANGS: got perl; allowed: rust c cpp python node java", result.stderr)


if __name__ == "__main__":
    unittest.main()
