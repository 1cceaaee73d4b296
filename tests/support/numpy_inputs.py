# SPDX-License-Identifier: MIT
"""The batches that `input` of docs/model.cfg.md stands for, in numpy."""
import numpy as np

from numpy_params import rng_key, rng_normal, rng_uniform

STREAM = "input.memory.random"


def _windows(rows, given):
    longest = max(len(row) for row in rows)
    length, steps = given.get("length"), given.get("steps")
    if length is None:
        length, steps = longest // (steps or 1), steps or 1
    elif steps is None:
        steps = (longest - 1) // length + 1
    return min(length, longest), steps


def batches(spec, c):
    """One dict of int arrays (batch, length) per step; with cross-attention also the
    memory (batch, rows, d_model) and memory_valid, or what the encoder reads."""
    out = _token_batches(spec["input"], spec, c, "input.random")
    if c["cross"]:
        for step, inputs in enumerate(out):
            _add_memory(inputs, spec, c, step)
    return out


def _token_batches(given, spec, c, stream):
    out = []
    if "random" in given:
        batch, length = given["random"].get("batch", 1), given["random"]["length"]
        key = rng_key(spec.get("seed", 1), stream)
        for step in range(given.get("steps", 1)):
            index = step * batch * length + np.arange(batch * length)
            tokens = (rng_uniform(key, index) * c["vocab"]).astype(int)
            out.append(_batch(tokens.reshape(batch, length), None, None, given,
                              [length] * batch, length))
        return out

    def nested(rows):
        return [rows] if rows is not None and not isinstance(rows[0], list) else rows
    rows = nested(given["tokens"])
    length, steps = _windows(rows, given)
    for step in range(steps):
        cut = slice(step * length, (step + 1) * length)

        def window(name):
            return [row[cut] for row in nested(given[name])] if name in given else None
        counts = [len(row[cut]) for row in rows]
        out.append(_batch(window("tokens"), window("positions"), window("documents"),
                          given, counts, max(counts)))
        for row, types in enumerate(window("types") or []):
            out[-1]["types"][row][out[-1]["valid"][row] == 1] = types
    return out


def _batch(tokens, positions, documents, given, counts, length):
    shape = (len(tokens), length)
    out = {"tokens": np.full(shape, given.get("pad_id", 0)),
           "valid": np.zeros(shape, int), "positions": np.zeros(shape, int),
           "document": np.zeros(shape, int), "types": np.zeros(shape, int)}
    for row, count in enumerate(counts):
        start = length - count if given.get("pad") == "left" else 0
        here = slice(start, start + count)
        out["tokens"][row, here] = tokens[row]
        out["valid"][row, here] = 1
        out["positions"][row, here] = np.arange(count)
        if positions is not None:
            out["positions"][row, here] = positions[row]
        if documents is not None:
            out["document"][row, here] = documents[row]
    return out


def _add_memory(inputs, spec, c, step):
    given, batch = spec["input"]["memory"], len(inputs["tokens"])
    if c["encoder_layers"]:
        if "random" in given:
            given = {"random": {"batch": batch, **given["random"]}, "steps": step + 1}
        inputs["encoder"] = _token_batches(given, spec, c, STREAM)[-1]
        inputs["memory_valid"] = inputs["encoder"]["valid"]
        return
    if "random" in given:
        shape = (batch, given["random"]["length"], c["d_model"])
        index = step * np.prod(shape) + np.arange(np.prod(shape))
        drawn = rng_normal(rng_key(spec.get("seed", 1), STREAM), index)
        values = (drawn * given["random"].get("std", 1.0)).astype(np.float32)
        inputs["memory"] = values.astype(float).reshape(shape)
        valid = np.ones(shape[:2], int)
    else:
        file = np.load(given["file"])
        values = file if given["file"].endswith(".npy") else file["memory"]
        shape = (batch,) + values.shape[-2:]
        inputs["memory"] = np.broadcast_to(values, shape).astype(float)
        valid = np.ones(shape[:2], int)
        if not given["file"].endswith(".npy") and "valid" in file:
            valid = np.broadcast_to(file["valid"], shape[:2]).astype(int)
    for row, count in enumerate(given.get("valid", [])):
        valid[row] = np.arange(shape[1]) < count
    inputs["memory_valid"] = valid
