# SPDX-License-Identifier: MIT
"""Writes a tiny Llama-style Hugging Face folder byte by byte, so that a test can spoil
any part of it."""
import json
import os
import random
import struct

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4,
    "max_position_embeddings": 32, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "attention_bias": False, "mlp_bias": False, "vocab_size": 32,
    "tie_word_embeddings": True, "torch_dtype": "float32",
}


def shapes():
    result = {"model.embed_tokens.weight": (32, 16), "model.norm.weight": (16,)}
    for layer in range(2):
        prefix = f"model.layers.{layer}."
        result.update({
            prefix + "input_layernorm.weight": (16,),
            prefix + "self_attn.q_proj.weight": (16, 16),
            prefix + "self_attn.k_proj.weight": (8, 16),
            prefix + "self_attn.v_proj.weight": (8, 16),
            prefix + "self_attn.o_proj.weight": (16, 16),
            prefix + "post_attention_layernorm.weight": (16,),
            prefix + "mlp.gate_proj.weight": (24, 16),
            prefix + "mlp.up_proj.weight": (24, 16),
            prefix + "mlp.down_proj.weight": (16, 24),
        })
    return result


def index_and_data():
    """The header of a healthy file, and its data."""
    numbers = random.Random(1)
    index, data = {}, b""
    for name, shape in shapes().items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = [numbers.gauss(0, 0.3) if len(shape) > 1 else 1.0
                  for _ in range(count)]
        block = struct.pack(f"<{count}f", *values)
        index[name] = {"dtype": "F32", "shape": list(shape),
                       "data_offsets": [len(data), len(data) + len(block)]}
        data += block
    return index, data


def safetensors(index, data, header=None, length=None):
    """The bytes of a file; header and length as they should be unless given."""
    if header is None:
        header = json.dumps(index)
    encoded = header.encode()
    return struct.pack("<Q", len(encoded) if length is None else length) \
        + encoded + data


def folder(path, weights=None, config=None):
    """Makes the folder; weights are bytes, config is a text, or healthy ones."""
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "model.safetensors"), "wb") as file:
        file.write(safetensors(*index_and_data()) if weights is None else weights)
    with open(os.path.join(path, "config.json"), "w", encoding="utf-8") as file:
        file.write(json.dumps(CONFIG) if config is None else config)
    return path
