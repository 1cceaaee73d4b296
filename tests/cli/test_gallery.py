#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""docs/gallery.md is what its generator writes, and its pictures are there: small, and
different with the fault from without it."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import (MODELS, PROGRAM, SOURCE, equal, exits, finish, holds,  # noqa: E402
                     ok, read, skip)

DOCS = os.path.join(SOURCE, "docs")
MOST_BYTES = 2_000_000


def words(text):
    """Numbers with a fraction differ in their last digits between processors."""
    return re.sub(r"\d+\.\d+(e[-+]\d+)?|\d+e[-+]\d+", "#", text)


def pictures():
    page = read(os.path.join(DOCS, "gallery.md")).decode()
    named = re.findall(r"\]\(gallery/([\w-]+\.png)\)", page)
    stored = [name for name in os.listdir(os.path.join(DOCS, "gallery"))
              if name.endswith(".png")]
    equal("the page shows all pictures that are stored", sorted(named), sorted(stored))
    ok("ten faults and more", len(named) >= 20, len(named))
    data = {name: read(os.path.join(DOCS, "gallery", name)) for name in stored}
    ok("they are PNG", all(each[:8] == b"\x89PNG\r\n\x1a\n" for each in data.values()))
    total = sum(map(len, data.values()))
    ok("they are small", total < MOST_BYTES, total)
    healthy = [name for name in stored if name.endswith("-healthy.png")]
    equal("half of them are healthy", 2 * len(healthy), len(stored))
    for name in healthy:
        faulty = name.replace("-healthy", "-faulty")
        ok(f"{faulty} is another picture", data[name] != data[faulty])


def text():
    done = subprocess.run([sys.executable, DOCS + "/gallery/make.py", PROGRAM, ".",
                           "--text"], capture_output=True, text=True, check=False)
    equal("the generator ends well", (done.returncode, done.stderr), (0, ""))
    equal("docs/gallery.md is what ./dev gallery writes",
          words(read("gallery.md").decode()),
          words(read(os.path.join(DOCS, "gallery.md")).decode()))


def one_pair():
    """A picture as the page says that it is drawn."""
    exits(1, "a faulty recording", "run", DOCS + "/gallery/deep.cfg", "-q", "--set",
          'faults=({ name = "grad_zeroed"; layers = "6"; })', "-o", "faulty.h5")
    exits(0, "its picture", "plot", "faulty.h5", "gradients", "-o", "faulty.svg")
    picture = " ".join(re.sub("<[^>]*>", " ", read("faulty.svg").decode()).split())
    holds("it marks the layer", picture, "exactly 0; first: step 0, layer 6")


pictures()
one_pair()
if os.path.isdir(os.path.join(MODELS, "stories260K")):
    text()
else:
    skip("docs/gallery.md is what ./dev gallery writes", "no model data")
finish()
