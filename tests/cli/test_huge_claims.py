#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Recordings of kilobytes that claim to hold more than can be read in a day: pictures
and pages end soon, in little memory, and say what to choose or show the rest."""
import os
import resource
import sys

import h5py
import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import exits, finish, holds, ok, read  # noqa: E402

CONFIG = """model : { preset = "llama"; vocab = 9; d_model = 8; n_heads = 2;
  n_layers = 2; max_seq_len = 16; };
"""
SIDE, HEADS = 2 ** 20, 2 ** 40


def claims(name, shape):
    """A recording whose weights have no chunk at all."""
    with h5py.File(name, "w") as file:
        file.attrs.update({"txdiag_schema": 1, "dtype": "float32", "config": CONFIG})
        for part, value in {"tokens": range(8), "valid": [1] * 8,
                            "positions": range(8)}.items():
            file["input/" + part] = numpy.array([[list(value)]], dtype="i4")
        for layer in range(2):
            file.create_dataset(f"value/layers/{layer}/attn/weights/full", shape,
                                "f4", chunks=tuple(min(64, n) for n in shape))


def spent():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def soon(status, name, *arguments):
    begin = spent()
    result = exits(status, name, *arguments)
    ok(f"{name}: soon", spent() - begin < 20)
    return result.err


claims("long.h5", (1, 1, 2, SIDE, SIDE))
claims("wide.h5", (1, 1, HEADS, 8, 8))
ALL, ONE = "layers.*.attn.weights", "layers.1.attn.weights"
for words in [ALL], [ONE, "--head", "0"]:
    holds("what to choose is said", soon(2, " ".join(words), "plot", "long.h5", *words,
                                         "-o", "x.svg"), "--query", str(SIDE))
soon(0, "a part of it", "plot", "long.h5", ONE, "--head", "0", "--query", "5:9",
     "--key", "0:9", "-o", "x.svg")
holds("two of them", soon(2, "change", "plot", "long.h5", ALL, "--other", "long.h5",
                          "-o", "x.svg"), "too many to compare")
for figure in "entropy", "distance", "profiles":
    holds("too many heads", soon(2, figure, "plot", "wide.h5", figure, "-o", "x.svg"),
          str(HEADS), "--layer")
soon(0, "a page", "report", "wide.h5", "-o", "page")
ok("it says which pictures there are not, and why",
   read("page/index.html").count(b"No picture: ") > 1)
ok("in little memory", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 2 ** 19)
finish()
