#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How chunks are stored: every storage and compression, read by h5py, is what numpy
makes of the same numbers, bit for bit; chunks of zeros take no room; the number of
threads is not seen in the file."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import SOURCE, equal, exits, finish, holds, ok, write  # noqa: E402

import h5py  # noqa: E402
import numpy  # noqa: E402

STORE = os.path.join(os.environ["TXD_BUILD"], "tests", "store")
WEIGHTS = "value/layers/0/attn/weights/full"
LARGEST12 = numpy.uint32(0x7f7ff800).view("f4")


def store(path, values, storage="exact", compression="none", fill="zero", threads=1,
          block=128):
    heads, rows, columns = values.shape
    subprocess.run([STORE, path, storage, compression, fill, str(threads), str(heads),
                    str(rows), str(columns), str(block)],
                   input=values.astype("f4").tobytes(), check=True)
    return h5py.File(path)


def round12(values):
    """By the definition: the nearest multiple of the last place, half to even."""
    with numpy.errstate(invalid="ignore", over="ignore"):
        wide = values.astype("f8")
        exponent = numpy.frexp(numpy.where(numpy.isfinite(wide), wide, 0))[1]
        quantum = numpy.ldexp(1.0, numpy.maximum(exponent - 13, -138))
        near = numpy.where(numpy.isfinite(wide), numpy.rint(wide / quantum) * quantum,
                           wide)
        beyond = numpy.isfinite(wide) & (numpy.abs(near) > LARGEST12)
        near = numpy.where(beyond, numpy.copysign(LARGEST12, wide), near)
        return near.astype("f4")


def stored(values, storage):
    with numpy.errstate(over="ignore", invalid="ignore"):
        return {"f32r12": round12, "f16": lambda x: x.astype("f2")}.get(
            storage, lambda x: x)(values.astype("f4"))


def same_bits(found, expected):
    bits = f"u{expected.dtype.itemsize}"
    nan = numpy.isnan(expected)
    return found.dtype == expected.dtype and found.shape == expected.shape and \
        bool((numpy.isnan(found) == nan).all()) and bool(
            (numpy.where(nan, 0, found.view(bits)) ==
             numpy.where(nan, 0, expected.view(bits))).all())


# ---- every upper half of a float32, with lower halves on all sides of each tie ----

lower = numpy.array([0, 1, 0x3ff, 0x400, 0x401, 0x7ff, 0x800, 0xbff, 0xc00, 0xc01,
                     0xfff, 0x1000, 0x1001, 0x1800, 0x1fff, 0xffff], "u4")
every = ((numpy.arange(65536, dtype="u4") << 16)[:, None] | lower).view("f4")
every = every.reshape(1, 1024, 1024)
for storage in ("exact", "f32", "f32r12", "f16"):
    for compression in ("none", "deflate"):
        with store("every.h5", every, storage, compression, "nan") as file:
            found = file[WEIGHTS][0, 0]
            ok(f"every upper half as {storage}, {compression}",
               same_bits(found, stored(every, storage)))
            equal(f"{storage} is said where digits are lost",
                  file[WEIGHTS].attrs.get("storage"),
                  storage if storage in ("f32r12", "f16") else None)
            equal(f"filters of {compression}",
                  (file[WEIGHTS].compression, file[WEIGHTS].shuffle),
                  ("gzip", True) if compression == "deflate" else (None, False))
rounded = stored(every, "f32r12")
ok("what is finite stays finite with 12 bits",
   (numpy.isfinite(rounded) == numpy.isfinite(every)).all() and
   (numpy.isinf(rounded) == numpy.isinf(every)).all())

# ---- shapes and blocks ----

random = numpy.random.default_rng(5)
for rows in (1, 255, 256, 257):
    for columns in (1, 255, 256, 257):
        for block in (128, 1):
            values = random.standard_normal((2, rows, columns)).astype("f4")
            wrong = []
            for storage in ("exact", "f32r12", "f16"):
                for compression in ("none", "deflate"):
                    with store("shape.h5", values, storage, compression, "zero", 2,
                               block) as file:
                        if not same_bits(file[WEIGHTS][0, 0], stored(values, storage)):
                            wrong.append((storage, compression))
            ok(f"{rows} x {columns} in blocks of {block}", not wrong, wrong)

