# SPDX-License-Identifier: MIT
"""Weights of a Llama checkpoint in numpy: a safetensors file read and written by its
description, and the names that txdiag gives the same parameters."""
import json
import math
import re
import struct

import numpy as np

WORDS = {"input_layernorm": "norm1", "post_attention_layernorm": "norm2",
         "self_attn.q_proj": "attn.q", "self_attn.k_proj": "attn.k",
         "self_attn.v_proj": "attn.v", "self_attn.o_proj": "attn.o",
         "mlp.gate_proj": "mlp.gate", "mlp.up_proj": "mlp.up",
         "mlp.down_proj": "mlp.down", "embed_tokens": "embed.tok",
         "norm": "final_norm", "lm_head": "head"}
DTYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": np.uint16}


def load(path):
    """{name: float64 array}, every dtype widened."""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    out = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + at for at in entry["data_offsets"])
        values = np.frombuffer(data[begin:end], DTYPES[entry["dtype"]])
        if entry["dtype"] == "BF16":
            values = (values.astype(np.uint32) << 16).view(np.float32)
        out[name] = values.reshape(entry["shape"]).astype(np.float64)
    return out


def save(path, tensors, dtype="F32"):
    """A safetensors file of {name: array}."""
    header, body = {}, b""
    for name, values in tensors.items():
        block = np.ascontiguousarray(values, DTYPES[dtype]).tobytes()
        header[name] = {"dtype": dtype, "shape": list(values.shape),
                        "data_offsets": [len(body), len(body) + len(block)]}
        body += block
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


def own_name(name):
    """model.layers.3.self_attn.q_proj.weight: layers.3.attn.q.weight"""
    layer, word, end = re.fullmatch(
        r"(?:model\.)?(layers\.\d+\.)?(.+)\.(weight|bias)", name).groups()
    return f"{layer or ''}{WORDS[word]}.{end}"


def own(tensors):
    return {own_name(name): values for name, values in tensors.items()}


def load_bin(path):
    """A file of llama2.c, version 0, under the names of txdiag's parameters."""
    with open(path, "rb") as file:
        data = file.read()
    dim, hidden, layers, heads, kv_heads, vocab, length = struct.unpack(
        "<7i", data[:28])
    numbers, at = np.frombuffer(data[28:], np.float32), 0
    kv = dim // heads * kv_heads

    def take(*shape):
        nonlocal at
        at += math.prod(shape)
        return numbers[at - math.prod(shape):at].reshape(shape)
    out = {"embed.tok.weight": take(abs(vocab), dim)}
    for name, shape in (("norm1", (dim,)), ("attn.q", (dim, dim)),
                        ("attn.k", (kv, dim)), ("attn.v", (kv, dim)),
                        ("attn.o", (dim, dim)), ("norm2", (dim,)),
                        ("mlp.gate", (hidden, dim)), ("mlp.down", (dim, hidden)),
                        ("mlp.up", (hidden, dim))):
        for layer, values in enumerate(take(layers, *shape)):
            out[f"layers.{layer}.{name}.weight"] = values
    out["final_norm.weight"] = take(dim)
    take(2, length, dim // heads // 2)
    if vocab < 0:
        out["head.weight"] = take(-vocab, dim)
    assert at == numbers.size
    return out
