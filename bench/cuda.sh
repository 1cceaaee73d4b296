#!/bin/bash
# SPDX-License-Identifier: MIT
# bench/cuda.sh [--emulated]: builds, tests and measures the CUDA backends on this
# machine's GPU and writes docs/cuda.md, in less than eight minutes; 77 without a GPU.
#
# It installs nothing and needs no network. It needs what `./dev build` and `./dev test`
# install, nvcc with cuBLAS, and for the comparison a python with a torch that sees the
# GPU (PEER_PYTHON, default python3); without one only our side is measured. The golden
# data of real models are those of the folder `../shared/models` beside the tree, or
# TXD_MODELS: stories260K (A. Karpathy's tinyllamas) and gpt-nano-sort (a sorter of
# minGPT's kind), each with its `golden` folder; tests that miss them are skipped.
#
# --emulated goes the same way without a GPU, in sizes of nothing: its times mean
# nothing, and no document is written.
set -uo pipefail

cd "$(dirname "$0")/.." || exit 2
builds=${TXD_BUILD_DIR:-build}
build=$builds/main
python=${PEER_PYTHON:-python3}
emulated=no
failures=()
[ "${1-}" = --emulated ] && emulated=yes
command -v nvcc >/dev/null 2>&1 || PATH=$PATH:${CUDA_PATH:-/usr/local/cuda}/bin
SECONDS=0
end=470

# stage NAME MOST COMMAND...: at most so many seconds, and no more than are left.
stage()
{
    local name=$1 most=$2 left=$((end - SECONDS)) begin=$SECONDS status=0
    shift 2
    printf '\n== %s\n' "$name"
    if [ "$left" -lt 10 ]; then
        failures+=("$name: no time left")
        return 1
    fi
    # A shell of its own, which has the functions below.
    timeout -k 5 "$((most < left ? most : left))" bash -c '"$@"' stage "$@" \
        </dev/null || status=$?
    printf '== %s: exit %d after %d s\n' "$name" "$status" $((SECONDS - begin))
    [ "$status" -eq 0 ] && return 0
    failures+=("$name: exit $status")
    return 1
}

configure()
{
    local cuda=enabled
    [ "$emulated" = yes ] && cuda=auto
    if [ -f "$build/build.ninja" ]; then
        [ "$emulated" = yes ] || meson configure "$build" -Dcuda=$cuda
    else
        meson setup "$build" -Dcuda=$cuda \
            ${TXD_MODELS:+"-Dmodels=$TXD_MODELS"}
    fi
}

test_native()
{
    OMP_WAIT_POLICY=passive meson test -C "$build" --no-rebuild --print-errorlogs \
        --suite cuda --wrapper "env TXDIAG_CUDA_MODULE=$module TXD_FEW="
}

# Passes with and without a backward half once more, watched.
sanitize()
{
    local tool
    for tool in memcheck racecheck; do
        TXDIAG_CUDA_MODULE=$module TXD_ON="cpu32=cuda32 bf16=cudabf16" \
            TXD_SOURCE=$PWD TXD_BUILD=$build CK_FORK=no OMP_WAIT_POLICY=passive \
            compute-sanitizer --tool $tool --error-exitcode 9 \
            "$build/tests/model_test_encoder" || return 1
    done
}

export -f configure test_native sanitize
export build emulated
if [ "$emulated" = yes ]; then
    stage "configure" 60 configure
    stage "build" 400 ninja -C "$build" cli/txdiag bench/worker bench/device \
        tests/cuda_host/txdiag_cuda.so
    stage "measure" 120 python3 bench/cuda.py "$build" --emulated --repeat 1
else
    device=$(python3 tests/support/cuda_device.py) || exit $?
    echo "on $device"
    stage "configure" 60 configure
    module=$(cd "$build" && pwd)/cuda/txdiag_cuda.so
    export module
    stage "build" 240 ninja -C "$build"
    stage "test" 120 test_native
    if ! command -v compute-sanitizer >/dev/null 2>&1; then
        echo "compute-sanitizer is not here: left out"
    else
        stage "compute-sanitizer" 60 sanitize
    fi
    if ! "$python" -c 'import torch; torch.cuda.init()' 2>/dev/null; then
        echo "$python has no torch that sees the GPU: our side alone"
        python=
    fi
    stage "measure" 240 python3 bench/cuda.py "$build" --device "$device" \
        ${python:+--python "$python"} \
        --write docs/cuda.md
fi

printf '\n'
for failure in "${failures[@]}"; do
    echo "failed: $failure"
done
echo "$SECONDS s in all"
[ ${#failures[@]} -eq 0 ]
