#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gradients of the mean loss by PyTorch in float64, for test_backward_torch.c.

    make_gradients.py MODELS

reads MODELS/stories260K and MODELS/gpt-nano-sort, and writes gradients_*.txt beside
itself: of every parameter and of what enters every layer. A tensor g is told by its
length (L2), its sum and its inner products with 8 directions r_i, whose elements are
uniform in [-1, 1) and a function of (i, name, element) as base/rng.h has it. If another
gradient differs by e, then |<e, r_i>| <= d |e| has a probability of at most sqrt(2) d
(Ball 1986: no slice of a cube is larger), so that eight small products mean a small e:
(sqrt(2) / 20)^8 < 1e-9. That takes a hundredth of the space of the gradients.
"""

import json
import os
import struct
import sys

import numpy
import torch

DIRECTIONS = 8
MASK = (1 << 64) - 1


def mix(z):
    """The finaliser of SplitMix64, of Python's integers or of an array."""
    with numpy.errstate(over="ignore"):
        if isinstance(z, int):
            z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
            return z ^ (z >> 31)
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        return z ^ (z >> numpy.uint64(31))


def direction(seed, name, count):
    """2 txd_rng_uniform(txd_rng_key(seed, name), i) - 1."""
    gamma = 0x9E3779B97F4A7C15
    fnv = 0xCBF29CE484222325
    for byte in name.encode():
        fnv = ((fnv ^ byte) * 0x100000001B3) & MASK
    key = mix(mix((seed + gamma) & MASK) ^ fnv)
    with numpy.errstate(over="ignore"):
        index = numpy.arange(1, count + 1, dtype=numpy.uint64)
        bits = mix(numpy.uint64(key) + index * numpy.uint64(gamma))
    return 2 * ((bits >> numpy.uint64(11)).astype(numpy.float64) * 2.0**-53) - 1


def safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    out = {}
    for name, about in header.items():
        if name != "__metadata__":
            assert about["dtype"] == "F32"
            begin, end = about["data_offsets"]
            values = numpy.frombuffer(data[begin:end], "<f4").reshape(about["shape"])
            out[name] = torch.tensor(values.astype(numpy.float64), requires_grad=True)
    return out


def mean_loss(logits, ids):
    """Over all pairs of neighbours."""
    return torch.nn.functional.cross_entropy(
        logits[:, :-1].reshape(-1, logits.shape[-1]), ids[:, 1:].reshape(-1))


def attend(q, k, v):
    """(b, h, t, e) each; causal."""
    length = q.shape[2]
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
    weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
    return (weights @ v).transpose(1, 2).flatten(2)


