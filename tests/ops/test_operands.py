#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lib/ops/operands.c names every value that the structures of arguments point to."""

import os
import re
import sys

SOURCE = os.environ["TXD_SOURCE"]


def text(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return re.sub(r"/\*.*?\*/", " ", file.read(), flags=re.S)


def values_of(body):
    """The members of a structure that point to values."""
    members = set()
    for declaration in body.split(";"):
        found = re.match(r"\s*(?:const )?void (\*.*)", declaration, re.S)
        if found and "(" not in declaration:
            members |= {name.strip(" *\n") for name in found[1].split(",")}
    # A caller's own, for its own function.
    return members - {"job"}


def structures():
    found = {}
    for path in ("lib/ops/args.h", "lib/ops/args_tiles.h"):
        for name, body in re.findall(r"struct txd_(\w+)_args \{(.*?)\n\}", text(path),
                                     re.S):
            found[name] = values_of(body)
    return found


def listed():
    found = {}
    for name, variable, body in re.findall(
            r"static void list_(\w+)\(.*?struct \w+ \*(\w+)\)\n\{(.*?)\n\}",
            text("lib/ops/operands.c"), re.S):
        found[name] = set(re.findall(r"&%s->(\w+)" % variable, body))
    return found


def main():
    wanted, found = structures(), listed()
    bad = [f"{name}: {sorted(wanted[name] ^ found.get(name, set()))}"
           for name in sorted(wanted) if wanted[name] != found.get(name, set())]
    ok = not bad and len(wanted) > 25
    print("ok" if ok else "not ok",
          "1 - every value that arguments point to is listed to be carried")
    for line in bad:
        print("#", line)
    print("1..1")
    return 0 if ok else 1


sys.exit(main())
