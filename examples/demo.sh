#!/bin/sh
# SPDX-License-Identifier: MIT
# demo.sh TXDIAG: the examples, run, checked and drawn into out/ of the current folder,
# which is the tree's. `./dev demo` builds first.
set -eu

txdiag=${1:?which txdiag?}
status=0
mkdir -p out
"$txdiag" run examples/mini.cfg -o out/mini.h5 --report out/report || status=$?
if [ "$status" -ne 0 ]; then
    echo "demo: the healthy example exited with $status, expected 0" >&2
    exit 1
fi
"$txdiag" plot out/mini.h5 'layers.0.attn.weights' --head 0 -o out/mini-head.png
"$txdiag" plot out/mini.h5 'layers.*.attn.weights' -o out/mini-overview.png
echo "" >&2
echo "The same model with a planted fault; the checks must notice it:" >&2
"$txdiag" run examples/mini-leak.cfg -o out/mini-leak.h5 --report out/report-leak ||
    status=$?
if [ "$status" -ne 1 ]; then
    echo "demo: the faulty example exited with $status, expected 1" >&2
    exit 1
fi
"$txdiag" plot out/mini-leak.h5 'layers.0.attn.weights' --head 0 \
    -o out/mini-leak-head.png
echo "" >&2
echo "What the demo made, below $(pwd)/out:"
echo "  mini.h5 mini-leak.h5       the recordings (HDF5)"
echo "  report/index.html          the healthy model: verdicts and figures"
echo "  report-leak/index.html     the faulty one"
echo "  mini-head.png              attention of one head, healthy"
echo "  mini-leak-head.png         and with the leak"
echo "  mini-overview.png          all layers and heads"
