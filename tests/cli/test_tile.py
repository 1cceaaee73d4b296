#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The probe `tile` from the command line: what it holds is what the pass computed, in
float32 and in bf16, under windows and in several batch rows; laws give the same
verdicts with it and without it; its size is listed and its place is shown."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
import h5py  # noqa: E402
import numpy as np  # noqa: E402
from program import equal, exits, finish, holds, ok, write  # noqa: E402

CONFIG = """model : { preset = "llama"; vocab = 50; d_model = 32; n_heads = 4;
  n_layers = 2; d_ff = 32; layers = ( { range = "1"; window = 40; } ); };
input : { random : { batch = 2; length = 200; }; };
precision : { backend = "%s"; };
record = ( { probe = "rows"; }, %s );
"""
FULL = '{ probe = "full"; points = "*.attn.weights,*.attn.scores"; }'
TILE = ('{ probe = "tile"; points = "*.attn.weights,*.attn.scores"; heads = "1,3";'
        ' queries = "120:140"; keys = "60:130"; }')
QUERIES, KEYS = slice(120, 140), slice(60, 130)


def verdicts(path):
    """All that is said of every law, but for the name of the file."""
    said = exits(0, f"{path} is checked", "check", path, "--format", "json").out
    return json.loads(said.replace(path, "REC.h5"))


for backend in ("cpu32", "bf16"):
    write("both.cfg", CONFIG % (backend, FULL + ", " + TILE))
    exits(0, f"{backend}: a run records both", "run", "both.cfg", "-q", "-o",
          "both.h5", "--force")
    with h5py.File("both.h5") as file:
        for layer in (0, 1):
            for point in ("weights", "scores"):
                whole = file[f"value/layers/{layer}/attn/{point}/full"]
                tile = file[f"tile/layers/{layer}/attn/{point}"]
                found, place = tile[()], f"{backend}, layer {layer}, {point}"
                expected = whole[:, :, :, QUERIES, KEYS]
                equal(f"{place}: the shape", found.shape, (1, 2, 4, 20, 70))
                equal(f"{place}: numbers and their precision",
                      (tile.dtype, tile.attrs["dtype"], tile.attrs["axes"]),
                      (whole.dtype, whole.attrs["dtype"], "sbhqk"))
                ok(f"{place}: cells of chosen heads are those of `full`",
                   np.array_equal(found[:, :, 1::2], expected[:, :, 1::2],
                                  equal_nan=True)
                   and np.isfinite(found[:, :, 1::2]).any())
                ok(f"{place}: heads that were not chosen hold NaN",
                   np.isnan(found[:, :, 0::2]).all())
        windowed = file["tile/layers/1/attn/weights"][0, 0, 1]
        ok(f"{backend}: keys before the window and after the query have weight 0",
           not windowed[0, :21].any() and windowed[0, 21:61].all()
           and not windowed[0, 61:].any())

# --- laws, info, the dry run
write("tile.cfg", CONFIG % ("cpu32", TILE))
write("none.cfg", CONFIG % ("cpu32", '{ probe = "rows"; }'))
for name in ("tile", "none"):
    exits(0, f"{name}.cfg runs", "run", f"{name}.cfg", "-q", "-o", f"{name}.h5")
equal("laws judge alike with and without a tile", verdicts("tile.h5"),
      verdicts("none.h5"))
strict = exits(0, "a tile is no stranger", "check", "tile.h5", "--strict")
ok("nor warned of", "tile/" not in strict.err, strict.err)
holds("info says where tiles lie and how large they are",
      exits(0, "info", "info", "tile.h5").out, "layers.1.attn.weights queries 120:140 "
      "of 200 keys 60:130 of 200", "tile/layers/1/attn/weights")
plan = exits(0, "a dry run", "run", "tile.cfg", "--dry-run").out
line = re.search(r"^tile/layers/1/attn/weights +tile +float32 +(\d+)", plan, re.M)
with h5py.File("tile.h5") as file:
    stored = file["tile/layers/1/attn/weights"].id.get_storage_size()
ok("the dry run lists what a tile takes",
   line and stored <= int(line.group(1)) < stored + 90000, f"{stored}\n{plan}")

# --- pictures
exits(0, "a tile is drawn", "plot", "tile.h5", "layers.1.attn.weights", "--head", "3",
      "--query", "120:140", "--key", "90:130", "-q", "--gp", "kept")
cells = np.loadtxt("kept/cells.txt")
with h5py.File("tile.h5") as file:
    expected = file["tile/layers/1/attn/weights"][0, 0, 3, :, 30:]
hidden = np.isnan(cells)
ok("its cells are the recorded weights, hidden ones blank",
   np.array_equal(cells[~hidden].astype(np.float32), expected[~hidden])
   and not expected[hidden].any() and 0 < hidden.sum() < cells.size)
holds("what is not in it is refused with what is",
      exits(2, "another range", "plot", "tile.h5", "layers.1.attn.weights", "--head",
            "3", "--query", "0:10", "-q", "-o", "a.png").err,
      "queries 120 to 139, keys 60 to 129")
finish()
