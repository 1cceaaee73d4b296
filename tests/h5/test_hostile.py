#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Recordings of others, unusual and hostile: the unusual are judged, the hostile are
exit 2 with a message that names the place, and nothing outside the file is read."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import exits, finish, holds, ok, txdiag, write  # noqa: E402

import h5py  # noqa: E402
import numpy  # noqa: E402

CONFIG = """model : { preset = "gpt2"; vocab = 20; d_model = 8; n_heads = 2;
  n_layers = 2; max_seq_len = 8; };
"""
WEIGHTS = "value/layers/0/attn/weights/full"


def causal(steps=1, length=5):
    scores = numpy.random.default_rng(1).normal(size=(steps, 1, 2, length, length))
    weights = numpy.exp(scores) * numpy.tri(length)
    return weights / weights.sum(axis=-1, keepdims=True)


def recording(path, **attributes):
    file = h5py.File(path, "w")
    for key, value in {"txdiag_schema": 1, "config": CONFIG, "dtype": "float32",
                       **attributes}.items():
        if value is not None:
            file.attrs[key] = value
    return file


def judged(name, path, *parts):
    result = exits(0, name, "check", path)
    holds(f"{name}: the laws", result.out, "PASS causality", "PASS row_sum", *parts)


def refused(name, path, *parts):
    result = exits(2, name, "check", path)
    holds(f"{name}: the message", result.err, path, *parts)


# ---- unusual ----
with recording("gzip.h5") as file:
    file.create_dataset(WEIGHTS, data=causal().astype("f4"), compression="gzip",
                        shuffle=True, fletcher32=True)
judged("gzip, shuffle and checksums", "gzip.h5")
with recording("contiguous.h5") as file:
    file[WEIGHTS] = causal(3).astype("f4")
judged("contiguous", "contiguous.h5")
with recording("big.h5", dtype="float64") as file:
    file[WEIGHTS] = causal().astype(">f8")
judged("big-endian", "big.h5")
with recording("fixed.h5", config=numpy.bytes_(CONFIG), dtype=numpy.bytes_("float32"),
               txdiag_schema=numpy.int8(1)) as file:
    file[WEIGHTS] = causal().astype("f4")
    file["input/pieces"] = numpy.array([b"a", b"bc"], dtype="S3")
    file["series/stats_sites"] = numpy.array([b"layers.0.attn.weights"], dtype="S30")
    file["series/stats"] = numpy.array([[[30, 0.4, 0.1, 0.5, 0, 1, 0, -1, 0]]])
judged("strings of fixed length", "fixed.h5")
with h5py.File("latest.h5", "w", libver="latest") as file:
    file.attrs["txdiag_schema"], file.attrs["config"] = 1, CONFIG
    file.create_dataset(WEIGHTS, data=causal().astype("f4"), chunks=(1, 1, 1, 2, 5))
judged("the latest file format", "latest.h5")
with recording("half.h5") as file:
    file["input/valid"] = numpy.array([[[True, True, True, True, False]]])
    weights = causal(1)
    weights[..., 4] = 0
    file[WEIGHTS] = (weights / weights.sum(axis=-1, keepdims=True)).astype("f4")
judged("booleans as validity", "half.h5", "PASS padding")
with recording("extra.h5") as file:
    file[WEIGHTS] = causal().astype("f4")
    file["mine/table"] = numpy.zeros(3, dtype=[("a", "i4"), ("b", "f8")])
    file["mine"].attrs["note"] = [1, 2, 3]
    file["link"] = h5py.SoftLink("/nowhere")
judged("things of others beside it", "extra.h5")

# ---- hostile ----
write("secret.bin", causal().astype("f4").tobytes())
with recording("external.h5") as file:
    file.create_dataset(WEIGHTS, shape=(1, 1, 2, 5, 5), dtype="f4",
                        external=[("secret.bin", 0, 200)])
