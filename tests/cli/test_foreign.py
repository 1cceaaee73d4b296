#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Recordings that another program writes: what people get wrong in them is told with
what is missing, and never taken for a model that holds."""
import json
import os
import re
import sys
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
import h5py  # noqa: E402
import numpy as np  # noqa: E402
from program import equal, exits, finish, holds, ok  # noqa: E402

CONFIG = """model : { preset = "gpt2"; vocab = 100; d_model = 32; n_heads = 4;
  n_layers = 2; max_seq_len = 64; };"""
ATTRIBUTES = {"txdiag_schema": 1, "dtype": "float32", "config": CONFIG}
NAMES = [f"value/layers/{layer}/attn/weights/full" for layer in range(2)]
scores = np.random.default_rng(1).normal(size=(2, 4, 8, 8))  # batch, head, query, key
WEIGHTS = np.exp(np.where(np.tri(8) == 1, scores, -np.inf))
WEIGHTS = (WEIGHTS / WEIGHTS.sum(-1, keepdims=True))[None].astype("float32")


def write(path, names=NAMES, value=WEIGHTS, more=None, **attributes):
    with h5py.File(path, "w") as file:
        for name, what in {**ATTRIBUTES, **attributes}.items():
            if what is not None:
                file.attrs[name] = what
        for name in names:
            file[name] = value
        for name, what in (more or {}).items():
            file[name] = what


def refuses(what, *parts, **how):
    write("own.h5", **how)
    result = exits(2, f"{what}: exit 2", "check", "own.h5")
    holds(f"{what}: the message says what", result.err, "own.h5", *parts)
    ok(f"{what}: nothing is judged", result.out == "", result.out)


write("own.h5")
good = exits(0, "what is as it should be", "check", "own.h5")
ok("nothing is said of it", good.err == "", good.err)
holds("it is judged", good.out, "PASS row_sum", "PASS causality")
ok("what it lacks is named", good.out.count(" not recorded: ") >= 10 and
   "offered nothing" not in good.out, good.out)
leak = WEIGHTS.copy()
leak[0, 1, 2, 3, 4:6] = leak[0, 1, 2, 3, 3], 0.25
write("leak.h5", NAMES[:1], leak)
exits(0, "its report", "report", "leak.h5", "-o", "page")
page = open("page/index.html", encoding="utf-8").read()
holds("a report judges what nobody has judged", page, "key 4", "laws broken</p>",
      "for this page: the recording carries no verdicts", 'href="#figure-')
told = exits(0, "in Markdown", "report", "leak.h5", "--markdown")
holds("so does its summary", told.out, "laws broken", "| causality |",
      "judged for this summary")
held = exits(0, "of what holds", "report", "own.h5", "--markdown")
holds("it says that it held", held.out, "### txdiag: no law broken")
write("none.h5", config=None)
none = exits(0, "of what cannot be judged", "report", "none.h5", "--markdown")
holds("the reason is said", none.err, "not judged: ")
holds("it is no verdict", none.out, "not judged (the recording carries no verdicts)")
write("own.h5", more={"loss_history": np.zeros(3), "value/layers/0/attn/q": WEIGHTS})
named = exits(0, "names that are none", "check", "own.h5")
WORDS = "2 datasets of no known name were not read, the first is loss_history"
holds("are counted, and the first is said", named.out, f"\nwarning: {WORDS}; ",
      "value/layers/0/attn/weights/full")
equal("the verdicts are the same", re.sub("\nwarning: .*", "", named.out), good.out)
exits(1, "a warning counts under --strict", "check", "own.h5", "--strict")
for form in ("text", "json", "junit", "tap", "sarif"):
    for strict, status in (((), 0), (("--strict",), 1)):
        result = exits(status, f"{form}{strict}: the exit status", "check", "own.h5",
                       "--format", form, *strict)
        holds(f"{form}{strict}: stands in the report", result.out, WORDS)
        if form == "json":
            file, = json.loads(result.out)["files"]
            equal(f"JSON{strict}: a key", (file["warning"][:len(WORDS)], file["exit"]),
                  (WORDS, status))
        if form == "junit":
            suite, = ElementTree.fromstring(result.out)
            equal(f"JUnit{strict}: a test", [
                case[0].tag for case in suite if case.get("name") ==
                "everything was read"], ["failure" if strict else "system-out"])
            equal(f"JUnit{strict}: its counts", (int(suite.get("tests")),
                                                 int(suite.get("failures"))),
                  (len(suite), status))
        if form == "tap":
            holds(f"TAP{strict}: a test", result.out, "\n" + "not " * status + "ok ",
                  " - own.h5: everything was read\n")
        if form == "sarif":
            ran = json.loads(result.out)["runs"][0]["invocations"][0]
            equal(f"SARIF{strict}: a notification", (ran["executionSuccessful"], [
                notice["level"] for notice in ran["toolExecutionNotifications"]]),
                  (True, ["error" if strict else "warning"]))
        if form != "text":
            holds(f"{form}{strict}: the total", result.err, "; 1 file warned of\n")

refuses("no step", "expected 5 axes (step, batch, head, query, key), found 4",
        "(2, 4, 8, 8)", "value[None]", value=WEIGHTS[0])
refuses("other heads", "(1, 2, 4, 8, 8)", "(1, 2, 3, 8, 8)", value=WEIGHTS[:, :, :3])
refuses("PyTorch's name of a dtype", '"dtype"', "torch.float32", "bf16",
        dtype="torch.float32")
refuses("fewer digits than it says", "float16", 'dtype = "float16"',
        value=WEIGHTS.astype("float16"))
refuses("fewer digits, and nothing said", "is missing, that is float32",
        value=WEIGHTS.astype("float16"), dtype=None)
refuses("integers", "floating-point", "int32", value=WEIGHTS.astype("int32"))
refuses("a key that there is not", "d_modell", "nearest: d_model",
        config=CONFIG.replace("d_model", "d_modell"))
refuses("a key that would go unnoticed", "casual", "nearest: causal",
        config=CONFIG + " mask : { casual = false; };")
refuses("a layer too many", "layers.2.attn.weights", "n_layers = 2",
        names=NAMES + ["value/layers/2/attn/weights/full"])
refuses("cross-attention that is not claimed", "model.cross = true",
        more={"value/layers/0/cross/weights/full": WEIGHTS})
refuses("no configuration", '"config"', config=None)
write("half.h5", value=WEIGHTS.astype("float16"), dtype="float16")
exits(0, "float16 that says so", "check", "half.h5")
write("double.h5", value=WEIGHTS.astype("float64"))
exits(0, "more digits than are claimed", "check", "double.h5")
write("rest.h5", config=CONFIG + ' checks : { }; note = "mine";')
exits(0, "keys of nobody", "check", "rest.h5")
finish()
