#!/bin/sh
# SPDX-License-Identifier: MIT
# hunt.sh PROGRAM FOUND CORPUS SECONDS: runs a fuzz target for so long, from the inputs
# in CORPUS; new inputs and crashes go to FOUND. Fails if it finds one.
set -u

program=$1
found=$2
corpus=$3
seconds=$4

# Ends at undefined behaviour.
target()
{
    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 "$program" -timeout=10 "$@"
}

# Whether it fails at the input $1 in code of this tree: the first frame that is of it
# or of HDF5.
fails_by_itself()
{
    target "$1" 2>&1 | grep '^ *#[0-9]' |
        grep 'libhdf5\|/lib/[a-z]*/[a-z0-9_]*\.c:\|/tests/fuzz/[a-z0-9_]*\.c:' |
        head -n 1 | grep -qv libhdf5
}

set -- "$found" "$corpus" -max_total_time="$seconds" -artifact_prefix="$found/"
case $program in
*_recording) ;;
*)
    target "$@" -print_final_stats=0 -verbosity=0
    exit
    ;;
esac
# At some damaged files HDF5 itself crashes, loops or asks for gigabytes: that ends no
# hunt, and is no failure, though the exit status is that of the last of them.
target "$@" -fork=1 -ignore_crashes=1 -ignore_timeouts=1 -ignore_ooms=1 \
    -print_funcs=0 >&2
[ $? -lt 126 ] || exit 1 # could not be run
for input in "$found"/crash-* "$found"/timeout-* "$found"/leak-*; do
    [ -f "$input" ] || continue
    if fails_by_itself "$input"; then
        echo "$program fails at $input" >&2
        exit 1
    fi
    rm -f "$input"
done
