#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The golden numbers of examples/seeds, made with PyTorch in float64: its own attention
(nn.MultiheadAttention), its own linear maps and activations. Run it by hand where
torch is installed (1.13 or later); the tests compare with the files that it writes:

    /usr/bin/python3 tests/seeds/golden.py

Weights are those that weights.init of each cfg draws
(tests/support/numpy_params.py)."""
import os
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
import libconfig  # noqa: E402
import numpy_decoder  # noqa: E402
import numpy_params  # noqa: E402


class Model:
    """The parameters and tokens of one cfg, and what is to be kept of its pass."""

    def __init__(self, name):
        spec = libconfig.load(os.path.join(SOURCE, "examples", "seeds", name + ".cfg"))
        self.config = numpy_decoder.resolve(spec)
        self.weights = {key: torch.tensor(value, dtype=torch.float64) for key, value in
                        numpy_params.draw(spec, self.config).items()}
        self.tokens = torch.tensor(spec["input"]["tokens"])
        self.kept = {}

    def of(self, layer, name):
        return self.weights.get(f"layers.{layer}.{name}")

    def keep(self, name, value):
        self.kept[name] = value.detach().numpy()
        return value


def embed(m):
    tokens = F.embedding(m.tokens, m.weights["embed.tok.weight"])
    places = F.embedding(torch.arange(m.tokens.shape[1]), m.weights["embed.pos.weight"])
    return tokens + places


def rms_norm(m, x, gain):
    """nn.RMSNorm, which comes with later versions; its eps is that of float32."""
    eps = m.config["layers"][0]["norm_eps"]
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * gain


def future(m):
    """PyTorch's convention: True where a query must not look."""
    n = m.tokens.shape[1]
    return torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)


def fused_attention(m, layer, x):
    attention = nn.MultiheadAttention(m.config["d_model"], m.config["n_heads"],
                                      bias=False, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        attention.in_proj_weight.copy_(
            torch.cat([m.of(layer, f"attn.{name}.weight") for name in "qkv"]))
        attention.out_proj.weight.copy_(m.of(layer, "attn.o.weight"))
    return attention(x, x, x, attn_mask=future(m), average_attn_weights=False)


def separate_attention(m, layer, x):
    biases = torch.cat([m.of(layer, f"attn.{name}.bias") for name in "qkv"])
    x = x.transpose(0, 1)
    out, weights = F.multi_head_attention_forward(
        x, x, x, m.config["d_model"], m.config["n_heads"], None, biases, None, None,
        False, 0.0, m.of(layer, "attn.o.weight"), None, attn_mask=future(m),
        use_separate_proj_weight=True, q_proj_weight=m.of(layer, "attn.q.weight"),
        k_proj_weight=m.of(layer, "attn.k.weight"),
        v_proj_weight=m.of(layer, "attn.v.weight"), average_attn_weights=False)
    return out.transpose(0, 1), weights


def linear(weight):
    out = nn.Linear(weight.shape[1], weight.shape[0], bias=False, dtype=torch.float64)
    with torch.no_grad():
        out.weight.copy_(weight)
    return out


def feed_forward(m, layer, x):
    activation = {"gelu": nn.GELU(), "relu": nn.ReLU(),
                  "silu": nn.SiLU()}[m.config["activation"]]
    up, down = (linear(m.of(layer, f"mlp.{name}.weight")) for name in ("up", "down"))
    if m.config["gated"]:
        gate = linear(m.of(layer, "mlp.gate.weight"))
        return down(activation(gate(x)) * up(x))
    return nn.Sequential(up, activation, down)(x)


def decoder(m, attention):
    """The small decoder: pre-norm blocks with RMSNorm, a final norm, its own head."""
    x = embed(m)
    for layer in range(m.config["n_layers"]):
        y = rms_norm(m, x, m.of(layer, "norm1.weight"))
        out, weights = attention(m, layer, y)
        m.keep(f"layers.{layer}.attn.weights", weights)
        x = x + out
        y = rms_norm(m, x, m.of(layer, "norm2.weight"))
        branch = feed_forward(m, layer, y)
        x = x + branch
        if layer == 0:
            m.keep("layers.0.attn.out", out)
            m.keep("layers.0.mlp.out", branch)
    x = rms_norm(m, x, m.weights["final_norm.weight"])
    m.keep("logits", linear(m.weights["head.weight"])(x))


def main():
    np.seterr(over="ignore")  # random numbers are taken modulo 2^64
    os.makedirs(os.path.join(HERE, "golden"), exist_ok=True)
    for name, attention in (("S2-fused", fused_attention),
                            ("S3-separate", separate_attention),
                            ("S4-gelu", fused_attention),
                            ("S4-relu", fused_attention),
                            ("S4-silu", fused_attention),
                            ("S6-mini", fused_attention)):
        m = Model(name)
        decoder(m, attention)
        np.savez_compressed(os.path.join(HERE, "golden", name + ".npz"), **m.kept)
        print(name, len(m.kept), "values")


if __name__ == "__main__":
    main()
