#!/usr/bin/env bash
# Compiles the JNI library: the C glue over include/tidegate.h, with the static library inside.
# usage: build-native.sh [LIBTIDEGATE_A [OUTPUT]]
#   LIBTIDEGATE_A  default: libtidegate.a in the release folder of cargo
#   OUTPUT         default: java/target/native/native/PLATFORM/, from where Maven takes it into the jar
# CC is the C compiler; JAVA_HOME the JDK whose headers count (default: that of the javac on the path).
set -euo pipefail

java=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$java")
archive=${1:-${CARGO_TARGET_DIR:-$root/target}/release/libtidegate.a}
cc=${CC:-cc}
jdk=${JAVA_HOME:-$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")}

fail() {
    echo "build-native.sh: $1" >&2
    exit 1
}
[ -f "$archive" ] || fail "no $archive: build it by 'cargo build --release -p tidegate-ffi'"
[ -f "$jdk/include/jni.h" ] || fail "no include/jni.h in $jdk: set JAVA_HOME to a JDK"

# The names that NativeLibrary.java looks for.
machine=$(uname -m)
[ "$machine" = arm64 ] && machine=aarch64
case $(uname -s) in
    Linux)
        platform=linux-$machine
        case $("$cc" -dumpmachine) in *musl*) platform+=-musl ;; esac
        headers=linux
        extension=so
        # The unwinder goes inside: a JDK's image need not have libgcc_s. Nothing but JNI_OnLoad is seen from outside.
        link=(-shared -static-libgcc -Wl,--version-script="$java/src/main/c/exports.map" -Wl,--gc-sections
            -Wl,--strip-debug -Wl,-z,defs -Wl,-z,relro -Wl,-z,now -lpthread -ldl -lm)
        ;;
    Darwin)
        platform=macos-$machine
        headers=darwin
        extension=dylib
        link=(-dynamiclib -Wl,-exported_symbol,_JNI_OnLoad -Wl,-dead_strip)
        ;;
    *) fail "no recipe for $(uname -s)" ;;
esac
output=${2:-$java/target/native/native/$platform/libtidegate_jni.$extension}

mkdir -p "$(dirname "$output")"
"$cc" -std=c11 -O2 -fPIC -fvisibility=hidden -Wall -Wextra -Werror \
    -I"$root/include" -I"$jdk/include" -I"$jdk/include/$headers" \
    "$java"/src/main/c/*.c "$archive" "${link[@]}" -o "$output"
