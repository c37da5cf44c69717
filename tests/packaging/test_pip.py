"""The wheel and the source distribution, installed by pip into fresh environments."""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import unittest
import zipfile
from email.parser import Parser

from fresh import LICENCES, ROOT, VERSION, debug_sections, example, folder, run

TOOLS = ROOT / ".venv/bin"


def interpreters():
    """Each CPython from 3.10 on that is found on the path, and the one that runs this: {(major, minor): executable}."""
    found = {sys.version_info[:2]: sys.executable}
    for minor in range(10, 20):
        path = shutil.which(f"python3.{minor}")
        if path and subprocess.run([path, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
            found.setdefault((3, minor), path)
    return found


def environment(case, interpreter, wheel):
    """The interpreter of a new virtual environment into which pip has installed a wheel, without a registry."""
    at = folder(case)
    run(interpreter, "-m", "venv", at, cwd=at)
    python = at / "bin/python"
    run(python, "-m", "pip", "install", "--no-index", "--disable-pip-version-check", wheel, cwd=at)
    return python


def runs_the_example(python):
    """What the README's example says, run by an interpreter that sees nothing but what is installed."""
    return run(python, "-I", "-W", "error", "-c", example("python"), cwd=python.parent)


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        [cls.wheel] = (ROOT / "build/wheels").glob("*.whl")  # else: make build-python

    def test_one_wheel_is_for_every_cpython_from_3_10_on(self):
        self.assertRegex(self.wheel.name, rf"^tidegate-{VERSION}-cp310-abi3-.+\.whl$")
        with zipfile.ZipFile(self.wheel) as archive:
            told = Parser().parsestr(archive.read(f"tidegate-{VERSION}.dist-info/WHEEL").decode())
            names = archive.namelist()
            [library] = [archive.read(name) for name in names if "/_tidegate." in name and not name.endswith(".pyi")]
        self.assertEqual(debug_sections(library), [])
        self.assertEqual({tag.rsplit("-", 1)[0] for tag in told.get_all("Tag")}, {"cp310-abi3"})
        self.assertLessEqual({"tidegate/py.typed", "tidegate/_tidegate.pyi"}, set(names))

    def test_installed_into_a_fresh_environment_it_runs_the_example(self):
        for version, interpreter in interpreters().items():
            with self.subTest(python=version):
                python = environment(type(self), interpreter, self.wheel)
                self.assertIn("go ahead", runs_the_example(python))
                run(python, "-m", "pip", "check", cwd=python.parent)

    def test_its_metadata_would_be_accepted(self):
        run(TOOLS / "twine", "check", "--strict", self.wheel, cwd=ROOT)


class SourceDistribution(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = folder(cls)
        run(TOOLS / "maturin", "sdist", "-m", ROOT / "python/Cargo.toml", "-o", cls.made, cwd=cls.made)
        [cls.archive] = cls.made.iterdir()

    def test_it_holds_all_that_is_compiled_with_the_versions_of_what_it_depends_on(self):
        with tarfile.open(self.archive) as archive:
            names = {name.removeprefix(f"tidegate-{VERSION}/") for name in archive.getnames()}
        crates = {"Cargo.toml", "core/Cargo.toml", "core/src/lib.rs", "python/Cargo.toml", "python/src/lib.rs"}
        others = {"Cargo.lock", "PKG-INFO", "pyproject.toml", "python/tidegate/py.typed"}
        self.assertEqual((crates | others | LICENCES) - names, set())
        self.assertEqual({name.split("/")[0] for name in names if "/" in name}, {"core", "python"})

    def test_its_metadata_would_be_accepted(self):
        run(TOOLS / "twine", "check", "--strict", self.archive, cwd=ROOT)

    def test_a_wheel_that_is_built_from_it_alone_runs_the_example(self):
        built = folder(type(self))
        pip = [TOOLS / "python", "-m", "pip", "wheel", "--no-index", "--no-build-isolation", "--wheel-dir", built]
        path = os.pathsep.join([str(TOOLS), os.environ["PATH"]])
        # Nothing is looked up: the lock file that it brings along says what to compile. Nothing is optimized nor fit
        # for a debugger, which takes long. A target folder of its own: cargo takes crates at the same place of two
        # workspaces for the same.
        settings = {"CARGO_NET_OFFLINE": "true", "MATURIN_PEP517_ARGS": "--profile dev", "CARGO_PROFILE_DEV_DEBUG": "0"}
        run(*pip, self.unpacked(), cwd=built, PATH=path, CARGO_TARGET_DIR=str(ROOT / "target/sdist"), **settings)
        [wheel] = built.iterdir()
        self.assertIn("go ahead", runs_the_example(environment(type(self), TOOLS / "python", wheel)))

    def unpacked(self):
        """The folder of what it holds, named after its content: what cargo made of the same content is used again."""
        digest = hashlib.sha256(self.archive.read_bytes()).hexdigest()
        sources = ROOT / "build/sdist" / digest[:16]
        if not sources.exists():
            shutil.rmtree(sources.parent, ignore_errors=True)
            shutil.unpack_archive(self.archive, sources)
            for path in sources.rglob("*"):
                path.touch()  # In the archive all are of one old date, by which cargo would take them for compiled.
        return sources / f"tidegate-{VERSION}"


if __name__ == "__main__":
    unittest.main()
