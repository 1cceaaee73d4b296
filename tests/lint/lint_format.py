#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every C and CUDA file is formatted as .clang-format says."""
import os
import shutil
import subprocess
import sys

import tree

NAME = "format"


def main():
    root = tree.root_of(sys.argv)
    if not shutil.which("clang-format"):
        tree.skip(NAME, "no clang-format")
    paths = tree.files(root, tree.is_c)
    if not paths:
        tree.finish(NAME, ["no C file found"])
    style = "file:" + os.path.abspath(os.path.join(root, ".clang-format"))
    done = subprocess.run(
        ["clang-format", "--dry-run", "-Werror", "--style=" + style, *paths],
        cwd=root, capture_output=True, text=True, check=False)
    problems = [line for line in done.stderr.splitlines() if ": error:" in line]
    if done.returncode != 0 and not problems:
        problems = [done.stderr]
    tree.finish(NAME, problems)


main()
