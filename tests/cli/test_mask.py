#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""mask: who may see whom, by the configuration alone, in the terminal and as a file."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import (SOURCE, equal, exits, finish, holds, ok, read,  # noqa: E402
                     txdiag, write)

MINI = SOURCE + "/examples/mini.cfg"
PLAIN = {"LC_ALL": "C", "COLUMNS": "80"}


def block(*arguments):
    """The characters of the cells, row by row, without labels."""
    result = exits(0, f"mask {' '.join(arguments)}", "mask", *arguments, env=PLAIN)
    lines = result.out.split("\n\n")[1].splitlines()
    return result.out, ["".join(line[lines[0].index("0"):].split())
                        for line in lines[1:]]


out, rows = block(MINI, "--batch", "0", "--query", "0:6", "--key", "0:6",
                  "--set", "mask.window=3")
equal("causal, with a window", rows,
      ["#.....", "##....", "###...", "-###..", "--###.", "---###"])
holds("numbers, tokens, the rule and the sum", out, "layers 0-1, batch row 0: causal, "
      "window 3", "15 of 36 pairs seen; hidden: 15 later keys, 6 outside of the window",
      "5 #310", "# seen", ". later keys", "- outside of the window")
write("d.cfg", """model : { preset = "mini"; vocab = 20; d_model = 16; n_heads = 2;
  n_layers = 2; d_ff = 8; max_seq_len = 16; sinks = true; };
input : { tokens = ([1, 2, 3, 4], [5, 6]); pad = "left";
          documents = ([0, 0, 1, 1], [0, 0]); };""")
out, rows = block("d.cfg", "--batch", "0")
equal("documents; sinks are a column of their own before key 0", rows,
      ["#.//", "##//", "//#.", "//##"])
holds("sinks are named", out, "S sink, no key")
ok("every query sees them", sum(" S " in line for line in out.splitlines()
                              if line[0:1].isdigit()) == 4, out)
out, rows = block("d.cfg", "--batch", "1")
equal("padding on the left", rows, ["xx#.", "xx#.", "xx#.", "xx##"])
out = exits(0, "layers and rows that are alike are drawn once", "mask",
            SOURCE + "/examples/cross.cfg", env=PLAIN).out
equal("both attentions and the encoder, each in both rows of the batch",
      [line.split(",")[0] + line[line.index(" batch"):].split(":")[0]
       for line in out.splitlines() if "batch row" in line],
      [name + f" batch row {row}" for name in ("layers 0-1", "cross-attention",
                                               "encoder") for row in (0, 1)])
long = ["--set", "input={random={length=4000;};}", "--set", "model.max_seq_len=9999",
        "--set", "mask.window=5"]
for columns in "40", "80", "200":
    out = exits(0, "a long sequence", "mask", MINI, *long,
                env={"LC_ALL": "C.UTF-8", "COLUMNS": columns}).out
    lines = out.split("\n\n")[1].splitlines()
    ok(f"fits {columns} columns", int(columns) * 3 // 5 < max(map(len, lines))
       <= int(columns), out)
    ok("a narrow window shows in every row",
       all("\u2591" in line for line in lines[1:]), out)
    holds("how much a character stands for is said", out, "each character: up to")
ok("a pipe is no terminal: 80 columns",
   max(map(len, txdiag("mask", MINI, *long, env={"COLUMNS": ""}).out.splitlines()))
   <= 100)

# --- as a file
for ending, begin in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
    exits(0, f"as {ending}", "mask", "d.cfg", "-o", "mask." + ending)
    ok("it is one", read("mask." + ending).startswith(begin))
words = read("mask.svg").decode()
holds("words of the picture", words, "Mask of d.cfg", "documents", "sink", "padding")
before = read("d.cfg")
exits(2, "not over its own input", "mask", "d.cfg", "-o", "d.cfg", "--force")
ok("it is untouched", read("d.cfg") == before)
write("notes.png", "not a picture")
exits(2, "not over what is no picture", "mask", "d.cfg", "-o", "notes.png")
result = exits(2, "no such layer", "mask", "d.cfg", "--layer", "2")
holds("the choices", result.err, "there are 2, from 0 to 1")
result = exits(0, "faults are not drawn", "mask", SOURCE + "/examples/mini-leak.cfg",
               env=PLAIN)
holds("which is said", result.err, "without the faults")

finish()
