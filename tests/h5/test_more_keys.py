#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Recordings that others made of calls with a cache: more keys than queries. What the
file says of places is taken as docs/recording.md has it, and `causal_alignment` tells
which keys are not seen, by masked scores or by weights alone."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import equal, exits, finish, holds, ok  # noqa: E402

import json  # noqa: E402

import h5py  # noqa: E402
import numpy  # noqa: E402

CONFIG = ('model : { preset = "mini"; vocab = 9; d_model = 8; n_heads = 2; '
          'n_layers = 2; d_ff = 8; max_seq_len = 32; %s };')
LAW = "causal_alignment"
HEADS, QUERIES, KEYS = 2, 3, 7
PAST = KEYS - QUERIES
random = numpy.random.default_rng(6)


def scores(batch=1, queries=QUERIES, keys=KEYS):
    return random.normal(size=(1, batch, HEADS, queries, keys)).astype("float32")


def right(query, key):
    return key <= PAST + query


def corner(query, key):
    return key <= query


def own_hidden(query, key):
    return key < PAST


def hole(query, key):
    return right(query, key) and key != PAST - 1


def masked(values, sees):
    """Scores with -inf where `sees` says no."""
    queries, keys = values.shape[-2:]
    hidden = [[not sees(q, k) for k in range(keys)] for q in range(queries)]
    return numpy.where(hidden, numpy.float32("-inf"), values)


def softmax(values):
    with numpy.errstate(invalid="ignore"):
        e = numpy.exp(values - values.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).astype("float32")


def write_file(path, values, inputs=None, config=""):
    """`values`: {"attn/masked": one array for all layers, ...}."""
    with h5py.File(path, "w") as file:
        file.attrs["txdiag_schema"] = 1
        file.attrs["config"] = CONFIG % config
        for name, value in values.items():
            for layer in range(2):
                file[f"value/layers/{layer}/{name}/full"] = value
        for name, value in (inputs or {}).items():
            file[name] = value
    return path


def judged(path, status, name, only=LAW):
    out = exits(status, name, "check", path, "--only", only, "--format", "json").out
    return json.loads(out)["files"][0]


def law(judgement, name=LAW):
    return [r for r in judgement["results"] if r["check"] == name][0]


def both_ways(name, sees, words):
    """The same mask, told by masked scores and by weights alone."""
    values = masked(scores(), sees)
    for point, array in (("attn/masked", values), ("attn/weights", softmax(values))):
        path = write_file("both.h5", {point: array})
        file = judged(path, 1 if words else 0, f"{name}, by {point}")
        rows = QUERIES * 2 * (HEADS if point == "attn/masked" else 1)
        equal(f"{name}, by {point}: rows", law(file)["evaluated"], rows)
        if not words:
            continue
        holds(f"{name}, by {point}: it says so", file["findings"][0]["message"], words)
        equal(f"{name}, by {point}: a finding of each layer",
              sorted(f["layer"] for f in file["findings"]), [0, 1])


both_ways("the mask ends at the last key", right, None)
both_ways("a square cut to size", corner, "aligned to the top left corner")
both_ways("the call's own keys are hidden", own_hidden, "keys of earlier calls")

# A hole is told by masked scores; a weight of 0 may be a key far below the others.
file = judged(write_file("hole.h5", {"attn/masked": masked(scores(), hole)}), 1,
              "a skipped slot")
holds("a skipped slot: how many are seen", file["findings"][0]["message"],
      "query 0 sees 4 of 5 keys", "slots of a cache")
equal("a skipped slot: keys that are missing, and allowed",
      [file["findings"][0][k] for k in ("measured", "allowed")], [1, 0])

# One head alone, one query: found by masked scores, at its place.
values = masked(scores(), right)
values[0, 0, 1, 2, 6] = -numpy.inf
file = judged(write_file("one.h5", {"attn/masked": values}), 1, "one row of one head")
equal("one row of one head: its place",
      [file["findings"][0][k] for k in ("head", "query", "key")], [1, 2, 6])
values = softmax(values)
judged(write_file("one.h5", {"attn/weights": values}), 0,
       "a weight of 0 in one head of two is no hidden key")

