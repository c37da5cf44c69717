"""Runs every code block of the README as pasted: each must end well and say that work may go ahead.

usage: run.py [LANG ...]    only these languages; all by default
"""

import glob
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "readme"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# The language of LANGS that a block's tag stands for.
TAGS = {"python": "python", "js": "node", "java": "java", "rust": "rust", "c": "c", "cpp": "cpp"}
LINK = [f"-I{ROOT}/include", f"-L{ROOT}/build/lib", f"-Wl,-rpath,{ROOT}/build/lib", "-ltidegate"]
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]

RUST_MANIFEST = """[package]
name = "readme"
version = "0.0.0"
edition = "2024"

[workspace]

[dependencies]
tidegate = {{ path = "{core}" }}
"""


def commands(tag, code):
    """Writes the block where a user would, and gives the commands that build and run it."""
    folder = WORK / tag
    folder.mkdir(parents=True)
    if tag == "python":
        (folder / "example.py").write_text(code)
        return [[f"{ROOT}/.venv/bin/python", "example.py"]], folder
    if tag == "js":
        (folder / "node_modules").mkdir()
        (folder / "node_modules" / "tidegate").symlink_to(ROOT / "node")
        (folder / "example.cjs").write_text(code)
        return [["node", "example.cjs"]], folder
    if tag == "java":
        (folder / "Example.java").write_text(code)
        jars = glob.glob(f"{ROOT}/java/target/tidegate-*[0-9].jar")
        return [["java", "-cp", os.pathsep.join(jars), "Example.java"]], folder
    if tag == "rust":
        (folder / "src").mkdir()
        (folder / "src" / "main.rs").write_text(code)
        (folder / "Cargo.toml").write_text(RUST_MANIFEST.format(core=ROOT / "core"))
        shutil.copy(ROOT / "Cargo.lock", folder)
        return [["cargo", "run", "--quiet", "--target-dir", str(ROOT / "target")]], folder
    compiler = ["cc", "-std=c11"] if tag == "c" else ["c++", "-std=c++17"]
    (folder / f"example.{tag}").write_text(code)
    return [[*compiler, *STRICT, f"example.{tag}", "-o", "example", *LINK], ["./example"]], folder


def run(tag, code):
    """What went wrong with one block, or None."""
    steps, folder = commands(tag, code)
    said = ""
    for step in steps:
        done = subprocess.run(step, cwd=folder, capture_output=True, encoding="utf-8", timeout=300, check=False)
        said = done.stdout
        if done.returncode != 0:
            return f"{' '.join(step)} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    return None if "go ahead" in said or "allowed" in said else f"it did not go ahead, but said: {said!r}"


def run_shell(code):
    """Commands of the shell are targets of make, which run for minutes: here it is seen that they are there."""
    for line in code.splitlines():
        done = subprocess.run([*line.split(), "-n"], cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
        if not line.startswith("make ") or done.returncode != 0:
            return f"{line!r} is no target of make\n{done.stderr}"
    return None


def main():
    languages = sys.argv[1:] or list(TAGS.values())
    shutil.rmtree(WORK, ignore_errors=True)
    passed = failed = 0
    seen = set()
    for tag, code in BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8")):
        seen.add(tag)
        if tag not in ("sh", *TAGS):
            fault = "no way to run it is known"
        elif tag == "sh":
            fault = run_shell(code)
        elif TAGS[tag] not in languages:
            continue
        else:
            fault = run(tag, code)
        passed, failed = (passed + 1, failed) if fault is None else (passed, failed + 1)
        print(f"{'ok' if fault is None else 'FAILED'} {tag}", flush=True)
        if fault:
            print(fault)
    if missing := {"sh", *TAGS} - seen:
        failed += 1
        print(f"FAILED the README has no example in {', '.join(sorted(missing))}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
