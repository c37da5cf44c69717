"""Runs every code block of PAGES as pasted: each must end well and say that work may go ahead.

One that serves is asked by two clients until it refuses, and ended.

usage: run.py [LANG ...]    only these languages; all by default
"""

import glob
import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "docs/keyed.md", "docs/waiting.md", "docs/gate.md", "include/README.md", "java/README.md")
WORK = ROOT / "build" / "readme"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# The language of LANGS that a block's tag stands for.
TAGS = {"toml": "python", "python": "python", "js": "node", "java": "java", "rust": "rust", "c": "c", "cpp": "cpp"}
LINK = [f"-I{ROOT}/include", f"-L{ROOT}/build/lib", f"-Wl,-rpath,{ROOT}/build/lib", "-ltidegate"]
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]

# Rules are good if a gate takes them and admits what none of them is about.
USE_RULES = "import tidegate; tidegate.Gate.open('rules.toml').enter(path='/about'); print('go ahead')"

RUST_MANIFEST = """[package]
name = "readme"
version = "0.0.0"
edition = "2024"

[workspace]

[dependencies]
tidegate = {{ path = "{core}" }}
"""


def commands(tag, code, name):
    """Writes the block where a user would, and gives the commands that build and run it."""
    folder = WORK / name
    folder.mkdir(parents=True)
    if tag == "python":
        (folder / "example.py").write_text(code)
        return [[f"{ROOT}/.venv/bin/python", "example.py"]], folder
    if tag == "toml":
        (folder / "rules.toml").write_text(code)
        return [[f"{ROOT}/.venv/bin/python", "-c", USE_RULES]], folder
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


def run(tag, code, name):
    """What went wrong with one block, or None."""
    if "serve_forever" in code:
        return run_server(tag, code, name)
    steps, folder = commands(tag, code, name)
    said = ""
    for step in steps:
        done = subprocess.run(step, cwd=folder, capture_output=True, encoding="utf-8", timeout=300, check=False)
        said = done.stdout
        if done.returncode != 0:
            return f"{' '.join(step)} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    return None if "go ahead" in said or "allowed" in said else f"it did not go ahead, but said: {said!r}"


def run_server(tag, code, name):
    """A block that serves HTTP on port 8000 (here a free one): what went wrong, or None."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    [step], folder = commands(tag, code.replace("8000", str(port)), name)
    with subprocess.Popen(step, cwd=folder, stderr=subprocess.PIPE, encoding="utf-8") as server:
        try:
            return ask_until_refused(port)
        except OSError as error:
            server.kill()
            return f"{error}\n{server.stderr.read()}"
        finally:
            server.kill()


def ask_until_refused(port):
    """Two clients of a server with a budget for each: the first uses its own up, which must leave the other's alone."""
    deadline = time.monotonic() + 30
    for client in ("127.0.0.1", "127.0.0.2") if sys.platform == "linux" else ("127.0.0.1",):
        admitted = 0
        while (response := ask(port, client, deadline)).status == 200 and admitted < 100:
            admitted += 1
        if admitted == 0 or response.status != 429 or int(response.headers["Retry-After"]) < 1:
            return f"{client}: {admitted} admitted, then {response.status} with {response.headers}"
    return None


def ask(port, client, deadline):
    """The response to one request from an address; the server may still be starting."""
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10, source_address=(client, 0))
        try:
            connection.request("GET", "/")
            return connection.getresponse()
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        finally:
            connection.close()


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
    blocks = [block for page in PAGES for block in BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))]
    for number, (tag, code) in enumerate(blocks):
        seen.add(tag)
        if tag not in ("sh", *TAGS):
            fault = "no way to run it is known"
        elif tag == "sh":
            fault = run_shell(code)
        elif TAGS[tag] not in languages:
            continue
        else:
            fault = run(tag, code, f"{tag}-{number}")
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
