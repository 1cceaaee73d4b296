#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What other readers see of a recording: shapes, attributes, labels and scales, and of
a real model the values themselves."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import SOURCE, equal, exits, finish, model, ok, skip, write  # noqa: E402

import h5py  # noqa: E402
import numpy  # noqa: E402

TEXTS = ("axes", "point", "dtype", "unit")
LETTERS = set("slbtqkhgefdmvijnxy")


def datasets(file):
    found = {}
    file.visititems(lambda name, item: found.__setitem__(name, item)
                    if isinstance(item, h5py.Dataset) else None)
    return found


def described(name, item):
    """What is wrong with the attributes of a dataset, or None."""
    if name.startswith("dims/"):
        return None if item.attrs["CLASS"] == b"DIMENSION_SCALE" else "no scale"
    for text in TEXTS:
        if not isinstance(item.attrs.get(text), str):
            return f"{text} is {item.attrs.get(text)!r}"
    axes = item.attrs["axes"]
    if len(axes) != item.ndim or not set(axes) <= LETTERS:
        return f"axes {axes} of {item.shape}"
    if "fill" not in item.attrs:
        return "no fill"
    if "fields" in item.attrs and \
            len(item.attrs["fields"].split(",")) != item.shape[-1]:
        return "fields do not fit the last axis"
    return None


exits(0, "the example runs", "run", SOURCE + "/examples/mini.cfg", "-q", "-o",
      "mini.h5")
with h5py.File("mini.h5") as mini:
    everything = datasets(mini)
    problems = {name: described(name, item) for name, item in everything.items()}
    ok(f"{len(everything)} datasets have all attributes",
       len(everything) > 40 and not any(problems.values()),
       {name: what for name, what in problems.items() if what})
    for key in ("producer", "command", "config", "faults", "backend", "simd", "blas",
                "dtype", "created", "record"):
        ok(f"root attribute {key} is text", isinstance(mini.attrs[key], str))
    for key, value in {"txdiag_schema": 1, "complete": 1, "steps": 1,
                       "seed": 1}.items():
        equal(f"root attribute {key}", mini.attrs[key], value)
    weights = mini["value/layers/1/attn/weights/full"]
    equal("weights are (s, b, h, q, k)", weights.shape, (1, 2, 8, 16, 16))
    equal("chunks end where the data do", weights.chunks, (1, 1, 1, 16, 16))
    equal("steps are unlimited", weights.maxshape[0], None)
    equal("axes are labelled", [axis.label for axis in weights.dims],
          ["step", "batch", "head", "query", "key"])
    equal("and scaled", [list(axis.keys()) for axis in weights.dims],
          [["step"], ["batch"], ["head"], ["query"], ["key"]])
    equal("a scale holds the indices", list(weights.dims[2][0][:]), list(range(8)))
    ok("scales know their users", len(mini["dims/head"].attrs["REFERENCE_LIST"]) > 20)
    entropy = mini["rows/entropy"]
    equal("row statistics have a layer axis", entropy.shape, (1, 2, 2, 8, 16))
    ok("padded queries are NaN", numpy.isnan(entropy[0, :, 1, :, 10:]).all() and
       numpy.isfinite(entropy[0, :, 0]).all())
    equal("padded queries have no keys",
          set(mini["rows/peak_key"][0, :, 1, :, 10:].flat), {-1})
    equal("fill of keys is -1", everything["rows/peak_key"].attrs["fill"], -1)
    equal("fill of weights is 0", weights.attrs["fill"], 0)
    ok("fill of measures is NaN", numpy.isnan(entropy.attrs["fill"]) and
       numpy.isnan(entropy.fillvalue))
    sites = mini["series/stats_sites"].asstr()[:]
    equal("a site per row of a series", len(sites), mini["series/stats"].shape[1])
    ok("sites come in order of execution", list(sites).index("embed.out") <
       list(sites).index("layers.0.attn.weights") < list(sites).index("logits"), sites)
    row = mini["series/stats"][0, list(sites).index("layers.1.resid.post")]
    value = mini["value/layers/1/resid/post/full"][0]
    real = numpy.concatenate([value[0], value[1, :10]])
    fields = mini["series/stats"].attrs["fields"].split(",")
    ok("statistics are those of the valid tokens",
       row[fields.index("count")] == real.size and
       abs(row[fields.index("rms")] / numpy.sqrt((real ** 2).mean()) - 1) < 1e-5, row)

exits(0, "cross-attention runs", "run", SOURCE + "/examples/cross.cfg", "-q", "-o",
      "cross.h5")
