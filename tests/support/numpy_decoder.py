# SPDX-License-Identifier: MIT
"""The decoder of docs/model.cfg.md once more, in numpy and float64, written from the
documents and not from the C sources: what a recording must hold. A model is a dict
{"model": {...}, "mask": {...}, "weights": {"init": [...]}, "input": {...}, "seed": n}
as model.cfg spells it, lists as lists."""
import math

import numpy as np

from numpy_inputs import batches  # noqa: F401 (for those who import this file)

PRESETS = {
    "mini": {"norm": "rmsnorm", "positions": "learned", "activation": "gelu",
             "gated": False, "qkv": "fused", "bias": False, "tie_embeddings": False,
             "norm_eps": float(np.finfo(np.float32).eps)},
    "gpt2": {"norm": "layernorm", "positions": "learned", "activation": "gelu_tanh",
             "gated": False, "qkv": "fused", "bias": True, "tie_embeddings": True,
             "norm_eps": 1e-5},
    "llama": {"norm": "rmsnorm", "positions": "rotary", "activation": "silu",
              "gated": True, "qkv": "separate", "bias": False, "tie_embeddings": False,
              "norm_eps": 1e-5},
}
PADDING, DOCUMENT, FUTURE, WINDOW = 1, 2, 3, 4
INPUTS = ("tokens", "valid", "positions", "document", "memory")
erf = np.vectorize(math.erf, otypes=[float])

# --- the configuration, every default filled in


def in_range(text, i):
    for part in str(text).split(","):
        low, colon, high = part.strip().partition(":")
        if low == "*" or (not colon and int(low) == i):
            return True
        if colon and int(low or 0) <= i < (int(high) if high else i + 1):
            return True
    return False


