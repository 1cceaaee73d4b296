#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Who may include whom, and what a library may not call.

The arrows of ARCHITECTURE.md: a folder includes only what is listed for it; a foreign
library is known in one place; only the program prints, exits and reads its environment.
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
    r"assert\.h": [],
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
FORBIDDEN_CALLS = re.compile(
    r"(?<![\w.>])(printf|vprintf|puts|putchar|perror|exit|_exit|_Exit|quick_exit"
    r"|abort|getenv|secure_getenv|setenv|putenv|system|popen|fork|execvp?|execv?e"
    r"|signal|sigaction)\s*\(|\b(stdout|stderr)\b")
SPAWN = re.compile(r"(?<!\w)(posix_spawnp?)\s*\(")


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


def main():
    root = tree.root_of(sys.argv)
    problems = []
    for path in tree.files(root, tree.is_c):
        if path.startswith("tests/"):
            continue
        text = tree.read(root, path)
        for quote, target in INCLUDE.findall(text):
            problem = foreign_problem(path, target)
            if not problem and quote == '"':
                problem = folder_problem(path, target)
            if problem:
                problems.append(f"{path}: {problem}")
        if path.startswith(tree.LIBRARIES):
            problems += call_problems(path, text)
    tree.finish(NAME, problems)


main()
