#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""No file is forgotten: each source and test stands in a meson.build, and so does each
header or table that lib/txd.h leads to, since it must be installed."""
import os
import re
import sys

import tree

NAME = "listed"
FOLDERS = ("lib/formats/families", "lib/formats/tokenizers", "lib", "probes", "checks",
           "viz", "cli", "examples/seeds", "examples", "tests/fuzz", "cuda",
           "tests/cuda_host", "tests/no_gpu")


def listing(root, folder):
    path = os.path.join(folder, "meson.build")
    if not os.path.exists(os.path.join(root, path)):
        return ""
    text = tree.read(root, path)
    return "\n".join(line for line in text.splitlines()
                     if not line.lstrip().startswith("#"))


def home_of(path):
    """The folder whose meson.build must list the file, and the name it has there."""
    for folder in FOLDERS:
        if path.startswith(folder + "/"):
            return folder, os.path.relpath(path, folder)
    return "tests", os.path.relpath(path, "tests")


def must_be_listed(path):
    if tree.is_cuda(path):
        return path.endswith((".c", ".cu", ".cpp"))
    if path.startswith("examples/"):
        return path.endswith(".cfg")
    if path.startswith("tests/fuzz/"):
        return os.path.basename(path).startswith("fuzz_") and path.endswith(".c")
    if path.startswith("tests/"):
        name = os.path.basename(path)
        return (name.endswith(".c")
                and not path.startswith("tests/install/")) or (
            re.match(r"(test|lint)_\w+\.(sh|py)$", name) is not None)
    return path.startswith(tree.LIBRARIES + ("cli/",)) and path.endswith(".c")


def main():
    root = tree.root_of(sys.argv)
    lists = {folder: listing(root, folder) for folder in FOLDERS + ("tests",)}
    problems = []
    for path in tree.files(root, must_be_listed) + tree.reached(root, "lib/txd.h"):
        folder, name = home_of(path)
        names = {name, os.path.splitext(name)[0]}
        if folder == "tests/fuzz":
            names = {name[len("fuzz_"):-len(".c")]}
        if not any(f"'{n}'" in lists[folder] for n in names):
            problems.append(f"{path}: not in {folder}/meson.build")
    tree.finish(NAME, problems)


main()
