#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Gradients in a recording are those that numpy works out from the recorded values, and
every number about them is of the very same gradients; there are none where `record`
names none; what was recorded is judged as it was when it ran."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
import h5py  # noqa: E402
import numpy as np  # noqa: E402
from program import equal, exits, finish, holds, ok, write  # noqa: E402

HEADS, WIDTH, LAYERS = 3, 24, 2
MODEL = f"""model : {{ preset = "gpt2"; vocab = 29; d_model = {WIDTH};
  n_heads = {HEADS}; n_layers = {LAYERS}; d_ff = 40; max_seq_len = 16;
  tie_embeddings = false; }};
weights : {{ init = ( {{ params = "*"; scheme = "normal"; std = 0.2; }} ); }};
input : {{ tokens = ( [3, 1, 4, 15, 9, 2, 6, 5], [8, 9, 7, 9, 3] ); }};
"""
ALL = """record : ( { probe = "full"; points = "*,*@grad"; }, { probe = "grad_norm"; },
  { probe = "stats"; points = "*@grad"; }, { probe = "norms"; points = "*,*@grad"; } );
"""
write("all.cfg", MODEL + ALL)
write("norms.cfg", MODEL + 'record : ( { probe = "grad_norm"; } );\n')
write("none.cfg", MODEL + 'record : ( { probe = "full"; points = "*"; } );\n')


def run(name):
    exits(0, f"{name}.cfg runs", "run", f"{name}.cfg", "-q", "-o", f"{name}.h5")
    return h5py.File(f"{name}.h5", "r")


def value(path):
    """The only step, in double."""
    return file[path][0].astype(np.float64)


def close(name, found, expected, of=1e-5):
    gap = np.abs(np.asarray(found) - np.asarray(expected)).max()
    ok(name, gap <= of * np.abs(expected).max(), f"{gap} apart")


def rows(series):
    names = [text.decode() for text in file[f"series/{series}_sites"][...]]
    fields = file[f"series/{series}"].attrs["fields"].split(",")
    return {site: dict(zip(fields, row))
            for site, row in zip(names, file[f"series/{series}"][0])}


def counted(site):
    """The elements of a recorded gradient that are of a token, and not hidden."""
    path = "grad/" + site[:-len("@grad")].replace(".", "/") + "/full"
    found, axes = value(path), file[path].attrs["axes"][1:]
    keep = np.ones(found.shape, bool)
    if "r" in axes:
        return found[keep]
    shape = [1] * found.ndim
    for axis, letter in enumerate(axes):
        if letter in "tq" or (letter == "k" and "q" not in axes):
            shape[0], shape[axis] = valid.shape
    keep &= valid.reshape(shape)
    if axes.endswith("qk"):
        keep &= np.tri(found.shape[-1], dtype=bool) & valid[:, None, None, :]
    if site == "loss.token@grad":
        keep &= target
    return found[keep]


# --- the way back, worked out again
file = run("all")
valid = file["input/valid"][0] == 1
labels = file["input/labels"][0]
target = labels >= 0
pairs = target.sum()
logits = value("value/logits/full")
chance = np.exp(logits - logits.max(-1, keepdims=True))
chance /= chance.sum(-1, keepdims=True)
chance[target, labels[target]] -= 1
chance[~target] = 0
close("the loss's gradient: softmax less the target, over the pairs",
      value("grad/logits/full"), chance / pairs)
close("every pair's loss weighs the same", value("grad/loss/token/full"),
      target / pairs)
close("the head's: what came down times what it read", value("grad/head/weight/full"),
      np.einsum("btv,btd->vd", chance / pairs, value("value/final/norm/full")))
for layer in range(LAYERS):
    down, back = f"value/layers/{layer}/attn", f"grad/layers/{layer}/attn"
    weights, came = value(f"{down}/weights/full"), value(f"{back}/heads/full")
    close(f"layer {layer}, values: weights times what came down",
          value(f"{back}/v/full"), np.einsum("bhqk,bhqf->bhkf", weights, came))
    slope = np.einsum("bhqf,bhkf->bhqk", came, value(f"{down}/v/full"))
    slope = weights * (slope - (weights * slope).sum(-1, keepdims=True))
    close(f"layer {layer}, masked scores: through the softmax",
          value(f"{back}/masked/full"), slope)
    close(f"layer {layer}, queries: slopes times keys", value(f"{back}/q/full"),
          np.einsum("bhqk,bhke->bhqe", slope, value(f"{down}/k/full"))
          / np.sqrt(WIDTH / HEADS))
    resid = f"grad/layers/{layer}/resid"
    close(f"layer {layer}: the stream and the branch have the same gradient",
          value(f"{resid}/post/full"), value(f"grad/layers/{layer}/mlp/branch/full"))
equal("queries are (s, b, h, q, e)", file["grad/layers/0/attn/q/full"].attrs["axes"],
      "sbhqe")
equal("of a parameter there are rows and columns",
      file["grad/head/weight/full"].attrs["axes"], "src")

