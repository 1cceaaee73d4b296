# SPDX-License-Identifier: MIT
"""model.cfg as Python: groups are dicts, lists and arrays are lists. Enough of
libconfig for the examples: comments, @include, integers, reals, strings, booleans."""
import os
import re

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[-+]?[\w.][\w.+-]*|[{}()\[\]:=;,]|\S')
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|#[^\n]*|//[^\n]*|/\*.*?\*/', re.S)
_CLOSING = {"(": ")", "[": "]"}


def _text_of(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    included = re.compile(r'^\s*@include\s+"([^"]+)".*$', re.M)
    return included.sub(lambda m: _text_of(os.path.join(os.path.dirname(path),
                                                        m.group(1))), text)


def _scalar(token):
    if token.startswith('"'):
        return re.sub(r"\\(.)", r"\1", token[1:-1])
    if token.lower() in ("true", "false"):
        return token.lower() == "true"
    try:
        return int(token.rstrip("L"), 0)
    except ValueError:
        return float(token)


def _value(tokens):
    token = tokens.pop()
    if token == "{":
        return _group(tokens, "}")
    if token not in _CLOSING:
        return _scalar(token)
    out = []
    while tokens[-1] != _CLOSING[token]:
        out.append(_value(tokens))
        if tokens[-1] == ",":
            tokens.pop()
    tokens.pop()
    return out


def _group(tokens, end):
    out = {}
    while tokens and tokens[-1] != end:
        name = tokens.pop()
        assert tokens.pop() in (":", "="), name
        out[name] = _value(tokens)
        while tokens and tokens[-1] in (";", ","):
            tokens.pop()
    if end:
        tokens.pop()
    return out


def load(path):
    text = _COMMENT.sub(lambda m: m.group(1) or " ", _text_of(path))
    return _group(list(reversed(_TOKEN.findall(text))), "")