refused("data in another file", "external.h5", "lies in another file")
with recording("linked.h5") as file:
    file[WEIGHTS] = causal().astype("f4")
    file["value/layers/1/attn/weights/full"] = h5py.ExternalLink("gzip.h5",
                                                                 "/" + WEIGHTS)
judged("a link into another file is not followed", "linked.h5")
layout = h5py.VirtualLayout(shape=(1, 1, 2, 5, 5), dtype="f4")
layout[:] = h5py.VirtualSource("gzip.h5", WEIGHTS, shape=(1, 1, 2, 5, 5))
with h5py.File("virtual.h5", "w", libver="latest") as file:
    file.attrs["txdiag_schema"], file.attrs["config"] = 1, CONFIG
    file.create_virtual_dataset(WEIGHTS, layout)
refused("a virtual dataset", "virtual.h5", "lies in another file")
with recording("cycle.h5") as file:
    file["a/b/c"] = file["/"]
    file["a/b/d"] = file["/a"]
    file[WEIGHTS] = causal().astype("f4")
refused("groups that contain themselves", "cycle.h5", "too deep")
with recording("huge.h5") as file:
    file.create_dataset(WEIGHTS, shape=(1, 1, 2, 1 << 31, 1 << 31), dtype="f4",
                        chunks=(1, 1, 1, 256, 256))
refused("2^63 elements", "huge.h5", "more elements than can be counted")
with recording("wide.h5") as file:
    file.create_dataset("input/tokens", shape=(1, 1 << 20, 1 << 20), dtype="i4",
                        chunks=(1, 256, 256))
refused("2^40 tokens", "wide.h5", "too large")
with recording("chunk.h5") as file:
    file.create_dataset(WEIGHTS, shape=(1, 1, 2, 5, 5), dtype="f4",
                        maxshape=(None,) * 5, chunks=(1, 1, 2, 16384, 16384),
                        compression="gzip")
refused("a chunk of 2 GiB", "chunk.h5", "1 GiB")
with recording("ranks.h5") as file:
    file.create_dataset("value/logits/full", shape=(1,) * 9, dtype="f4")
refused("nine axes", "ranks.h5", "8 axes")
with recording("shape.h5") as file:
    file[WEIGHTS] = numpy.zeros((1, 1, 3, 5, 5), dtype="f4")
refused("a third head", "shape.h5", "layers.0.attn.weights", "(1, 1, 2, 5, 5)",
        "(1, 1, 3, 5, 5)")
with recording("newer.h5", txdiag_schema=2) as file:
    pass
refused("a newer schema", "newer.h5", "txdiag_schema is 2")
with recording("other.h5", txdiag_schema=None) as file:
    pass
refused("no recording at all", "other.h5", "txdiag_schema")
with recording("steps.h5") as file:
    file["input/tokens"] = numpy.zeros((1, 1, 5), dtype="i4")
    file["steps/length_q"] = numpy.array([1 << 40])
refused("a step longer than its tokens", "steps.h5", "length_q")
write("head.h5", b"\x89HDF\r\n\x1a\n" + bytes(200))
refused("no more than a signature", "head.h5", "HDF5")

# ---- damaged at random: an error or a verdict, but an end ----
with open("gzip.h5", "rb") as file:
    healthy = file.read()
random = numpy.random.default_rng(7)
statuses = {}
for trial in range(150):
    damaged = bytearray(healthy)
    for place in random.integers(0, len(damaged), size=1 + trial % 4):
        damaged[place] = random.integers(0, 256)
    write("damaged.h5", bytes(damaged))
    status = txdiag("check", "damaged.h5").status
    statuses[status] = statuses.get(status, 0) + 1
ok(f"150 damaged files end with 0, 1, 2 or 77: {statuses}",
   set(statuses) <= {0, 1, 2, 77} and statuses.get(2, 0) > 5)
ok("nothing was left behind", not [name for name in os.listdir(".")
                                   if name.endswith(".part")])
finish()
