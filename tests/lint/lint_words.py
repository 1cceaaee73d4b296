#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every source names its licence; no text holds a note to self, a path of one machine
or the host of a package registry."""
import re
import sys

import tree

NAME = "words"
SPDX = "SPDX-License-Identifier: MIT"
# Written in pieces, so that this file does not hold them.
NOTES = "|".join(("TO" "DO", "FIX" "ME", "XX" "X", "HA" "CK"))
PATHS = "|".join(("/wo" "rk/", "/ro" "ot/", "/ho" "me/"))
HOSTS = "|".join(("pypi" r"\.org", "pythonhosted" r"\.org", "npmjs" r"\.(org|com)",
                  "crates" r"\.io", r"deb\.debian" r"\.org", "archive" r"\.ubuntu",
                  "proxy" r"\.golang"))
FORBIDDEN = {
    "a note to self": re.compile(rf"\b({NOTES})\b"),
    "a path of one machine": re.compile(rf"(?<![\w.$}}])({PATHS})"),
    "a registry's host": re.compile(rf"\b({HOSTS})"),
}


def main():
    root = tree.root_of(sys.argv)
    problems = []
    for path in tree.files(root):
        text = tree.read(root, path)
        if text is None or path.startswith("tests/fuzz/corpus/"):
            continue
        if tree.is_source(path) and SPDX not in "".join(text.splitlines(True)[:3]):
            problems.append(f"{path}: no line '{SPDX}' among the first three")
        for number, line in enumerate(text.splitlines(), 1):
            for what, pattern in FORBIDDEN.items():
                match = pattern.search(line)
                if match:
                    problems.append(f"{path}:{number}: {what}: {match.group(0)}")
    tree.finish(NAME, problems)


main()
