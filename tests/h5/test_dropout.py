#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Weights that were recorded in training, behind dropout, are no mistake where the file
says so; where it does not, the finding says what they look like."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import exits, finish, holds, ok  # noqa: E402

import h5py  # noqa: E402
import numpy  # noqa: E402

CONFIG = ('model : { vocab = 9; d_model = 16; n_heads = 2; n_layers = 2; '
          'max_seq_len = 32; };')
RATE = 0.25
random = numpy.random.default_rng(5)


def softmax(values):
    e = numpy.exp(values - values.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def write_file(path, dropout=None, seen=0):
    """`seen`: later keys that a query also sees."""
    with h5py.File(path, "w") as file:
        file.attrs["txdiag_schema"] = 1
        file.attrs["config"] = CONFIG
        if dropout is not None:
            file.attrs["dropout"] = dropout
        for layer in range(2):
            scores = random.normal(size=(1, 2, 2, 9, 9)).astype("float32")
            future = numpy.triu(numpy.ones((9, 9)), 1 + seen) > 0
            masked = numpy.where(future, numpy.float32("-inf"), scores)
            kept = random.random(scores.shape) >= RATE
            weights = softmax(masked) * kept / (1 - RATE)
            for name, value in (("scores", scores), ("masked", masked),
                                ("weights", weights.astype("float32"))):
                file[f"value/layers/{layer}/attn/{name}/full"] = value


write_file("silent.h5")
found = exits(1, "what is not said is found", "check", "silent.h5")
holds("row sums say it", found.out, "FAIL row_sum")
holds("weights above 1 tell of dropout", found.out, "FAIL weight_range", "dropout")
for rate in (RATE, str(RATE)):
    write_file("said.h5", rate)
    said = exits(0, f"what is said as {type(rate).__name__} is right", "check",
                 "said.h5")
    ok("nobody accuses", not any(word in said.out for word in ("FAIL", "WARN", "OPEN")),
       said.out)
    holds("the laws of whole rows are skipped with the reason", said.out,
          "SKIP row_sum", "behind dropout", "weight_range", "softmax_precision")
    holds("what dropout leaves as it is was judged", said.out, "PASS causality",
          "PASS mask_fill")
write_file("leak.h5", RATE, seen=1)
holds("a leak is found all the same",
      exits(1, "a leak behind dropout", "check", "leak.h5").out, "FAIL causality")
write_file("none.h5", 0.0)
holds("a rate of 0 says nothing", exits(1, "a rate of 0", "check", "none.h5").out,
      "FAIL row_sum")
finish()
