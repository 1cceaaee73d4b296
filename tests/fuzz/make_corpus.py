#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the binary seeds of the fuzz targets: corpus/safetensors, corpus/npy,
corpus/npz and corpus/checkpoint."""
import io
import json
import os
import re
import struct
import zipfile

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")
FIXTURES = os.path.join(HERE, "../../fixtures/parity")


def put(folder, name, data):
    path = os.path.join(HERE, folder)
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, name), "wb") as file:
        file.write(data)


def archive(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def safetensors():
    pair = tensor("F32", [2], 0, 8)
    data = bytes(range(8))
    good = {"__metadata__": {"format": "pt"}, "a": pair,
            "b": tensor("BF16", [1, 2], 8, 12), "c": tensor("F16", [0, 3], 12, 12)}
    put("safetensors", "good", archive(good, data + data[:4]))
    put("safetensors", "no_tensors", archive({}))
    put("safetensors", "empty", b"")
    put("safetensors", "length_2_60", archive({"a": pair}, data, length=1 << 60))
    put("safetensors", "truncated", archive({"a": pair}, data[:5]))
    put("safetensors", "overlap", archive(
        {"a": pair, "b": tensor("F32", [2], 4, 12)}, data + data[:4]))
    put("safetensors", "hole", archive({"a": tensor("F32", [1], 4, 8)}, data))
    put("safetensors", "product_overflow", archive(
        {"a": tensor("F32", [1 << 32, 1 << 32], 0, 8)}, data))
    put("safetensors", "zero_and_huge", archive(
        {"a": tensor("F64", [1 << 62, 0, 1 << 62], 0, 0)}))
    put("safetensors", "foreign", archive({"a": tensor("F8_E4M3", [8], 0, 8)}, data))
    put("safetensors", "unknown_dtype", archive({"a": tensor("X", [3], 0, 8)}, data))
    put("safetensors", "duplicate", archive(b'{"a":{},"a":{}}'))
    put("safetensors", "control", archive({"a\n": pair}, data))
    put("safetensors", "all_dtypes", archive(
        {"f": tensor("F64", [1], 0, 8), "i": tensor("I64", [], 8, 16),
         "j": tensor("I32", [1, 1], 16, 20), "u": tensor("U8", [3], 20, 23)},
        bytes(23)))


def array(text, data=b"", version=1, length=None):
    count = len(text) if length is None else length
    return (b"\x93NUMPY" + bytes([version, 0]) +
            struct.pack("<H" if version == 1 else "<I", count) + text + data)


def head(descr, shape, order=b"False"):
    return (b"{'descr': '" + descr + b"', 'fortran_order': " + order +
            b", 'shape': " + shape + b", }\n")


def npy():
    put("npy", "f4", array(head(b"<f4", b"(2, 3)"), bytes(24)))
    put("npy", "scalar_v2", array(head(b"<f8", b"()"), bytes(8), 2))
    put("npy", "u1_v3", array(head(b"|u1", b"(2,)"), bytes(2), 3))
    put("npy", "f2", array(head(b"<f2", b"(1L,)"), bytes(2)))
    put("npy", "i8", array(head(b"<i8", b"(1,)"), bytes(8)))
    put("npy", "i4_none", array(head(b"<i4", b"(0, 9)")))
    put("npy", "big_endian", array(head(b">f4", b"(1,)"), bytes(4)))
    put("npy", "fortran", array(head(b"<f4", b"(1, 1)", b"True"), bytes(4)))
    put("npy", "structured", array(b"{'descr': [('a', '<f4')], }"))
    put("npy", "truncated", array(head(b"<f4", b"(9,)"), bytes(4)))
    put("npy", "overflow", array(head(b"<f4", b"(4294967296, 4294967296)")))
    put("npy", "long_header", array(head(b"<f4", b"(1,)"), bytes(4), 2, 1 << 31))
    put("npy", "empty", b"")


def zipped(members, method=zipfile.ZIP_STORED):
    """An archive of (name, bytes), without a time in it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            file.writestr(info, data)
    return bytearray(out.getvalue())


