#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Strings of a recording or a tokenizer are text in every output and run nothing: in
pictures, scripts that are kept, pages, Markdown, and on the terminal."""
import json
import os
import re
import subprocess
import sys
import unicodedata
from xml.etree import ElementTree

import h5py

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import (equal, exits, finish, holds, ok, read, txdiag,
                     write)  # noqa: E402

HOSTILE = ["'", '"', "`touch pwned`", "\n!touch pwned\n", "\x1b[31mred\x1b[0m",
           "\u202egpj.exe", "\u2066x\u2069", "<script>alert(1)</script>",
           "<img src=x onerror=alert(1)>", "]]>", "-->", "%s%n%d", "%", "| x | y |",
           "\\|",
           "**b** [a](javascript:alert(1))", "![i](http://x.invalid/i.png)", "@all #1",
           "http://x.invalid www.x.invalid", "$(touch pwned)", "\\",
           "'.system('touch pwned').'", "');system(\"touch pwned\");('", "&lt;b&gt;",
           "\u009b31m", "{/Symbol a}^2_3", "```", "</details></table>", "\r\n\t",
           "\ufeff", "'cells' binary array=(2,2)", "$$x$$ :smile: ~~s~~ <!-- "]


def clean(name, text):
    """Of an output as text: no control characters, no marks that turn lines around, and
    nothing that is invisible."""
    bad = sorted({hex(ord(c)) for c in text if c != "\n" and
                  unicodedata.category(c) in ("Cc", "Cf")})
    equal(f"{name}: no control characters, no invisible ones", bad, [])


def quiet(name):
    """Nothing that a string asked for was done."""
    found = [os.path.join(folder, entry) for folder, _, entries in os.walk(".")
             for entry in entries if entry == "pwned"]
    equal(f"{name}: nothing was run", found, [])


def xml(path):
    try:
        return ElementTree.fromstring(read(path)) is not None
    except ElementTree.ParseError as problem:
        print("#", problem)
        return False


# --- tokens: a tokenizer whose pieces they are, and so a recording and a mask
write("tokenizer.json", json.dumps({
    "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []},
    "pre_tokenizer": {"type": "ByteLevel", "use_regex": False,
                      "add_prefix_space": False},
    "added_tokens": [{"id": i + 1, "content": piece, "special": True}
                     for i, piece in enumerate(HOSTILE)]}))
COUNT = len(HOSTILE)
TEXT = "".join(HOSTILE)
for character, escape in ("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), \
        ("\t", "\\t"), ("\x1b", "\\x1b"):
    TEXT = TEXT.replace(character, escape)
write("m.cfg", """model : { preset = "mini"; vocab = %d; d_model = 16; n_heads = 2;
  n_layers = 2; d_ff = 16; max_seq_len = 64; };
input : { tokenizer = "tokenizer.json"; text = "%s"; };
faults = ( { name = "mask_off_by_one"; layers = "1"; } );
record : ( { probe = "full"; points = "layers.*.attn.weights,layers.*.resid.post"; },
  { probe = "rows"; }, { probe = "stats"; }, { probe = "norms"; },
  { probe = "leaks"; });
