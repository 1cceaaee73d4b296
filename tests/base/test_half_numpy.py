#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""float16 and bfloat16 against numpy: its own float16, and bfloat16 by its integers."""
import ctypes
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import finish, ok, sanitized, skip  # noqa: E402

try:
    import numpy
except ImportError:
    skip("halves against numpy", "no numpy")
    finish()

if sanitized():
    skip("halves against numpy", "Python cannot load a library with a sanitizer")
    finish()

F64, F32, F16, BF16 = range(4)
TYPES = {F64: numpy.float64, F32: numpy.float32, F16: numpy.uint16, BF16: numpy.uint16}
library = ctypes.CDLL(os.path.join(os.environ["TXD_BUILD"], "lib", "libtxdiag.so"))
library.txd_convert.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p,
                                ctypes.c_int, ctypes.c_size_t]
library.txd_convert.restype = None


def convert(values, to, of):
    values = numpy.ascontiguousarray(values, TYPES[of])
    out = numpy.empty(values.shape, TYPES[to])
    library.txd_convert(out.ctypes.data, to, values.ctypes.data, of, values.size)
    return out


def bfloat16(values):
    """The 16 bits of float32 numbers that are no NaN."""
    bits = values.view(numpy.uint32).astype(numpy.uint64)
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)


def same(name, found, expected, keep):
    wrong = numpy.flatnonzero((found != expected) & keep)
    first = "" if wrong.size == 0 else \
        f"{wrong.size} differ; at {wrong[0]}: {found[wrong[0]]}, {expected[wrong[0]]}"
    ok(name, wrong.size == 0 and keep.any(), first)


every = numpy.arange(65536, dtype=numpy.uint16)
random = numpy.random.default_rng(1).integers(0, 2 ** 32, 4000000, dtype=numpy.uint64)
floats = random.astype(numpy.uint32).view(numpy.float32)
doubles = numpy.random.default_rng(2).standard_normal(2000000) * \
    2.0 ** numpy.random.default_rng(3).integers(-30, 18, 2000000)
numpy.seterr(all="ignore")

half = every.view(numpy.float16)
same("every float16 as float32 is numpy's",
     convert(every, F32, F16).view(numpy.uint32),
     half.astype(numpy.float32).view(numpy.uint32), ~numpy.isnan(half))
same("every float16 as double is numpy's", convert(every, F64, F16),
     half.astype(numpy.float64), ~numpy.isnan(half))
same("random floats as float16 are numpy's", convert(floats, F16, F32),
     floats.astype(numpy.float16).view(numpy.uint16), ~numpy.isnan(floats))
same("random doubles as float16 are numpy's, rounded once",
     convert(doubles, F16, F64), doubles.astype(numpy.float16).view(numpy.uint16),
     ~numpy.isnan(doubles))
brain = (every.astype(numpy.uint32) << 16).view(numpy.float32)
same("every bfloat16 is the upper half of a float32",
     convert(every, F32, BF16).view(numpy.uint32), brain.view(numpy.uint32),
     ~numpy.isnan(brain))
same("random floats as bfloat16 round to even", convert(floats, BF16, F32),
     bfloat16(floats), ~numpy.isnan(floats))
for name, dtype in (("float16", F16), ("bfloat16", BF16)):
    nan = numpy.isnan(half if dtype == F16 else brain)
    ok(f"every NaN of {name} stays one",
       numpy.isnan(convert(every, F32, dtype))[nan].all() and nan.sum() > 0)
finish()