# ---- zeros ----


def chunks(file):
    dataset = file[WEIGHTS].id
    return {dataset.get_chunk_info(i).chunk_offset[2:]
            for i in range(dataset.get_num_chunks())}


causal = numpy.tril(random.random((2, 600, 600)).astype("f4") + 0.5)
lower_tiles = {(h, q, k) for h in range(2) for q in (0, 256, 512)
               for k in (0, 256, 512) if k <= q}
for compression in ("none", "deflate"):
    with store("causal.h5", causal, compression=compression) as file:
        equal(f"zero chunks are not there, {compression}", chunks(file), lower_tiles)
        ok("and read as zeros", same_bits(file[WEIGHTS][0, 0], causal))
    signed = causal.copy()
    signed[1, 3, 599] = -0.0
    with store("signed.h5", signed, compression=compression) as file:
        equal(f"a zero with a sign is something, {compression}", chunks(file),
              lower_tiles | {(1, 0, 512)})
        ok("and keeps it", same_bits(file[WEIGHTS][0, 0], signed))
    with store("holes.h5", numpy.where(causal, 0, causal.max()).astype("f4"),
               compression=compression) as file:
        equal(f"wherever they lie, {compression}", chunks(file),
              {(h, q, k) for h in range(2) for q in (0, 256, 512)
               for k in (0, 256, 512) if k >= q})
    with store("nan.h5", causal * 0, compression=compression, fill="nan") as file:
        equal(f"where the fill is another, zeros are stored, {compression}",
              len(chunks(file)), 18)
        ok("as zeros", same_bits(file[WEIGHTS][0, 0], causal * 0))
tiny = causal * numpy.float32(1e-9)
with store("tiny.h5", tiny, "f16") as file:
    equal("what float16 makes zero is a zero", chunks(file), set())
    ok("of the same sign", same_bits(file[WEIGHTS][0, 0], stored(tiny, "f16")))
with store("tiny.h5", -tiny, "f16") as file:
    ok("or of the other, which is stored", len(chunks(file)) == 18 and
       numpy.signbit(file[WEIGHTS][:]).all())
with store("none.h5", causal * 0) as file:
    ok("weights of nothing but zeros are still there",
       file[WEIGHTS].shape == (1, 1, 2, 600, 600) and not file[WEIGHTS][:].any())

# ---- threads ----

large = numpy.tril(random.random((3, 1024, 1024)).astype("f4"))
for storage in ("exact", "f16"):
    contents = []
    for threads in (1, 2, 5):
        with store(f"threads{threads}.h5", large, storage, "deflate", "zero",
                   threads) as file:
            dataset = file[WEIGHTS].id
            contents.append([dataset.read_direct_chunk(info.chunk_offset)[1] +
                             repr(tuple(info)).encode()
                             for info in map(dataset.get_chunk_info,
                                             range(dataset.get_num_chunks()))])
            ok(f"{storage} by {threads} threads",
               same_bits(file[WEIGHTS][0, 0], stored(large, storage)))
    ok(f"{storage}: the same bytes at the same places",
       contents[0] == contents[1] == contents[2] and len(contents[0]) == 30)
sizes = [os.path.getsize(f"threads{threads}.h5") for threads in (1, 2)]
equal("files of the same size", sizes[0], sizes[1])

# ---- numbers that do not get smaller ----

noise = random.integers(0, 2 ** 32, (1, 512, 512), "u4").view("f4")
with store("noise.h5", noise, "exact", "deflate", "nan") as file:
    ok("noise is stored plain", same_bits(file[WEIGHTS][0, 0], noise) and
       file[WEIGHTS].id.get_storage_size() <= noise.nbytes)

