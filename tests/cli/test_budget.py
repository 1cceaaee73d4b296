#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""recording.max_bytes: the file stays below it, what was thinned is said wherever
somebody looks, and what is there is what it was."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import equal, exits, finish, holds, ok, read, write  # noqa: E402

import h5py  # noqa: E402
import numpy  # noqa: E402

write("model.cfg", """model : { preset = "mini"; vocab = 200; d_model = 32;
  n_heads = 4; n_layers = 4; d_ff = 64; max_seq_len = 300; };
input : { random : { batch = 1; length = 300; }; steps = 8; };
record : ( { probe = "full"; points = "*.attn.weights,*.attn.q,logits"; },
  { probe = "full"; points = "layers.1.resid.post"; steps = "0:6"; },
  { probe = "rows"; } );
""")


def run(output, *more, status=0):
    return exits(status, f"{output} runs", "run", "model.cfg", "-o", output, *more)


def size_of(*more):
    dry = exits(0, "the dry run", "run", "model.cfg", "--dry-run", *more)
    return int(re.search(r"^on disk +(\d+) bytes", dry.out, re.M).group(1)), dry


def said(result):
    return re.findall(r"recording\.max_bytes: (.*)", result.err)


def limit(count):
    return "--set", f"recording.max_bytes={count}"


whole, _ = size_of()
result = run("whole.h5")
equal("without a limit nothing is said", said(result), [])
result = run("roomy.h5", *limit(whole))
equal("nor with one that is large enough", said(result), [])
with h5py.File("roomy.h5") as file:
    ok("nor in the file", "budget" not in file.attrs)

for share in (0.7, 0.3, 0.1):
    most = int(whole * share)
    name = f"share{share}.h5"
    result = run(name, *limit(most))
    lines = said(result)
    ok(f"{share} of it: the file is smaller", os.path.getsize(name) <= most,
       f"{os.path.getsize(name)} of {most}")
    ok("but not empty", os.path.getsize(name) > 0.25 * most, os.path.getsize(name))
    thinned = [line for line in lines if re.fullmatch(
        r"layers\.\*\.attn\.weights: (every \d+(nd|th) step|left out)", line)]
    ok("the largest is thinned", len(thinned) == 1, lines)
    with h5py.File(name) as file, h5py.File("whole.h5") as full:
        equal("the file says it", file.attrs["budget"], "; ".join(lines))
        wrong = []
        kept = 0
        values = []
        full["value"].visititems(lambda n, i: values.append("value/" + n)
                                 if isinstance(i, h5py.Dataset) else None)
        for value in values:
            for step in range(full[value].shape[0]):
                was = full[value][step]
                now = file[value][step] if value in file and \
                    step < file[value].shape[0] else None
                if now is None or numpy.isnan(now).all():
                    continue
                kept += 1
                if not numpy.array_equal(now, was, equal_nan=True):
                    wrong.append((value, step))
        ok("what is there is what was", not wrong and kept > 0, wrong)
        ok("rows are whole", numpy.array_equal(
            file["rows/entropy"][:], full["rows/entropy"][:], equal_nan=True))
    result = exits(0, "info", "info", name)
    holds("says it", result.out, "budget", lines[0])
    result = exits(0, "check", "check", name, "--only", "row_sum,causality")
    holds("judges what is there", result.out, "PASS row_sum ")
    estimate, dry = size_of(*limit(most))
    ok("the dry run says what will be there", estimate <= most and
       said(dry) == lines, said(dry))

# Room is kept for what is found to be wrong, which takes none where nothing is.
EVENTS = ("--set", 'record=({probe="full";points="*.attn.weights,*.attn.q,logits";},'
          '{probe="nonfinite";},{probe="leaks";})')