with h5py.File("cross.h5") as cross:
    problems = {name: described(name, item) for name, item in datasets(cross).items()}
    ok("its datasets have all attributes", not any(problems.values()),
       {name: what for name, what in problems.items() if what})
    weights = cross["value/layers/1/cross/weights/full"]
    equal("cross weights are (s, b, h, q, k)", weights.shape, (1, 2, 8, 10, 13))
    equal("rows of the memory have a name and a scale of their own",
          [(axis.label, list(axis.keys())) for axis in weights.dims][3:],
          [("query", ["query"]), ("memory", ["memory"])])
    equal("letters are those of attention", weights.attrs["axes"], "sbhqk")
    equal("and so are theirs", cross["dims/memory"].shape, (13,))
    equal("the own keys keep theirs", cross["dims/key"].shape, (10,))
    memory, valid = cross["input/memory"], cross["input/memory_valid"]
    equal("the memory is (s, b, k, d)", (memory.shape, memory.dtype),
          ((1, 2, 13, 64), "f4"))
    equal("its padding is told", valid[0].sum(axis=1).tolist(), [7, 13])
    equal("its length, too", cross["steps/length_memory"][:].tolist(), [13])
    entropy = cross["cross_rows/entropy"]
    equal("its rows have a layer axis", entropy.shape, (1, 2, 2, 8, 10))
    logs = numpy.log(numpy.where(weights[0] > 0, weights[0], 1))
    ok("they are those of the weights", numpy.abs(
        entropy[0, 1, 0] + (weights[0, 0] * logs[0]).sum(axis=-1)).max() < 1e-5)
    equal("padding has no weight", numpy.abs(weights[0, 0, :, :, 7:]).max(), 0)
    equal("a memory has no place like a query's",
          numpy.isfinite(cross["cross_rows/self"][:]).sum(), 0)
    equal("pooled maps have cells of both", cross["cross_pooled/mean"].shape[-2:],
          (10, 13))

exits(0, "its gradients are recorded", "run", SOURCE + "/examples/cross.cfg", "-q",
      "-o", "gradients.h5", "--set",
      'record=( { probe = "norms"; points = "*@grad"; }, { probe = "stats"; points = '
      '"*@grad"; }, { probe = "full"; points = "layers.*.cross.*@grad"; } )')
with h5py.File("gradients.h5") as cross:
    valid = cross["input/memory_valid"][0].astype(bool)
    for name in ("k_proj", "k", "v"):
        full = cross[f"grad/layers/1/cross/{name}/full"][0]
        rows = full.transpose(0, 2, 1, 3)[valid].reshape(-1, full.shape[-1])
        lengths = numpy.linalg.norm(rows.astype("f8"), axis=-1)
        for probe, expected in (("norms", {"vectors": len(lengths),
                                           "mean": lengths.mean(),
                                           "min": lengths.min(),
                                           "l2": numpy.sqrt((lengths ** 2).sum())}),
                                ("stats", {"count": rows.size})):
            series = cross[f"series/{probe}"]
            sites = list(cross[f"series/{probe}_sites"].asstr()[:])
            row = series[0, sites.index(f"layers.1.cross.{name}@grad")]
            fields = series.attrs["fields"].split(",")
            found = {key: row[fields.index(key)] for key in expected}
            ok(f"{probe} of the gradient of cross.{name} are those of the real rows",
               all(abs(found[key] / expected[key] - 1) < 1e-5 for key in expected),
               (found, expected))

dump = subprocess.run(["h5dump", "-H", "mini.h5"], capture_output=True, text=True,
                      check=False)
ok("h5dump -H reads all of it", dump.returncode == 0 and not dump.stderr and
   dump.stdout.count("DATASET") == len(everything), dump.stderr)
attached = subprocess.run(["h5dump", "-d", "/rows/entropy", "mini.h5"],
                          capture_output=True, text=True, check=False)
ok("h5dump reads a dataset", "NaN" in attached.stdout or "nan" in attached.stdout,
   attached.stdout[:500])

stories = model("stories260K")
if stories:
    write("stories.cfg", f"""model : {{ from = "{stories}"; }};
input : {{ file = "{stories}/golden/prompt_ids.npy"; }};
precision : {{ backend = "ref64"; }};
""")
    exits(0, "stories260K runs", "run", "stories.cfg", "-q", "-o", "stories.h5")
    golden = [numpy.load(f"{stories}/golden/l{layer}.attn_prob.npy")
              for layer in range(5)]
    with h5py.File("stories.h5") as recording:
        for layer, expected in enumerate(golden):
            found = recording[f"value/layers/{layer}/attn/weights/full"]
            ok(f"weights of layer {layer} equal the golden array",
               found.dtype == "f8" and found.shape[2:] == expected.shape and
               numpy.abs(found[0, 0] - expected).max() < 1e-11)
        logs = numpy.log(numpy.where(numpy.array(golden) > 0, golden, 1))
        expected = -(numpy.array(golden) * logs).sum(axis=-1)
        found = recording["rows/entropy"][0, :, 0]
        ok("the entropy of all layers is one slice", found.shape == (5, 8, 27) and
           numpy.abs(found - expected).max() < 1e-11)
else:
    skip("stories260K", "no model data")
finish()
