#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""report REC.h5 OTHER.h5: the errors of bf16 and fp16 against float64 are those that
numpy finds in the two files; other models and tokens are refused by name."""
import os
import re
import shutil
import sys

import h5py
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import (SOURCE, exits, finish, holds, model, ok,  # noqa: E402
                     read, skip, write)

POINTS = ("layers.*.resid.post,layers.*.attn.k,layers.*.attn.masked,"
          "layers.*.attn.weights,logits,loss.token,layers.*.resid.pre@grad,"
          "layers.*.attn.weights@grad,layers.*.mlp.down.weight@grad")
RECORD = """
record = ( { probe = "full"; points = "%s"; }, { probe = "rows"; },
           { probe = "stats"; }, { probe = "norms"; } );
"""
INPUT = """input : { tokens = ( [1, 403, 7, 261, 55, 310, 12, 403, 7, 98],
                     [1, 9, 120, 77, 400] ); pad = "right"; };
"""
DRAWN = """model : { preset = "mini"; vocab = 512; d_model = 32; n_heads = 4;
          n_layers = 3; d_ff = 64; max_seq_len = 64; };
weights : { init = ( { params = "*"; scheme = "normal"; std = 0.2; } ); };
"""


def table(folder):
    """Of the page: {value: [worst, in roundoffs, layers ...]}."""
    page = read(folder + "/index.html").decode()
    part = page[page.index("<h2>Errors of"):]
    part = part[:part.index("</section>")]
    rows = {}
    for name, cells in re.findall(r'<tr><th scope="row">([^<]*)</th>(.*?)</tr>', part):
        rows[name] = re.findall(r'<td[^>]*>(?:<span[^>]*>)?([^<]*)', cells)
    return part, rows


def relative(files, path, part=lambda value: value, scales=(1, 1)):
    """|difference| / |reference| in the elements that `part` picks."""
    values = [part(file[path][0].astype(np.float64)) / scale
              for file, scale in zip(files, scales)]
    return np.linalg.norm(values[1] - values[0]) / np.linalg.norm(values[0])


def close(name, found, expected):
    ok(name, abs(float(found) - expected) <= 0.006 * expected,
       f"the page says {found}, numpy {expected}")


def check_numbers(rows, names, layers, scale):
    files = [h5py.File(name, "r") for name in names]
    valid = files[0]["input/valid"][0] == 1
    length = valid.shape[1]
    seen = (np.tril(np.ones((length, length), bool)) & valid[:, None, :]
            & valid[:, :, None])[:, None]

    def tokens(value):
        return value[valid]

    def keys(value):
        return np.moveaxis(value, 2, 1)[valid]

    def cells(value):
        return value[np.broadcast_to(seen, value.shape)]

    for layer in range(layers):
        column = 2 + layer
        base = f"layers/{layer}/"
        for name, part in (("resid/post", tokens), ("attn/k", keys),
                           ("attn/masked", cells), ("attn/weights", cells)):
            close(f"{name} of layer {layer}",
                  rows["layers.*." + name.replace("/", ".")][column],
                  relative(files, f"value/{base}{name}/full", part))
        for name, part in (("resid/pre", tokens), ("attn/weights", cells)):
            close(f"the gradient by {name} of layer {layer}",
                  rows["layers.*." + name.replace("/", ".") + "@grad"][column],
                  relative(files, f"grad/{base}{name}/full", part, (1, scale)))
        close(f"the gradient by a weight of layer {layer}",
              rows["layers.*.mlp.down.weight@grad"][column],
              relative(files, f"grad/{base}mlp/down/weight/full"))
    close("logits", rows["logits"][0],
          relative(files, "value/logits/full", tokens))
    close("losses", rows["loss.token"][0],
          relative(files, "value/loss/token/full", lambda v: v[~np.isnan(v)]))
    sites = files[0]["series/stats_sites"].asstr()[:].tolist()
    rms = files[0]["series/stats"].attrs["fields"].split(",").index("rms")
    at = sites.index("layers.1.attn.q")
    pair = [file["series/stats"][0, at, rms] for file in files]
    close("of what only has an rms, its difference",
          rows["layers.*.attn.q (rms alone)"][3], abs(pair[1] - pair[0]) / pair[0])
    for file in files:
        file.close()


def compare(title, source, layers):
    write("model.cfg", "version = 1; seed = 3;\n" + source + INPUT + RECORD % POINTS)
    exits(0, f"{title}: float64", "run", "model.cfg", "-o", "ref64.h5", "--backend",
          "ref64")
    for backend, unit, scale in (("bf16", 2.0**-8, 1), ("fp16", 2.0**-11, 1024)):
        exits(0, f"{title}: {backend}", "run", "model.cfg", "-o", backend + ".h5",
              "--backend", backend, "--set", f"precision.loss_scale={float(scale)}")
        exits(0, f"{title}: the page of {backend}", "report", backend + ".h5",
              "ref64.h5", "-o", "page", "--force")
        text, rows = table("page")
        holds("it says what is compared with what", text, "bf16.h5" if backend == "bf16"
              else "fp16.h5", "against <code>ref64.h5</code> (float64), the reference")
        ok("and draws it", "<img" in text)
        check_numbers(rows, ("ref64.h5", backend + ".h5"), layers, scale)
        worst, units = rows["logits"][:2]
        ok("errors are counted in roundoffs",
           abs(float(units) - float(worst) / unit) <= 0.02 * float(units) + 1e-3)
        exits(0, "in the other order", "report", "ref64.h5", backend + ".h5", "-o",
              "swapped")
        ok("the reference is the same", table("swapped")[1] == rows)


stories = model("stories260K")
if stories:
    compare("stories260K", f'model : {{ from = "{stories}"; }};\n', 5)
else:
    skip("stories260K", "no folder of real models")
compare("a drawn model", DRAWN, 3)

# --- cross-attention: its keys are rows of the memory, with a padding of their own
cross = SOURCE + "/examples/seeds/S26-encoder-decoder.cfg"
everything = 'record=({probe="full";points="*";})'
for backend in ("ref64", "bf16"):
    exits(0, f"cross-attention by {backend}", "run", cross, "-o", f"x-{backend}.h5",
          "--backend", backend, "--set", everything)
exits(0, "and its page", "report", "x-bf16.h5", "x-ref64.h5", "-o", "cross")
rows = table("cross")[1]
files = [h5py.File(f"x-{backend}.h5", "r") for backend in ("ref64", "bf16")]
real = files[0]["input/memory_valid"][0] == 1
tokens = files[0]["input/valid"][0] == 1
both = (tokens[:, :, None] & real[:, None, :])[:, None]
ok("some of the memory is padding, and some tokens", not real.all()
   and not tokens.all())
for layer in range(2):
    at = f"value/layers/{layer}/cross/"
    close(f"cross.k of layer {layer}", rows["layers.*.cross.k"][2 + layer],
          relative(files, at + "k/full", lambda v: np.moveaxis(v, 2, 1)[real]))
    close(f"cross.scores of layer {layer}", rows["layers.*.cross.scores"][2 + layer],
          relative(files, at + "scores/full",
                   lambda v: v[np.broadcast_to(both, v.shape)]))
for file in files:
    file.close()
exits(0, "weights over the memory", "plot", "x-ref64.h5", "layers.1.cross.weights",
      "--batch", "1", "--head", "0", "-o", "cross.svg")
words = " ".join(re.sub("<[^>]*>", " ", read("cross.svg").decode()).split())
holds("what is blank is padding of the memory", words, "memory row",
      "hidden by the claimed mask (padding of the memory)")
ok("nothing is marked", "Marked" not in words, words)
exits(0, "another memory", "run", cross, "-o", "memory.h5", "--set",
      "input.memory.tokens=([5,3,5,8,9,7,9,4],[2,3,8,4,6])")
found = exits(2, "is refused", "report", "memory.h5", "x-ref64.h5", "-o", "no")
holds("by name", found.err, "the memories differ: input/memory")

# --- what a line cannot show
shutil.copy("bf16.h5", "broken.h5")
with h5py.File("broken.h5", "r+") as file:
    file["value/layers/1/resid/post/full"][0, 0, 3, 5] = np.nan
    file["value/layers/2/resid/post/full"][0, 1, 7, 5] = np.nan  # of a padded token
exits(0, "a NaN in one of the two", "report", "broken.h5", "ref64.h5", "-o", "broken")
row = table("broken")[1]["layers.*.resid.post"]
ok("is called not finite in its layer", row[0] == row[3] == "not finite", row)
ok("not in others, nor where a token is padding", "not finite" not in (row[2], row[4]))
# --- two runs in one format
write("plain.cfg", DRAWN + INPUT + RECORD % POINTS)
for words, options in (("float32", ()),
                       ("same", ("--set", 'precision.softmax="same"'))):
    exits(0, f"a softmax in {words}", "run", "plain.cfg", "--backend", "bf16", "-o",
          f"softmax-{words}.h5", *options)
exits(0, "and how far they are apart", "report", "softmax-same.h5",
      "softmax-float32.h5", "-o", "softmax")
part, rows = table("softmax")
holds("the page says in what they differ", part, "<code>precision.softmax</code> is "
      "<code>same</code> in <code>softmax-same.h5</code> and <code>float32</code> in")
ok("loss_scale is none of it", "loss_scale" not in part)
ok("the softmax is", float(rows["layers.*.attn.weights"][0]) > 1e-4)

shutil.copy("bf16.h5", "same.h5")
exits(0, "a recording against itself", "report", "bf16.h5", "same.h5", "-o", "same")
same = table("same")[1]
ok("differs nowhere", "logits" in same and
   all(cell in ("0.00e+00", "0", "") for row in same.values() for cell in row), same)

# --- a name may say anything
for name in ("bf16", "ref64"):
    shutil.copy(name + ".h5", f"far-{name}.h5")
    with h5py.File(f"far-{name}.h5", "r+") as file:
        file["value/layers/2000000000/attn/theirs/full"] = file["value/logits/full"][:]
exits(0, "a layer that no model has", "report", "far-bf16.h5", "far-ref64.h5", "-o",
      "far")
ok("does not keep the picture from being drawn", "<img" in table("far")[0])

# --- more than is read at once: some tokens of the logits, or part of one
for vocab, tokens in ((70000, 40), (1100000, 3)):
    write("wide.cfg", f"""version = 1;