for faults in ("mask_missing", "nan_in_weights"):
    FAULT = ("--set", f'faults=({{name="{faults}";}})')
    whole, dry = size_of(*EVENTS, *FAULT)
    wrong = int(re.search(r"^if wrong +up to (\d+) bytes", dry.out, re.M).group(1))
    for most in (whole, whole + wrong):
        result = run("events.h5", *EVENTS, *limit(most), *FAULT, status=1)
        with h5py.File("events.h5") as file:
            ok(f"{faults} is listed", "leaks" in file["events"] or
               "nonfinite" in file["events"])
        ok("within the limit", os.path.getsize("events.h5") <= most,
           f"{os.path.getsize('events.h5')} of {most}")
        equal("for which something is left out, if need be", bool(said(result)),
              most == whole)
ok("no room where nobody lists", "if wrong" not in size_of()[1].out)

# With one step layers go, then the point.
ONE = ("--set", "input.steps=1")
whole, _ = size_of(*ONE)
result = run("layers.h5", *ONE, *limit(int(whole * 0.75)), status=0)
with h5py.File("layers.h5") as file:
    there = [layer for layer in range(4) if f"value/layers/{layer}/attn/weights/full"
             in file]
    equal("every second layer is there", there, [0, 2])
equal("and said", said(result), ["layers.*.attn.weights: every 2nd layer"])
result = exits(0, "its laws", "check", "layers.h5", "--only", "heads_distinct")
holds("say which layers", result.out, "judged in 2 of 4 layers",
      "recording.max_bytes: layers.*.attn.weights: every 2nd layer")

bare, _ = size_of(*ONE, "--set", 'record=({probe="rows";})')
result = run("bare.h5", *ONE, *limit(bare + 1000))
holds("what does not fit is left out", result.err, "layers.*.attn.weights: left out",
      "logits: left out")
with h5py.File("bare.h5") as file:
    ok("and is not there", "value" not in file)
result = exits(77, "its laws", "check", "bare.h5", "--only", "heads_distinct")
holds("say why they are skipped", result.out, "not recorded: attn.weights",
      "recording.max_bytes: ")
result = exits(77, "a law that lacks what nobody asked for", "check", "bare.h5",
               "--only", "mask_fill")
ok("does not blame the limit", "max_bytes" not in result.out, result.out)
result = exits(0, "a law that judged what is left", "check", "layers.h5", "--only",
               "finite")
holds("says what was thinned", result.out, "PASS finite",
      "recording.max_bytes: layers.*.attn.weights: every 2nd layer")

# What is in the way is said where the refusal sends people.
result = exits(2, "a dry run with a limit that nothing fits", "run", "model.cfg",
               "--dry-run", *ONE, *limit(1000))
holds("refuses, ", result.err, "recording.max_bytes is 1000")
holds("and lists what would be recorded", result.out, "attn.weights", "rows/entropy",
      "on disk")

# Every n-th of n-th is one, however large n is.
result = run("far.h5", *ONE, "--set",
             'record=({probe="full";points="*.attn.weights";'
             'layers="0::4611686018427387904";},{probe="rows";})', *limit(bare + 1000))
holds("every 2^62nd of every 2nd, 4th, ... layer", result.err,
      "layers.*.attn.weights: left out")

before = read("bare.h5")
result = run("bare.h5", *ONE, *limit(bare // 2), status=2)
holds("what cannot be done is refused", result.err, "max_bytes", str(bare // 2))
equal("and the old file stays", read("bare.h5"), before)
exits(2, "nor can 0 bytes", "run", "model.cfg", "-o", "x.h5", *limit(0))
result = run("large.h5", *limit("20000000000L"))
equal("large limits are numbers, too", said(result), [])

# Gradients and parameters are points like any others.
result = run("gradients.h5", *ONE, "--set",
             'record=({probe="full";points="layers.*.attn.o.weight@grad,'
             'layers.*.attn.weights@grad";},{probe="rows";})', *limit(bare + 900000))
with h5py.File("gradients.h5") as file:
    ok("gradients are thinned", said(result) and
       said(result)[0].startswith("layers.*.attn.weights@grad: ") and
       "grad/layers/0/attn/o/weight/full" in file, said(result))
finish()
