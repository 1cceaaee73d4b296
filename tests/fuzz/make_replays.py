#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the seeds of fuzz_replay that are recordings of very small models: in the text
of fuzz_replay.c. usage: make_replays.py TXDIAG"""
import os
import subprocess
import sys
import tempfile

import h5py
import numpy

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "replay")
MODEL = """version = 1; seed = 1;
model : { preset = "%s"; vocab = 6; d_model = 4; n_heads = 2; d_ff = 4; n_layers = %d;
  max_seq_len = 8; %s };
input : { tokens = ( [1, 5, 2, 3], [4, 2] ); %s };
"""
MEMORY = "memory : { tokens = ( [3, 1, 2], [5, 4] ); };"
ALL = ", ".join('{ probe = "%s"; }' % name for name in (
    "rows", "stats", "norms", "nonfinite", "leaks", "pooled"))
CFGS = {
    "run_cross": MODEL % ("llama", 1, "cross = true; encoder_layers = 1;", MEMORY) +
                 'record : ( { probe = "full"; points = "*"; }, %s );' % ALL,
    "run_gradients": MODEL % ("gpt2", 1, "", "steps = 2; ") +
                     'record : ( { probe = "full"; points = "layers.0.*@grad"; }, '
                     '{ probe = "grad_norm"; }, %s );' % ALL,
    "run_leak": MODEL % ("mini", 2, "", "") + "record : ( %s );" % ALL +
                'faults : ( { name = "mask_off_by_one"; layers = "0"; } );',
}
NOT_ALIKE = ("= created", "= command", "= blas")  # in two runs, on two machines
LETTERS = {"f4": "f", "f8": "d", "f2": "h", "i4": "i", "i8": "l", "u1": "u"}


def text_of(value):
    if isinstance(value, bytes):
        value = value.decode()
    return str(value).replace("\n", "|").replace("\t", "~")


def name_of(path):
    for front, end in (("value/", ""), ("grad/", "@grad")):
        if path.startswith(front) and path.endswith("/full"):
            return path[len(front):-len("/full")].replace("/", ".") + end
    return path


def lines_of(file):
    for key, value in file.attrs.items():
        yield "= %s %s" % (key, text_of(value))
    found = []
    file.visititems(lambda path, item: found.append((path, item)))
    for path, item in found:
        if not isinstance(item, h5py.Dataset) or path.startswith("dims/"):
            continue
        if "fields" in item.attrs:
            yield "= %s:fields %s" % (path, text_of(item.attrs["fields"]))
        letter = LETTERS.get(item.dtype.str[1:])
        if letter:
            values = ["%.6g" % x if letter in "fdh" else str(x)
                      for x in numpy.asarray(item).ravel()]
            yield " ".join([name_of(path), text_of(item.attrs.get("axes", "?")) or "?",
                            ",".join(map(str, item.shape)) or "1", letter] +
                           (values if len(set(values)) > 1 else values[:1]))
        elif item.ndim == 1:
            yield " ".join(["* " + path] + [text_of(x).replace(" ", "_") or "_"
                                            for x in item[:]])


with tempfile.TemporaryDirectory() as folder:
    for name, cfg in CFGS.items():
        source = os.path.join(folder, name + ".cfg")
        with open(source, "w", encoding="utf-8") as file:
            file.write(cfg)
        recorded = os.path.join(folder, name + ".h5")
        status = subprocess.run([sys.argv[1], "run", source, "-q", "-o", recorded],
                                stdout=subprocess.DEVNULL, check=False).returncode
        if status not in (0, 1):
            sys.exit("%s: exit status %d" % (name, status))
        with h5py.File(recorded) as file, \
                open(os.path.join(HERE, name), "w", encoding="utf-8") as out:
            out.write("\n".join(line for line in lines_of(file)
                                if not line.startswith(NOT_ALIKE)) +
                      "\n")
