"""How the harness of each language is built, with its peers, and started. All of it stays inside the project."""

import os
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
BENCH = ROOT / "bench"
BUILD = ROOT / "build/bench"

# The venv of the project, into which `make build` installs the wheel.
PYTHON = ROOT / ".venv/bin/python"
MAVEN = ("mvn", "--batch-mode", "--no-transfer-progress", "-Dstyle.color=never", "-q")
LOCAL_REPOSITORY = f"-Dmaven.repo.local={ROOT / 'build/m2'}"
MAVEN_INSTALL = "org.apache.maven.plugins:maven-install-plugin:3.2.0:install-file"

C_FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
# What libtidegate.a needs of the system.
C_LIBRARIES = ("-lpthread", "-ldl", "-lm")


def run(*command, **options):
    """Runs a command that must succeed."""
    subprocess.run(list(map(str, command)), **({"cwd": ROOT, "check": True} | options))


def version():
    """The version of tidegate, from the workspace's manifest."""
    return re.search(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text("utf-8"), re.MULTILINE)[1]


def newer(stamp, *sources):
    """Whether a stamp is there and no source was changed after it."""
    return stamp.is_file() and all(source.stat().st_mtime <= stamp.stat().st_mtime for source in sources)


def rust():
    manifest = BENCH / "rust/Cargo.toml"
    target = ROOT / "target/bench"
    run("cargo", "build", "--release", "--locked", "--manifest-path", manifest, "--target-dir", target)
    return [target / "release/tidegate-bench"], {}


def c():
    source, harness = BENCH / "c/harness.c", BUILD / "c/harness"
    harness.parent.mkdir(parents=True, exist_ok=True)
    compiler = os.environ.get("CC", "cc").split()
    archive = ROOT / "build/lib/libtidegate.a"
    run(*compiler, *C_FLAGS, "-I", ROOT / "include", source, archive, *C_LIBRARIES, "-o", harness)
    return [harness, ROOT / "build/lib/libtidegate.so.1"], {}


def python():
    requirements, peers = BENCH / "python/requirements.txt", BUILD / "python"
    stamp = peers / ".ready"
    if not newer(stamp, requirements):
        # Beside the venv and not in it, so that the tests of the project never see a peer.
        shutil.rmtree(peers, ignore_errors=True)
        pip = (PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        run(*pip, "--no-deps", "--target", peers, "-r", requirements)
        stamp.touch()
    return [PYTHON, BENCH / "python/harness.py"], {"PYTHONPATH": str(peers)}


def node():
    folder = BENCH / "node"
    stamp = folder / "node_modules/.ready"
    if not newer(stamp, folder / "package.json", folder / "package-lock.json"):
        run("npm", "ci", "--silent", "--no-audit", "--no-fund", "--no-update-notifier", cwd=folder)
        stamp.touch()
    return ["node", folder / "harness.mjs"], {}


def java():
    jar = ROOT / f"java/target/tidegate-{version()}.jar"
    run(*MAVEN, LOCAL_REPOSITORY, MAVEN_INSTALL, f"-Dfile={jar}", f"-DpomFile={ROOT / 'java/pom.xml'}")
    run(*MAVEN, LOCAL_REPOSITORY, f"-Dtidegate.version={version()}", "-f", BENCH / "java/pom.xml", "compile")
    target = BENCH / "java/target"
    class_path = os.pathsep.join([str(target / "classes"), str(target / "lib/*")])
    return ["java", "-cp", class_path, "io.github.tidegate.bench.Harness"], {}


def draw():
    """Draws the pictures from what was saved, with what `make bench` installed for it."""
    run(PYTHON, BENCH / "plots.py", env=os.environ | {"PYTHONPATH": str(ROOT / "build/pictures")})


# In the order in which they run. C++ is a header over the C ABI and has no border of its own to measure.
HARNESSES = {"rust": rust, "c": c, "python": python, "node": node, "java": java}
NAMES = {"rust": "Rust", "c": "C", "python": "Python", "node": "Node", "java": "Java"}

TOOLCHAINS = {
    "rust": ("rustc", "--version"),
    "c": (*os.environ.get("CC", "cc").split(), "--version"),
    "python": (PYTHON, "--version"),
    "node": ("node", "--version"),
    "java": ("java", "--version"),
}


def toolchain(language):
    """The version of a language's compiler or interpreter, as it says itself."""
    result = subprocess.run(list(map(str, TOOLCHAINS[language])), check=True, capture_output=True, encoding="utf-8")
    return result.stdout.splitlines()[0].strip()
