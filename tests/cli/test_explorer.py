#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Random models, inputs and faults against a decoder in numpy: what run records is what
the documents say, healthy models break no law, faults break one at each layer where
they act, and check gives the verdicts of run. A fixed seed; TXD_EXPLORE=N looks at N
models instead."""
import json
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
import h5py  # noqa: E402
import numpy as np  # noqa: E402
import numpy_decoder as decoder  # noqa: E402
import numpy_params  # noqa: E402
import numpy_probes  # noqa: E402
import random_models  # noqa: E402
from numpy_compare import differs, recorded, text, wrong_values  # noqa: E402
from program import finish, ok, txdiag, write  # noqa: E402

COUNT = int(os.environ.get("TXD_EXPLORE", "60"))
RECORD = [{"probe": "full", "points": "*"}, {"probe": "rows"}, {"probe": "stats"},
          {"probe": "norms"}, {"probe": "pooled", "cells": 5}]
np.seterr(all="ignore")


def wrong_rows(file, folder, i, step, parts, inputs):
    """Row statistics and pooled maps of an attention of layer i."""
    weights, masked, why = parts
    length, cross = inputs["tokens"].shape[1], folder != ""
    rows = numpy_probes.rows(weights, masked, why, inputs, cross)
    for column, value in rows.items():
        found = differs(file[f"{folder}rows/{column}"][step, i][:, :, :length], value,
                        1e-5)
        if found:
            return f"{folder}rows {column} {found}"
    for kind, value in zip(("mean", "max"), numpy_probes.pooled(weights, inputs, 5)):
        data = file[f"{folder}pooled/{kind}"][step, i]
        found = differs(data[:, :, :value.shape[2], :value.shape[3]], value, 1e-5)
        if found:
            return f"{folder}pooled {kind} {found}"
    return None


def wrong_statistics(file, config, steps):
    """What was recorded of the rows against the recorded weights."""
    for step, inputs in enumerate(steps):
        for i, layer in enumerate(config["layers"]):
            kinds = (("attn", ""), ("cross", "cross_"))
            for kind, folder in kinds[:1 + config["cross"]]:
                weights, masked = (
                    recorded(file, f"layers.{i}.{kind}.{point}", step, inputs)
                    .astype(float) for point in ("weights", "masked"))
                why = decoder.memory_reasons(inputs) if folder else \
                    decoder.reasons(layer, inputs)
                found = wrong_rows(file, folder, i, step, (weights, masked, why),
                                   inputs)
                if found:
                    return f"step {step}, layer {i}, {found}"
    return None


# Laws that look at parameters, of which a recording holds statistics alone.
BY_PARAMETERS = ("qkv_distinct", "heads_distinct", "head_split", "output_projection",
                 "mlp_linear", "head_logits")
# What a recording says instead of "makes passes of its own", and of rows of tables.
OTHERWISE = {"causal_alignment": "nothing to align",
             "embedding_rows": "two tokens that have one in common"}
# What is warned of in models that are only drawn: eps of the size of a variance.
TASTE = ("norm_moments",)


def forget(run, judged):
    """Leaves out of both what a recording cannot tell and says so."""
    for i in reversed(range(len(run[0]))):
        told_apart = judged[1][i] == "skip" and "parameters" in judged[2][i] or \
            run[1][i] == "open" and "not finite" in run[2][i]
        otherwise = judged[1][i] == "skip" and judged[0][i] in OTHERWISE and \
            OTHERWISE[judged[0][i]] in judged[2][i]
        if run[1][i] != "fail" and (
                otherwise or judged[0][i] in BY_PARAMETERS and told_apart):
            for columns in (run, judged):
                for column in columns:
                    del column[i]


def wrong_verdicts(path, status):
    """Where check disagrees with run."""
    again = txdiag("check", path, "--format", "json")
    if again.status != status:
        return f"run exits with {status}, check with {again}"
    report = json.loads(again.out)["files"][0]
    with h5py.File(path, "r") as file:
        laws, places = file["checks/laws"], file["checks/findings"]
        run = [[text(v) for v in laws[key][...]] for key in ("name", "verdict", "note")]
        judged = [[law[key] or "" for law in report["results"]]
                  for key in ("check", "verdict", "note")]
        told = list(zip(map(text, places["law"][...]), map(text, places["site"][...]),
                        map(text, places["message"][...])))
    found = [(f["check"], f["site"], f["message"]) for f in report["findings"]]
    forget(run, judged)
    for columns in (run, judged):  # a run may have had them, a recording lacks them
        columns[2] = ["no gradients" if verdict == "skip" and "grad" in note else note
                      for verdict, note in zip(columns[1], columns[2])]
    if run != judged or told != found:
        return f"run {run} {told}\ncheck {judged} {found}"
    return None


def changed(use, inputs, layer, seen):
    """What the query sees instead, by the sentence of the fault: (b, h, q, k)."""
    where, document = inputs["positions"], inputs["document"]
    why = decoder.reasons(layer, inputs)
    if use["name"] == "mask_missing":
        open_mask = decoder.reasons(dict(layer, causal=False), inputs) == 0
        return seen | open_mask[:, None]
    if use["name"] == "mask_off_by_one":
        ahead = where[:, None, :] - where[:, :, None] == 1
        return seen | (ahead & (why == decoder.FUTURE))[:, None]
    if use["name"] == "mask_inverted":
        return ~seen
    if use["name"] == "padding_ignored":
        padding = (inputs["valid"] == 0)[:, None, :]
        return seen | (padding & (document[:, :, None] == document[:, None]))[:, None]
    if use["name"] == "fully_masked_row" and "queries" not in use:
        return seen & (np.arange(seen.shape[2]) < seen.shape[2] - 1)[:, None]
    return np.full_like(seen, use["name"] == "mask_after_softmax")


def sight_of(use, config):
    """The mask under a fault, where it is selected."""
    def sight(i, seen, inputs):
        chosen = np.ones(seen.shape[:3], bool)
        for axis, key in enumerate(("batch", "heads", "queries")):
            take = [decoder.in_range(use.get(key, "*"), x)
                    for x in range(seen.shape[axis])]
            chosen &= np.array(take).reshape([-1 if a == axis else 1 for a in range(3)])
        if not decoder.in_range(use.get("layers", "*"), i):
            return seen
        return np.where(chosen[..., None],
                        changed(use, inputs, config["layers"][i], seen), seen)
    return sight


def layers_hit(use, config, steps):
    """Layers in which the fault changes something for a query that is no padding."""
    chosen = [i for i in range(config["n_layers"])
              if decoder.in_range(use.get("layers", "*"), i)]
    if use["name"] == "scale_missing":
        return [i for i in chosen if config["layers"][i]["score_scale"] != 1]
    if use["name"] not in random_models.MASK_FAULTS:
        return chosen
    sight, hit = sight_of(use, config), set()
    for inputs in steps:
        for i in chosen:
            seen = decoder.reasons(config["layers"][i], inputs)[:, None] == 0
            seen = np.repeat(seen, config["n_heads"], 1)
            moved = sight(i, seen, inputs) != seen
            if (moved & (inputs["valid"] == 1)[:, None, :, None]).any():
                hit.add(i)
    return sorted(hit)


def is_judged(use, config, steps):
    """Whether a law looks at what the fault changes: none does at windows, documents,
    or at rows that a finite fill makes even."""
    plain = all(layer["fill"] == -np.inf and not layer["window"]
                for layer in config["layers"])
    one = all((inputs["document"] == inputs["document"][:, :1]).all()
              for inputs in steps)
    return use["name"] not in ("mask_inverted", "fully_masked_row") or (plain and one)


def explore(seed):
    draw = random.Random(seed)
    spec = random_models.healthy(draw)
    if seed % 3 == 2:
        random_models.add_cross(random.Random(f"cross {seed}"), spec)
    if seed % 2 == 1:
        random_models.add_conventions(random.Random(f"conventions {seed}"), spec)
    config = decoder.resolve(spec)
    weights, steps = numpy_params.draw(spec, config), decoder.batches(spec, config)
    spec["precision"] = {"backend": draw.choice(("cpu32", "ref32", "ref64", "ref64"))}
    spec["record"] = RECORD
    write("model.cfg", random_models.text(spec))
    run = txdiag("run", "model.cfg", "-o", "model.h5", "--threads", draw.choice((1, 2)))
    warned = set(re.findall(r"^WARN (\w+)", run.out, re.M)) - set(TASTE)
    if not ok(f"{seed}: a healthy model breaks no law", run.status == 0 and
              not warned, f"{run}\n{random_models.text(spec)}"):
        return
    with h5py.File("model.h5", "r") as file:
        wrong = wrong_values(file, config, weights, steps, None) or \
            wrong_statistics(file, config, steps)
    ok(f"{seed}: it is recorded as the documents say", not wrong,
       f"{wrong}\n{random_models.text(spec)}")
    wrong = wrong_verdicts("model.h5", 0)
    ok(f"{seed}: check agrees with run", not wrong, wrong)
    explore_fault(seed, draw, spec, config, weights, steps)


def explore_fault(seed, draw, spec, config, weights, steps):
    longest = max(inputs["tokens"].shape[1] for inputs in steps)
    use = random_models.fault(draw, config["n_layers"], config["n_heads"], longest,
                              len(steps[0]["tokens"]))
    spec["faults"] = [use]
    write("fault.cfg", random_models.text(spec))
    run = txdiag("run", "fault.cfg", "-o", "fault.h5")
    hit = layers_hit(use, config, steps)
    what = f"{seed}: {use}"
    if run.status == 2:
        refused = not hit or "cannot act here" in run.err or "one key alone" in run.err
        ok(f"{what}: refused since it changes nothing", refused, run)
        return
    ok(f"{what}: what runs changes something", hit, random_models.text(spec))
    if is_judged(use, config, steps):
        ok(f"{what}: breaks a law", run.status == 1, random_models.text(spec))
    wrong = wrong_verdicts("fault.h5", run.status)
    ok(f"{what}: check agrees with run", not wrong, wrong)
    with h5py.File("fault.h5", "r") as file:
        verdicts = map(text, file["checks/findings/verdict"][...])
        named = {layer for layer, verdict in zip(file["checks/findings/layer"][...],
                                                 verdicts) if verdict == "fail"}
        if use["name"] in ("mask_missing", "mask_off_by_one", "padding_ignored"):
            ok(f"{what}: exactly its layers are named", named == set(hit),
               f"{named}, expected {hit}\n{run.out}")
        if use["name"] in random_models.MASK_FAULTS[:3]:
            wrong = wrong_values(file, config, weights, steps, sight_of(use, config))
            ok(f"{what}: acts as its sentence says", not wrong,
               f"{wrong}\n{random_models.text(spec)}")


for number in range(COUNT):
    explore(number)
finish()
