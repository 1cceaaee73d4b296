#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Whatever stands where a model is expected: exit status 2 and one message that names
it, at once, whichever command is asked."""
import itertools
import json
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "fuzz"))
import checkpoint  # noqa: E402
from make_corpus import archive, tensor  # noqa: E402
from make_gguf import (MODEL, head, of_model, string, tensor as listed,  # noqa: E402
                       u32)
from program import finish, ok, skip, txdiag, write  # noqa: E402

ENDINGS = (".gguf", ".safetensors", ".npz", ".bin", ".index.json", "")


def refused(name, path, *parts, commands=("run", "info")):
    """By `run`, as model.from, and by `info`."""
    write("m.cfg", f'model : {{ from = "{path}"; }};\n'
          "input : { random : { length = 4; }; };\n")
    for command in (("run", "m.cfg", "-o", "m.h5"), ("info", path)):
        if command[0] not in commands:
            continue
        result = txdiag(*command)
        first = result.err.splitlines()[:1]
        ok(f"{name}: {command[0]}: exit 2, one message", result.status == 2 and
           result.err.count("txdiag: ") == 1 and result.out == "", result)
        ok(f"{name}: {command[0]}: says what", bool(first) and
           all(part in result.err for part in parts), result)


checkpoint.folder("healthy")
config = json.dumps(checkpoint.CONFIG)
write("config.json", config)
ok("a healthy folder is read", txdiag("info", "healthy").status == 0)

# --- what is no file, under every name: by one of the two, in turn
turns = itertools.cycle((["run"], ["info"], ["info"]))


def in_turn(what, path, *parts):
    refused(f"{what} {path}", path, path, *parts, commands=next(turns))


for ending in ENDINGS:
    os.mkfifo("pipe" + ending)
    in_turn("a named pipe", "pipe" + ending)
    os.symlink("loop" + ending, "loop" + ending)
    in_turn("a circle of links", "loop" + ending)
    in_turn("nothing called", "none" + ending)
    if ending:
        os.mkdir("folder" + ending)
        in_turn("a folder called", "folder" + ending, "config.json")
        write("empty" + ending, b"")
        in_turn("an empty file", "empty" + ending)
        write("junk" + ending, bytes(i * 37 % 256 for i in range(5000)))
        in_turn("junk called", "junk" + ending)
refused("a device", "/dev/zero", "/dev/zero")
if os.geteuid() == 0:
    skip("a file that may not be read", "root may read all")
else:
    write("closed.gguf", of_model())
    os.chmod("closed.gguf", 0)
    refused("a file that may not be read", "closed.gguf", "Permission denied")

# --- folders whose files are none
for name in ("config.json", "model.safetensors"):
    for what, make in (("pipe", os.mkfifo), ("folder", os.mkdir)):
        place = f"{what}-{name}"
        checkpoint.folder(place)
        os.remove(f"{place}/{name}")
        make(f"{place}/{name}")
        refused(f"a {what} as {name}", place, name)

# --- counts, names and places
refused("a GGUF of 2^63 tensors", write("many.gguf", head(1 << 63, 0)),
        "byte offset 8")
refused("a GGUF of 2^63 keys", write("keys.gguf", head(0, 1 << 63)),
        "byte offset 16")
refused("a GGUF with a layer for every number", write(
    "layers.gguf", of_model(sizes={"block_count": (1 << 31) + 7})), "block_count",
        commands=["run"])  # info lists what is in it
one = [string("general.architecture", "llama")] + [
    u32(f"llama.{key}", number) for key, number in MODEL.items()]
twice = head(2, len(one)) + b"".join(one) + listed("a", 0, [2], 0) + \
    listed("a", 0, [2], 32)
refused("a GGUF with a tensor twice", write(
    "twice.gguf", twice + bytes(-len(twice) % 32 + 64)), "are named \"a\"")
refused("a safetensors with a tensor twice", write(
    "twice.safetensors", archive(b'{"a": {"dtype": "F32", "shape": [1], '
                                 b'"data_offsets": [0, 4]}, "a": 3}', bytes(4))),
    "duplicate")
refused("a safetensors of 2^62 elements", write("wide.safetensors", archive(
    {"a": tensor("F32", [1 << 31, 1 << 31], 0, 8)}, bytes(8))), "overflows")
refused("a .bin of 2^31 layers", write(
    "layers.bin", struct.pack("<7i", 4, 6, (1 << 31) - 1, 2, 1, 5, 3) + bytes(99)),
    "byte offset 8")

# --- an index names files beside it, and no others
for what in ("../healthy/model.safetensors", "/etc/passwd", "..", ".", "",
             "healthy/model.safetensors", os.path.abspath("healthy") +
             "/model.safetensors"):
    write("x.index.json", json.dumps({"weight_map": {"a": what}}))
    refused(f"an index that names {what!r}", "x.index.json", "beside the index")
for what in ("pipe.safetensors", "folder.safetensors", "loop.safetensors",
             "none.safetensors", "empty.safetensors", "junk.safetensors"):
    write("x.index.json", json.dumps({"weight_map": {"a": what}}))
    refused(f"an index that names {what}", "x.index.json", what)
for what, text in (("no object", "[]"), ("no map", "{}"), ("cut", '{"weight_map": {"a'),
                   ("deep", '{"weight_map":' * 5000)):
    write("x.index.json", text)
    refused(f"an index: {what}", "x.index.json", "x.index.json")
finish()
