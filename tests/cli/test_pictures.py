#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""plot and report from the command line: pictures are made, and without gnuplot or its
fonts the person learns what to install."""
import os
import re
import shutil
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import (SOURCE, equal, exits, finish, holds, ok, read,  # noqa: E402
                     txdiag, write)

MINI = SOURCE + "/examples/mini.cfg"


def png_size(path):
    data = read(path)
    ok(f"{path} is a PNG", data[:8] == b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", data[16:24])


exits(0, "a recording", "run", MINI, "-o", "m.h5")
exits(0, "one head as PNG", "plot", "m.h5", "layers.0.attn.weights", "--head", "1",
      "-o", "head.png")
ok("it has a size to look at", min(png_size("head.png")) >= 300)
exits(0, "the layer by an option", "plot", "m.h5", "layers.*.attn.weights", "--layer",
      "1", "--head", "0", "--scale", "log", "-o", "log.png")
exits(0, "a point's own name", "plot", "m.h5", "attn.weights", "--layer", "1", "--head",
      "0", "--query", "3:9", "--key", "0:9", "-o", "zoom.png")
for words, *arguments in (
        ("head is drawn of a site that you name: txdiag plot REC.h5 layers.0", "head"),
        ("entropy is drawn of one recording", "entropy", "--other", "m.h5"),
        ("entropy: --head is no choice of this figure: it has --step, --layer, --batch,"
         " --scale\n", "entropy", "--head", "1"),
        ("leaks: --query is no choice", "leaks", "--query", "0:3"),
        ("steps: --pool is no choice of this figure: it has none", "steps", "--pool",
         "mean"),
        ("did you mean layers.*.attn.weights?", "attn.weight"),
        ("did you mean entropy?", "entropi")):
    told = exits(2, f"{arguments[0]} as it cannot be drawn", "plot", "m.h5", *arguments,
                 "-o", "none.png")
    holds(f"{arguments[0]}: what could be asked is said", told.err, words)
exits(0, "a choice that a figure has", "plot", "m.h5", "entropy", "--layer", "1",
      "--batch", "1", "--scale", "log", "-o", "entropy.png")
ok("a zoom differs", read("zoom.png") != read("head.png"))
exits(0, "all layers and heads", "plot", "m.h5", "layers.*.attn.weights", "-o",
      "all.png")
exits(0, "SVG", "plot", "m.h5", "layers.0.attn.weights", "--head", "1", "-o",
      "head.svg")
holds("it is one", read("head.svg").decode(), "<svg", "</svg>")
exits(0, "a row with padding", "plot", "m.h5", "layers.0.attn.weights", "--head", "1",
      "--batch", "1", "-o", "padded.svg")
words = " ".join(re.sub("<[^>]*>", " ", read("padded.svg").decode()).split())
holds("it says why the rows of padding are neither blank nor marked", words,
      "causal, padding, whose own rows are not judged")
result = exits(0, "a report", "report", "m.h5", "-o", "page")
equal("stdout says where it is", result.out, "page/index.html\n")
page = read("page/index.html").decode()
holds("it holds verdicts and figures", page, "causality", "row_sum", "pass", "<img")
ok("it needs no network", not re.search(r'(src|href)="https?:', page))
exits(0, "run --report writes it too", "run", MINI, "-o", "n.h5", "--report", "other")
ok("it is there", os.path.exists("other/index.html"))

# --- figures over layers and steps
GRADIENTS = "record=({probe=\"grad_norm\";},{probe=\"norms\";})"
exits(0, "a recording with gradients", "run", MINI, "-o", "g.h5", "--set", GRADIENTS)
for site, title in (("layers.*@grad", "Gradient norms by layer: layers.*@grad"),
                    ("layers.*.resid.pre@grad", "layers.*.resid.pre@grad"),
                    ("steps/loss", "Loss and gradient norm over steps"),
                    ("series/norms", "Norms of embeddings")):
    exits(0, f"a picture of {site}", "plot", "g.h5", site, "-o", "chart.svg")
    words = " ".join(re.sub("<[^>]*>", " ", read("chart.svg").decode()).split())
    holds("it says what it is", words, title)
    ok("nothing is called NaN or 0", "Marked" not in words, words)
result = exits(0, "figures are listed", "list", "figures")
names = [line.split()[0] for line in result.out.splitlines()]
registry = read(SOURCE + "/viz/registry.def").decode()
equal("all of them", names, re.findall(r"^TXD_FIGURE\((\w+)\)", registry, re.M))
for name in names:
    result = exits(0, f"{name} is explained", "explain", name)
    holds("with how to draw it", result.out, f"{name} is a figure: ", "  txdiag ")
holds("a probe of that name is explained, too", txdiag("explain", "norms").out,
      "norms is a probe")

# --- cross-attention
exits(0, "an encoder and a decoder", "run", SOURCE + "/examples/cross.cfg", "-o",
      "cross.h5", "--report", "crosspage")
exits(0, "a head of the cross-attention", "plot", "cross.h5", "cross.weights",
      "--layer", "0", "--head", "1", "-o", "cross.svg")
words = " ".join(re.sub("<[^>]*>", " ", read("cross.svg").decode()).split())
holds("keys are rows of the memory, and those of the shorter row are padding", words,
      "memory row", "6 7 (pad)", "12 (pad)", "(padding of the memory)", "0 #1 1 #403")
exits(0, "all its heads", "plot", "cross.h5", "layers.*.cross.weights", "-o",
      "crossall.svg")
words = " ".join(re.sub("<[^>]*>", " ", read("crossall.svg").decode()).split())
holds("they say what is down and across", words,
      "10 queries down, 13 rows of the memory")
holds("the report shows both attentions", read("crosspage/index.html").decode(),
      "cross-attention to an encoder of 2 layers", "memory of up to 13 rows",
      "<figcaption>Attention weights of all layers",
      "<figcaption>Weights of the cross-attention of all layers")
exits(1, "the same in bfloat16, with a fault", "run", SOURCE + "/examples/cross.cfg",
      "--set", 'precision={backend="bf16";}', "--set",
      'faults=({name="mask_off_by_one"; layers="0";})', "-o", "crossb.h5")
exits(0, "errors by layer", "report", "crossb.h5", "cross.h5", "-o", "crosserrors")
page = read("crosserrors/index.html").decode()
holds("of cross-attention and of the memory", page, "layers.*.cross.weights",
      "input.memory")
equal("how far heads are apart, of both attentions",
      page.count("<figcaption>The largest difference of two weights, by"), 2)
equal("and the map of the finding, in both recordings",
      page.count("<figcaption>The first map that a finding means, in both"), 1)

# --- what is not ours
write("photo.png", "not a picture")
exits(2, "a file that is no picture is not replaced", "plot", "m.h5", "attn.weights",
      "--layer", "0", "--head", "0", "-o", "photo.png")
ok("it is untouched", read("photo.png") == b"not a picture")
exits(0, "--force replaces it", "plot", "m.h5", "attn.weights", "--layer", "0",
      "--head", "0", "-o", "photo.png", "--force")
os.mkdir("site")
write("site/index.html", "<html>my home page</html>")
exits(2, "a page that is not ours is not replaced", "report", "m.h5", "-o", "site")
ok("it is untouched", b"home page" in read("site/index.html"))

# --- no gnuplot
HEAD = read("head.png")
PAGE = read("page/index.html")
os.mkdir("empty")
nothing = {"PATH": os.path.abspath("empty")}
result = exits(2, "without gnuplot: exit 2", "plot", "m.h5", "layers.0.attn.weights",
               "--head", "0", "-o", "head.png", env=nothing)
holds("the message says what to install", result.err, "gnuplot", "gnuplot-nox")
ok("the earlier picture is untouched", read("head.png") == HEAD)
result = exits(2, "a report without gnuplot: exit 2", "report", "m.h5", "-o", "bare",
               env=nothing)
holds("the message says what to install", result.err, "gnuplot-nox")
bare = read("bare/index.html").decode()
holds("but the verdicts are there", bare, "causality", "gnuplot")
before = read("n.h5")
exits(2, "a run with a report that cannot be drawn: exit 2", "run", MINI, "-o", "n.h5",
      "--report", "third", env=nothing)
ok("found before the run: the earlier recording is untouched", read("n.h5") == before)

# --- no fonts
write("fonts.conf", '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">'
      "<fontconfig><dir>/nonexistent</dir><cachedir>fontcache</cachedir></fontconfig>")
fontless = {"FONTCONFIG_FILE": os.path.abspath("fonts.conf"), "GDFONTPATH": "",
            "FONTCONFIG_PATH": os.path.abspath("empty")}
result = exits(2, "without fonts: exit 2", "plot", "m.h5", "layers.0.attn.weights",
               "--head", "0", "-o", "head.png", env=fontless)
holds("the message says what to install", result.err, "font", "fonts-dejavu-core")
ok("the earlier picture is untouched", read("head.png") == HEAD)
shutil.rmtree("empty")
finish()
