#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Cross-attention from the command line: memories as numpy writes them, and whatever
can be wrong with them or with the configuration that asks for them."""
import io
import os
import struct
import sys
import zipfile

import h5py
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
import checkpoint  # noqa: E402
from program import exits, finish, holds, ok, read, txdiag, write  # noqa: E402

MODEL = """model : { preset = "gpt2"; vocab = 50; d_model = 8; n_heads = 2;
  n_layers = 2; max_seq_len = 16; cross = true; %s };
input : { tokens = ( [5, 17, 30], [8, 8, 40] ); %s };
"""
DRAWN = np.random.default_rng(3).normal(size=(2, 5, 8))


def cfg(memory, model=""):
    write("m.cfg", MODEL % (model, memory))
    return "m.cfg"


def of(path, more=""):
    return f'memory : {{ file = "{path}"; {more} }};'


def recorded(name, memory):
    """What a run says that its memory was: values and valid rows of the first step."""
    exits(0, f"{name}: runs", "run", cfg(memory), "-o", "m.h5")
    with h5py.File("m.h5") as file:
        return file["input/memory"][0], file["input/memory_valid"][0]


# --- memories that numpy writes
np.savez("plain.npz", memory=DRAWN)
np.savez_compressed("packed.npz", memory=DRAWN, valid=[[1] * 5, [1, 1, 1, 0, 0]])
np.savez("shared.npz", memory=DRAWN[0].astype("f2"), other=np.arange(3),
         valid=[True, True, False, True, True])
np.save("plain.npy", DRAWN.astype("<f4"))
for path, expected, valid in (
        ("plain.npz", DRAWN, np.ones((2, 5))),
        ("packed.npz", DRAWN, [[1] * 5, [1, 1, 1, 0, 0]]),
        ("shared.npz", np.stack([DRAWN[0].astype("f2")] * 2), [[1, 1, 0, 1, 1]] * 2),
        ("plain.npy", DRAWN.astype("f4"), np.ones((2, 5)))):
    values, real = recorded(path, of(path))
    ok(f"{path}: its values are read", np.array_equal(values, np.float32(expected)))
    ok(f"{path}: its real rows are known", np.array_equal(real, valid), real)
values, real = recorded("rows that are real",
                        of("plain.npy", "valid = ( 2, 5 );"))
ok("they are those of the configuration",
   np.array_equal(real, [[1, 1, 0, 0, 0], [1] * 5]), real)
RANDOM = "memory : { random : { length = 6; std = 2.0; }; };"
first, _ = recorded("a random memory", RANDOM)
again, _ = recorded("the same again", RANDOM)
ok("it is a function of the seed", np.array_equal(first, again))
ok("and as wide as asked for", 1.5 < first.std() < 2.5, first.std())

# --- the memory reaches the model
exits(0, "another memory", "run", cfg(of("plain.npz")), "-o", "a.h5")
DRAWN[1, 3, 2] += 1
np.savez("other.npz", memory=DRAWN)
exits(0, "one number of it differs", "run", cfg(of("other.npz")), "-o",
      "b.h5")
with h5py.File("a.h5") as a, h5py.File("b.h5") as b:
    x, y = a["value/logits/full"][0], b["value/logits/full"][0]
ok("its batch row is the only one that changes",
   np.array_equal(x[0], y[0]) and not np.array_equal(x[1], y[1]))
DRAWN[0, 1, 1] = np.nan
np.savez("nan.npz", memory=DRAWN)
result = exits(1, "a memory with NaN is data", "run", cfg(of("nan.npz")),
               "-o", "nan.h5")
holds("and where it began is told", result.out, "finite: input.memory: 1 of 80 values")
exits(0, "an encoder makes one", "run",
      cfg("memory : { random : { length = 6; }; };", "encoder_layers = 1;"), "-o",
      "e.h5")
with h5py.File("e.h5") as file:
    made = file["input/memory"][0]
ok("normalised, as its final norm leaves it",
   np.allclose(made.mean(-1), 0, atol=1e-5) and np.allclose(made.std(-1), 1, atol=0.1),
   made.std(-1))
exits(0, "an encoder alone", "run", cfg(""), "--set", "model.cross=false", "--set",
      "mask.causal=false", "-o", "alone.h5")

# --- what cannot be


def refuses(name, memory, *parts, model="", also=()):
    result = exits(2, f"{name}: exit 2", "run", cfg(memory, model), "-o", "no.h5",
                   *also)
    holds(f"{name}: the message says what", result.err, *parts)
    ok(f"{name}: nothing is left behind",
       not [path for path in os.listdir(".") if path.startswith("no.h5")])


def archive(path, method=zipfile.ZIP_STORED, **members):
    with zipfile.ZipFile(path, "w", method) as file:
        for name, content in members.items():
            file.writestr(name.replace("_npy", ".npy"), content)


def npy(shape, values=b"", kind="<f4"):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n"
    head = head.encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + values


refuses("cross without memory", "", "m.cfg:3", "input.memory")
refuses("memory without cross", of("plain.npz"), "m.cfg:3",
        "cross = true", also=("--set", "model.cross=false"))
refuses("no such file", of("none.npz"), "m.cfg:3", "none.npz")
refuses("two kinds", 'memory : { file = "plain.npz"; random : { length = 2; }; };',
        "file", "random")
refuses("tokens without an encoder", "memory : { tokens = ( [1], [2] ); };",
        "encoder_layers")
refuses("an encoder without cross", "", "cross = true", model="encoder_layers = 1;",
        also=("--set", "model.cross=false"))
refuses("tokens beyond the vocabulary", "memory : { tokens = ( [1], [50] ); };", "50",
        "49", model="encoder_layers = 1;")
refuses("no random rows", "memory : { random : { length = 0; }; };", "length", "0")
refuses("more real rows than there are", of("plain.npz", "valid = ( 6, 1 );"),
        "6", "5")
checkpoint.folder("hf")
write("hf.cfg", 'model : { from = "hf"; }; input : { tokens = ( [1, 2] ); };\n')
result = exits(2, "a checkpoint has no cross-attention", "run", "hf.cfg", "--set",
               "model.cross=true", "-o", "no.h5")
holds("it is said so", result.err, "cross")
np.savez("width.npz", memory=np.zeros((2, 5, 9)))
refuses("a width that does not fit", of("width.npz"), "width.npz", "9",
        "8")
np.savez("batch.npz", memory=np.zeros((3, 5, 8)))
refuses("a batch that does not fit", of("batch.npz"), "3", "2")
np.savez("name.npz", memoir=np.zeros((2, 5, 8)))
refuses("no array of that name", of("name.npz"), "memory", "memoir")
np.savez("ints.npz", memory=np.zeros((2, 5, 8), "i8"))
refuses("integers", of("ints.npz"), "memory", "int")
np.save("big.npy", DRAWN.astype(">f4"))
refuses("the other byte order", of("big.npy"), "big.npy", ">f4", "astype")
np.save("columns.npy", np.asfortranarray(DRAWN))
refuses("columns first", of("columns.npy"), "columns.npy", "ortran")
np.savez("rank.npz", memory=np.zeros(8))
refuses("a rank that does not fit", of("rank.npz"), "(8)")
np.savez("valid.npz", memory=np.zeros((5, 8)), valid=[1, 2, 0, 1, 1])
refuses("a valid that is no 0 or 1", of("valid.npz"), "valid", "2")
np.savez("objects.npz", memory=np.array([{}, {}], object))
refuses("pickled objects", of("objects.npz"), "memory")
np.savez("empty.npz", memory=np.zeros((2, 0, 8)))
refuses("no rows", of("empty.npz"), "empty.npz", "0")

# --- archives that are damaged or hostile
whole = read("packed.npz")
write("cut.npz", whole[:len(whole) // 2])
refuses("half an archive", of("cut.npz"), "cut.npz", "damaged")
write("nothing.npz", b"")
refuses("an empty file", of("nothing.npz"), "nothing.npz", "empty")
write("text.npz", b"memory = 1\n" * 50)
refuses("a text", of("text.npz"), "text.npz", "found a text")
stored = bytearray(read("plain.npz"))
stored[stored.index(DRAWN[1, 4].tobytes()) + 3] ^= 1
write("flipped.npz", bytes(stored))
refuses("a flipped bit", of("flipped.npz"), "flipped.npz", "damaged")
archive("bomb.npz", zipfile.ZIP_DEFLATED,
        memory_npy=npy((2, 5, 8), bytes(1 << 28)))
refuses("a bomb", of("bomb.npz"), "bomb.npz: memory.npy")
archive("huge.npz", memory_npy=npy((2, 1 << 40, 8)))
refuses("a shape beyond the file", of("huge.npz"), "huge.npz")
archive("overflow.npz", memory_npy=npy((1 << 40, 1 << 40, 8)))
refuses("a shape beyond any file", of("overflow.npz"), "overflow.npz")
buffer = io.BytesIO()
with zipfile.ZipFile(buffer, "w") as file:
    for i in range(5000):
        file.writestr(f"{i}.npy", b"")
write("members.npz", buffer.getvalue())
refuses("thousands of members", of("members.npz"), "5000", "4096")
write("\x1b[31m.npz", b"PK")
refuses("a name with an escape sequence", of("\\x1b[31m.npz"),
        "[31m.npz")
ok("which does not reach the terminal",
   "\x1b" not in txdiag("run", "m.cfg", "-o", "no.h5").err)
before = read("plain.npz")
exits(2, "the recording may not be the memory", "run",
      cfg(of("plain.npz")), "-o", "plain.npz")
ok("it is untouched", read("plain.npz") == before)
finish()
