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


def padded(rows):
    """Token ids padded on the right, and PyTorch's mask: True where padding is."""
    longest = max(len(row) for row in rows)
    tokens = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    return tokens, torch.arange(longest) >= torch.tensor([[len(row)] for row in rows])


class Model:
    """The parameters and tokens of one cfg, and what is to be kept of its pass."""

    def __init__(self, name):
        spec = libconfig.load(os.path.join(SOURCE, "examples", "seeds", name + ".cfg"))
        self.config = numpy_decoder.resolve(spec)
        self.weights = {key: torch.tensor(value, dtype=torch.float64) for key, value in
                        numpy_params.draw(spec, self.config).items()}
        self.tokens, self.padding = padded(spec["input"]["tokens"])
        self.source = spec["input"].get("memory", {}).get("tokens")
        self.kept = {"valid": (~self.padding).numpy()}

    def of(self, layer, name):
        return self.weights[f"layers.{layer}.{name}"]

    def keep(self, name, value):
        self.kept[name] = value.detach().numpy()
        return value


def embed(m, tokens):
    places = torch.arange(tokens.shape[1])
    return F.embedding(tokens, m.weights["embed.tok.weight"]) + \
        F.embedding(places, m.weights["embed.pos.weight"])


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
    x = embed(m, m.tokens)
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


# --- PyTorch's own layers, of LayerNorm, GELU and biases


def fill(module, weight, bias):
    with torch.no_grad():
        module.weight.copy_(weight)
        module.bias.copy_(bias)


def fill_attention(m, attention, prefix):
    with torch.no_grad():
        attention.in_proj_weight.copy_(
            torch.cat([m.weights[f"{prefix}{name}.weight"] for name in "qkv"]))
        attention.in_proj_bias.copy_(
            torch.cat([m.weights[f"{prefix}{name}.bias"] for name in "qkv"]))
    fill(attention.out_proj, m.weights[prefix + "o.weight"],
         m.weights[prefix + "o.bias"])


def fill_layer(m, layer, prefix, parts):
    """`parts` pairs PyTorch's names with those of params.def."""
    for name, ours in parts.items():
        module = getattr(layer, name)
        if isinstance(module, nn.MultiheadAttention):
            fill_attention(m, module, prefix + ours)
        else:
            fill(module, m.weights[prefix + ours + ".weight"],
                 m.weights[prefix + ours + ".bias"])
    return layer


def layer_options(m):
    return {"d_model": m.config["d_model"], "nhead": m.config["n_heads"],
            "dim_feedforward": m.config["d_ff"], "dropout": 0.0, "activation": F.gelu,
            "layer_norm_eps": m.config["layers"][0]["norm_eps"], "batch_first": True,
            "norm_first": True, "dtype": torch.float64}


def encoder_layer(m, prefix):
    return fill_layer(m, nn.TransformerEncoderLayer(**layer_options(m)), prefix, {
        "self_attn": "attn.", "linear1": "mlp.up", "linear2": "mlp.down",
        "norm1": "norm1", "norm2": "norm2"})


def decoder_layer(m, prefix):
    return fill_layer(m, nn.TransformerDecoderLayer(**layer_options(m)), prefix, {
        "self_attn": "attn.", "multihead_attn": "cross.", "linear1": "mlp.up",
        "linear2": "mlp.down", "norm1": "norm1", "norm2": "norm_cross",
        "norm3": "norm2"})


def layer_norm(m, x, name):
    return F.layer_norm(x, x.shape[-1:], m.weights[name + ".weight"],
                        m.weights[name + ".bias"], m.config["layers"][0]["norm_eps"])


def head(m, x):
    m.keep("logits", linear(m.weights["head.weight"])(layer_norm(m, x, "final_norm")))


def one_stack(m):
    """An encoder, or a decoder without a memory: the mask makes the difference."""
    mask = future(m) if m.config["layers"][0]["causal"] else None
    x = embed(m, m.tokens)
    for layer in range(m.config["n_layers"]):
        x = encoder_layer(m, f"layers.{layer}.")(x, mask, m.padding)
        m.keep(f"layers.{layer}.resid.post", x)
    head(m, x)


def two_stacks(m):
    tokens, padding = padded(m.source)
    memory = embed(m, tokens)
    for layer in range(m.config["encoder_layers"]):
        memory = encoder_layer(m, f"encoder.layers.{layer}.")(memory, None, padding)
    memory = layer_norm(m, memory, "encoder.final_norm")
    x = embed(m, m.tokens)
    for layer in range(m.config["n_layers"]):
        x = decoder_layer(m, f"layers.{layer}.")(
            x, memory, future(m), None, m.padding, padding)
        m.keep(f"layers.{layer}.resid.post", x)
    head(m, x)


MODELS = {
    "S2-fused": lambda m: decoder(m, fused_attention),
    "S3-separate": lambda m: decoder(m, separate_attention),
    "S4-gelu": lambda m: decoder(m, fused_attention),
    "S4-relu": lambda m: decoder(m, fused_attention),
    "S4-silu": lambda m: decoder(m, fused_attention),
    "S6-mini": lambda m: decoder(m, fused_attention),
    "S26-encoder": one_stack,
    "S26-decoder": one_stack,
    "S26-encoder-decoder": two_stacks,
}


def main():
    np.seterr(over="ignore")  # random numbers are taken modulo 2^64
    os.makedirs(os.path.join(HERE, "golden"), exist_ok=True)
    for name, run in MODELS.items():
        m = Model(name)
        run(m)
        np.savez_compressed(os.path.join(HERE, "golden", name + ".npz"), **m.kept)
        print(name, len(m.kept), "values")


if __name__ == "__main__":
    main()