model : {{ preset = "mini"; vocab = {vocab}; d_model = 4; n_heads = 2; n_layers = 1;
          max_seq_len = 64; }};
input : {{ random = {{ length = {tokens}; }}; }};
record = ( {{ probe = "full"; points = "logits"; }} );
""")
    for backend in ("ref64", "bf16"):
        exits(0, f"{vocab} logits of {tokens} tokens by {backend}", "run", "wide.cfg",
              "-o", f"w-{backend}.h5", "--backend", backend)
    exits(0, "and their page", "report", "w-bf16.h5", "w-ref64.h5", "-o", "wide",
          "--force")
    with h5py.File("w-ref64.h5") as a, h5py.File("w-bf16.h5") as b:
        close(f"{vocab} logits", table("wide")[1]["logits"][0],
              relative((a, b), "value/logits/full"))

# --- what is not the same
for setting, words in (("seed=4", "seed is 4 in the first recording and 3 in the"),
                       ("model.n_layers=2", "model.n_layers is 2"),
                       ("model.norm_eps=1e-3", "model.norm_eps is 0.001"),
                       ("mask.window=4", "mask.window is 4"),
                       ("weights.init=({params=\"*\";scheme=\"normal\";std=0.3;})",
                        "weights.init.0.std is 0.3"),
                       ("input.tokens=([1,403,7,261,55,310,13,403,7,98],"
                        "[1,9,120,77,400])",
                        "input/tokens at step 0, batch 0, position 6 is 13 in the "
                        "first recording and 12 in the second"),
                       ("input.tokens=([1,403,7,261])", "input/tokens is 1 x 4 in")):
    exits(0, "another run", "run", "model.cfg", "-o", "other.h5", "--set", setting)
    found = exits(2, f"{setting} is refused", "report", "other.h5", "ref64.h5", "-o",
                  "refused")
    holds("it says what differs", found.err, "other.h5 and ref64.h5", words)
ok("and nothing was written", not os.path.exists("refused/index.html"))

# --- the same model with other parameters
write("bare.cfg", "version = 1;\n" + DRAWN + INPUT)
exits(0, "a healthy run", "run", "bare.cfg", "-o", "a.h5")
exits(0, "one by another backend", "run", "bare.cfg", "-o", "b.h5", "--backend", "bf16")
with h5py.File("b.h5", "r+") as file:
    at = file["series/param_sites"].asstr()[:].tolist().index("layers.1.attn.o.weight")
    file["series/param"][at] *= 1.05
found = exits(2, "other parameters are refused", "report", "b.h5", "a.h5", "-o", "no")
holds("by name", found.err, "layers.1.attn.o.weight")

# --- what is missing
with h5py.File("a.h5", "r+") as file:
    for name in ("value", "rows", "series"):
        del file[name]
found = exits(2, "nothing in common is refused", "report", "a.h5", "b.h5", "-o", "no")
holds("with what to record", found.err, 'probe = "full"')
with h5py.File("a.h5", "r+") as file:
    del file.attrs["config"]
found = exits(2, "so is an unknown model", "report", "b.h5", "a.h5", "-o", "no")
holds("by name", found.err, "second recording has no configuration")
finish()
