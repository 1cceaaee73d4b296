#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the seeds of the fuzz targets of files with models: corpus/gguf,
corpus/model_gguf, corpus/llama2c and corpus/sharded."""
import json
import os
import struct

from make_corpus import archive, put, tensor as described

U8, U32, F32, STRING, ARRAY, U64 = 0, 4, 6, 8, 9, 10
BLOCKS = {0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24),
          8: (32, 34), 12: (256, 144), 13: (256, 176), 14: (256, 210), 16: (256, 66),
          26: (1, 4), 30: (1, 2)}


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


def value(key, kind, data):
    return text(key) + struct.pack("<I", kind) + data


def u32(key, number):
    return value(key, U32, struct.pack("<I", number))


def real(key, number):
    return value(key, F32, struct.pack("<f", number))


def string(key, word):
    return value(key, STRING, text(word))


def array(key, kind, elements, count=None):
    return value(key, ARRAY, struct.pack(
        "<IQ", kind, len(elements) if count is None else count) + b"".join(elements))


def size_of(kind, shape):
    count = 1
    for side in shape:
        count *= side
    lanes, size = BLOCKS.get(kind, (1, 1))
    return count // lanes * size


def tensor(name, kind, shape, offset):
    """`shape` as in files: the fastest axis first."""
    return text(name) + struct.pack("<I", len(shape)) + b"".join(
        struct.pack("<Q", side) for side in shape) + struct.pack("<IQ", kind, offset)


def listed(tensors):
    """The list of (name, type, shape), and how many bytes their data take."""
    lines, offset = b"", 0
    for name, kind, shape in tensors:
        lines += tensor(name, kind, shape, offset)
        offset += -(-size_of(kind, shape) // 32) * 32
    return lines, offset


def head(tensors, values, version=3, magic=b"GGUF"):
    return magic + struct.pack("<IQQ", version, tensors, values)


def whole(values, tensors, version=3, fill=None):
    lines, size = listed(tensors)
    data = head(len(tensors), len(values), version) + b"".join(values) + lines
    data += bytes(-len(data) % 32)
    return data + (fill or bytes(i * 7 % 60 for i in range(size)))[:size]


VALUES = [string("general.architecture", "llama"), u32("llama.block_count", 1),
          real("llama.rope.freq_base", 1e4),
          array("tokenizer.ggml.tokens", STRING, [text("<s>"), text(""), text("a")]),
          array("tokenizer.ggml.scores", F32, [struct.pack("<f", i) for i in range(3)])]


def gguf():
    kinds = [("t%d" % kind, kind, [256, 2]) for kind in BLOCKS]
    good = whole(VALUES, kinds)
    put("gguf", "all_types", good)
    put("gguf", "version_2", whole(VALUES, kinds[:2], 2))
    put("gguf", "vocabulary", whole(VALUES, []))
    put("gguf", "empty", b"")
    put("gguf", "magic", b"GGUF")
    put("gguf", "version_1", whole(VALUES, [], 1))
    put("gguf", "big_endian", b"GGUF" + struct.pack(">IQQ", 3, 0, 0))
    put("gguf", "truncated", good[:len(good) // 2])
    put("gguf", "one_byte_short", whole(VALUES, [("w", 8, [32])])[:-31])
    put("gguf", "tensors_2_64", head((1 << 64) - 1, 0))
    put("gguf", "keys_2_60", head(0, 1 << 60))
    put("gguf", "key_2_64", head(0, 1) + struct.pack("<QQ", (1 << 64) - 1, 0))
    put("gguf", "key_control", head(0, 1) + u32("a\n", 1))
    put("gguf", "key_twice", head(0, 2) + u32("a", 1) + u32("a", 2))
    put("gguf", "key_below_key", head(0, 2) + u32("a", 1) + u32("a.b", 2))
    put("gguf", "key_of_dots", head(0, 1) + u32("." * 3000, 1))
    put("gguf", "key_not_utf8", head(0, 1) + u32(b"\xff\xfe", 1))
    put("gguf", "type_13", head(0, 1) + value("a", 13, bytes(8)))
    put("gguf", "string_2_64", head(0, 1) + value(
        "a", STRING, struct.pack("<Q", (1 << 64) - 1)))
    put("gguf", "string_of_zeros", head(0, 1) + string("a", bytes(5)))
    put("gguf", "array_2_61", head(0, 1) + array("a", U64, [], 1 << 61))
    put("gguf", "array_too_long", head(0, 1) + array("a", U64, [bytes(8)], 2))
    put("gguf", "array_of_arrays", head(0, 1) + array("a", ARRAY, [bytes(12)]))
    put("gguf", "array_long", head(0, 1) + array("a", U8, [bytes(5000)], 5000))
    put("gguf", "nan_and_inf", head(0, 2) + real("a", float("nan")) +
        real("b", float("inf")))
    put("gguf", "alignment_0", whole([u32("general.alignment", 0)], [("w", 0, [2])]))
    put("gguf", "alignment_24", whole([u32("general.alignment", 24)], [("w", 0, [2])]))
    put("gguf", "alignment_2_31", whole([u32("general.alignment", 1 << 31)],
                                        [("w", 0, [2])]))
    put("gguf", "alignment_text", whole([string("general.alignment", "32")], []))
    put("gguf", "overflow", head(1, 0) +
        tensor("w", 0, [1 << 32, 1 << 32], 0))
    put("gguf", "axis_2_63", head(1, 0) + tensor("w", 0, [1 << 63], 0))
    put("gguf", "zero_and_huge", whole([], [("w", 0, [0, 1 << 62])]))
    put("gguf", "axes_9", head(1, 0) + tensor("w", 0, [1] * 9, 0) + bytes(64))
    put("gguf", "axes_2_32", head(1, 0) + text("w") + bytes([255] * 4) + bytes(64))
    put("gguf", "scalar", whole([], [("w", 0, [])]))
    put("gguf", "scalar_block", whole([], [("w", 8, [])]))
    put("gguf", "odd_row", whole([], [("w", 8, [33])]))
    put("gguf", "type_99", head(1, 0) + tensor("w", 99, [2], 0) + bytes(64))
    put("gguf", "type_removed", head(1, 0) + tensor("w", 31, [2], 0) + bytes(64))
    put("gguf", "offset_odd", head(1, 0) + tensor("w", 0, [2], 4) + bytes(64))
    put("gguf", "offset_2_64", head(1, 0) + tensor("w", 0, [2], (1 << 64) - 32) +
        bytes(64))
    put("gguf", "overlap", head(2, 0) + tensor("a", 0, [2], 0) +
        tensor("b", 0, [2], 0) + bytes(128))
    put("gguf", "twice", head(2, 0) + tensor("a", 0, [2], 0) +
        tensor("a", 0, [2], 32) + bytes(128))
    put("gguf", "infinite_scales", whole([], kinds, fill=bytes([0, 0x7c] * 4000)))


MODEL = {"block_count": 1, "embedding_length": 4, "feed_forward_length": 6,
         "attention.head_count": 2, "attention.head_count_kv": 1,
         "context_length": 16}
LAYER = {"attn_norm": [4], "ffn_norm": [4], "attn_q": [4, 4], "attn_k": [4, 2],
         "attn_v": [4, 2], "attn_output": [4, 4], "ffn_gate": [4, 6],
         "ffn_up": [4, 6], "ffn_down": [6, 4]}


def of_model(architecture="llama", sizes=None, values=(), tensors=None):
    """`sizes`, and then `values`, beside or instead of those above."""
    sizes = dict(MODEL, **(sizes or {}))
    head = [string("general.architecture", architecture)] + [
        u32(f"{architecture}.{key}", number) for key, number in sizes.items()
        if number is not None] + list(values)
    if tensors is None:
        tensors = {"token_embd.weight": [4, 5], "output_norm.weight": [4]}
        for name, shape in LAYER.items():
            tensors[f"blk.0.{name}.weight"] = shape
    return whole(head, [(name, 0, shape) for name, shape in tensors.items()])


def model_gguf():
    llama = of_model()
    put("model_gguf", "llama", llama)
    put("model_gguf", "truncated", llama[:-9])
    put("model_gguf", "vocabulary", of_model(tensors={}))
    put("model_gguf", "no_architecture", whole([], [("a", 0, [2])]))
    put("model_gguf", "architecture_number", whole(
        [u32("general.architecture", 3)], [("a", 0, [2])]))
    put("model_gguf", "other_architecture", of_model("nothing"))
    put("model_gguf", "experts", of_model(sizes={"expert_count": 8}))
    put("model_gguf", "split", of_model(values=[u32("split.count", 3)]))
    put("model_gguf", "no_sizes", of_model(sizes={"embedding_length": None}))
    put("model_gguf", "width_0", of_model(sizes={"embedding_length": 0}))
    put("model_gguf", "heads_3", of_model(sizes={"attention.head_count": 3}))
    put("model_gguf", "layers_2_32", of_model(sizes={"block_count": (1 << 32) - 1}))
    put("model_gguf", "layers_2", of_model(sizes={"block_count": 2}))
    put("model_gguf", "heads_2_31", of_model(sizes={"attention.head_count": 1 << 31}))
    put("model_gguf", "base_nan", of_model(
        values=[real("llama.rope.freq_base", float("nan"))]))
    put("model_gguf", "eps_negative", of_model(
        values=[real("llama.attention.layer_norm_rms_epsilon", -1)]))
    put("model_gguf", "a_word_for_a_size", of_model(
        sizes={"block_count": None}, values=[string("llama.block_count", "1")]))
    put("model_gguf", "head_of_its_own", of_model(tensors={
        "token_embd.weight": [4, 5], "output_norm.weight": [4],
        "output.weight": [4, 5],
        **{f"blk.0.{name}.weight": shape for name, shape in LAYER.items()}}))
    put("model_gguf", "wrong_shape", of_model(tensors={
        "token_embd.weight": [5, 4], "output_norm.weight": [4],
        **{f"blk.0.{name}.weight": shape for name, shape in LAYER.items()}}))
    put("model_gguf", "rope_factors", of_model(tensors={
        "token_embd.weight": [4, 5], "output_norm.weight": [4],
        "rope_freqs.weight": [1],
        **{f"blk.0.{name}.weight": shape for name, shape in LAYER.items()}}))
    put("model_gguf", "rope_factors_many", of_model(tensors={
        "token_embd.weight": [4, 5], "output_norm.weight": [4],
        "rope_freqs.weight": [3000],
        **{f"blk.0.{name}.weight": shape for name, shape in LAYER.items()}}))


def llama2c():
    def file(fields, extra=0):
        dim, hidden, layers, heads, kv_heads, vocab, length = fields
        kv = dim // max(heads, 1) * kv_heads
        count = abs(vocab) * dim * (2 if vocab < 0 else 1) + dim + \
            length * (dim // max(heads, 1) // 2) * 2 + layers * (
                2 * dim + 2 * dim * dim + 2 * dim * kv + 3 * dim * hidden)
        return struct.pack("<7i", *fields) + struct.pack(
            "<f", 0.5) * (count + extra)
    good = (4, 6, 2, 2, 1, 5, 3)
    put("llama2c", "tied", file(good))
    put("llama2c", "untied", file((4, 6, 2, 2, 1, -5, 3)))
    put("llama2c", "one_more", file(good, 1))
    put("llama2c", "one_less", file(good, -1))
    put("llama2c", "odd_heads", file((6, 6, 1, 2, 2, 5, 3)))
    put("llama2c", "head_alone", struct.pack("<7i", *good))
    put("llama2c", "short", struct.pack("<6i", *good[:6]))
    put("llama2c", "empty", b"")
    put("llama2c", "version_1", struct.pack("<Ii", 0x616b3432, 1) + bytes(300))
    for i in range(7):
        fields = list(good)
        fields[i] = 0
        put("llama2c", f"zero_{i}", struct.pack("<7i", *fields) + bytes(64))
        fields[i] = (1 << 31) - 1
        put("llama2c", f"huge_{i}", struct.pack("<7i", *fields) + bytes(64))
        fields[i] = -(1 << 31)
        put("llama2c", f"negative_{i}", struct.pack("<7i", *fields) + bytes(64))
    put("llama2c", "all_huge", struct.pack("<7i", *([(1 << 31) - 1] * 7)) + bytes(64))
    put("llama2c", "kv_heads", struct.pack("<7i", 4, 6, 2, 2, 3, 5, 3) + bytes(64))


def sharded():
    first = archive({"x": described("F32", [2], 0, 8)}, bytes(8))
    second = archive({"y": described("F16", [1, 2], 0, 4)}, bytes(4))

    def index(mapping, files=(first, second), more=None):
        return json.dumps(dict({"weight_map": mapping}, **(more or {}))).encode() + \
            b"\0" + struct.pack("<H", len(files[0])) + b"".join(files)
    good = {"x": "a", "y": "b"}
    put("sharded", "good", index(good, more={"metadata": {"total_size": 12}}))
    put("sharded", "one_file", index({"x": "a"}))
    put("sharded", "not_listed", index({"x": "a"}, (archive(
        {"x": described("F32", [1], 0, 4), "z": described("F32", [1], 4, 8)},
        bytes(8)), b"")))
    put("sharded", "wrong_file", index({"x": "b", "y": "a"}))
    put("sharded", "missing", index({"x": "a", "z": "b"}))
    put("sharded", "twice", index(good, (first, first)))
    put("sharded", "no_file", index({"x": "c"}))
    put("sharded", "path", index({"x": "../a"}))
    put("sharded", "root", index({"x": "/etc/passwd"}))
    put("sharded", "above", index({"x": ".."}))
    put("sharded", "number", index({"x": 3}))
    put("sharded", "zero_byte", index({"x": "a\0b"}))
    put("sharded", "no_map", b"{}")
    put("sharded", "empty_map", index({}))
    put("sharded", "map_list", b'{"weight_map": ["a"]}')
    put("sharded", "list", b"[]")
    put("sharded", "cut", index(good)[:30])
    put("sharded", "bad_file", index(good, (first, second[:9])))
    put("sharded", "foreign", index({"x": "a"}, (archive(
        {"x": described("F8_E4M3", [8], 0, 8)}, bytes(8)), b"")))
    put("sharded", "empty", b"")


if __name__ == "__main__":
    os.umask(0o022)
    gguf()
    model_gguf()
    llama2c()
    sharded()
