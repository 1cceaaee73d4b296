#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""However attention weights lie in a file, and on however many threads they are read:
the laws say the same, word by word and digit by digit."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import equal, exits, finish, holds, ok, txdiag, write  # noqa: E402

import h5py  # noqa: E402
import numpy  # noqa: E402

write("model.cfg", """version = 1;
model : { preset = "mini"; vocab = 64; d_model = 32; n_heads = 4; n_layers = 2;
  d_ff = 32; max_seq_len = 600; };
input : { random : { batch = 2; length = 600; }; steps = 2; };
record = ( { probe = "full"; points = "layers.*.attn.weights"; } );
faults = ( { name = "mask_off_by_one"; layers = "1"; } );
""")
POINTS = [f"value/layers/{layer}/attn/weights/full" for layer in range(2)]
LAYOUTS = {
    "in one piece": {},
    "plain chunks": {"chunks": (1, 1, 1, 256, 256)},
    "gzip": {"chunks": (1, 1, 1, 256, 256), "compression": "gzip"},
    "gzip and shuffle": {"chunks": (1, 1, 1, 256, 256), "compression": "gzip",
                         "shuffle": True},
    "whole rows": {"chunks": (1, 1, 1, 100, 600), "shuffle": True,
                   "compression": "gzip"},
    "several heads and steps in a chunk": {"chunks": (2, 2, 3, 64, 77),
                                           "compression": "gzip", "shuffle": True},
    "checksums": {"chunks": (1, 1, 1, 256, 256), "compression": "gzip",
                  "shuffle": True, "fletcher32": True},
    "big-endian": {"chunks": (1, 1, 1, 256, 256), "dtype": ">f4"},
    "shuffle alone": {"chunks": (1, 1, 2, 128, 128), "shuffle": True},
}


def laid_out(layout):
    """The recording at r.h5, its weights in another layout; zeros stay unwritten."""
    shutil.copy("recorded.h5", "r.h5")
    with h5py.File("r.h5", "r+") as file:
        for point in POINTS:
            old = file[point]
            values, attributes = old[()], {
                key: value for key, value in old.attrs.items()
                if key not in ("DIMENSION_LIST", "CLASS")}
            del file[point]
            new = file.create_dataset(point, shape=values.shape, fillvalue=0,
                                      **{"dtype": "f4", **layout})
            if "chunks" not in layout:
                new[...] = values
            else:
                for place in new.iter_chunks():
                    if values[place].any():
                        new[place] = values[place]
            for key, value in attributes.items():
                new.attrs[key] = value


def verdicts(*options, env=None):
    return txdiag("check", "r.h5", "--format", "json", *options, env=env)


exits(1, "a run with a fault", "run", "model.cfg", "-q", "-o", "recorded.h5")
shutil.copy("recorded.h5", "r.h5")
recorded = verdicts()
holds("what is recorded is judged", recorded.out, '"row_sum"', '"causality"',
      "layers.1.attn.weights", "off by one")
ok("and the fault is found", recorded.status == 1, recorded)
for threads in ("1", "2", "5"):
    equal(f"on {threads} threads", verdicts("--threads", threads).out, recorded.out)
    equal(f"by OMP_NUM_THREADS={threads}",
          verdicts(env={"OMP_NUM_THREADS": threads}).out, recorded.out)
for name, layout in LAYOUTS.items():
    laid_out(layout)
    found = verdicts()
    equal(f"{name}: the same verdicts", found.out, recorded.out)
    equal(f"{name}: on one thread", verdicts("--threads", "1").out, recorded.out)

# ---- h5py brings a filter of its own, which only it can read ----
laid_out({"chunks": (1, 1, 1, 256, 256), "compression": "lzf"})
unread = exits(2, "a filter that HDF5 lacks", "check", "r.h5")
holds("it is named, with what to do", unread.err, "/" + POINTS[0], "lzf", "h5repack",
      "gzip")

# ---- a damaged chunk is an error that names it ----
laid_out(LAYOUTS["gzip and shuffle"])
with h5py.File("r.h5", "r+") as file:
    weights = file[POINTS[1]]
    weights.id.write_direct_chunk((0, 1, 2, 256, 0), b"no zlib stream", 0)
damaged = exits(2, "a damaged chunk", "check", "r.h5")
holds("it is named", damaged.err, "r.h5", "/" + POINTS[1], "chunk", "zlib stream")
with h5py.File("r.h5", "r+") as file:
    weights = file[POINTS[1]]
    weights.id.write_direct_chunk((0, 1, 2, 256, 0),
                                  numpy.zeros(7, "f4").tobytes(), 3)
damaged = exits(2, "a chunk that is too short", "check", "r.h5")
holds("its size is named", damaged.err, "expected 262144 bytes", "28")
finish()
