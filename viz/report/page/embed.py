#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The style sheet and the scripts of the report as C: embed.py OUT.c PAGE.css A.js B.js

The scripts become one, in a function of its own. Beside the texts stand their hashes,
by which the page lets itself run them and nothing else.
"""
import base64
import hashlib
import json
import sys


def array(name, text):
    """C strings, one a line: longer ones are not portable."""
    lines = [json.dumps(line, ensure_ascii=True) for line in text.splitlines(True)]
    return f"const char *const {name}[] = {{\n" + ",\n".join(lines + ["NULL"]) + "};\n"


def digest(name, text):
    code = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f'const char {name}[] = "sha256-{code}";\n'


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def main():
    out, style, *scripts = sys.argv[1:]
    style = read(style)
    script = "(function () {\n'use strict';\n" + "".join(map(read, scripts)) + "})();\n"
    if "</" in script or "</" in style:
        sys.exit("embed.py: '</' would end the element that holds the text")
    with open(out, "w", encoding="ascii") as file:
        file.write('#include "viz/report/html.h"\n\n'
                   + array("txd_html_style", style)
                   + digest("txd_html_style_hash", style)
                   + array("txd_html_script", script)
                   + digest("txd_html_script_hash", script))


main()