def patched(data, signature, offset, value):
    """With a 32-bit field of the first record of this signature replaced."""
    at = data.find(signature) + offset
    return data[:at] + struct.pack("<I", value) + data[at + 4:]


def npz():
    memory = array(head(b"<f4", b"(2, 3)"), bytes(range(24)))
    valid = array(head(b"|b1", b"(2,)"), b"\1\0")
    pair = [("memory.npy", memory), ("valid.npy", valid)]
    central, end = b"PK\1\2", b"PK\5\6"
    good, packed = zipped(pair), zipped(pair, zipfile.ZIP_DEFLATED)
    zeros = array(head(b"<f8", b"(4000,)"), bytes(32000))
    put("npz", "stored", good)
    put("npz", "deflated", packed)
    put("npz", "no_members", zipped([]))
    put("npz", "other_members", zipped(
        [("a.txt", b"a"), (".npy", b""), ("b.npy", b"")]))
    put("npz", "twice", zipped(pair + [("memor2.npy", memory)]).replace(
        b"memor2", b"memory"))
    put("npz", "strings", zipped([("s.npy", array(head(b"<U4", b"(1,)"), bytes(16)))]))
    put("npz", "f2", zipped([("h.npy", array(head(b"<f2", b"(2, 1)"), bytes(4)))]))
    put("npz", "zeros", zipped([("z.npy", zeros)], zipfile.ZIP_DEFLATED))
    put("npz", "bzip2", zipped(pair, zipfile.ZIP_BZIP2))
    put("npz", "claims_2_31", patched(packed, central, 24, 1 << 31))
    put("npz", "claims_less", patched(packed, central, 24, 90))
    put("npz", "claims_more", patched(packed, central, 24, 400))
    put("npz", "wrong_sum", patched(good, central, 16, 1))
    put("npz", "far_directory", patched(good, end, 16, 1 << 30))
    put("npz", "large_directory", patched(good, end, 12, 1 << 30))
    put("npz", "far_member", patched(good, central, 42, 1 << 30))
    put("npz", "truncated", good[:len(good) // 2])
    put("npz", "bad_header", zipped([("memory.npy", memory[:20])]))
    put("npz", "long_header", zipped(
        [("memory.npy", array(b" " * 80000, b"", 2))], zipfile.ZIP_DEFLATED))
    put("npz", "empty", b"")


LLAMA = {"model_type": "llama", "vocab_size": 3, "hidden_size": 2,
         "intermediate_size": 3, "num_hidden_layers": 1, "num_attention_heads": 1}
LLAMA_SHAPES = {
    "model.embed_tokens.weight": [3, 2], "model.norm.weight": [2],
    "lm_head.weight": [3, 2],
    "model.layers.0.input_layernorm.weight": [2],
    "model.layers.0.self_attn.q_proj.weight": [2, 2],
    "model.layers.0.self_attn.k_proj.weight": [2, 2],
    "model.layers.0.self_attn.v_proj.weight": [2, 2],
    "model.layers.0.self_attn.o_proj.weight": [2, 2],
    "model.layers.0.post_attention_layernorm.weight": [2],
    "model.layers.0.mlp.gate_proj.weight": [3, 2],
    "model.layers.0.mlp.up_proj.weight": [3, 2],
    "model.layers.0.mlp.down_proj.weight": [2, 3],
}
GPT2 = {"model_type": "gpt2", "vocab_size": 3, "n_embd": 2, "n_layer": 1, "n_head": 1,
        "n_positions": 4, "n_inner": 3, "activation_function": "gelu_new"}
GPT2_SHAPES = {
    "wte.weight": [3, 2], "wpe.weight": [4, 2], "ln_f.weight": [2], "ln_f.bias": [2],
    "h.0.ln_1.weight": [2], "h.0.ln_1.bias": [2], "h.0.attn.bias": [1, 1, 2, 2],
    "h.0.attn.c_attn.weight": [2, 6], "h.0.attn.c_attn.bias": [6],
    "h.0.attn.c_proj.weight": [2, 2], "h.0.attn.c_proj.bias": [2],
    "h.0.ln_2.weight": [2], "h.0.ln_2.bias": [2],
    "h.0.mlp.c_fc.weight": [2, 3], "h.0.mlp.c_fc.bias": [3],
    "h.0.mlp.c_proj.weight": [3, 2], "h.0.mlp.c_proj.bias": [2],
}


def model(config, shapes, changes=None):
    header, end = {}, 0
    for name, shape in shapes.items():
        count = 1
        for side in shape:
            count *= side
        header[name] = tensor("BF16", shape, end, end + 2 * count)
        end += 2 * count
    return json.dumps(dict(config, **(changes or {}))).encode() + b"\0" + \
        archive(header, bytes(i % 64 for i in range(end)))


def checkpoint():
    def without(shapes, name):
        return {key: value for key, value in shapes.items() if key != name}
    put("checkpoint", "llama", model(LLAMA, LLAMA_SHAPES))
    put("checkpoint", "llama_all_fields", model(LLAMA, LLAMA_SHAPES, {
        "head_dim": 2, "num_key_value_heads": 1, "rope_theta": 1e4, "sliding_window": 3,
        "rope_scaling": None, "attention_bias": False, "mlp_bias": False,
        "hidden_act": "silu", "rms_norm_eps": 1e-5, "max_position_embeddings": 8,
        "rope_parameters": {"rope_type": "default", "rope_theta": 5}}))
    put("checkpoint", "llama_tied", model(
        LLAMA, without(LLAMA_SHAPES, "lm_head.weight"), {"tie_word_embeddings": True}))
    put("checkpoint", "llama_untied_without_head", model(
        LLAMA, without(LLAMA_SHAPES, "lm_head.weight"), {"tie_word_embeddings": False}))
    put("checkpoint", "llama_head_differs", model(
        LLAMA, LLAMA_SHAPES, {"tie_word_embeddings": True}))
    put("checkpoint", "llama_scaled", model(
        LLAMA, LLAMA_SHAPES, {"rope_scaling": {"type": "linear", "factor": 2.0}}))
    put("checkpoint", "gpt2", model(GPT2, GPT2_SHAPES))
    put("checkpoint", "gpt2_by_layer", model(
        GPT2, GPT2_SHAPES, {"scale_attn_by_inverse_layer_idx": True}))
    put("checkpoint", "gpt2_bias_missing", model(
        GPT2, without(GPT2_SHAPES, "h.0.mlp.c_fc.bias")))
    put("checkpoint", "gpt2_many_layers", model(
        GPT2, GPT2_SHAPES, {"n_layer": 65536}))
    put("checkpoint", "gpt2_heads", model(GPT2, GPT2_SHAPES, {"n_head": 65536}))
    put("checkpoint", "other_type", model(LLAMA, LLAMA_SHAPES, {"model_type": "bert"}))
    put("checkpoint", "config_alone", json.dumps(LLAMA).encode())
    put("checkpoint", "empty", b"")


LAYERS = ("num_hidden_layers", "n_layer", "num_layers", "num_decoder_layers")


def families():
    """A fixture of parity each, with one layer, a vocabulary of 3, and no values."""
    for name in sorted(os.listdir(FIXTURES)):
        folder = os.path.join(FIXTURES, name)
        if not os.path.exists(os.path.join(folder, "config.json")):
            continue
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        with open(os.path.join(folder, "model.safetensors"), "rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        vocab = config["vocab_size"]
        for key, value in config.items():
            if isinstance(value, list) and key != "architectures":
                config[key] = value[:1]
        config.update({key: 1 for key in LAYERS if key in config}, vocab_size=3)
        shapes, end = {}, 0
        for tensor_name, entry in header.items():
            if tensor_name == "__metadata__" or re.search(
                    r"\.(h|block|layers|encoder\.layer)\.[1-9]", tensor_name):
                continue
            shape = [3 if side == vocab else side for side in entry["shape"]]
            count = 2
            for side in shape:
                count *= side
            shapes[tensor_name] = tensor("BF16", shape, end, end + count)
            end += count
        put("checkpoint", "family_" + name, json.dumps(config).encode() + b"\0" +
            archive(shapes, bytes(end)))


if __name__ == "__main__":
    safetensors()
    npy()
    npz()
    checkpoint()
    families()
