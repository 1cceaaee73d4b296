#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the binary seeds of the fuzz targets: corpus/safetensors and corpus/npy."""
import json
import os
import struct

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")


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


def npy():
    def head(descr, shape, order=b"False"):
        return (b"{'descr': '" + descr + b"', 'fortran_order': " + order +
                b", 'shape': " + shape + b", }\n")
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


if __name__ == "__main__":
    safetensors()
    npy()