# The other laws read the same places: nothing is wrong, and the future is known.
values = masked(scores(batch=2), right)
path = write_file("fine.h5", {"attn/masked": values, "attn/weights": softmax(values)})
file = judged(path, 0, "the others hold", only="row_sum,causality,softmax_precision")
equal("they judged", [r["verdict"] for r in file["results"]], ["pass"] * 3)
equal("later keys are those behind the query's own",
      law(file, "causality")["evaluated"], 2 * 2 * HEADS * (2 + 1))
leak = numpy.copy(values)
leak[0, 1, 0, 0, 5] = 0
file = judged(write_file("leak.h5", {"attn/weights": softmax(leak)}), 1,
              "a later key that is seen", only="causality")
equal("it is at its place", [file["findings"][0][k] for k in ("query", "key")], [0, 5])

# Keys and values that are not all there are offered to nobody.
file = judged(write_file("parts.h5", {"attn/scores": scores(),
                                      "attn/q": scores()[..., :4],
                                      "attn/k": scores()[..., :4]}), 77,
              "keys of the call alone", only="score_scale")
holds("cells are not held against some of the keys", law(file, "score_scale")["note"],
      "attn.k")

# Inputs: of all keys, or of the queries.
tokens = numpy.arange(KEYS, dtype="int32").reshape(1, 1, KEYS)
values = masked(scores(), corner)
for name, inputs in (
        ("all tokens", {"input/tokens": tokens}),
        ("tokens of the call", {"input/tokens": tokens[..., PAST:]}),
        ("positions of all keys", {"input/positions": tokens}),
        ("positions of the queries", {"input/positions": tokens[..., PAST:]})):
    file = judged(write_file("inputs.h5", {"attn/masked": values}, inputs), 1, name)
    equal(f"{name}: the newest that query 0 may see", file["findings"][0]["key"], PAST)
file = judged(write_file("first.h5", {"attn/masked": values},
                         {"input/positions": tokens[..., :QUERIES]}), 0,
              "queries that are the first rows, by their positions")

# Padding on the left of the first row: its keys are none that may be seen.
valid = numpy.ones((1, 1, KEYS), "int32")
valid[..., :2] = 0
values = masked(scores(), lambda q, k: right(q, k) and k >= 2)
path = write_file("padded.h5", {"attn/masked": values}, {"input/valid": valid})
judged(path, 0, "padding before the prompt")
judged(write_file("padded.h5", {"attn/masked": values}), 1, "the same, if it is none")

# A prompt, then a call with two tokens: lengths of each step.
two = numpy.full((2, 1, HEADS, 4, 6), numpy.nan, "float32")
two[0, ..., :4, :4] = masked(scores(queries=4, keys=4)[0], lambda q, k: k <= q)
two[1, ..., :2, :6] = masked(scores(queries=2, keys=6)[0], lambda q, k: k <= 4 + q)
steps = {"steps/length_q": numpy.array([4, 2]), "steps/length_k": numpy.array([4, 6])}
file = judged(write_file("steps.h5", {"attn/masked": two}, steps), 0, "two calls")
equal("two calls: the second has more keys", law(file)["evaluated"], 2 * 2 * HEADS)
steps["steps/length_k"] = numpy.array([4, 1])
result = exits(2, "fewer keys than queries are refused", "check",
               write_file("steps.h5", {"attn/masked": two}, steps))
holds("and why", result.err + result.out, "step 1 has 1 keys, but 2 queries")

# As many keys as queries: nothing to align. NaN: nothing that could be said.
square = masked(scores(queries=4, keys=4), lambda q, k: k <= q)
file = judged(write_file("square.h5", {"attn/masked": square}), 77, "a square")
holds("a square says why", law(file)["note"], "as many keys as queries")
file = judged(write_file("nan.h5", {"attn/masked": numpy.full_like(values, numpy.nan)}),
              2, "NaN is never a pass")
equal("it is open", law(file)["verdict"], "open")

ok("the program says what the law is",
   "newest key" in exits(0, "explain", "explain", LAW).out)
finish()
