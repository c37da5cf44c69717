#!/usr/bin/env bash
# Which languages can be built on this machine?
# usage: toolchain.sh available LANG...   prints those that can be, names the others on stderr
#        toolchain.sh require LANG...     fails if one can't be, naming what to install
#        toolchain.sh require-valgrind    fails without valgrind, which counts instructions
set -u

python=${PYTHON:-python3}
cc=${CC:-cc}
cxx=${CXX:-c++}

have() { command -v "$1" > /dev/null 2>&1; }

# version_of COMMAND...: the first number that the command prints, or nothing if it doesn't run. Maven writes in bold even
# into a pipe, and the JVM may first say which options it picked up: neither is a version.
version_of() {
    "$@" 2>&1 | sed -e $'s/\e\\[[0-9;]*m//g' -e '/^Picked up/d' | grep -oE '[0-9]+(\.[0-9]+)*' | head -n 1
}

# at_least VERSION MINIMUM: compares major.minor.
at_least() {
    local have_major have_minor want_major want_minor
    IFS=. read -r have_major have_minor _ <<< "$1"
    IFS=. read -r want_major want_minor _ <<< "$2"
    [ "${have_major:-0}" -gt "$want_major" ] ||
        { [ "${have_major:-0}" -eq "$want_major" ] && [ "${have_minor:-0}" -ge "${want_minor:-0}" ]; }
}

# tool LABEL MINIMUM ADVICE COMMAND...: prints what is wrong with one tool, or nothing.
tool() {
    local label=$1 minimum=$2 advice=$3 found
    shift 3
    if ! have "$1"; then
        echo "$label is missing: install $advice"
        return
    fi
    found=$(version_of "$@")
    if [ -z "$found" ]; then
        echo "$label ($1) doesn't run: install $advice"
    elif ! at_least "$found" "$minimum"; then
        echo "$label $found is too old, $minimum or later is needed: install $advice"
    fi
}

# What every language stands on: the core is Rust, and the runners of tests and demos are Python.
missing_base() {
    tool Rust 1.88 'Rust 1.88 or later (https://rustup.rs)' cargo --version
    tool 'C compiler' 0 'a C compiler (Debian: build-essential)' "$cc" --version
    tool Python 3.10 'Python 3.10 or later (Debian: python3), or name one: make PYTHON=python3.12' "$python" --version
}

missing_rust() {
    have cargo || return
    cargo fmt --version > /dev/null 2>&1 || echo 'rustfmt is missing: rustup component add rustfmt'
    cargo clippy --version > /dev/null 2>&1 || echo 'clippy is missing: rustup component add clippy'
}

missing_c() { :; }

missing_cpp() { tool 'C++ compiler' 0 'a C++ compiler (Debian: build-essential)' "$cxx" --version; }

missing_python() {
    have "$python" || return
    "$python" -c 'import venv, ensurepip' > /dev/null 2>&1 ||
        echo "venv is missing from $python: install python3-venv (Debian: apt install python3-venv)"
}

missing_node() {
    tool Node 20 'Node 20 or later (https://nodejs.org)' node --version
    tool npm 0 'npm (it comes with Node; Debian: npm)' npm --version
}

missing_java() {
    tool JDK 17 'a JDK 17 or later (Debian: openjdk-17-jdk)' javac -version
    tool Java 17 'a JDK 17 or later (Debian: openjdk-17-jdk)' java -version
    tool Maven 3.6 'Maven 3.6 or later (Debian: maven)' mvn --version
}

mode=$1
shift
if [ "$mode" = require-valgrind ]; then
    problem=$(tool valgrind 3.15 'valgrind 3.15 or later (Debian: apt install valgrind); test-instructions counts with it' \
        valgrind --version)
    [ -z "$problem" ] || { echo "$problem" >&2; exit 1; }
    exit
fi
base=$(missing_base)
available=()
missing=()
for language; do
    case $language in
        rust | c | cpp | python | node | java) ;;
        *)
            echo "LANGS: got $language; allowed: rust c cpp python node java" >&2
            exit 2
            ;;
    esac
    problems=$(
        [ -z "$base" ] || printf '%s\n' "$base"
        "missing_$language"
    )
    if [ -z "$problems" ]; then
        available+=("$language")
    else
        missing+=("$language")
        printf '%s\n' "$problems" | sed "s/^/$language: /" >&2
    fi
done

if [ "$mode" = available ]; then
    echo "${available[*]-}"
elif [ ${#missing[@]} -gt 0 ]; then
    echo "The toolchain of ${missing[*]} is not complete. Install what is named above, or leave the language out:" >&2
    if [ ${#available[@]} -gt 0 ]; then
        echo "    LANGS=\"${available[*]}\"" >&2
    fi
    exit 1
fi
