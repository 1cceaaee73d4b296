#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Long sequences from the command line: 32768 tokens whose weights another program
recorded in full. One hot cell of a thousand million is found at its pixel and by its
arrows, a zoom shows the weights exactly, and memory does not grow with the sequence.
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
import h5py  # noqa: E402
import numpy as np  # noqa: E402
from pixels import decode_png  # noqa: E402
from program import (SOURCE, equal, exits, finish, holds, ok, peak_of,  # noqa: E402
                     read, sanitized, skip, write)

os.environ.pop("MALLOC_PERTURB_", None)
# A quarter of the length under sanitizers, which take their time for each cell.
LONG, QUERY, KEY, SIDE = (8192, 7750, 117, 700) if sanitized() else (32768, 31007, 117,
                                                                     700)
SITE = "layers.0.attn.weights"
CONFIG = """model : { preset = "gpt2"; vocab = 100; d_model = 32; n_heads = 1;
  n_layers = 1; max_seq_len = %d; };"""
DARK, HOT, INK, WHITE = ((0x44, 0x01, 0x54), (0xfd, 0xe7, 0x25), (0x1b, 0x1f, 0x24),
                         (0xff, 0xff, 0xff))


def record(path, tokens):
    """Nothing but a chunk beside the hot cell, and that: what is not written is 0."""
    with h5py.File(path, "w") as file:
        file.attrs.update({"txdiag_schema": 1, "dtype": "float32",
                           "config": CONFIG % tokens})
        weights = file.create_dataset(
            "value/layers/0/attn/weights/full", (1, 1, 1, tokens, tokens), "float32",
            chunks=(1, 1, 1, 256, 256), fillvalue=0)
        rows = slice(QUERY // 256 * 256 % tokens, QUERY // 256 * 256 % tokens + 256)
        weights[0, 0, 0, rows, 0:256] = np.float32(
            np.random.default_rng(5).random((256, 256)) / 300)
        weights[0, 0, 0, QUERY % tokens, KEY] = 0.9
        return weights[0, 0, 0, rows, 0:256], rows.start


def places(picture, colour):
    """Rows and columns of the pixels of a colour."""
    return np.nonzero((picture == np.array(colour, np.uint8)).all(axis=2))


# --- one hot cell of many
chunk, first = record("long.h5", LONG)
record("short.h5", 1024)
status, short = peak_of("plot", "short.h5", SITE, "-q", "-o", "short.png")
equal("1024 tokens are drawn", status, 0)
status, peak = peak_of("plot", "long.h5", SITE, "-q", "-o", "long.png")
equal(f"{LONG} tokens are drawn", status, 0)
if sanitized():
    skip("memory is bounded by the picture", "the sanitizer's memory is not ours")
else:
    ok(f"memory is bounded by the picture: {short} for 1024 tokens, {peak} for {LONG}",
       peak < short + (24 << 20))
picture = decode_png(read("long.png"))
rows, columns = places(picture, DARK)
width = picture.shape[1]
inside = columns < width - 120  # the bar of colours is dark at its end, too
top, left = rows[inside].min(), columns[inside].min()
bottom = rows[inside].max()
size = (bottom - top + 1, columns[inside].max() - left + 1)
ok(f"its cells are 700 x 700 pixels, but for the edge of the mask: {size}",
   all(SIDE - 4 <= side <= SIDE for side in size))
y, x = bottom + 1 - SIDE + QUERY * SIDE // LONG, left + KEY * SIDE // LONG
rows, columns = places(picture[:, :left + SIDE], HOT)
equal("one pixel of the map is hot", len(rows), 1)
ok(f"it is the cell of the hot weight: {rows}, {columns} for {y}, {x}",
   len(rows) == 1 and abs(rows[0] - y) <= 1 and abs(columns[0] - x) <= 1)
ok("row 0 is on top: the hidden half is blank on the right of it",
   (picture[top + 40:top + 300, left + 340:left + 680] == WHITE).all() and
   not (picture[top + 340:top + 680, left + 40:left + 300] == WHITE).all(axis=2).any())
rows, columns = places(picture, INK)
right = rows[(columns > left + SIDE) & (columns < left + SIDE + 18)]
ok("an arrow on the right is at its row", len(right) and
   abs(right.mean() - y) < 2, right)
above = columns[(rows < top) & (rows > top - 16) & (columns >= left)]
ok("an arrow above is at its column", len(above) and abs(above.mean() - x) < 2, above)

# --- a zoom: every weight as it was recorded
ZOOM = ["--query", f"{first}:{first + 256}", "--key", "0:256"]
exits(0, "a zoom", "plot", "long.h5", SITE, *ZOOM, "--scale", "linear", "--gp", "kept",
      "-o", "zoom.svg")
drawn = np.loadtxt("kept/cells.txt").astype("float32")
ok("its cells are the weights, exactly", np.array_equal(drawn, chunk), drawn)
holds("it says where the hot one is", " ".join(re.findall("<text>.*?([^<>]+)</",
                                                          read("zoom.svg").decode())),
      f"0.9 at query {QUERY}, key {KEY}")
exits(0, "another zoom", "plot", "long.h5", SITE, "--query",
      f"{first + 7}:{first + 29}", "--key", "13:40:2", "--scale", "linear",
      "--gp", "odd", "-o", "odd.svg")
drawn = np.loadtxt("odd/cells.txt").astype("float32")
ok("with ranges that no chunk begins at", np.array_equal(drawn, chunk[7:29, 13:40:2]))

# --- labels are drawn: the same script without fonts
write("fonts.conf", '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">'
      "<fontconfig><dir>/nonexistent</dir><cachedir>fontcache</cachedir></fontconfig>")
exits(0, "a head with labels of tokens", "run", SOURCE + "/examples/mini.cfg", "-q",
      "-o", "mini.h5")
exits(0, "is drawn", "plot", "mini.h5", SITE, "--head", "0", "--query", "0:6", "--key",
      "0:6", "--gp", "mini", "-o", "mini.png")
fonts = {**os.environ, "FONTCONFIG_FILE": os.path.abspath("fonts.conf"),
         "GDFONTPATH": "", "FONTCONFIG_PATH": os.path.abspath("mini")}
subprocess.run(["gnuplot", "-d", "picture.gp"], cwd="mini", env=fonts, check=False,
               stderr=subprocess.DEVNULL, timeout=60)
with_fonts, without = (decode_png(read(path)) for path in ("mini.png",
                                                           "mini/picture.png"))
equal("as large as without fonts", with_fonts.shape, without.shape)
differ = (with_fonts != without).any(axis=2)
script = read("mini/picture.gp").decode()
edges = {side: int(pixels) for side, pixels in re.findall(
    r"set ([lrtb])margin at screen (?:1-)?(\d+)\.0/", script)}
rows = slice(edges["t"], edges["b"])
for name, part in (("title and notes", differ[:edges["t"] - 4]),
                   ("labels of queries", differ[rows, :edges["l"] - 4]),
                   ("labels of keys", differ[edges["b"] + 4:, edges["l"]:edges["r"]]),
                   ("numbers of the bar", differ[rows, edges["r"] + 34:])):
    ok(f"{name} are drawn: {part.sum()} pixels", part.sum() > 60)
# Marks of the axes begin at its edge, and are as long as the font is high.
covered = np.argwhere(differ[edges["t"]:edges["b"] - 1, edges["l"] + 1:edges["r"]])
ok("no label covers a cell", len(covered) == 0, covered)
finish()
