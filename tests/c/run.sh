#!/usr/bin/env bash
# Builds and runs everything that tests the C ABI and the C++ header. `make test` calls it from the root of the project.
# usage: tests/c/run.sh [BUILD]      reads BUILD/lib and BUILD/test-panic/lib, writes BUILD/c
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

build=${1:-build}
out=$build/c
tests=tests/c
header=include/tidegate.h
library=$build/lib/libtidegate.so.1
languages=" ${LANGS:-c cpp} "

warnings=(-Wall -Wextra -Wpedantic -Werror)
flags=(-O1 -g "${warnings[@]}" -pthread -Iinclude -I"$out")
link=(-L"$build/lib" -ltidegate "-Wl,-rpath,\$ORIGIN/../lib")
link_panic=(-L"$build/test-panic/lib" -ltidegate "-Wl,-rpath,\$ORIGIN/../test-panic/lib")

# Panics are wanted here; their traces are not.
export RUST_BACKTRACE=0

passed=0
failed=0
mkdir -p "$out"

# Runs a command and counts it; shows what it printed only if it failed.
check() {
    local what=$1 printed
    shift
    if printed=$("$@" 2>&1); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED %s\n%s\n' "$what" "$printed"
    fi
}

# Runs a test program and adds its `N passed, N failed` to the total.
run_tests() {
    local what=$1 printed summary
    shift
    printed=$("$@" 2> "$out/stderr.txt") || true
    summary=$(tail -n 1 <<< "$printed")
    if [[ $summary =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        passed=$((passed + BASH_REMATCH[1]))
        failed=$((failed + BASH_REMATCH[2]))
        printf '%-32s %s\n' "$what" "$summary"
        [[ ${BASH_REMATCH[2]} == 0 ]] || printf '%s\n' "$printed"
    else
        failed=$((failed + 1))
        printf 'FAILED %s: it ended without a summary\n%s\n' "$what" "$printed"
        cat "$out/stderr.txt"
    fi
}

# Starts a check and goes on; as many run at once as there are processors. `settle` waits for those that still run.
processors=$(getconf _NPROCESSORS_ONLN)
started=()
start() {
    [[ ${#started[@]} -lt $processors ]] || settle_first
    "${@:2}" > "$out/${1// /_}.log" 2>&1 &
    started+=("$! $1")
}

settle_first() {
    local pid=${started[0]%% *} what=${started[0]#* }
    started=("${started[@]:1}")
    if wait "$pid"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED %s\n' "$what"
        cat "$out/${what// /_}.log"
    fi
}

settle() {
    while [[ ${#started[@]} -gt 0 ]]; do
        settle_first
    done
}

compile_c() {
    local program=$1
    shift
    start "$program is compiled" ${CC:-cc} -std=c11 "${flags[@]}" "$@" -o "$out/$program"
}

compile_cpp() {
    local program=$1 standard=$2
    shift 2
    start "$program is compiled" ${CXX:-c++} -std="c++$standard" "${flags[@]}" "$@" -o "$out/$program"
}

fails() {
    ! "$@"
}

has() {
    [[ $languages == *" $1 "* ]]
}

same() {
    diff <(printf '%s\n' "$1") <(printf '%s\n' "$2")
}

# ------------------------------------------------------------------------------------------- the header and the library

# What the header declares, without its comments.
code() {
    sed -e 's|/\*.*\*/||' -e '/\/\*/,/\*\//d' "$header"
}

code_functions=$(code | grep -o '\btidegate_[a-z0-9_]*(' | tr -d '(' | LC_ALL=C sort)
code_macros=$(code | sed -n 's/^#define \(TIDEGATE_[A-Z0-9_]*\) .*/\1/p' | LC_ALL=C sort)
pinned_macros=$(sed -n 's/^PINNED(\(TIDEGATE_[A-Z0-9_]*\),.*/\1/p' "$tests/test_macros.c" | LC_ALL=C sort)
exported=$(nm -D --defined-only "$library" | sed 's/.* //' | LC_ALL=C sort)
check 'the library exports what symbols.txt lists' same "$(cat "$tests/symbols.txt")" "$exported"
check 'the header declares what the library exports' same "$exported" "$code_functions"
check 'test_macros.c pins each macro of the header' same "$code_macros" "$pinned_macros"
check 'the library is named after its ABI' grep -q 'SONAME.*libtidegate\.so\.1$' <(objdump -p "$library")

# Each struct and field of layout.txt as a macro call, for test_layout.c.
sed -n -e 's/^\(tidegate_[a-z_]*\) - 0 \([0-9]*\)$/LAYOUT_STRUCT(\1, \2)/p' \
    -e 's/^\(tidegate_[a-z_]*\) \([a-z0-9_]*\) \([0-9]*\) \([0-9]*\)$/LAYOUT_FIELD(\1, \2, \3, \4)/p' \
    "$tests/layout.txt" > "$out/layout_list.h"
check 'layout.txt is read in full' same "$(grep -c '^tidegate' "$tests/layout.txt")" "$(wc -l < "$out/layout_list.h")"

echo "#include \"tidegate.h\"" > "$out/include.c"
if has c; then
    for standard in c99 c11 c17; do
        check "the header is $standard" ${CC:-cc} -std=$standard "${warnings[@]}" -Wstrict-prototypes -Iinclude \
            -fsyntax-only "$out/include.c"
    done
fi
if has cpp; then
    for standard in 11 17 20; do
        check "the header is C++$standard" ${CXX:-c++} -std=c++$standard "${warnings[@]}" -Iinclude -fsyntax-only \
            -x c++ "$out/include.c"
    done
    check 'test_macros.c is C++ too' ${CXX:-c++} -std=c++17 "${warnings[@]}" -Iinclude -fsyntax-only -x c++ \
        "$tests/test_macros.c"
fi

# The statement does not compile, and the complaint is about what the caller wrote: it says WHY and nothing of our insides.
refuses_to_compile() {
    local statement=$1 why=$2 complaint
    printf '#include "tidegate_gate.hpp"\nvoid call() { %s }\n' "$statement" > "$out/refused.cpp"
    if complaint=$(LC_ALL=C ${CXX:-c++} -std=c++17 "${warnings[@]}" -Iinclude -fsyntax-only "$out/refused.cpp" 2>&1); then
        echo 'it compiles'
        return 1
    fi
    if ! grep -q "$why" <<< "$complaint" || grep -q 'ambiguous\|private' <<< "$complaint"; then
        echo "$complaint"
        return 1
    fi
}
if has cpp; then
    refused=(
        'tidegate::RateLimiter limiter(10);' 'const Quotas'
        'tidegate::RateLimiter limiter(0);' 'const Quotas'
        'tidegate::RateLimiter limiter(nullptr);' 'const Quotas'
        'tidegate::RateLimiter limiter{nullptr};' 'const Quotas'
        'tidegate::ConcurrencyLimiter limiter(nullptr);' 'Count limit'
        'tidegate::ConcurrencyLimiter limiter(2.5);' 'Count limit'
        'tidegate::RateLimiter("1/s").try_acquire(1.5);' 'Count'
        'tidegate::Quota(0.5, std::chrono::seconds(1));' 'Count'
        'tidegate::Quota(true, std::chrono::seconds(1));' 'Count'
        'tidegate::RateLimiter l("1/s"); auto d = l.decide(); l.refund(d);' 'nodiscard'
        'tidegate::RateLimiter l("1/s"); tidegate::Mistake m; l.reconfigure("2/s", m);' 'nodiscard'
        'tidegate::ConcurrencyLimiter(1).set_limit(2);' 'nodiscard'
        'tidegate::KeyedRateLimiter("1/s").try_acquire(7);' 'Key'
        'tidegate::KeyedRateLimiter("1/s").try_acquire(nullptr);' 'Key'
        'tidegate::KeyedConcurrencyLimiter(1).try_acquire("ann", 1.5);' 'Count'
        'tidegate::RateLimiter l("1/s"); l.acquire(1, std::chrono::seconds(1));' 'nodiscard'
        'tidegate::ConcurrencyLimiter l(1); l.acquire_async();' 'nodiscard'
        'tidegate::ConcurrencyLimiter l(1); auto p = l.acquire(1, 250);' 'no matching function'
        'tidegate::KeyedRateLimiter l("1/s"); l.acquire("ann", 1, std::chrono::seconds(1));' 'nodiscard'
        'tidegate::KeyedConcurrencyLimiter l(1); l.acquire_async("ann");' 'nodiscard'
        'tidegate::Gate g("");' 'no matching function'
        'tidegate::Gate g("", tidegate::Format::toml); g.enter({});' 'nodiscard'
        'tidegate::Gate g("", tidegate::Format::toml); auto e = g.enter({}, 1, 250);' 'no matching function'
        'tidegate::Gate g("", tidegate::Format::toml); auto e = g.enter({{"path", 7}});' 'Attributes'
    )
    for ((i = 0; i < ${#refused[@]}; i += 2)); do
        check "C++ refuses to compile: ${refused[i]}" refuses_to_compile "${refused[i]}" "${refused[i + 1]}"
    done
fi

# -------------------------------------------------------------------------------------------------------- the programs

# With valgrind each program runs twice: as it is, and under valgrind. Without, AddressSanitizer is compiled in.
checker=()
if command -v "${VALGRIND:-valgrind}" > /dev/null; then
    echo "memory checker: $(${VALGRIND:-valgrind} --version), leaks are errors"
    checker=("${VALGRIND:-valgrind}" --quiet --error-exitcode=99 --leak-check=full
        --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect)
else
    echo 'memory checker: AddressSanitizer, leaks are errors (valgrind is not installed)'
    flags+=(-fsanitize=address)
fi

programs=()
if has c; then
    # The example of the chapter "Decisions", for test_decision_example.c.
    sed -n -e '1,/^ \* Decisions$/d' -e '/^ \*\/$/q' -e 's/^ \*     //p' "$header" > "$out/decision_example.h"
    for source in "$tests"/test_*.c; do
        program=$(basename "$source" .c)
        [[ $program == test_panic ]] && with=("${link_panic[@]}") || with=("${link[@]}")
        compile_c "$program" "$source" "${with[@]}"
        programs+=("$program")
    done
    compile_c client_v1 -I"$tests/v1" "$tests/v1/client.c" "${link[@]}"
    compile_c test_rate_limiter_static "$tests/test_rate_limiter.c" "$build/lib/libtidegate.a" -lm -ldl
    programs+=(client_v1 test_rate_limiter_static)
    compile_c conformance_c -O2 "$tests/conformance.c" "${link[@]}"
    compile_c gate_conformance_c -O2 "$tests/gate_conformance.c" "${link[@]}"
    compile_c leak "$tests/leak.c" "${link[@]}"
fi
if has cpp; then
    compile_cpp test_cpp17 17 "$tests/test_cpp.cpp" "$tests/cpp_second.cpp" "${link[@]}"
    compile_cpp test_cpp20 20 "$tests/test_cpp.cpp" "$tests/cpp_second.cpp" "${link[@]}"
    compile_cpp test_cpp_arguments17 17 "$tests/test_cpp_arguments.cpp" "${link[@]}"
    compile_cpp test_cpp_arguments20 20 "$tests/test_cpp_arguments.cpp" "${link[@]}"
    compile_cpp test_keyed_cpp17 17 "$tests/test_keyed_cpp.cpp" "${link[@]}"
    compile_cpp test_keyed_cpp20 20 "$tests/test_keyed_cpp.cpp" "${link[@]}"
    compile_cpp test_keyed_waiting_cpp17 17 "$tests/test_keyed_waiting_cpp.cpp" "${link[@]}"
    compile_cpp test_keyed_waiting_cpp20 20 "$tests/test_keyed_waiting_cpp.cpp" "${link[@]}"
    compile_cpp test_gate_cpp17 17 "$tests/test_gate_cpp.cpp" "${link[@]}"
    compile_cpp test_gate_cpp20 20 "$tests/test_gate_cpp.cpp" "${link[@]}"
    compile_cpp test_waiting_cpp17_threads 17 "$tests/test_waiting_cpp.cpp" "${link[@]}"
    compile_cpp test_waiting_cpp20_threads 20 "$tests/test_waiting_cpp.cpp" "${link[@]}"
    compile_cpp test_cpp_panic 17 "$tests/test_cpp_panic.cpp" "${link_panic[@]}"
    programs+=(test_cpp17 test_cpp20 test_cpp_arguments17 test_cpp_arguments20 test_keyed_cpp17 test_keyed_cpp20
        test_keyed_waiting_cpp17 test_keyed_waiting_cpp20 test_gate_cpp17 test_gate_cpp20
        test_waiting_cpp17_threads test_waiting_cpp20_threads test_cpp_panic)
    compile_cpp conformance_cpp 17 -O2 "$tests/conformance.cpp" "${link[@]}"
    compile_cpp gate_conformance_cpp 17 -O2 "$tests/gate_conformance.cpp" "${link[@]}"
fi

settle
# One after the other: some watch the time.
for program in "${programs[@]}"; do
    run_tests "$program" "$out/$program"
done

# The example that opens each header, as pasted.
says_go_ahead() {
    [[ $("$1") == "go ahead"* ]]
}
if has c; then
    sed -n -e '/^#ifndef TIDEGATE_H/q' -e 's/^ \*     //p' "$header" > "$out/example.c"
    compile_c example_c "$out/example.c" "${link[@]}"
    settle
    check 'the example of tidegate.h runs as pasted' says_go_ahead "$out/example_c"
fi
if has cpp; then
    sed -n -e '/^#ifndef TIDEGATE_HPP/q' -e 's|^//     ||p' include/tidegate.hpp > "$out/example.cpp"
    compile_cpp example_cpp 17 "$out/example.cpp" "${link[@]}"
    settle
    check 'the example of tidegate.hpp runs as pasted' says_go_ahead "$out/example_cpp"
    sed -n -e '/^#ifndef TIDEGATE_GATE_HPP/q' -e 's|^//     ||p' include/tidegate_gate.hpp > "$out/example_gate.cpp"
    compile_cpp example_gate_cpp 17 "$out/example_gate.cpp" "${link[@]}"
    settle
    check 'the example of tidegate_gate.hpp runs as pasted' says_go_ahead "$out/example_gate_cpp"
fi

# -------------------------------------------------------------------------------------------------- the memory checker

# A checker that finds no leak in a program that has one is none.
if has c; then
    check 'the memory checker finds a leak' fails "${checker[@]}" "$out/leak"
fi
if [[ ${#checker[@]} -gt 0 ]]; then
    for program in "${programs[@]}"; do
        arguments=()
        [[ $program != test_*threads && $program != test_wait* && $program != test_gate_entering ]] || arguments=(400 5)
        start "$program under valgrind" "${checker[@]}" "$out/$program" "${arguments[@]}"
    done
    settle
fi

echo "$passed passed, $failed failed"
[[ $failed == 0 ]]
