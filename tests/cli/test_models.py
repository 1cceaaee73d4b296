#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Trained models from the command line to numpy: recordings hold the numbers that
others computed, healthy models pass every law, and every fault that can act in them is
found by name, in the first, a middle and the last layer."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
import h5py  # noqa: E402
import numpy  # noqa: E402
from program import (equal, exits, finish, holds, model, ok,  # noqa: E402
                     sanitized, skip, txdiag, write)

STORIES = model("stories260K")
SORT = model("gpt-nano-sort")
EVERYTHING = 'record : ( { probe = "full"; points = "*"; }, { probe = "rows"; } );\n'


def near(name, found, expected, atol=0.0, rtol=0.0):
    """Fails unless every element is proven close; -inf is only close to -inf."""
    if not ok(f"{name}: shape {expected.shape}", found.shape == expected.shape,
              found.shape):
        return
    finite = numpy.isfinite(expected)
    with numpy.errstate(invalid="ignore"):
        error = numpy.abs(found.astype("f8") - expected.astype("f8"))
    allowed = atol + rtol * numpy.abs(numpy.where(finite, expected, 0)).max()
    good = numpy.where(finite, error <= allowed, found == expected)
    ok(f"{name}: within {allowed:.2g}", bool(good.all()) and good.size > 0,
       f"worst {numpy.nanmax(numpy.where(finite, error, 0)):.3g}")


def value(file, name):
    return file["value/" + name.replace(".", "/") + "/full"][0, 0]


def merged(heads):
    """(h, t, e) as (t, h * e)."""
    return heads.transpose(1, 0, 2).reshape(heads.shape[1], -1)


def halves(rotated):
    """Adjacent pairs in the order of half-split pairs: even lanes, then odd."""
    return numpy.concatenate([rotated[..., 0::2], rotated[..., 1::2]], axis=-1)


def stories():
    write("stories.cfg", f'model : {{ from = "{STORIES}"; }};\n'
          f'input : {{ file = "{STORIES}/golden/prompt_ids.npy"; }};\n' + EVERYTHING)
    exits(0, "stories260K, ref64: every law holds", "run", "stories.cfg", "--backend",
          "ref64", "-o", "s64.h5")

    def golden(name):
        return numpy.load(f"{STORIES}/golden/{name}.npy")

    def heads(array):
        """(t, h, e) or (h, t, e) as (h, t, e)."""
        return array if array.shape[0] != 27 else array.transpose(1, 0, 2)

    with h5py.File("s64.h5", "r") as file:
        for layer in range(5):
            near(f"layer {layer}: attention",
                 value(file, f"layers.{layer}.attn.weights"),
                 golden(f"l{layer}.attn_prob"), atol=1e-11)
            for point in ("mid", "post"):
                near(f"layer {layer}: residual, {point}",
                     value(file, f"layers.{layer}.resid.{point}"),
                     golden(f"l{layer}.resid_{point}"), atol=1e-11)
        for ours, theirs in (("embed.out", "embed"), ("final.norm", "final_norm"),
                             ("logits", "logits_fp64"),
                             ("layers.0.norm1.out", "l0.attn_norm"),
                             ("layers.0.norm2.out", "l0.ffn_norm"),
                             ("layers.0.mlp.act", "l0.ffn_act")):
            near(ours, value(file, ours), golden(theirs), atol=1e-11)
        near("q", value(file, "layers.0.attn.q"), halves(heads(golden("l0.q_rope"))),
             atol=1e-11)
        near("k", value(file, "layers.0.attn.k"), halves(heads(golden("l0.k_rope"))),
             atol=1e-11)
        near("v", value(file, "layers.0.attn.v"), heads(golden("l0.v")), atol=1e-11)
        context = golden("l0.attn_ctx")
        near("weighted values", value(file, "layers.0.attn.merged"),
             context.reshape(27, -1) if context.shape[0] == 27 else merged(context),
             atol=1e-11)
        equal("entropies of all layers are one slice", file["rows/entropy"][0].shape,
              (5, 1, 8, 27))
        weights = numpy.stack([value(file, f"layers.{i}.attn.weights")
                               for i in range(5)])
        with numpy.errstate(divide="ignore", invalid="ignore"):
            entropy = -numpy.where(weights > 0, weights * numpy.log(weights), 0).sum(-1)
        near("entropies are those of the weights", file["rows/entropy"][0, :, 0],
             entropy, atol=1e-6)
    exits(0, "stories260K, cpu32: every law holds", "run", "stories.cfg", "-o",
          "s32.h5")
    with h5py.File("s32.h5", "r") as file:
        near("cpu32: logits", value(file, "logits"), golden("logits_fp64"), atol=5e-5)


