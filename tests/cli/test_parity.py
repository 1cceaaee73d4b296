#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The laws on every model of docs/parity.md: none is broken, live and from the
recording of all values, with a backward half too where they are not GGUF. The models
are drawn at random: what laws say of training is no failure."""
import json
import os
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
import numpy  # noqa: E402
from program import SOURCE, equal, finish, ok, read, txdiag, write  # noqa: E402

FIXTURES = os.path.join(SOURCE, "tests/fixtures/parity")


def ids_of(path):
    """The integer tensors of a safetensors file."""
    data = read(path)
    length, = struct.unpack("<Q", data[:8])
    out = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if entry.get("dtype") == "I32":
            first, end = (8 + length + n for n in entry["data_offsets"])
            out[name] = numpy.frombuffer(data[first:end], "<i4").reshape(entry["shape"])
    return out


def rows_of(tokens, valid):
    rows = [list(map(int, row[real == 1])) for row, real in zip(tokens, valid)]
    return "( " + ", ".join(f"{row}" for row in rows) + " )"


def side(valid):
    return "left" if (valid[:, 0] == 0).any() else "right"


def input_of(ids):
    """The `input` group of the pass that the golden values are of."""
    valid = ids["input.valid"]
    text = (f"tokens = {rows_of(ids['input.tokens'], valid)}; "
            f'pad = "{side(valid)}"; ')
    if "input.types" in ids:
        text += f"types = {rows_of(ids['input.types'], valid)}; "
    if "encoder.input.tokens" in ids:
        valid = ids["encoder.input.valid"]
        text += (f"memory = {{ tokens = {rows_of(ids['encoder.input.tokens'], valid)};"
                 f' pad = "{side(valid)}"; }}; ')
    return text


RECORD = {
    "forward": '( { probe = "full"; points = "*"; }, { probe = "rows"; } )',
    "backward": '( { probe = "full"; points = "*,*@grad"; }, { probe = "rows"; } )',
}


def judge(name, path, ids, kind):
    write(f"{name}.cfg", f'model : {{ from = "{path}"; }};\n'
          f"input : {{ {input_of(ids)} }};\nrecord : {RECORD[kind]};\n")
    verdicts = []
    for how in (("run", f"{name}.cfg", "-o", f"{name}.h5"), ("check", f"{name}.h5")):
        result = txdiag(*how)
        ok(f"{name}, {kind}: {how[0]}: no law is broken", result.status == 0, result)
        ok(f"{name}, {kind}: {how[0]}: every law that applies has something to judge",
           "nothing to judge" not in result.out, result.out)
        verdicts.append({law: verdict for verdict, law in re.findall(
            r"^(PASS|WARN|INFO|FAIL|BROKEN)\s+(\w+)", result.out, re.M)})
    live, replayed = verdicts  # which lacks parameters, and laws that need them
    ok(f"{name}, {kind}: laws were evaluated", len(live) > 17, live)
    ok(f"{name}, {kind}: and from the recording", len(replayed) > 12, replayed)
    equal(f"{name}, {kind}: the recording gives the verdicts of the run", replayed,
          {law: live.get(law) for law in replayed})


models = re.findall(r"^\| (\w+)(?:/([\w.]+))? \|", read(
    os.path.join(SOURCE, "docs/parity.md")).decode(), re.M)
models = [m for m in models if m[0] != "model"]
ok("docs/parity.md names models", len(models) > 0)
for folder, file in models:
    where = os.path.join(FIXTURES, folder)
    fixture = ids_of(os.path.join(where, "golden.safetensors"))
    judge((folder + "-" + file).rstrip("-"), os.path.join(where, file), fixture,
          "forward" if file else "backward")
finish()