def split(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


LLAMA = (("norm1", "input_layernorm"), ("attn.q", "self_attn.q_proj"),
         ("attn.k", "self_attn.k_proj"), ("attn.v", "self_attn.v_proj"),
         ("attn.o", "self_attn.o_proj"), ("norm2", "post_attention_layernorm"),
         ("mlp.gate", "mlp.gate_proj"), ("mlp.up", "mlp.up_proj"),
         ("mlp.down", "mlp.down_proj"))


def llama(w, config, ids):
    """The loss, what enters each layer, and the name that a parameter has here."""
    heads, groups = config["num_attention_heads"], config["num_key_value_heads"]
    width, eps = config["head_dim"], config["rms_norm_eps"]
    place = torch.arange(ids.shape[1], dtype=torch.float64)
    lane = torch.arange(0, width, 2, dtype=torch.float64)
    rate = config["rope_theta"] ** (-lane / width)
    angle = torch.cat([torch.outer(place, rate)] * 2, -1)
    names, entering = {"embed.tok.weight": "model.embed_tokens.weight",
                       "final_norm.weight": "model.norm.weight"}, []

    def norm(x, gain):
        return gain * x / (x.square().mean(-1, keepdim=True) + eps).sqrt()

    def rotate(x):
        one, two = x.chunk(2, -1)
        return x * angle.cos() + torch.cat([-two, one], -1) * angle.sin()

    x = w["model.embed_tokens.weight"][ids]
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        for ours, theirs in LLAMA:
            names[f"layers.{layer}.{ours}.weight"] = at + theirs + ".weight"
        x.retain_grad()
        entering.append(x)
        y = norm(x, w[at + "input_layernorm.weight"])
        q = rotate(split(y @ w[at + "self_attn.q_proj.weight"].T, heads))
        k = rotate(split(y @ w[at + "self_attn.k_proj.weight"].T, groups))
        v = split(y @ w[at + "self_attn.v_proj.weight"].T, groups)
        k, v = (z.repeat_interleave(heads // groups, 1) for z in (k, v))
        x = x + attend(q, k, v) @ w[at + "self_attn.o_proj.weight"].T
        y = norm(x, w[at + "post_attention_layernorm.weight"])
        y = torch.nn.functional.silu(y @ w[at + "mlp.gate_proj.weight"].T) * (
            y @ w[at + "mlp.up_proj.weight"].T)
        x = x + y @ w[at + "mlp.down_proj.weight"].T
    x = norm(x, w["model.norm.weight"])
    return mean_loss(x @ w["model.embed_tokens.weight"].T, ids), entering, names


def gpt2(w, config, ids):
    heads, width = config["n_head"], config["n_embd"]
    names = {"embed.tok.weight": "transformer.wte.weight",
             "embed.pos.weight": "transformer.wpe.weight",
             "final_norm.weight": "transformer.ln_f.weight",
             "final_norm.bias": "transformer.ln_f.bias",
             "head.weight": "lm_head.weight"}
    entering = []

    def norm(x, name):
        return torch.nn.functional.layer_norm(x, (width,), w[name + ".weight"],
                                              w[name + ".bias"],
                                              config["layer_norm_epsilon"])

    def linear(x, name):
        return x @ w[name + ".weight"] + w[name + ".bias"]

    def gelu(x):
        return 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))

    x = w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"][: ids.shape[1]]
    for layer in range(config["n_layer"]):
        at = f"transformer.h.{layer}."
        for ours, theirs in (("norm1", "ln_1"), ("attn.qkv", "attn.c_attn"),
                             ("attn.o", "attn.c_proj"), ("norm2", "ln_2"),
                             ("mlp.up", "mlp.c_fc"), ("mlp.down", "mlp.c_proj")):
            for part in ("weight", "bias"):
                names[f"layers.{layer}.{ours}.{part}"] = f"{at}{theirs}.{part}"
        x.retain_grad()
        entering.append(x)
        qkv = linear(norm(x, at + "ln_1"), at + "attn.c_attn").chunk(3, -1)
        x = x + linear(attend(*(split(z, heads) for z in qkv)), at + "attn.c_proj")
        y = gelu(linear(norm(x, at + "ln_2"), at + "mlp.c_fc"))
        x = x + linear(y, at + "mlp.c_proj")
    logits = norm(x, "transformer.ln_f") @ w["lm_head.weight"].T
    return mean_loss(logits, ids), entering, names


def line(name, gradient):
    g = gradient.detach().numpy().reshape(-1)
    numbers = [numpy.sqrt(g @ g), g.sum()]
    numbers += [g @ direction(i, name, g.size) for i in range(DIRECTIONS)]
    return " ".join([name, str(g.size)] + [f"{x:.17g}" for x in numbers])


def write(models, folder, tokens, forward):
    w = safetensors(os.path.join(models, folder, "model.safetensors"))
    with open(os.path.join(models, folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    ids = numpy.load(os.path.join(models, folder, "golden", tokens))
    ids = torch.tensor(numpy.atleast_2d(ids)).long()
    loss, entering, names = forward(w, config, ids)
    loss.backward()
    assert set(names.values()) == set(w), "a parameter was left out"
    lines = [f"# float64 gradients of the mean loss of {folder} on golden/{tokens},",
             f"# by PyTorch {torch.__version__} and make_gradients.py, which explains:",
             f"# name, elements, length, sum, products with {DIRECTIONS} directions",
             f"loss 1 {loss.item():.17g}"]
    for ours, theirs in names.items():
        g = w[theirs].grad
        turned = forward is gpt2 and g.dim() == 2 and ".h." in theirs  # (in, out)
        lines.append(line(ours + "@grad", g.T.contiguous() if turned else g))
    for layer, x in enumerate(entering):
        lines.append(line(f"layers.{layer}.resid.pre@grad", x.grad))
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, f"gradients_{folder}.txt"), "w",
              encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_gradients.py MODELS")
    write(sys.argv[1], "stories260K", "prompt_ids.npy", llama)
    write(sys.argv[1], "gpt-nano-sort", "idx.npy", gpt2)
