# Named checks, for scripts that source this file: a line for each, and `N/N PASS` last.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
oracle=$root/fixtures/oracle

# The programs: those in the folder REDLITE_BIN or, where it is not set, what cargo builds of this tree.
if [ -n "${REDLITE_BIN:-}" ]; then
    bin=$REDLITE_BIN
else
    cargo build --release --locked --bins --manifest-path "$root/Cargo.toml"
    bin=$root/target/release
fi
redlite=$bin/redlite
engine=$bin/redlite-engine

# Where checks put their results. Each removes what an earlier run left, before it computes anything.
out=${REDLITE_CHECKS:-$root/target/checks}
mkdir -p "$out"

checks=0
passed=0

# check NAME COMMAND...: runs a command whose last line has the figures. It passes if the command does.
check() {
    local name=$1 log=$out/$1.log
    shift
    rm -rf "$out/$name".*
    checks=$((checks + 1))
    local word=FAIL
    # In a shell of its own, where the first command that fails is the end.
    if (set -euo pipefail; "$@") >"$log" 2>&1; then
        word=PASS
        passed=$((passed + 1))
    fi
    printf '%s %s: %s\n' "$word" "$name" "$(tail -n 1 "$log")"
}

# The last line of a script: how many passed. The exit code is 1 if one did not, or none was run.
finish() {
    local word=PASS
    if [ "$passed" -ne "$checks" ] || [ "$checks" -eq 0 ]; then
        word=FAIL
    fi
    echo "$passed/$checks $word"
    [ "$word" = PASS ]
}

# within FOUND EXPECTED SHARE: whether a number is within a share of another.
within() {
    awk -v found="$1" -v expected="$2" -v share="$3" 'BEGIN {
        difference = found / expected - 1
        exit !(found > 0 && difference <= share && -difference <= share)
    }'
}
