#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Who may include whom, and what a library may not call.

The arrows of ARCHITECTURE.md: a folder includes only what is listed for it; a foreign
library is known in one place; only the program prints, exits and reads its environment.
Kernels know the operations and nothing above them, are launched through one macro, and
use nothing that the emulation of tests/cuda_host has not.
"""
import fnmatch
import re
import sys

import tree

NAME = "layers"

# Folder: the folders of lib/ (by the first part of the include) that it may know.
LIB_ARROWS = {
    "lib/base/": {"base"},
    "lib/ops/": {"base", "ops"},
    "lib/model/": {"base", "ops", "model"},
    "lib/faults/": {"base", "ops", "model", "faults"},
    "lib/formats/": {"base", "ops", "model", "formats"},
}
SIBLINGS = ("probes", "checks", "viz")

FOREIGN = {
    r"hdf5(_hl)?\.h|H5\w*\.h": ["lib/formats/h5*"],
    r"libconfig\.h": ["lib/formats/cfg.c"],
    r"jansson\.h": ["lib/formats/json*.c"],
    r"zip(conf)?\.h": ["lib/formats/npz.c"],
    r"pcre2\w*\.h": ["lib/formats/tokenizers/pattern.c"],
    r"libdeflate\.h|zlib\.h": ["lib/formats/pack_deflate.c", "lib/formats/inflate.c"],
    r"cblas\.h|openblas\w*\.h|f77blas\.h": ["lib/ops/*.c", "bench/floor.c"],
    r"omp\.h": ["lib/*.c", "probes/*.c"],
    r"spawn\.h": ["viz/draw/gnuplot.c"],
    r"cuda\w*\.h|cublas\w*\.h|mma\.h": ["cuda/*"],
    r"dlfcn\.h": ["lib/ops/module.c"],
    r"assert\.h": [],
}
# What code in cuda/ may not say, except in files of those names.
KERNELS = (
    (r"<<<", "a launch beside TXD_LAUNCH", ("cuda/launch.h",)),
    (r"(?<!\w)(__)?asm(__)?(?!\w)", "assembly", ("cuda/*_mma.cu", "cuda/*_mma.h")),
    (r"(?<!\w)(__constant__|__managed__|texture\w*|cooperative_groups)(?!\w)",
     "memory or groups that the emulation has not", ()),
    (r"(?<!\w)__(f(add|sub|mul|div|maf|ma|sqrt|rcp|dividef)|exp|exp10|log|log2|log10"
     r"|sin|cos|tan|sincos|pow|saturate)f?(_r[nzud])?\s*\(",
     "an intrinsic in place of the operator or function of C", ()),
    (r"(?<!\w)(throw|try|catch|dynamic_cast|typeid|std(?=\s*::)|new|delete)(?!\w)",
     "C++ that needs its library", ()),
)
INACCURATE = re.compile(r"use_fast_math|-ftz=true|-prec-(div|sqrt)=false")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
FORBIDDEN_CALLS = re.compile(
    r"(?<![\w.>])(printf|vprintf|puts|putchar|perror|exit|_exit|_Exit|quick_exit"
    r"|abort|getenv|secure_getenv|setenv|putenv|system|popen|fork|execvp?|execv?e"
    r"|signal|sigaction)\s*\(|\b(stdout|stderr)\b")
SPAWN = re.compile(r"(?<!\w)(posix_spawnp?)\s*\(")


def cuda_problem(path, target, quote, known):
    """Why an include in cuda/ is a new arrow, or None."""
    if quote == "<":
        return None if target.endswith(".h") else f"no C++ library: {target}"
    if target.startswith("cuda/") or "lib/" + target in known:
        return None
    if target == "emulated.h" and path == "cuda/launch.h":
        return None
    return f"cuda knows lib/base, ops/ops.h and module_abi.h, not {target}"


def kernel_problems(path, text):
    code = tree.code_only(text)
    for number, line in enumerate(code.splitlines(), 1):
        for pattern, what, places in KERNELS:
            match = re.search(pattern, line)
            if match and not any(fnmatch.fnmatch(path, place) for place in places):
                yield f"{path}:{number}: {what}: {match.group(0)}"


def folder_problem(path, target):
    """Why a quoted include is a new arrow, or None."""
    first = target.split("/")[0] if "/" in target else None
    if target.startswith("."):
        return "relative include"
    if path.startswith("lib/") and target == "txd.h":
        return "lib must not know txd.h, which is for those above it"
    for folder, known in LIB_ARROWS.items():
        if path.startswith(folder):
            own = folder.split("/")[1]
            return None if (first or own) in known else f"{own} must not know {target}"
    own = path.split("/")[0]
    if own in SIBLINGS and target != "txd.h" and (first or own) != own:
        return f'{own} knows "txd.h" and its own headers only, not {target}'
    if path.startswith("lib/") and first in SIBLINGS + ("cli", "cuda", "tests"):
        return f"lib must not know {target}"
    if first == "cuda":
        return f"{target} is known only in cuda; it is loaded by lib/ops/module.c"
    return None


def foreign_problem(path, target):
    for pattern, places in FOREIGN.items():
        if re.fullmatch(pattern, target) \
                and not any(fnmatch.fnmatch(path, place) for place in places):
            return f"{target} is known only in {', '.join(places) or 'no library'}"
    return None


def call_problems(path, text):
    code = tree.code_only(text)
    for number, line in enumerate(code.splitlines(), 1):
        for match in FORBIDDEN_CALLS.finditer(line):
            yield f"{path}:{number}: a library must not use {match.group(0)}"
        if path != "viz/draw/gnuplot.c" and SPAWN.search(line):
            yield f"{path}:{number}: only viz/draw/gnuplot.c starts programs"


def include_problems(path, text, known):
    for quote, target in INCLUDE.findall(text):
        problem = foreign_problem(path, target)
        if not problem and path.startswith("cuda/"):
            problem = cuda_problem(path, target, quote, known)
        elif not problem and quote == '"':
            problem = folder_problem(path, target)
        if problem:
            yield f"{path}: {problem}"


def main():
    root = tree.root_of(sys.argv)
    problems = []
    known = tree.reached(root, "lib/ops/ops.h") + ["lib/ops/module_abi.h"]
    known += tree.files(root, lambda path: path.startswith("lib/base/"))
    for path in tree.files(root, tree.is_c):
        if path.startswith("tests/"):
            continue
        text = tree.read(root, path)
        problems += include_problems(path, text, known)
        if path.startswith(tree.LIBRARIES + ("cuda/",)):
            problems += call_problems(path, text)
        if path.startswith("cuda/"):
            problems += kernel_problems(path, text)
    for path in tree.files(root, lambda p: p.endswith(("meson.build", ".sh"))):
        for match in INACCURATE.finditer(tree.read(root, path)):
            problems.append(f"{path}: inexact arithmetic: {match.group(0)}")
    tree.finish(NAME, problems)


main()
