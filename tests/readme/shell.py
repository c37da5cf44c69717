"""Lines of the shell: make is asked for its targets; what else there may be is named here, with its test."""

import re
import subprocess

from languages import ROOT

# How a program is linked with what `make install PREFIX=$HOME/.local` installed.
LINK = r"\$\(pkg-config --cflags --libs tidegate\) -Wl,-rpath,\$HOME/\.local/lib"

# A line as a whole, and the test that does the same.
ELSEWHERE = {
    r"pip install \./python": "tests/packaging/test_pip.py",
    r"npm install \./node": "tests/packaging/test_npm.py",
    r"cargo add tidegate --path \.\./tidegate/core": "tests/packaging/test_rust.py",
    r"mvn -f java/pom\.xml install -DskipTests": "tests/packaging/test_maven.py",
    r"export PKG_CONFIG_PATH=\$HOME/\.local/lib/pkgconfig": "tests/packaging/test_c.py",
    rf"cc example\.c {LINK}": "tests/packaging/test_c.py",
    rf"c\+\+ -std=c\+\+17 example\.cpp {LINK}": "tests/packaging/test_c.py",
    # The server of the page is asked for the same path.
    r"curl -i localhost:8000/\S*": "tests/readme/serving.py",
}


def fault_of(code):
    """What is wrong with a block, or None. Targets run for minutes: make says whether they are there."""
    for written in code.splitlines():
        line = re.sub(r"\s+#.*", "", written).strip()
        if not line or line.startswith("#"):
            continue
        tests = [test for pattern, test in ELSEWHERE.items() if re.fullmatch(pattern, line)]
        if tests and (ROOT / tests[0]).exists():
            continue
        if not re.fullmatch(r"make( [\w-]+)+( \w+=(\S+|\"[^\"]*\"))*", line):
            return f"got {line!r}; allowed: targets of make, and what tests/readme/shell.py lists"
        done = subprocess.run(f"{line} -n", shell=True, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
        if done.returncode != 0:
            return f"{line!r} is no target of make\n{done.stderr}"
    return None
