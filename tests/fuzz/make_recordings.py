#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the seeds of fuzz_recording: small recordings as others write them (with
h5py), and what damage makes of them."""
import io
import os

import h5py
import numpy

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "recording")
CONFIG = """model : { preset = "gpt2"; vocab = 20; d_model = 8; n_heads = 2;
  n_layers = 1; max_seq_len = 8; };
"""


def put(name, data):
    os.makedirs(HERE, exist_ok=True)
    with open(os.path.join(HERE, name), "wb") as file:
        file.write(data)


def recording(fill, **options):
    image = io.BytesIO()
    with h5py.File(image, "w", **options) as file:
        file.attrs["txdiag_schema"] = 1
        file.attrs["config"] = CONFIG
        file.attrs["dtype"] = "float32"
        fill(file)
    return image.getvalue()


def weights(file):
    file["value/layers/0/attn/weights/full"] = \
        (numpy.tri(3) / [[1], [2], [3]] * numpy.ones((1, 1, 2, 1, 1))).astype("f4")


def inputs(file):
    for name, value in {"tokens": [[[1, 2, 3]]], "valid": [[[1, 1, 1]]],
                        "positions": [[[0, 1, 2]]]}.items():
        file["input/" + name] = numpy.array(value, dtype="i4")
    file["steps/length_q"] = numpy.array([3])
    file["steps/kind"] = numpy.array([b"forward"])


def everything(file):
    weights(file)
    inputs(file)
    file["series/stats_sites"] = numpy.array([b"logits"], dtype="S8")
    file["series/stats"] = numpy.ones((1, 1, 9))
    file["input/pieces"] = ["a", "b"]


def chunked(file):
    file.create_dataset("value/layers/0/attn/weights/full", shape=(1, 1, 2, 3, 3),
                        dtype="f2", chunks=(1, 1, 1, 2, 2), compression="gzip",
                        data=numpy.ones((1, 1, 2, 3, 3)))


def tiled(file):
    """Large enough to be read past HDF5's library: packed, plain, absent chunks."""
    item = file.create_dataset("value/layers/0/attn/weights/full",
                               shape=(1, 1, 2, 128, 128), dtype="f4", fillvalue=0,
                               chunks=(1, 1, 1, 64, 64), compression="gzip",
                               shuffle=True)
    item[..., :64] = 1 / 64
    item.id.write_direct_chunk((0, 0, 1, 64, 64),
                               numpy.zeros((64, 64), "f4").tobytes(), 3)
    item = file.create_dataset("value/logits/full", shape=(1, 1, 128, 20), dtype="f4",
                               chunks=(1, 1, 128, 20))
    item[...] = 0.5
    file.attrs["config"] = CONFIG.replace("max_seq_len = 8", "max_seq_len = 128")


def parts(file):
    file["value/logits/full"] = numpy.ones((2, 1, 3, 20), dtype="f4")
    file["value/logits/full.1"] = numpy.ones((1, 1, 3, 20), dtype="f4")
    file["value/logits/full.1"].attrs["first_step"] = 5
    file["value/logits/full.2"] = numpy.ones((0, 1, 3, 20), dtype="f4")


def odd(file):
    file["a/b"] = file["/"]
    file["value/logits/full"] = numpy.float32(3)
    file["rows/sum"] = numpy.zeros((1, 2), dtype="u8")
    file["x"] = numpy.zeros(2, dtype=[("a", "i4")])
    file.attrs["record"] = "rows\tlayers.*\t0\t*\t1:\n"
    file.attrs["complete"] = 0
    file.attrs["steps"] = 1


def cross(file):
    everything(file)
    file.attrs["config"] = CONFIG.replace("};", "cross = true; };")
    file["value/layers/0/cross/weights/full"] = numpy.full((1, 1, 2, 3, 5), 0.2, "f4")
    file["value/layers/0/cross/k/full"] = numpy.ones((1, 1, 2, 5, 4), dtype="f4")
    file["input/memory_valid"] = numpy.array([[[1, 1, 1, 1, 0]]], dtype="i4")
    file["input/memory"] = numpy.ones((1, 1, 5, 8), dtype="f4")
    file["steps/length_memory"] = numpy.array([5])
    file["cross_rows/sum"] = numpy.ones((1, 1, 1, 2, 3), dtype="f4")


def cross_odd(file):
    file.attrs["config"] = CONFIG.replace("};", "cross = true; };")
    file["value/layers/0/cross/weights/full"] = numpy.ones((1, 1, 2, 3, 5), dtype="f4")
    file["value/layers/0/cross/k/full"] = numpy.ones((1, 1, 2, 6, 4), dtype="f4")
    file["input/memory_valid"] = numpy.ones((2, 1, 4), dtype="i4")
    file["steps/length_memory"] = numpy.array([7])
    file["cross_rows/sum"] = numpy.ones((1, 2, 1, 2, 9), dtype="f4")


whole = recording(everything)
put("everything", whole)
put("latest", recording(everything, libver="latest"))
put("chunked", recording(chunked))
put("tiled", recording(tiled))
put("parts", recording(parts))
put("odd", recording(odd))
put("cross", recording(cross))
put("cross_odd", recording(cross_odd))
put("bare", recording(lambda file: None))
put("truncated", whole[:len(whole) // 2])
put("signature", whole[:8])
put("empty", b"")
for place, name in ((60, "superblock"), (800, "group"), (1500, "names"),
                    (2300, "header"), (len(whole) - 900, "heap")):
    damaged = bytearray(whole)
    damaged[place:place + 8] = b"\xff\x7f" * 4
    put("damaged_" + name, bytes(damaged))
