"""What the tests of packages share: the project, fresh folders, commands that must succeed, the README's examples."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSION = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text("utf-8"), re.MULTILINE)[1]
LICENCES = {"LICENSE-APACHE", "LICENSE-MIT"}


def folder(case):
    """An empty folder that is there until the last test of a class, `case`, has run."""
    made = tempfile.TemporaryDirectory(prefix="tidegate-")
    case.addClassCleanup(made.cleanup)
    return Path(made.name).resolve()


def run(*command, cwd, **environment):
    """The standard output of a command that must succeed, with these variables of the environment besides ours."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        encoding="utf-8",
        timeout=1200,
        check=False,
    )
    if done.returncode != 0:
        raise AssertionError(f"{done.args} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def debug_sections(library):
    """What only debuggers read of a native library, given by its path or its bytes: it could be most of it."""
    if isinstance(library, bytes):
        with tempfile.NamedTemporaryFile() as file:
            file.write(library)
            file.flush()
            return debug_sections(file.name)
    return re.findall(r"\.z?debug_\w+", run("objdump", "-h", library, cwd=ROOT))


def example(language):
    """The README's first example in a language, by its tag, that ends by itself."""
    readme = (ROOT / "README.md").read_text("utf-8")
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    return next(block for block in blocks if "serve_forever" not in block)
