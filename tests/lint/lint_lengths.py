#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Files up to 400 lines, functions up to 60, lines up to 88 characters (tables: 100).

A longer file, or a longer function, carries its reason in itself, on one line:
lint: long because REASON
"""
import re
import sys

import tree

NAME = "lengths"
FILE_LINES = 400
FUNCTION_LINES = 60
LINE_CHARACTERS = 88
TABLE_CHARACTERS = 100
EXCUSE = re.compile(r"lint: long because \S.{9,}")


def functions(lines):
    """(index of the opening brace, index of the closing one) of each function."""
    start = None
    for index, line in enumerate(lines):
        if line.rstrip() == "{" and start is None:
            start = index
        elif line.startswith("}") and start is not None:
            yield start, index
            start = None


def problems_of(path, text):
    lines = text.splitlines()
    bodies = list(functions(lines)) if tree.is_c(path) else []
    excused = {i for i, line in enumerate(lines) if EXCUSE.search(line)}
    inside = {i for start, end in bodies for i in range(start, end)}
    if len(lines) > FILE_LINES and not excused - inside:
        yield f"{path}: {len(lines)} lines, at most {FILE_LINES}"
    for start, end in bodies:
        length = end - start - 1
        if length > FUNCTION_LINES and not excused & set(range(start, end)):
            yield (f"{path}:{start + 1}: function of {length} lines, "
                   f"at most {FUNCTION_LINES}")
    limit = TABLE_CHARACTERS if path.endswith(".def") else LINE_CHARACTERS
    for number, line in enumerate(lines, 1):
        if len(line) > limit:
            yield f"{path}:{number}: {len(line)} characters, at most {limit}"


def main():
    root = tree.root_of(sys.argv)
    problems = []
    for path in tree.files(root, lambda p: tree.is_source(p)
                           or p.endswith("meson.build")):
        problems += problems_of(path, tree.read(root, path))
    tree.finish(NAME, problems)


main()
