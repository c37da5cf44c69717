#!/usr/bin/env bash
# Runs make targets one after the other, goes on after a failure, and closes with a table of names, seconds and results.
# usage: stages.sh NAME TARGET...      (the table is kept in build/stages/NAME.txt)
set -u
trap 'exit 130' INT

name=$1
shift
mkdir -p build/stages
report=build/stages/$name.txt
: > "$report"
passed=0
failed=0

for target; do
    printf '\n==> %s\n' "$target"
    started=$SECONDS
    if "${MAKE:-make}" --no-print-directory "$target"; then
        result=passed
        passed=$((passed + 1))
    else
        result=FAILED
        failed=$((failed + 1))
    fi
    row=$(printf '%-20s %6d s  %s' "$target" $((SECONDS - started)) "$result")
    printf '<== %s\n' "$row"
    printf '%s\n' "$row" >> "$report"
done

printf '%-20s %6d s\n%d passed, %d failed\n' total "$SECONDS" "$passed" "$failed" >> "$report"
printf '\nmake %s, stage by stage:\n' "$name"
cat "$report"
[ "$failed" -eq 0 ]