# What looks like noise byte by byte, but repeats.
row = random.integers(0, 2 ** 32, (1, 1, 512), "u4").view("f4")
for name, repeated in (("rows that are all the same", row.repeat(512, axis=1)),
                       ("rows of one number", row.transpose(0, 2, 1).repeat(512, 2))):
    with store("repeated.h5", repeated, "exact", "deflate", "nan") as file:
        ok(f"{name} get small", same_bits(file[WEIGHTS][0, 0], repeated) and
           file[WEIGHTS].id.get_storage_size() < 0.05 * repeated.nbytes,
           file[WEIGHTS].id.get_storage_size())
mixed = random.standard_normal((1, 512, 512)).astype("f4")
with store("mixed.h5", mixed, "exact", "deflate", "nan") as file:
    size = file[WEIGHTS].id.get_storage_size()
    ok("exponents get small beside mantissas of noise",
       same_bits(file[WEIGHTS][0, 0], mixed) and
       0.75 * mixed.nbytes < size < 0.95 * mixed.nbytes, size)

# ---- a run ----

CFG = """model : { preset = "mini"; vocab = 64; d_model = 32; n_heads = 2; n_layers = 2;
          d_ff = 64; max_seq_len = 320; };
input : { random : { batch = 1; length = 300; }; };
record : ( { probe = "full"; points = "*"; }, { probe = "rows"; },
           { probe = "stats"; points = "*"; } );
"""
write("model.cfg", CFG)
exits(0, "values as they were computed", "run", "model.cfg", "-q", "-o", "exact.h5")
with h5py.File("exact.h5") as exact:
    names = []
    exact["value"].visititems(
        lambda name, item: names.append("value/" + name)
        if isinstance(item, h5py.Dataset) else None)
    reals = [name for name in names if exact[name].dtype.kind == "f"]
    equal("the default is said", (exact.attrs["storage"], exact.attrs["compression"]),
          ("exact", "none"))
    ok("and nowhere else", not any("storage" in exact[name].attrs for name in names))
    sizes = {"exact": os.path.getsize("exact.h5")}
    for storage in ("f32", "f32r12", "f16"):
        exits(0, f"{storage} runs", "run", "model.cfg", "-q", "-o", f"{storage}.h5",
              "--set", f'recording.storage="{storage}"', "--set",
              'recording.compression="deflate"')
        sizes[storage] = os.path.getsize(f"{storage}.h5")
        with h5py.File(f"{storage}.h5") as file:
            wrong = [name for name in reals
                     if not same_bits(file[name][:], stored(exact[name][:], storage))]
            ok(f"all {len(reals)} values are those of the run, as {storage}",
               len(reals) > 20 and not wrong, wrong)
            ok("tokens and statistics are untouched",
               (file["value/input/tokens/full"][:] ==
                exact["value/input/tokens/full"][:]).all() and
               file["rows/entropy"].dtype == exact["rows/entropy"].dtype and
               numpy.array_equal(file["rows/entropy"][:], exact["rows/entropy"][:],
                                 equal_nan=True))
        result = exits(0, f"{storage} is judged", "check", "-v", f"{storage}.h5")
        exact_laws = ("residual_sum", "norm_output", "score_scale",
                      "softmax_precision", "loss_token", "mask_fill")
        said = [line for line in result.out.splitlines()
                if f"recorded as {storage}" in line]
        equal("laws that need all digits say so",
              {law: any(line.startswith(f"SKIP {law} ") for line in said)
               for law in exact_laws},
              {law: storage != "f32" for law in exact_laws})
        holds("others judge", result.out, "PASS row_sum ", "PASS causality ",
              "PASS finite ", "PASS head_merge ")
        result = exits(0, f"info of {storage}", "info", f"{storage}.h5")
        holds("says how values are stored", result.out, f"storage         {storage}",
              "compression     deflate")
    ok("fewer digits take less room", sizes["f16"] < sizes["f32r12"] < sizes["f32"] <
       sizes["exact"], sizes)

exits(1, "a leak is seen in float16", "run", "model.cfg", "-q", "-o", "leak.h5",
      "--set", 'faults=({name="mask_off_by_one";})', "--set",
      'recording.storage="f16"', "--set",
      'record=({probe="full";points="*.attn.weights";})')
