# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# sh.sh: the frame of every shell test. A test begins with
#
#     . "$TXD_SOURCE/tests/support/sh.sh"
#
# and then calls `ok NAME COMMAND...` (the command must succeed), `exits N NAME
# COMMAND...` (it must exit with N; stdout and stderr are kept in $out and $err), and
# `says TEXT` / `complains TEXT` (the last stdout / stderr holds TEXT). It ends with
# `finish`. The working folder is a private scratch folder; $txdiag is the program.
set -u

# shellcheck disable=SC2034
txdiag=${TXD_PROGRAM:-txdiag}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/txdiag-test-XXXXXX") || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 2' HUP INT TERM
out=$scratch/.stdout
err=$scratch/.stderr
tests=0
failures=0
skips=0
cd "$scratch" || exit 2

pass()
{
    tests=$((tests + 1))
    echo "ok $tests - $1"
}

fail()
{
    tests=$((tests + 1))
    failures=$((failures + 1))
    echo "not ok $tests - $1"
    shift
    for line; do
        printf '%s\n' "$line" | sed 's/^/# /'
    done
}

skip()
{
    tests=$((tests + 1))
    skips=$((skips + 1))
    echo "ok $tests - $1 # SKIP $2"
}

ok()
{
    exits 0 "$@"
}

exits()
{
    wanted=$1
    name=$2
    shift 2
    "$@" >"$out" 2>"$err" </dev/null
    status=$?
    if [ "$status" -eq "$wanted" ]; then
        pass "$name"
    else
        fail "$name" "exit $status, expected $wanted: $*" "$(tail -n 20 "$out" "$err")"
    fi
}

says()
{
    if grep -qF -- "$1" "$out"; then
        pass "stdout says: $1"
    else
        fail "stdout says: $1" "$(tail -n 20 "$out")"
    fi
}

complains()
{
    if grep -qF -- "$1" "$err"; then
        pass "stderr says: $1"
    else
        fail "stderr says: $1" "$(tail -n 20 "$err")"
    fi
}

finish()
{
    echo "1..$tests"
    [ "$tests" -gt 0 ] || exit 1
    [ "$failures" -eq 0 ] || exit 1
    [ "$skips" -lt "$tests" ] || exit 77
    exit 0
}
