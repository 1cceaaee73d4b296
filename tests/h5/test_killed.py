#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The program killed at any moment: h5py opens what it left and finds every whole step
as the undisturbed run has it. The same after a disk was full."""
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import (PROGRAM, exits, finish, holds, ok, txdiag,  # noqa: E402
                     write)

import h5py  # noqa: E402
import numpy  # noqa: E402

STEPS = 200
write("long.cfg", f"""model : {{ preset = "mini"; vocab = 64; d_model = 32; n_heads = 4;
  n_layers = 3; d_ff = 64; max_seq_len = 48; }};
input : {{ random : {{ batch = 2; length = 48; }}; steps = {STEPS}; }};
""")
exits(0, "the undisturbed run", "run", "long.cfg", "-q", "-o", "whole.h5")
whole = h5py.File("whole.h5")


def started():
    return subprocess.Popen([PROGRAM, "run", "long.cfg", "-q", "-o", "cut.h5"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def differences(cut):
    """Datasets whose first steps are not those of the undisturbed run."""
    steps = int(cut.attrs["steps"])
    wrong = []

    def visit(name, item):
        if not isinstance(item, h5py.Dataset) or name.startswith("dims/") or \
                item.attrs["axes"][:1] != "s":
            return
        here = max(0, steps - int(item.attrs.get("first_step", 0)))
        if name + ".1" in cut:
            here = min(here, int(cut[name + ".1"].attrs["first_step"]))
        if here > 0 and (item.shape[0] < here or not numpy.array_equal(
                item[:here], whole[name][:here], equal_nan=True)):
            wrong.append(name)
    cut.visititems(visit)
    return wrong


def lines():
    try:
        with open("cut.h5.jsonl", encoding="utf-8") as file:
            return file.read().count("\n")
    except FileNotFoundError:
        return 0


seen = set()
for wanted in (1, 3, 9, 20, 50, 90, 140):
    if os.path.exists("cut.h5.jsonl"):
        os.unlink("cut.h5.jsonl")
    run = started()
    while lines() < wanted and run.poll() is None:
        time.sleep(0.0005)
    run.send_signal(signal.SIGKILL)
    run.wait()
    if not os.path.exists("cut.h5.part"):
        continue  # it was faster; the last test counts the kills
    with h5py.File("cut.h5.part") as file:
        told, count = lines(), int(file.attrs["steps"])
        ok(f"killed after step {wanted}: the file has all steps that were told",
           count >= told and file.attrs["complete"] == 0, f"{count} of {told}")
        ok(f"{count} steps are those of the undisturbed run", not differences(file),
           differences(file))
        seen.add(count)
ok("the kills fell into different steps", len(seen) >= 4, seen)
check = exits(0, "check judges what is there", "check", "cut.h5")
holds("and says that it is not whole", check.out + check.err, "cut.h5.part")

# A disk that fills up: what was flushed before stays. A limit on file sizes is one that
# ends anywhere, also within what a flush adds to the end of the file.
write("small.cfg", """model : { preset = "gpt2"; vocab = 100; d_model = 8; n_heads = 2;
  n_layers = 1; max_seq_len = 150; };
input : { random : { batch = 1; length = 150; }; steps = 4; };
record : ( { probe = "full"; points = "*.attn.weights,*.attn.q,logits"; },
  { probe = "rows"; }, { probe = "stats"; }, { probe = "leaks"; } );
recording : { storage = "f16"; compression = "deflate"; };
faults : ( { name = "mask_off_by_one"; } );
""")
exits(1, "an undisturbed run", "run", "small.cfg", "-o", "room.h5")
size = os.path.getsize("room.h5")
whole = h5py.File("room.h5")
spoilt, kept = [], set()
for limit in range(size - 60 * 6001, size, 6001):
    result = txdiag("run", "small.cfg", "-o", "cut.h5", file_limit=limit)
    if result.status != 2:
        spoilt.append(f"{limit}: exit {result.status}")
    said = re.search(r"cut\.h5\.part holds (\d) of 4 steps", result.err)
    if os.path.exists("cut.h5.part") != bool(said):
        spoilt.append(f"{limit}: {result.err}")
    if not said:
        continue
    try:
        with h5py.File("cut.h5.part") as file:
            kept.add(int(file.attrs["steps"]))
            if file.attrs["steps"] < int(said[1]) or differences(file):
                spoilt.append(f"{limit}: {differences(file)}")
    except OSError as error:
        spoilt.append(f"{limit}: {said[1]} steps, {error}")
    os.unlink("cut.h5.part")
ok("steps that were flushed before the disk was full can be read", not spoilt,
   "\n".join(spoilt))
ok("some of them", len(kept) >= 2, kept)
finish()
