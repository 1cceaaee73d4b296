#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the seeds of the fuzz targets of GGUF: corpus/gguf."""
import os
import struct

from make_corpus import put

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


if __name__ == "__main__":
    os.umask(0o022)
    gguf()