result = exits(1, "and by its recording", "check", "leak.h5")
holds("which names it", result.out, "FAIL causality ")

exits(0, "double values as float32", "run", "model.cfg", "-q", "--backend", "ref64",
      "-o", "double.h5", "--set", 'recording.storage="f32"')
exits(0, "double values", "run", "model.cfg", "-q", "--backend", "ref64", "-o",
      "wide.h5")
with h5py.File("double.h5") as file, h5py.File("wide.h5") as wide:
    ok("are rounded once", all(
        wide[name].dtype == "f8" and
        same_bits(file[name][:], wide[name][:].astype("f4")) for name in reals))
result = exits(0, "their recording is judged", "check", "double.h5")
holds("by float32's digits", result.out, "recorded as f32", "PASS row_sum ")

# What float32 cannot hold was finite in the pass, too.
HUGE = ('weights={init=({params="embed.tok.weight";scheme="constant";value=1e20;},'
        '{params="*.qkv.weight";scheme="normal";std=1e20;});}')
for storage in ("f32", "f32r12"):
    exits(1, f"double values beyond {storage}", "run", "model.cfg", "-q", "--backend",
          "ref64", "-o", "beyond.h5", "--set", f'recording.storage="{storage}"',
          "--set", HUGE, "--set", 'record=({probe="full";points="*.scores";},'
          '{probe="full";points="embed.tok";})')
    with h5py.File("beyond.h5") as file:
        ok("are infinite in the file",
           numpy.isinf(file["value/layers/0/attn/scores/full"][:]).any())
    result = exits(77, "which is not said of the pass", "check", "beyond.h5", "--only",
                   "finite")
    holds("as nobody can tell", result.out, "SKIP finite ")

# Gradients of inputs are values like others.
exits(0, "the gradient of a memory", "run", SOURCE + "/examples/memory.cfg", "-q", "-o",
      "memory.h5", "--set", 'recording.storage="f16"', "--set",
      'record=({probe="full";points="input.memory,input.memory@grad";})')
with h5py.File("memory.h5") as file:
    gradient = file["grad/input/memory/full"]
    equal("is stored as the file says, the memory as it is",
          (gradient.dtype, gradient.attrs.get("storage"),
           file["value/input/memory/full"].dtype), ("f2", "f16", "f4"))

# What float16 cannot hold was finite in the pass.
exits(1, "large values", "run", "model.cfg", "-q", "-o", "large.h5", "--set",
      'recording.storage="f16"', "--set",
      'weights={init=({params="embed.tok.weight";scheme="normal";std=1e6;});}',
      "--set", 'record=({probe="full";points="embed.*,*.attn.weights";})')
with h5py.File("large.h5") as file:
    ok("are infinite in the file",
       numpy.isinf(file["value/embed/out/full"][:]).any())
result = exits(0, "which is not said of the pass", "check", "large.h5", "--only",
               "finite,row_sum")
holds("as nobody can tell", result.out, "SKIP finite ")

exits(1, "statistics of one step of two", "run", "model.cfg", "-q", "-o", "steps.h5",
      "--set", 'recording.storage="f16"', "--set", "input.steps=2", "--set",
      'weights={init=({params="embed.tok.weight";scheme="normal";std=1e6;});}',
      "--set", 'record=({probe="full";points="embed.*,*resid.pre,logits";},'
      '{probe="stats";steps="1";})')
result = exits(0, "with values of both", "check", "steps.h5", "--only", "finite")
holds("the other step's infinities are not said of the pass", result.out,
      "PASS finite ")

for key, wrong, near in (("storage", "f32r21", "f32r12"),
                         ("compression", "gzip", "deflate")):
    result = exits(2, f"{key} = {wrong}", "run", "model.cfg", "-o", "x.h5", "--set",
                   f'recording.{key}="{wrong}"')
    holds("is refused with what there is", result.err, wrong, near)
finish()
