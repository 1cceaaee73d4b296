# SPDX-License-Identifier: MIT
"""The parameters of a decoder as weights.init of docs/model.cfg.md draws them, in
numpy: every element a function of seed, name and index alone."""
import fnmatch
import math

import numpy as np

# --- random numbers: a function of seed, name and index


def _scramble(z):
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
    return z ^ (z >> np.uint64(31))


def rng_key(seed, name):
    with np.errstate(over="ignore"):
        code = np.uint64(0xcbf29ce484222325)
        for byte in name.encode():
            code = (code ^ np.uint64(byte)) * np.uint64(0x100000001b3)
        start = _scramble(np.uint64(seed) + np.uint64(0x9e3779b97f4a7c15))
        return _scramble(start ^ code)


def rng_uniform(key, index):
    with np.errstate(over="ignore"):
        index = np.asarray(index, dtype=np.uint64)
        bits = _scramble(key + (index + np.uint64(1)) * np.uint64(0x9e3779b97f4a7c15))
        return (bits >> np.uint64(11)).astype(np.float64) * 2.0 ** -53


def rng_normal(key, index):
    first = 1.0 - rng_uniform(key, index)
    second = rng_uniform(_scramble(key ^ np.uint64(0xd1b54a32d192ed03)), index)
    return np.sqrt(-2.0 * np.log(first)) * np.cos(2 * np.pi * second)

# --- parameters


def shapes(c):
    """Names and shapes of the parameters; fused ones as three, named q, k and v."""
    d, w = c["d_model"], c["embed_dim"]
    out = {"embed.tok.weight": (c["vocab"], w)}
    if c["positions"] == "learned":
        out["embed.pos.weight"] = (c["max_seq_len"] + c["position_offset"], d)
    if c["token_types"]:
        out["embed.type.weight"] = (c["token_types"], d)
    if w != d:
        out["embed.in.weight"], out["head.in.weight"] = (d, w), (w, d)
    if c["embed_norm"]:
        _norm(out, c, "embed_norm")
    for i in range(c["n_layers"]):
        _block(out, c, f"layers.{i}.", c.get("cross", False))
    for i in range(c.get("encoder_layers", 0)):
        _block(out, c, f"encoder.layers.{i}.", False)
    if c["final_norm"]:
        _norm(out, c, "final_norm")
        if c.get("encoder_layers", 0):
            _norm(out, c, "encoder.final_norm")
    if c["head_transform"]:
        out["head.dense.weight"], out["head.dense.bias"] = (d, d), (d,)
        _norm(out, c, "head_norm")
    if not c["tie_embeddings"]:
        out["head.weight"] = (c["vocab"], w)
    if c["head_bias"]:
        out["head.bias"] = (c["vocab"],)
    return out


def _norm(out, c, name):
    out[name + ".weight"] = (c["d_model"],)
    if c["norm_bias"]:
        out[name + ".bias"] = (c["d_model"],)


def _norms(out, c, name):
    """Those of a part of a block."""
    shared = c["shared_norm"] and name.endswith("norm2")
    if c["norm_placement"] != "branch" and not shared:
        _norm(out, c, name)
    if c["norm_placement"] in ("sandwich", "branch"):
        _norm(out, c, name + "_post")


def _attention(out, c, prefix):
    q, k = c["n_heads"] * c["head_dim"], c["n_kv_heads"] * c["head_dim"]
    v, o, d = c["n_kv_heads"] * c["value_dim"], c["n_heads"] * c["value_dim"], \
        c["d_model"]
    for name, rows in (("q", q), ("k", k), ("v", v)):
        out[f"{prefix}{name}.weight"] = (rows, d)
        if c["qkv_bias"]:
            out[f"{prefix}{name}.bias"] = (rows,)
    out[prefix + "o.weight"] = (d, o)
    if c["out_bias"]:
        out[prefix + "o.bias"] = (d,)


def _block(out, c, prefix, cross):
    d, m = c["d_model"], c["d_ff"]
    _norms(out, c, prefix + "norm1")
    _norms(out, c, prefix + "norm2")
    _attention(out, c, prefix + "attn.")
    if cross:
        _norms(out, c, prefix + "norm_cross")
        _attention(out, c, prefix + "cross.")
    for name, shape in (("gate", (m, d)), ("up", (m, d)), ("down", (d, m))):
        if name == "gate" and not c["gated"]:
            continue
        out[f"{prefix}mlp.{name}.weight"] = shape
        if c["mlp_bias"]:
            out[f"{prefix}mlp.{name}.bias"] = shape[:1]


def _public(c, name):
    parts = name.split(".")
    if c["qkv"] == "fused" and parts[-2] in "qkv" and parts[-3] == "attn":
        parts[-2] = "qkv"
    return ".".join(parts)


def _matches(rule, name):
    return any(fnmatch.fnmatchcase(name, glob.strip())
               for glob in rule["params"].split(","))


def draw(spec, c):
    """Parameters by weights.init, rounded to float32 as the program keeps them."""
    rules, sizes, seed = spec.get("weights", {}).get("init", []), shapes(c), \
        spec.get("seed", 1)
    matrix = [any(_matches(rule, _public(c, n)) and len(s) == 2
                  for n, s in sizes.items()) for rule in rules]
    out = {}
    for name, shape in sizes.items():
        rule = None
        for one, has_matrix in zip(rules, matrix):
            if _matches(one, _public(c, name)) and (
                    len(shape) == 2 or one["scheme"] == "constant" or not has_matrix):
                rule = one
        if rule is None and len(shape) == 2:
            rule = {"scheme": "normal"}
        elif rule is None:
            gain = 1 - c["norm_offset"]
            rule = {"scheme": "constant",
                    "value": 0.0 if name.endswith("bias") else gain}
        out[name] = _drawn(rule, seed, name, shape)
    return out


def _drawn(rule, seed, name, shape):
    key, index, scheme = rng_key(seed, name), np.arange(math.prod(shape)), \
        rule["scheme"]
    fan = shape[0] + (shape[1] if len(shape) == 2 else 1)
    xavier = rule.get("gain", 1.0) * math.sqrt(2 / fan)
    if scheme == "constant":
        flat = np.full(len(index), float(rule.get("value", 0.0)))
    elif scheme == "normal":
        flat = rng_normal(key, index) * rule.get("std", 0.02)
    elif scheme == "xavier_normal":
        flat = rng_normal(key, index) * xavier
    else:
        bound = rule.get("bound", 0.02) if scheme == "uniform" else \
            math.sqrt(3) * xavier
        flat = (2 * rng_uniform(key, index) - 1) * bound
    return flat.astype(np.float32).astype(np.float64).reshape(shape)
