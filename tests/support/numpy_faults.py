# SPDX-License-Identifier: MIT
"""The faults of layouts, norms, fills and parameters once more, from their sentences,
on top of numpy_decoder.py."""
import copy

import numpy as np

import numpy_decoder as decoder

NAMES = ("head_split_view", "head_merge_view", "strides_ignored", "norm_axis_tokens",
         "output_projection_missing", "residual_missing", "post_ln", "norm_eps_tiny",
         "norm_eps_huge", "mask_fill_finite", "mask_fill_too_weak", "shared_qkv",
         "heads_identical", "init_too_large")


class Wrong(decoder.Steps):
    """The steps under one fault, in the layers that it takes."""

    def __init__(self, use):
        self.name, self.layers = use["name"], use.get("layers", "*")

    def here(self, i, name):
        return self.name == name and decoder.in_range(self.layers, i)

    def norm(self, i, c, layer, x, weights, name):
        axis = 1 if self.here(i, "norm_axis_tokens") else -1
        return decoder._norm(c, layer, x, weights, name, axis)

    def split(self, i, flat, count, width):
        if self.here(i, "head_split_view"):
            return flat.reshape(len(flat), count, -1, width)
        return super().split(i, flat, count, width)

    def merge(self, i, heads):
        batch, count, length, width = heads.shape
        if self.here(i, "head_merge_view"):
            return heads.reshape(batch, length, -1)
        right = super().merge(i, heads)
        if self.here(i, "strides_ignored"):
            return super().merge(i, right.reshape(batch, count, length, width))
        return right

    def project_out(self, i, merged, weights):
        if self.here(i, "output_projection_missing"):
            return merged
        return super().project_out(i, merged, weights)

    def add(self, i, stream, branch):
        if self.here(i, "residual_missing"):
            return branch
        return super().add(i, stream, branch)


def configured(use, config):
    """The actual configuration."""
    name, out = use["name"], copy.deepcopy(config)
    if name == "post_ln":
        out["norm_placement"] = "post"
    for i, layer in enumerate(out["layers"]):
        if not decoder.in_range(use.get("layers", "*"), i):
            continue
        if name in ("norm_eps_tiny", "norm_eps_huge"):
            layer["norm_eps"] = {"norm_eps_tiny": 1e-12, "norm_eps_huge": 1e-3}[name]
        if name in ("mask_fill_finite", "mask_fill_too_weak"):
            layer["fill"] = {"mask_fill_finite": -1e9, "mask_fill_too_weak": -10}[name]
    return out


def _layer_weights(name, c, weights, p):
    group, e = c["n_heads"] // c["n_kv_heads"], c["head_dim"]

    def rows(which, head, kind):
        return weights[f"{p}{which}.{kind}"][head * e:(head + 1) * e]
    for kind in ("weight", "bias"):
        if f"{p}q.{kind}" not in weights:
            continue
        for g in range(c["n_kv_heads"]):
            if name == "shared_qkv":
                rows("k", g, kind)[:] = rows("q", g * group, kind)
                rows("v", g, kind)[:] = rows("q", g * group, kind)
            if name == "heads_identical":
                rows("k", g, kind)[:] = rows("k", 0, kind)
        for h in range(c["n_heads"]):
            if name == "heads_identical":
                rows("q", h, kind)[:] = rows("q", 0, kind)
    if name == "init_too_large":
        for which in "qkvo":
            large = 50 * weights[f"{p}{which}.weight"]
            weights[f"{p}{which}.weight"] = large.astype(np.float32).astype(float)


def parameters(use, config, weights):
    """The actual parameters; the caller's stay as they are."""
    out = {name: value.copy() for name, value in weights.items()}
    for i in range(config["n_layers"]):
        if use["name"] in ("shared_qkv", "heads_identical", "init_too_large") and \
                decoder.in_range(use.get("layers", "*"), i):
            _layer_weights(use["name"], config, out, f"layers.{i}.attn.")
    return out
