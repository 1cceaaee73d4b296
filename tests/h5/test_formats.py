#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Recordings of the backends that round: how values lie in the file, that nothing is
lost on the way, and sums and products against numpy's own float16."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import (SOURCE, equal, exits, finish, holds, model, ok,  # noqa: E402
                     skip, write)

import h5py  # noqa: E402
import numpy  # noqa: E402

FULL = 'record=({probe="full"; points="*";}, {probe="rows";}, {probe="pooled";})'
FORMATS = {"fp16": ("float16", numpy.float16), "bf16": ("bf16", numpy.float32)}


def bfloat16(values):
    """The nearest bfloat16 numbers to float32 numbers that are no NaN."""
    bits = numpy.ascontiguousarray(values, numpy.float32).view(numpy.uint32)
    wide = bits.astype(numpy.uint64)
    return ((wide + 0x7fff + (wide >> 16 & 1)) >> 16 << 16).astype(
        numpy.uint32).view(numpy.float32)


def rounded(backend, values):
    values = numpy.asarray(values, numpy.float32)
    return values.astype(numpy.float16).astype(numpy.float32) if backend == "fp16" \
        else bfloat16(values)


def full_values(file):
    found = {}
    file["value"].visititems(lambda name, item: found.__setitem__(name, item)
                             if isinstance(item, h5py.Dataset) else None)
    return {name: item for name, item in found.items() if not name.startswith("input")}


def float32_tensor(path, name):
    """A tensor of a safetensors file."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))[name]
        begin = file.tell() + header["data_offsets"][0]
    shape = header["shape"]
    return numpy.fromfile(path, "<f4", offset=begin,
                          count=int(numpy.prod(shape))).reshape(shape)


def same(name, found, expected):
    ok(name, found.size > 0 and (found == expected).all(),
       f"{(found != expected).sum()} of {found.size} differ")


def check_file(backend, path, layers):
    dtype, stored = FORMATS[backend]
    with h5py.File(path) as file:
        equal(f"{backend}: the root says the format", file.attrs["dtype"], dtype)
        equal(f"{backend}: and the backend", file.attrs["backend"], backend)
        holds(f"{backend}: so does the configuration", file.attrs["config"],
              f'backend = "{backend}"')
        values = full_values(file)
        wrong = [name for name, item in values.items()
                 if item.dtype != stored or item.attrs["dtype"] != dtype]
        ok(f"{backend}: {len(values)} values have the dtype of the format",
           len(values) > 20 and not wrong, wrong)
        foreign = [name for name, item in values.items()
                   if not numpy.array_equal(rounded(backend, item[...]),
                                            item[...].astype(numpy.float32),
                                            equal_nan=True)]
        ok(f"{backend}: every element is a number of the format", not foreign, foreign)
        for name in ("rows/sum", "rows/lse", "pooled/mean"):
            equal(f"{backend}: {name} is not rounded to it", file[name].dtype.name,
                  "float32")

        def value(layer, name):
            return file[f"value/layers/{layer}/{name}/full"][...].astype("float32")

        for layer in range(layers):
            same(f"{backend}: the residual of layer {layer} is numpy's sum",
                 value(layer, "resid/mid"),
                 rounded(backend, value(layer, "resid/pre") +
                         value(layer, "attn/branch")))
            if f"layers/{layer}/mlp/gate_act/full" in values:
                same(f"{backend}: the gated product of layer {layer} is numpy's",
                     value(layer, "mlp/act"),
                     rounded(backend, value(layer, "mlp/gate_act") *
                             value(layer, "mlp/up")))
        return file["value/embed/tok/full"][0].astype("float32"), \
            file["input/tokens"][0]


def check_estimate(backend, cfg, path):
    dry = exits(0, f"{backend}: --dry-run", "run", cfg, "--dry-run", "--backend",
                backend, "--set", FULL)
    holds(f"{backend}: it names the dtype", dry.out, FORMATS[backend][0])
    estimate = int(re.search(r"^on disk +(\d+) bytes", dry.out, re.M).group(1))
    truth = os.path.getsize(path)
    ok(f"{backend}: bytes on disk: {estimate} for {truth}",
       0.9 * truth <= estimate <= 1.1 * truth)


write("llama.cfg", """model : { preset = "llama"; vocab = 50; d_model = 48;
  n_heads = 4; n_kv_heads = 2; n_layers = 2; d_ff = 96; };
input : { random : { batch = 2; length = 90; }; };
""")
for each in FORMATS:
    exits(0, f"{each}: a drawn model runs", "run", "llama.cfg", "-q", "--backend", each,
          "--set", FULL, "-o", f"{each}.h5")
    check_file(each, f"{each}.h5", 2)
    check_estimate(each, "llama.cfg", f"{each}.h5")
    exits(0, f"{each}: and is judged again", "check", f"{each}.h5")
exits(0, "the precision of a softmax is a setting of single layers, too", "run",
      SOURCE + "/examples/mini.cfg", "-q", "--backend", "bf16", "--set",
      'model.layers=({range="1"; softmax="same";})', "-o", "layers.h5")
exits(0, "in float32 it is another", "run", SOURCE + "/examples/mini.cfg", "-q",
      "--backend", "bf16", "-o", "float32.h5")
with h5py.File("layers.h5") as one, h5py.File("float32.h5") as other:
    for layer, equals in ((0, True), (1, False)):
        path = f"value/layers/{layer}/attn/weights/full"
        equal(f"layer {layer} has {'the same' if equals else 'other'} weights",
              bool((one[path][...] == other[path][...]).all()), equals)

stories = model("stories260K")
if stories:
    table = float32_tensor(f"{stories}/model.safetensors", "model.embed_tokens.weight")
    write("stories.cfg", f"""model : {{ from = "{stories}"; }};
input : {{ file = "{stories}/golden/prompt_ids.npy"; }};
""")
    for each in FORMATS:
        exits(0, f"{each}: stories260K runs", "run", "stories.cfg", "-q", "--backend",
              each, "--set", FULL, "-o", "stories.h5")
        embedded, tokens = check_file(each, "stories.h5", 5)
        same(f"{each}: the embeddings are numpy's rounding of the checkpoint's",
             embedded, rounded(each, table[tokens]))
else:
    skip("stories260K in bf16 and fp16", "no model data")
finish()