def resolve(spec):
    """The configuration of every layer, as one dict with a list `layers`."""
    given = dict(spec["model"])
    c = dict(PRESETS[given.pop("preset", "mini")])
    bias = given.pop("bias", c.pop("bias"))
    differences = given.pop("layers", [])
    c.update({"norm_placement": "pre", "residual_scale": 1.0, "score_scale": 0.0,
              "rope_base": 10000.0, "rope_pairing": "half", "max_seq_len": 0,
              "cross": False, "encoder_layers": 0, "is_encoder": False,
              "norm_offset": 0.0, "parallel": False, "shared_norm": False,
              "position_offset": 0, "embed_scale": 1.0, "embed_norm": False,
              "token_types": 0, "head_transform": False, "head_bias": False,
              "logit_scale": 1.0, "logit_softcap": 0.0})
    c["norm"] = given.get("norm", c["norm"])
    c.update({"qkv_bias": bias, "out_bias": bias, "mlp_bias": bias,
              "norm_bias": bias and c["norm"] == "layernorm"})
    c.update(given)
    c.setdefault("n_kv_heads", c["n_heads"])
    c.setdefault("head_dim", c["d_model"] // c["n_heads"])
    c.setdefault("value_dim", c["head_dim"])
    c.setdefault("d_ff", 4 * c["d_model"])
    c.setdefault("embed_dim", c["d_model"])
    c.setdefault("final_norm", c["norm_placement"] != "post")
    c.setdefault("rotary", c["positions"] == "rotary")
    c.setdefault("rope_width", c["head_dim"])
    layer = {key: c[key] for key in ("norm_eps", "residual_scale", "score_scale",
                                     "rotary", "rope_base", "rope_width",
                                     "rope_pairing")}
    layer.update({"causal": True, "window": 0, "fill": "-inf", "masked_row": "zero"})
    layer.update({k: v for k, v in spec.get("mask", {}).items()
                  if k != "evaluate_hidden"})
    c["layers"] = []
    for i in range(c["n_layers"]):
        one = dict(layer)
        for element in differences:
            if in_range(element["range"], i):
                one.update({k: v for k, v in element.items() if k != "range"})
        one["score_scale"] = one["score_scale"] or 1 / math.sqrt(c["head_dim"])
        one["fill"] = -np.inf if one["fill"] == "-inf" else float(one["fill"])
        c["layers"].append(one)
    encoded = dict(c["layers"][0], causal=False, window=0)
    c["encoder"] = dict(c, layers=[encoded] * c["encoder_layers"], cross=False,
                        n_layers=c["encoder_layers"], is_encoder=True)
    return c

# --- the masks


def reasons(layer, inputs):
    """(b, q, k): 0 where the query sees the key, else why not."""
    where, document = inputs["positions"], inputs["document"]
    distance = where[:, :, None] - where[:, None, :]
    out = np.zeros(distance.shape, int)
    if layer["window"]:
        out[np.abs(distance) >= layer["window"]] = WINDOW
    if layer["causal"]:
        out[distance < 0] = FUTURE
    out[document[:, :, None] != document[:, None, :]] = DOCUMENT
    out[np.broadcast_to(inputs["valid"][:, None, :] == 0, out.shape)] = PADDING
    return out



def memory_reasons(inputs):
    """The same (b, q, row) of the memory: its padding is all that is hidden."""
    hidden = np.where(inputs["memory_valid"] == 1, 0, PADDING)[:, None]
    return np.repeat(hidden, inputs["tokens"].shape[1], 1)

# --- the pass


class Steps:
    """The steps of layer i that faults do otherwise (numpy_faults.py)."""

    def norm(self, i, c, layer, x, weights, name):
        return _norm(c, layer, x, weights, name, -1)

    def split(self, i, flat, count, width):
        batch, length, _ = flat.shape
        return flat.reshape(batch, length, count, width).transpose(0, 2, 1, 3)

    def merge(self, i, heads):
        batch, _, length, _ = heads.shape
        return heads.transpose(0, 2, 1, 3).reshape(batch, length, -1)

    def project_out(self, i, merged, weights):
        return _linear(merged, weights, f"layers.{i}.attn.o")

    def add(self, i, stream, branch):
        return stream + branch


def _norm(c, layer, x, weights, name, axis):
    if c["norm"] == "layernorm":
        x = x - x.mean(axis, keepdims=True)
    x = x / np.sqrt((x * x).mean(axis, keepdims=True) + layer["norm_eps"])
    gain = c["norm_offset"] + weights[name + ".weight"]
    return x * gain + weights.get(name + ".bias", 0.0)


def _linear(x, weights, name):
    return x @ weights[name + ".weight"].T + weights.get(name + ".bias", 0.0)


def _activate(x, kind):
    if kind == "gelu":
        return 0.5 * x * (1 + erf(x / math.sqrt(2)))
    if kind == "gelu_tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    if kind == "relu":
        return np.maximum(x, 0)
    with np.errstate(over="ignore"):
        return x / (1 + np.exp(-x))


def _rotate(layer, x, positions):
    width = layer["rope_width"]
    if not layer["rotary"] or width == 0:
        return x
    pairs = np.arange(width // 2)
    angle = positions[:, None, :, None] * layer["rope_base"] ** (-2 * pairs / width)
    first, second = (pairs, pairs + width // 2) if layer["rope_pairing"] == "half" \
        else (2 * pairs, 2 * pairs + 1)
    out = x.copy()
    out[..., first] = x[..., first] * np.cos(angle) - x[..., second] * np.sin(angle)
    out[..., second] = x[..., second] * np.cos(angle) + x[..., first] * np.sin(angle)
    return out


def _softmax(masked, policy):
    top = masked.max(-1, keepdims=True)
    empty = top == -np.inf
    with np.errstate(invalid="ignore"):
        e = np.exp(masked - np.where(empty, 0, top))
    total = e.sum(-1, keepdims=True)
    value = {"zero": 0.0, "nan": np.nan, "uniform": 1 / masked.shape[-1]}[policy]
    return np.where(empty, value, e / np.where(empty, 1, total))


def _used(layer, seen):
    """Cells that are multiplied with values: seen ones; of a row all, if hidden scores
    become a finite number or if an empty row gets weights all the same."""
    if np.isfinite(layer["fill"]):
        return np.ones_like(seen)
    empty = ~seen.any(-1, keepdims=True)
    return seen | (empty & (layer["masked_row"] != "zero"))


def _mix(w, v, used):
    out = np.where(used, w, 0) @ np.nan_to_num(v, posinf=0.0, neginf=0.0)
    broken = (~np.isfinite(v)).any(-1)
    if broken.any():
        spoilt = (used & broken[:, :, None]).any(-1)
        out[spoilt] = np.nan
    return out


def _sinusoids(positions, width):
    lane = np.arange(width)
    angle = positions[..., None] * 10000.0 ** (-(lane - lane % 2) / width)
    return np.where(lane % 2 == 0, np.sin(angle), np.cos(angle))


def _attended(c, i, p, parts, why, out, sight):
    """From queries, keys and values to the heads, under the names `p`."""
    layer, (q, k, v) = c["layers"][i], parts
    share = c["n_heads"] // c["n_kv_heads"]
    scores = layer["score_scale"] * (q @ np.repeat(k, share, 1).swapaxes(2, 3))
    seen = np.repeat((why == 0)[:, None], c["n_heads"], 1)
    if sight:
        seen = sight(i, seen)
    masked = np.where(seen, scores, layer["fill"])
    w = _softmax(masked, layer["masked_row"])
    out[p + "scores"], out[p + "masked"], out[p + "weights"] = scores, masked, w
    out[p + "heads"] = _mix(w, np.repeat(v, share, 1), _used(layer, seen))


def _attend(c, i, x, weights, inputs, out, sight, how):
    layer, p = c["layers"][i], f"layers.{i}.attn."

    def heads(name, count, width):
        return how.split(i, _linear(x, weights, p + name), count, width)
    out[p + "q_proj"] = heads("q", c["n_heads"], c["head_dim"])
    out[p + "k_proj"] = heads("k", c["n_kv_heads"], c["head_dim"])
    q = out[p + "q"] = _rotate(layer, out[p + "q_proj"], inputs["positions"])
    k = out[p + "k"] = _rotate(layer, out[p + "k_proj"], inputs["positions"])
    v = out[p + "v"] = heads("v", c["n_kv_heads"], c["value_dim"])
    _attended(c, i, p, (q, k, v), reasons(layer, inputs), out, sight)
    out[p + "merged"] = how.merge(i, out[p + "heads"])
    out[p + "out"] = how.project_out(i, out[p + "merged"], weights)


def _attend_memory(c, i, x, weights, inputs, out):
    """Nothing rotates here, and the layer's own mask has no say."""
    p, plain = f"layers.{i}.cross.", Steps()

    def heads(source, name, count, width):
        return plain.split(i, _linear(source, weights, p + name), count, width)
    q = out[p + "q_proj"] = heads(x, "q", c["n_heads"], c["head_dim"])
    k = out[p + "k_proj"] = heads(inputs["memory"], "k", c["n_kv_heads"], c["head_dim"])
    v = heads(inputs["memory"], "v", c["n_kv_heads"], c["value_dim"])
    out[p + "q"], out[p + "k"], out[p + "v"] = q, k, v
    _attended(c, i, p, (q, k, v), memory_reasons(inputs), out, None)
    out[p + "merged"] = plain.merge(i, out[p + "heads"])
    out[p + "out"] = _linear(out[p + "merged"], weights, p + "o")


def _mlp(c, i, x, weights, out):
    p = f"layers.{i}.mlp."
    up = out[p + "up"] = _linear(x, weights, p + "up")
    if c["gated"]:
        out[p + "gate"] = _linear(x, weights, p + "gate")
        out[p + "gate_act"] = _activate(out[p + "gate"], c["activation"])
        out[p + "act"] = out[p + "gate_act"] * up
    else:
        out[p + "act"] = _activate(up, c["activation"])
    out[p + "out"] = _linear(out[p + "act"], weights, p + "down")


def _block(c, i, x, weights, inputs, out, sight, how):
    layer, p, placement = c["layers"][i], f"layers.{i}.", c["norm_placement"]

    def norm(name, value):
        out[p + name + ".out"] = how.norm(i, c, layer, value, weights, p + name)
        return out[p + name + ".out"]

    def before(name, value):
        return norm(name, value) if placement in ("pre", "sandwich") else value

    def branch(part, name):
        made = out[p + part + ".out"]
        if placement in ("sandwich", "branch"):
            made = norm(name + "_post", made)
        out[p + part + ".branch"] = layer["residual_scale"] * made
        return out[p + part + ".branch"]

    def after(name, value):
        return norm(name, value) if placement == "post" else value
    out[p + "resid.pre"] = x
    read = before("norm1", x)
    _attend(c, i, read, weights, inputs, out, sight, how)
    added = branch("attn", "norm1")
    if c["parallel"]:
        _mlp(c, i, read if c["shared_norm"] else before("norm2", x), weights, out)
        both = added + branch("mlp", "norm2")
        out[p + "resid.post"] = how.add(i, x, both)
        return out[p + "resid.post"]
    out[p + "resid.mid"] = how.add(i, x, added)
    middle = after("norm1", out[p + "resid.mid"])
    if c["cross"]:
        _attend_memory(c, i, before("norm_cross", middle), weights, inputs, out)
        out[p + "resid.cross"] = how.add(i, middle, branch("cross", "norm_cross"))
        middle = after("norm_cross", out[p + "resid.cross"])
    _mlp(c, i, before("norm2", middle), weights, out)
    out[p + "resid.post"] = how.add(i, middle, branch("mlp", "norm2"))
    return after("norm2", out[p + "resid.post"])


def _embed(c, weights, inputs, out):
    x = out["embed.tok"] = weights["embed.tok.weight"][inputs["tokens"]]
    if c["embed_dim"] != c["d_model"]:
        x = out["embed.in"] = x @ weights["embed.in.weight"].T
    if c["embed_scale"] not in (0, 1):
        x = out["embed.scaled"] = c["embed_scale"] * x
    if c["positions"] == "learned":
        rows = inputs["positions"] + c["position_offset"]
        out["embed.pos"] = weights["embed.pos.weight"][rows]
    elif c["positions"] == "sinusoidal":
        out["embed.pos"] = _sinusoids(inputs["positions"], c["d_model"])
    x = x + out.get("embed.pos", 0.0)
    if c["token_types"]:
        out["embed.type"] = weights["embed.type.weight"][inputs["types"]]
        x = x + out["embed.type"]
    out["embed.out"] = x
    if c["embed_norm"]:
        x = out["embed.norm"] = _norm(c, c["layers"][-1], x, weights, "embed_norm", -1)
    return x


def _head(c, x, weights, out):
    if c["head_transform"]:
        x = out["head.dense"] = _linear(x, weights, "head.dense")
        x = out["head.act"] = _activate(x, c["activation"])
        x = out["head.norm"] = _norm(c, c["layers"][-1], x, weights, "head_norm", -1)
    if c["embed_dim"] != c["d_model"]:
        x = out["head.in"] = x @ weights["head.in.weight"].T
    head = "embed.tok.weight" if c["tie_embeddings"] else "head.weight"
    logits = x @ weights[head].T + weights.get("head.bias", 0.0)
    if c["logit_scale"] not in (0, 1) or c["logit_softcap"]:
        out["logits_raw"] = logits
    logits = logits * (c["logit_scale"] or 1)
    if c["logit_softcap"]:
        logits = c["logit_softcap"] * np.tanh(logits / c["logit_softcap"])
    return logits


def encode(c, weights, inputs):
    """What the encoder makes of its tokens: its parameters are encoder.*, and the
    embeddings of the decoder."""
    own = {name.removeprefix("encoder."): value for name, value in weights.items()
           if name.startswith(("encoder.", "embed.", "embed_norm."))}
    return forward(c["encoder"], own, inputs)["end"]


def forward(c, weights, inputs, sight=None, how=Steps()):
    """Every point by its name. sight(layer, seen (b, h, q, k)): another mask."""
    if "encoder" in inputs:
        inputs = dict(inputs, memory=encode(c, weights, inputs["encoder"]))
    out = {"input." + name: inputs[name] for name in INPUTS if name in inputs}
    if c["token_types"]:
        out["input.types"] = inputs["types"]
    x = _embed(c, weights, inputs, out)
    for i in range(c["n_layers"]):
        x = _block(c, i, x, weights, inputs, out, sight, how)
    if c["final_norm"]:
        x = out["final.norm"] = _norm(c, c["layers"][-1], x, weights, "final_norm", -1)
    if c["is_encoder"]:
        return {"end": x}
    logits = out["logits"] = _head(c, x, weights, out)
    out["loss.token"] = _losses(logits, inputs)
    return out


def pairs(inputs):
    """Where a real token is followed by a real token."""
    valid = inputs["valid"] == 1
    out = valid & np.roll(valid, -1, 1)
    out[:, -1] = False
    return out


def _losses(logits, inputs):
    top = logits.max(-1, keepdims=True)
    lse = (np.log(np.exp(logits - top).sum(-1, keepdims=True)) + top)[..., 0]
    following = np.roll(inputs["tokens"], -1, 1)
    target = np.take_along_axis(logits, following[..., None], -1)[..., 0]
    return np.where(pairs(inputs), lse - target, np.nan)
