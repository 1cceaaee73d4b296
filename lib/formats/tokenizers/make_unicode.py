#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes unicode.def, the tables of Unicode's canonical forms, from Python's.

    cd lib/formats/tokenizers && /usr/bin/python3 make_unicode.py >unicode.def
"""
import unicodedata

HEAD = """/* SPDX-License-Identifier: MIT
 * lint: long because it is one table, of Unicode {version}; make_unicode.py writes it
 *
 * TXD_DECOMPOSED(code, first, second): the canonical decomposition of a character, of
 * one step, second 0 if it is one; in the order of codes.
 * TXD_COMPOSED(first, second, code): what a pair composes to; in the order of pairs.
 * TXD_COMBINING(first, last, class): combining classes other than 0; in order.
 */"""


def table(name, rows):
    print(f"#ifdef {name}")
    items = [f"{name}({', '.join(f'0x{x:04X}' for x in row)})" for row in rows]
    line = ""
    for item in items:
        if len(line) + len(item) + 1 > 98:
            print(line)
            line = ""
        line += (" " if line else "") + item
    print(line)
    print("#endif")


def main():
    decomposed, composed, combining = [], [], []
    for code in range(0x110000):
        char = chr(code)
        parts = unicodedata.decomposition(char)
        if parts and not parts.startswith("<"):
            first, second = ([int(part, 16) for part in parts.split()] + [0])[:2]
            decomposed.append((code, first, second))
            if second and unicodedata.normalize("NFC", char) == char:
                composed.append((first, second, code))
        kind = unicodedata.combining(char)
        if kind and combining and combining[-1][1:] == [code - 1, kind]:
            combining[-1][1] = code
        elif kind:
            combining.append([code, code, kind])
    print(HEAD.format(version=unicodedata.unidata_version))
    table("TXD_DECOMPOSED", decomposed)
    table("TXD_COMPOSED", sorted(composed))
    table("TXD_COMBINING", combining)


main()