# --- every number about them
norms, stats, kinds = rows("grad_norm"), rows("stats"), rows("param_grad")
wrong, summed = [], {"parameters@grad": 0}
for site, row in norms.items():
    if site == "parameters@grad" or site.count(".") == 1 and site[:7] == "layers.":
        continue
    x = counted(site)
    expected = {"count": x.size, "l2": np.linalg.norm(x), "zeros": np.mean(x == 0),
                "rms": np.sqrt(np.mean(x * x)), "max_abs": np.abs(x).max(),
                "nonfinite": 0}
    if site in kinds:
        square = expected["l2"] ** 2
        summed["parameters@grad"] += square
        if site.startswith("layers."):
            group = ".".join(site.split(".")[:2]) + "@grad"
            summed[group] = summed.get(group, 0) + square
    if not all(np.isclose(row[name], one, rtol=1e-6, atol=0)
               for name, one in expected.items()):
        wrong.append((site, row, expected))
    of = stats.get(site) or kinds.get(site)
    if (of["count"], of["nonfinite"]) != (x.size, 0) or \
            not np.isclose(of["rms"], expected["rms"], rtol=1e-6, atol=0):
        wrong.append((site, of, expected))
ok(f"{len(norms)} rows of grad_norm, and those of stats and param_grad, are of the "
   "recorded gradients", len(norms) > 75 and not wrong, wrong[:3])
equal("layers and the model have sums", sorted(summed), ["layers.0@grad",
      "layers.1@grad", "parameters@grad"])
for group, square in summed.items():
    close(f"{group}: of all its parameters", norms[group]["l2"], np.sqrt(square))
close("/steps has the norm of all", file["steps/grad_norm"][0],
      norms["parameters@grad"]["l2"])
with open("all.h5.jsonl") as log:
    line = json.loads(log.readline())
equal("the log, too", line["grad_norm"], file["steps/grad_norm"][0])
with h5py.File("all.h5", "r") as again:
    equal("the step had a way back", again["steps/kind"][0], b"backward")

# --- what is asked for, and no more
told = exits(0, "without -q", "run", "norms.cfg", "-o", "norms.h5").err
holds("the loss and the norm stand at the end", told, f"loss {line['loss']:.4g}, "
      f"gradient norm {line['grad_norm']:.4g}")
with h5py.File("norms.h5", "r") as short:
    ok("norms alone: no gradient itself", "grad" not in short and
       np.array_equal(short["series/grad_norm"], file["series/grad_norm"]))
with run("none") as none:
    ok("no gradient named: none computed", "grad" not in none and
       "series/grad_norm" not in none and np.isnan(none["steps/grad_norm"][0]) and
       none["steps/kind"][0] == b"forward")
listed = exits(0, "the plan", "run", "all.cfg", "--dry-run").out.split()
found = []
file["grad"].visititems(lambda name, item: found.append(name)
                        if isinstance(item, h5py.Dataset) else None)
equal("the plan lists the gradients that come", sorted(name for name in listed
      if name.endswith("@grad")), sorted(
          name[:-len("/full")].replace("/", ".") + "@grad"
          for name in found))

# --- where no token predicts another
write("alone.cfg", MODEL.split("input")[0] + """input : { tokens = ( [3], [8] ); };
record : ( { probe = "grad_norm"; } );
""")
alone = exits(0, "tokens that stand alone", "run", "alone.cfg", "-o", "alone.h5")
holds("have no loss", alone.err, "no token predicts another: there is no loss")
ok("which is not told as NaN", "nan" not in alone.err, alone.err)
for law in ("grad_range", "grad_row_sum", "loss_token"):
    ok(f"{law} has nothing to judge",
       re.search(rf"^SKIP (.*so too: .*)?\b{law}\b", alone.out, re.M), alone.out)
holds("no chart of it", exits(2, "a chart of the loss", "plot", "alone.h5",
                              "steps/loss", "-o", "a.png").err, "there is no loss")
holds("a loss is told without gradients, too",
      exits(0, "a run without", "run", "none.cfg", "-o", "none.h5").err, "loss ")

# --- judged again
FACTS = ("verdict", "evaluated", "worst", "allowed")


def judged(path, laws):
    report = json.loads(exits(0, f"check {path}", "check", path, "--format",
                              "json").out)["files"][0]
    found = {law["check"]: law for law in report["results"] if law["check"] in laws}
    return {law: {name: found[law][name] for name in FACTS} for law in laws}


def when_it_ran(path, laws):
    with h5py.File(path, "r") as recording:
        stored = recording["checks/laws"]
        names = [text.decode() for text in stored["name"][...]]
        return {law: {name: stored[name][names.index(law)] for name in FACTS}
                for law in laws}


for path, laws in (("all.h5", ("finite", "grad_range", "grad_row_sum", "loss_token")),
                   ("norms.h5", ("grad_range",))):
    later, live = judged(path, laws), when_it_ran(path, laws)
    for law in laws:
        live[law]["verdict"] = live[law]["verdict"].decode()
        for name, one in live[law].items():
            again = later[law][name]
            ok(f"{path}: {law}, {name}: as it was", again == one or
               name == "worst" and np.isclose(again, one, rtol=1e-12, atol=0),
               f"{again}, was {one}")
        equal(f"{path}: {law} holds", later[law]["verdict"], "pass")
finish()
