"""How a block of each language is run as a user would: from the folder of its page, with what `make build` left."""

import glob
import os
import re
import shutil
import subprocess
from pathlib import Path

import serving

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "readme"
# The language of the Makefile's LANGS that a block's tag needs.
LANGUAGES = {"toml": "python", "python": "python", "js": "node", "java": "java", "rust": "rust", "c": "c", "cpp": "cpp"}
TIMEOUT_S = 120
LINK = [f"-I{ROOT}/include", f"-L{ROOT}/build/lib", f"-Wl,-rpath,{ROOT}/build/lib", "-ltidegate", "-pthread"]
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]

# Rules are good if a gate takes them and admits what none of them is about.
USE_RULES = "import sys, tidegate; tidegate.Gate.open(sys.argv[1]).enter(path='/about').release()"

RUST = WORK / "rust"
RUST_MANIFEST = f"""[package]
name = "readme"
version = "0.0.0"
edition = "2024"

[workspace]

# Without line numbers programs are small, and what they depend on is shared with other builds.
[profile.dev.package.readme]
debug = false

[dependencies]
tidegate = {{ path = "{ROOT / "core"}" }}
"""


def file_name(rules):
    """As the first line of a rule file says."""
    named = re.match(r"# (\w+\.toml)\n", rules.code)
    return named[1] if named else "rules.toml"


def make_folders(blocks):
    """A folder for each page, with its rule files, and above them what `npm install` would bring."""
    shutil.rmtree(WORK, ignore_errors=True)
    for block in blocks:
        block.folder.mkdir(parents=True, exist_ok=True)
        if block.tag == "toml":
            (block.folder / file_name(block)).write_text(block.code)
    modules = WORK / "node_modules"
    modules.mkdir()
    (modules / "tidegate").symlink_to(ROOT / "node")
    for name in ("express", "fastify"):
        (modules / name).symlink_to(ROOT / "node" / "node_modules" / name)


def build_rust(blocks):
    """Compiles all blocks of Rust at once; what does not compile has no program, and its errors stand in a file."""
    if not blocks:
        return
    (RUST / "src" / "bin").mkdir(parents=True)
    (RUST / "Cargo.toml").write_text(RUST_MANIFEST)
    shutil.copy(ROOT / "Cargo.lock", RUST)
    for block in blocks:
        (RUST / "src" / "bin" / f"{block.name}.rs").write_text(block.code)
        (ROOT / "target" / "debug" / block.name).unlink(missing_ok=True)
    command = ["cargo", "build", "--quiet", "--keep-going", "--bins", "--target-dir", str(ROOT / "target")]
    done = subprocess.run(command, cwd=RUST, capture_output=True, encoding="utf-8", check=False)
    (RUST / "errors.txt").write_text(done.stderr)


def commands(block):
    """Writes the block where a user would, and gives the commands that build and run it."""
    tag, name, folder = block.tag, block.name, block.folder
    if tag == "toml":
        return [[f"{ROOT}/.venv/bin/python", "-W", "error", "-c", USE_RULES, file_name(block)]]
    if tag == "python":
        (folder / f"{name}.py").write_text(block.code)
        return [[f"{ROOT}/.venv/bin/python", "-W", "error", f"{name}.py"]]
    if tag == "js":
        ending = "mjs" if re.search(r"^import ", block.code, re.MULTILINE) else "cjs"
        (folder / f"{name}.{ending}").write_text(block.code)
        return [["node", f"{name}.{ending}"]]
    if tag == "java":
        (folder / f"{name}.java").write_text(block.code)
        jars = glob.glob(f"{ROOT}/java/target/tidegate-*[0-9].jar")
        return [["java", "-XX:TieredStopAtLevel=1", "-cp", os.pathsep.join(jars), f"{name}.java"]]
    if tag == "rust":
        return [[str(ROOT / "target" / "debug" / name)]]
    compiler = ["cc", "-std=c11"] if tag == "c" else ["c++", "-std=c++17"]
    (folder / f"{name}.{tag}").write_text(block.code)
    return [[*compiler, *STRICT, f"{name}.{tag}", "-o", name, *LINK], [f"./{name}"]]


def run(block):
    """What went wrong with one block, or None."""
    if re.search(r"\b8000\b", block.code):
        return serving.fault_of(block, commands)
    done = None
    for step in commands(block):
        if not Path(step[0]).exists() and block.tag == "rust":
            return f"it does not compile\n{(RUST / 'errors.txt').read_text()}"
        done = subprocess.run(
            step, cwd=block.folder, capture_output=True, encoding="utf-8", timeout=TIMEOUT_S, check=False
        )
        if done.returncode != 0:
            return f"{' '.join(step)} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    if block.printed is not None and done.stdout != block.printed:
        return f"the page says that it prints\n{block.printed}but it printed\n{done.stdout}"
    if re.search(r'["\']go ahead', block.code) and "go ahead" not in done.stdout:
        return f"it did not go ahead, but printed\n{done.stdout}"
    # A JVM may have its own things to tell there.
    return f"it complained\n{done.stderr}" if done.stderr and block.tag != "java" else None
