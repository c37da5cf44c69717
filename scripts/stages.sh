#!/usr/bin/env bash
# Runs make targets one after the other, goes on after a failure, and closes with a table of names, seconds and results.
# What takes longer than stage_seconds.txt allows has failed: a target, or, by NAME, all of them together. STAGE_FACTOR=2
# allows a slow machine twice as much. Above the table stand the last lines of what each failed target printed.
# usage: stages.sh NAME TARGET...      (the table is kept in build/stages/NAME.txt, the output in build/stages/TARGET.log)
set -u -o pipefail
shown_lines=60
trap 'exit 130' INT

name=$1
shift
budgets=$(dirname "${BASH_SOURCE[0]}")/stage_seconds.txt
mkdir -p build/stages
report=build/stages/$name.txt
: > "$report"
passed=0
failed=0
failures=

# verdict NAME SECONDS: "passed", or by how much it took too long.
verdict() {
    awk -v name="$1" -v seconds="$2" -v factor="${STAGE_FACTOR:-1}" '
        $1 == name { allowed = $2 * factor }
        END {
            if (allowed && seconds > allowed)
                printf "FAILED: took more than %d s (scripts/stage_seconds.txt; STAGE_FACTOR=2 allows twice that)", allowed
            else
                print "passed"
        }' "$budgets"
}

for target; do
    printf '\n==> %s\n' "$target"
    started=$SECONDS
    if "${MAKE:-make}" --no-print-directory "$target" 2>&1 | tee "build/stages/$target.log"; then
        result=$(verdict "$target" $((SECONDS - started)))
    else
        result=FAILED
    fi
    if [ "$result" = passed ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        failures+=" $target"
    fi
    row=$(printf '%-20s %6d s  %s' "$target" $((SECONDS - started)) "$result")
    printf '<== %s\n' "$row"
    printf '%s\n' "$row" >> "$report"
done

result=$(verdict "$name" "$SECONDS")
if [ "$result" = passed ]; then
    result=''
else
    failed=$((failed + 1))
fi
printf '%-20s %6d s  %s\n%d passed, %d failed\n' total "$SECONDS" "$result" "$passed" "$failed" >> "$report"
for target in $failures; do
    printf '\n==> %s failed; its last lines:\n' "$target"
    tail -n "$shown_lines" "build/stages/$target.log"
done
printf '\nmake %s, stage by stage:\n' "$name"
cat "$report"
[ "$failed" -eq 0 ]
