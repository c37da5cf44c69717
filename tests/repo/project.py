"""What the checks of the project share: where it is, and what is committed to it."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def output(*command, **options):
    """The standard output of a command that must succeed, run from the root of the project."""
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, encoding="utf-8", **options).stdout


def committed_texts():
    """(path from the root, text) of each file that is committed or about to be, binaries left out."""
    names = output("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for name in filter(None, names):
        path = ROOT / name
        if not path.is_file():
            continue
        content = path.read_bytes()
        if b"\0" not in content:
            yield name, content.decode("utf-8")
