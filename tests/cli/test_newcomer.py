#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What people try first, and what is said when it is not what the program takes."""
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
import h5py  # noqa: E402
import numpy  # noqa: E402
from program import (SOURCE, exits, finish, holds, ok, read,  # noqa: E402
                     txdiag, write)

PARITY = os.path.join(SOURCE, "tests/fixtures/parity")


def cfg(name, family, more):
    write(name, f'model : {{ from = "{PARITY}/{family}"; }};\n{more}\n')


def recorded(name, config):
    weights = numpy.full((1, 1, 2, 2, 2), 0.5, dtype="f4")
    with h5py.File(name, "w") as file:
        file.attrs["txdiag_schema"] = 1
        file.attrs["dtype"] = "float32"
        file.attrs["config"] = config
        file["value/layers/0/attn/weights/full"] = weights


def recordings():
    """A recording's config stands alone."""
    recorded("own.h5", f'model : {{ from = "{PARITY}/llama"; }};')
    run = exits(2, "a recording with from is refused", "check", "own.h5")
    holds("it says that its config has to be resolved", run.err, "model.from",
          "resolved", "txdiag info", "configuration")
    numpy.savez("own.npz", **{"embed.tok.weight": numpy.zeros((5, 4), "f4")})
    write("own.cfg", 'model : { from = "own.npz"; };\n')
    run = exits(2, "an .npz alone has no sizes", "run", "own.cfg")
    holds("it says what to give", run.err, "vocab is missing",
          "vocab, d_model, n_heads and n_layers", "`from` alone does not tell")
    ok("it does not ask for the file that is given",
       "or from (a checkpoint)" not in run.err, run)


def names_elsewhere():
    for name in "HuggingFaceTB/SmolLM2-135M", "Qwen/Qwen2.5-0.5B", "gpt2":
        write("hub.cfg", f'model : {{ from = "{name}"; }};\n')
        run = exits(2, f"{name} is not there", "run", "hub.cfg")
        holds("names of the Hub are not looked up", run.err, name,
              "not looked up", "--local-dir FOLDER")
    write("hub.cfg", 'model : { from = "absent.gguf"; };\n')
    run = exits(2, "a file is not there", "run", "hub.cfg")
    ok("a file is meant as a file", "looked up" not in run.err, run)


def classifiers():
    """Another head in the place of the language head."""
    for family, head, other in (("llama", "lm_head.weight", "score.weight"),
                                ("qwen3", None, "score.weight"),
                                ("gemma", None, "score.weight")):
        shutil.copytree(f"{PARITY}/{family}", f"classifier_{family}")
        path = f"classifier_{family}/model.safetensors"
        os.chmod(path, 0o644)
        with open(path, "rb") as file:
            data = file.read()
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8:8 + size])
        name = head if head in header else sorted(
            key for key in header if key.endswith("norm.weight"))[-1]
        header[other] = header.pop(name)
        text = json.dumps(header).encode()
        with open(path, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text + data[8 + size:])
        run = txdiag("info", f"classifier_{family}")
        ok(f"{family}: a classifier is no language model", run.status == 2, run)
        holds("it says so", run.err, other, "classifier", "no language head")


def encoders():
    cfg("t5.cfg", "t5", "input : { tokens = ( [1, 2, 3] ); };")
    run = exits(2, "T5 needs a text for its encoder", "run", "t5.cfg")
    holds("it offers texts and tokens", run.err, "input.memory = { text = ",
          "input.memory = { tokens = ")


def listed_faults():
    """The list says what run says, of every fault, in models of several kinds."""
    for family, more in (("gemma2", ""), ("bert", ""),
                         ("t5", " memory : { tokens = ( [1, 2, 3] ); };")):
        cfg("faulty.cfg", family, f"input : {{ tokens = ( [1, 2, 3, 4] );{more} }};\n"
            'record : ( { probe = "grad_norm"; } );')
        run = exits(0, f"{family}: faults are listed", "list", "faults", "faulty.cfg")
        lines = dict(re.findall(r"^(\S+) +(can(?:not)? act here)", run.out, re.M))
        ok("some can act and some cannot", len(set(lines.values())) == 2, run)
        ok("norms have a larger eps than that of norm_eps_huge",
           lines["norm_eps_huge"] == "cannot act here", run)
        different = []
        for name in lines:
            write("planted.cfg", read("faulty.cfg").decode() +
                  f'faults = ( {{ name = "{name}"; }} );\n')
            planted = txdiag("run", "planted.cfg", "-o", "x.h5")
            if (planted.status != 2) != (lines[name] == "can act here"):
                different.append(f"{name}, {lines[name]}: {planted}")
        ok(f"{family}: run says of each fault what the list says", not different,
           "\n".join(different))


def unused_fields():
    shutil.copytree(f"{PARITY}/llama", "stranger")
    os.chmod("stranger/config.json", 0o644)
    with open("stranger/config.json") as file:
        fields = json.load(file)
    fields["clip_qkv"] = 8.0
    with open("stranger/config.json", "w") as file:
        json.dump(fields, file)
    run = exits(0, "a field that the library ignores", "info", "stranger")
    ok("it is told", re.search(r"^not_used +.*\bclip_qkv\b", run.out, re.M), run)
    run = exits(0, "the same as JSON", "info", "stranger", "--json")
    ok("it is in there", "clip_qkv" in json.loads(run.out).get("not_used", ""), run)


recordings()
names_elsewhere()
classifiers()
encoders()
listed_faults()
unused_fields()
finish()