""" % (COUNT + 1, TEXT))
result = exits(1, "a recording of hostile pieces", "run", "m.cfg", "-o", "m.h5")
with h5py.File("m.h5", "r+") as recording:
    pieces = [p.decode() for p in recording["input/pieces"][:].ravel()]
    ok("the pieces are those", len(set(pieces) & set(HOSTILE)) > COUNT - 4,
       sorted(set(HOSTILE) - set(pieces)))
    # --- and laws, findings, faults and the like, as another program might write them
    recording.attrs["faults"] = " ".join(HOSTILE)
    for name in ("name", "note", "verdict"):
        column = recording["checks/laws/" + name]
        column[:COUNT] = [text.encode() for text in HOSTILE]
    for name in ("law", "site", "message"):
        column = recording["checks/findings/" + name]
        column[:] = ["".join(HOSTILE).encode()] * len(column)
    for name in ("backend", "dtype", "model"):
        recording.attrs[name] = "".join(HOSTILE)

# --- pictures
SITES = {"head": ["layers.1.attn.weights", "--head", "1"],
         "all": ["layers.*.attn.weights"], "norms": ["series/norms"]}
for name, words in SITES.items():
    for ending in ("png", "svg", "pdf") if name == "head" else ("svg",):
        exits(0, f"{name} as {ending}", "plot", "m.h5", *words, "-o",
              f"{name}.{ending}", "--gp", "kept-" + name)
    svg = read(name + ".svg").decode()
    clean(name + ".svg", svg.replace("\t", "").replace("\r", ""))
    ok(f"{name}.svg is XML", xml(name + ".svg"))
    ok(f"{name}.svg: no element but gnuplot's",
       set(re.findall(r"<(\w+)", svg)) <= {"svg", "title", "desc", "defs", "circle",
                                           "path", "g", "rect", "use", "text", "tspan",
                                           "image", "linearGradient", "stop", "xml",
                                           "polygon", "line", "filter", "feFlood",
                                           "feComposite", "mask"},
       set(re.findall(r"<(\w+)", svg)))
    done = subprocess.run(["gnuplot", "picture.gp"], cwd="kept-" + name, check=False,
                          capture_output=True, text=True)
    ok(f"what is kept of {name} draws", done.returncode == 0, done.stderr)
    clean(f"kept-{name}/picture.gp", read(f"kept-{name}/picture.gp").decode())
words = " ".join(re.sub("<[^>]*>", " ", read("head.svg").decode()).split())
holds("labels are there as text", words, "&lt;script", "%s%n%d", "]]&gt;", "\\n!touch",
      "{/Symbol")
quiet("pictures")

# --- the page and the summary
exits(0, "a page", "report", "m.h5", "-o", "page")
page = read("page/index.html").decode()
clean("the page", page)
for tag in ("<script>alert", "<img src=x", "<b>", "</table><", "javascript:alert(1)\""):
    ok(f"the page: no {tag}", tag not in page)
text = exits(0, "a summary in Markdown", "report", "m.h5", "--markdown").out
clean("the summary", text)
bare = re.sub(r"</?(code|details|summary)>|&#\d+;|`txdiag check`", "", text)
equal("the summary: no HTML of theirs, no code, links or pictures",
      sorted(set(re.findall(r"[<>`\[\]{}\\@$!~&]", bare))),
      [])
equal("nor emphasis", re.findall(r"\*+", bare.replace("**fail**", "")), [])
ok("nor links by themselves", not re.search(r"http:|www\.|#\d", bare))
columns = {line.count("|") for line in text.splitlines() if line.startswith("|")}
ok("every row of a table has its columns", columns <= {5, 7}, columns)
quiet("reports")

# --- the terminal
TURNS = re.compile("[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f\x7f-\x9f]")
for words in (["tokenize", "tokenizer.json", "@text.txt"], ["check", "m.h5", "-v"],
              ["info", "m.h5"], ["plot", "m.h5", "\u202elayers\x1b[1m", "-o", "x.png"]):
    with open("text.txt", "w", encoding="utf-8", newline="") as out:
        out.write("".join(HOSTILE))
    result = txdiag(*words)
    equal(f"{words[0]}: no control characters, no marks that turn lines around",
          TURNS.findall(result.out + result.err), [])
    if words[0] == "tokenize":
        holds("the mark is named", result.out, "\\u202egpj.exe")
for locale in ("C", "C.UTF-8"):
    text = exits(0, f"a mask ({locale})", "mask", "m.cfg", env={"LC_ALL": locale}).out
    clean("the mask", text)
    equal("a row per query", len(text.split("\n\n")[1].splitlines()), len(pieces) + 1)
for ending in ("png", "svg", "pdf"):
    exits(0, f"the mask as {ending}", "mask", "m.cfg", "-o", "mask." + ending)
ok("mask.svg is XML", xml("mask.svg"))
clean("mask.svg", read("mask.svg").decode().replace("\t", "").replace("\r", ""))
name = "'`touch pwned`'$(touch pwned)<b>\x1b[31m.cfg"
os.rename("m.cfg", name)
result = exits(0, "a mask of a file of a hostile name", "mask", name, "-o",
               "named.svg")
clean("its picture", read("named.svg").decode().replace("\t", "").replace("\r", ""))
clean("what is said", result.err)
quiet("masks")
finish()
