#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""report --markdown: what a person reads in a pull request says what the recording
says."""
import os
import re
import sys

import h5py

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import (SOURCE, equal, exits, finish, holds, ok, read,  # noqa: E402
                     write)

MINI, LEAK = SOURCE + "/examples/mini.cfg", SOURCE + "/examples/mini-leak.cfg"

RECORD = 'record=({probe="full"; points="layers.*.attn.weights";}, {probe="rows";})'


def laws(text):
    """Verdict by law, of the folded table."""
    return {row[0]: row[1].strip("*") for row in
            (re.split(r" ?\| ?", line)[1:] for line in text.splitlines()
             if line.count("|") == 7)}


judged = exits(0, "a healthy recording", "run", MINI, "-o", "m.h5", "--set",
               RECORD)
text = exits(0, "its summary on stdout", "report", "m.h5", "--markdown").out
passed = re.search(r"laws: (\d+) passed, (\d+) skipped", judged.out)
equal("the first line sums up", text.splitlines()[0], "### txdiag: no law broken, "
      f"{passed[1]} evaluated, {passed[2]} skipped")
ok("no findings, no table of them", "| | law |" not in text)
with h5py.File("m.h5") as recording:
    columns = [recording["checks/laws/" + name][:] for name in ("name", "verdict")]
    stated = {name.decode(): verdict.decode() for name, verdict in zip(*columns)}
table = laws(text)
table.pop("law"), table.pop("---")
equal("the laws are those that were stored", table, stated)
exits(1, "a broken one", "run", LEAK, "-o", "leak.h5")
result = exits(0, "its summary as a file", "report", "leak.h5", "--markdown", "-o",
               "leak.md")
equal("stdout names it", result.out, "leak.md\n")
text = read("leak.md").decode()
holds("laws, place and words of the finding", text, "### txdiag: 2 of ",
      "| **fail** | causality | <code>layers.0.attn.weights</code> |",
      "query 5 sees key 6", "planted: mask_off_by_one layers=0 queries=5",
      "| causality | **fail** |")
ok("findings come before the laws",
   text.index("query 5 sees") < text.index("<details>"))
ok("it fits a comment", len(text) < 60000)
exits(0, "an earlier summary is replaced", "report", "leak.h5", "--markdown", "-o",
      "leak.md")
write("notes.md", "my notes\n")
exits(2, "what is not ours is not", "report", "leak.h5", "--markdown", "-o", "notes.md")
ok("it is untouched", read("notes.md") == b"my notes\n")
exits(2, "nor is the recording", "report", "leak.h5", "--markdown", "-o", "leak.h5",
      "--force")
exits(0, "the same in bfloat16", "run", MINI, "--backend", "bf16", "-o", "b.h5",
      "--set", RECORD)
text = exits(0, "both", "report", "m.h5", "b.h5", "--markdown").out
row = re.search(r"\| <code>layers\.&#42;\.attn\.weights</code> \| "
                r"([-\de.]+) \| (\d) \|", text)
ok("errors stand in a table", row and 1e-4 < float(row[1]) < 0.1, text)
holds("against the finer format", text, "Relative errors of <code>b.h5</code> (bf16) "
      "against <code>m.h5</code> (float32)")
finish()