def sort():
    tokens = numpy.load(f"{SORT}/golden/idx.npy").reshape(3, 11).tolist()
    rows = ", ".join(str(row) for row in tokens)
    write("sort.cfg", f'model : {{ from = "{SORT}"; }};\n'
          f'input : {{ tokens = ( {rows} ); }};\n' + EVERYTHING)
    exits(0, "gpt-nano-sort, cpu32: every law holds", "run", "sort.cfg", "-o", "g.h5")
    points = {"tok_emb": "embed.tok", "x": "embed.out", "q": "layers.0.attn.q",
              "k": "layers.0.attn.k", "v": "layers.0.attn.v",
              "att": "layers.0.attn.masked", "attSm": "layers.0.attn.weights",
              "y": "layers.0.attn.merged", "yProj": "layers.0.attn.out",
              "attnResid": "layers.0.resid.mid", "ln1": "layers.0.norm1.out",
              "ln2": "layers.0.norm2.out", "fc": "layers.0.mlp.up",
              "gelu": "layers.0.mlp.act", "mlp": "layers.0.mlp.out",
              "mlpResid": "layers.0.resid.post", "block0": "layers.0.resid.post",
              "block1": "layers.1.resid.post", "block2": "layers.2.resid.post",
              "ln_f": "final.norm", "lm_head": "logits", "pos_emb": "embed.pos"}

    def golden(name):
        return numpy.load(f"{SORT}/golden/ref_fp32_{name}.npy")

    with h5py.File("g.h5", "r") as file:
        def all_rows(name):
            return file["value/" + name.replace(".", "/") + "/full"][0]

        def compare(name, found):
            expected = golden(name)
            if name == "pos_emb":
                found = found[:1]
            near(name, found.reshape(expected.shape), expected, rtol=5e-6)
        for name, point in points.items():
            compare(name, all_rows(point))
        q, k, v = (all_rows("layers.0.attn." + n).transpose(0, 2, 1, 3).reshape(
            3, 11, 48) for n in "qkv")
        compare("qkv", numpy.concatenate([q, k, v], -1))
        logits = all_rows("logits").astype("f8")
        odds = numpy.exp(logits - logits.max(-1, keepdims=True))
        compare("probs", odds / odds.sum(-1, keepdims=True))
    ok("that is every shipped tensor", {*points, "qkv", "probs"} == {
        f[len("ref_fp32_"):-len(".npy")] for f in os.listdir(f"{SORT}/golden")
        if f.startswith("ref_fp32_")})


# What these do to a trained model is smaller than the rounding of float32.
BELOW_FLOAT32 = {"norm_eps_tiny"}
# What only laws tell that inform: it may be meant.
TOLD = {"massive_channel"}


def experiments():
    """The laws that make passes of their own, for which a recording is not enough."""
    judged = json.loads(txdiag("check", "g.h5", "--format", "json").out)["files"][0]
    return [r["check"] for r in judged["results"]
            if (r["note"] or "").startswith("makes passes of its own")]


def check(told, name, *arguments):
    """By the laws of the pass; if these notice nothing, by those of experiments too."""
    if not told and txdiag("check", *arguments, "--skip", ",".join(EXPERIMENTS)
                           ).status == 1:
        arguments += "--skip", ",".join(EXPERIMENTS)
    return exits(0 if told else 1, name, "check", *arguments)


def plant(cfg, layers, padded):
    """Every fault that can act, in these layers where it acts per layer."""
    listed = txdiag("list", "faults").out
    options = ["--set", "input=" + padded] if padded else []
    applicable = txdiag("list", "faults", cfg, *options).out
    for line in applicable.splitlines():
        fault, verdict = re.split(r"  +", line)[:2]
        if not verdict.startswith("can act"):
            result = exits(2, f"{cfg}: {fault} cannot act", "check", cfg, *options,
                           "--set", f'faults=({{name="{fault}";}})')
            holds("and the reason is given", result.err,
                  verdict.split("cannot act here: ")[1])
            continue
        selectors = re.search(rf"^{fault} .*\[selectors: (.*)\]$", listed, re.M)[1]
        for layer in layers if "layers" in selectors else (None,):
            where = "" if layer is None else f' layers="{layer}";'
            fine = ["--backend", "ref64"] if fault in BELOW_FLOAT32 else []
            told = fault in TOLD
            result = check(told, f"{cfg}: {fault}{where} is noticed", cfg, *options,
                           *fine, "--format", "json", "--set",
                           f'faults=({{name="{fault}";{where}}})')
            findings = json.loads(result.out)["files"][0]["findings"]
            broken = [f for f in findings if f["verdict"] == "fail" or
                      told and f["check"] == "massive_channels"]
            ok(f"{cfg}: {fault}{where}: findings name law and site", broken and all(
                f["check"] and f["site"] for f in broken), findings)
            if layer is not None:
                ok(f"{cfg}: {fault}: the first finding of a law is in layer {layer}",
                   any(f["layer"] == layer for f in broken), broken)


if STORIES:
    stories()
if SORT:
    sort()
    EXPERIMENTS = experiments()
    ok("there are laws that make passes", len(EXPERIMENTS) > 5, EXPERIMENTS)
if STORIES and SORT:
    plant("stories.cfg", (2,) if sanitized() else (0, 2, 4), None)
    plant("stories.cfg", (2,), '{tokens=([1,403,407,261,378,9],[1,403,407]);}')
else:
    skip("stories260K", "no model data")
if SORT:
    plant("sort.cfg", (1,) if sanitized() else (0, 1, 2), None)
    plant("sort.cfg", (1,), '{tokens=([0,1,2,1,0,2],[2,1]);pad="left";}')
else:
    skip("gpt-nano-sort", "no model data")
finish()
