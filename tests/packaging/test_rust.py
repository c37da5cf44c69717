"""The crate as users get it: packed, documented, fit for the oldest Rust that it promises, its API listed."""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from fresh import LICENCES, ROOT, VERSION, example, run

TARGET = ROOT / "target"
# Thrown away, but always at the same place: cargo knows crates by their paths, and would compile ours anew elsewhere.
FRESH = ROOT / "build/packaging/rust"
MINIMUM = re.search(r'^rust-version = "(.*)"', (ROOT / "Cargo.toml").read_text("utf-8"), re.MULTILINE)[1]


def cargo(*arguments, **environment):
    """What cargo says while it builds where all of the project is built."""
    told = subprocess.run(
        ["cargo", *arguments],
        cwd=ROOT,
        env=os.environ | {"CARGO_TARGET_DIR": str(TARGET)} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    if told.returncode != 0:
        raise AssertionError(f"{told.args} ended with {told.returncode}\n{told.stdout}")
    return told.stdout


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.said = cargo("package", "-p", "tidegate", "--allow-dirty", "--no-verify")
        shutil.rmtree(FRESH, ignore_errors=True)
        FRESH.mkdir(parents=True)
        shutil.unpack_archive(TARGET / f"package/tidegate-{VERSION}.crate", FRESH, "gztar", filter="data")
        cls.package = FRESH / f"tidegate-{VERSION}"

    def test_it_holds_sources_and_what_must_lie_beside_them(self):
        names = {path.name for path in self.package.iterdir()}
        made = {".cargo_vcs_info.json", "Cargo.lock", "Cargo.toml", "Cargo.toml.orig"}
        self.assertEqual(names - made, {"src", "examples", "tests", "README.md"} | LICENCES)
        self.assertEqual({path.suffix for path in self.package.rglob("*/*") if path.is_file()}, {".rs"})
        self.assertLess((TARGET / f"package/tidegate-{VERSION}.crate").stat().st_size, 1 << 20)

    def test_its_licences_are_those_of_the_project(self):
        for name in LICENCES:
            self.assertEqual((self.package / name).read_text("utf-8"), (ROOT / name).read_text("utf-8"))

    def test_cargo_warns_of_nothing_but_that_the_project_has_no_address_yet(self):
        warnings = re.findall("^warning: (.*)", self.said, re.MULTILINE)
        self.assertEqual(warnings, ["manifest has no documentation, homepage or repository"])

    def test_a_project_that_depends_on_it_runs_the_example_of_the_readme(self):
        (FRESH / "src").mkdir()
        (FRESH / "src/main.rs").write_text(example("rust"))
        (FRESH / "Cargo.toml").write_text(
            '[package]\nname = "sample"\nversion = "0.0.0"\nedition = "2021"\n\n'
            f'[dependencies]\ntidegate = {{ path = "tidegate-{VERSION}" }}\n\n[workspace]\n'
        )
        shutil.copy(ROOT / "Cargo.lock", FRESH)
        said = run("cargo", "run", "--quiet", "--offline", cwd=FRESH, CARGO_TARGET_DIR=str(TARGET))
        self.assertEqual(said, "go ahead\n")


class Documentation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Pages of what is no more would be listed, too.
        shutil.rmtree(TARGET / "doc/tidegate", ignore_errors=True)
        cargo("doc", "--no-deps", "-p", "tidegate", RUSTDOCFLAGS="-D warnings")

    def test_the_public_api_is_the_committed_one(self):
        listed = run(sys.executable, ROOT / "scripts/public_api.py", TARGET / "doc/tidegate", cwd=ROOT).splitlines()
        committed = (ROOT / "core/public-api.txt").read_text("utf-8").splitlines()
        new = sorted(set(listed) - set(committed))
        gone = sorted(set(committed) - set(listed))
        advice = "`make public-api` writes the listing anew; what is gone breaks users, and CHANGELOG.md must say so"
        self.assertEqual((new, gone), ([], []), advice)


class OldestRust(unittest.TestCase):
    def test_every_dependency_is_fit_for_it(self):
        metadata = json.loads(run("cargo", "metadata", "--locked", "--format-version", "1", cwd=ROOT))
        minimum = tuple(map(int, MINIMUM.split(".")))
        too_new = [
            f"{package['name']} {package['version']} needs {package['rust_version']}"
            for package in metadata["packages"]
            if package["rust_version"] and tuple(map(int, package["rust_version"].split(".")))[:2] > minimum
        ]
        self.assertEqual(too_new, [])

    def test_the_toolchain_check_and_the_documents_ask_for_the_same(self):
        self.assertIn(f"tool Rust {MINIMUM} ", (ROOT / "scripts/toolchain.sh").read_text("utf-8"))
        for name in ("README.md", "core/README.md", "CONTRIBUTING.md"):
            with self.subTest(file=name):
                self.assertIn(f"Rust {MINIMUM}", (ROOT / name).read_text("utf-8"))


if __name__ == "__main__":
    unittest.main()
