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
          "resolved", "txdiag info", "configuration", "vocab, d_model")
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
        lines = dict(re.findall(
            r"^(\S+) +(can(?:not)? act here(?: in experiments)?)", run.out, re.M))
        ok("some can act, some in experiments, some cannot",
           len(set(lines.values())) == 3, run)
        ok("norms have a larger eps than that of norm_eps_huge",
           lines["norm_eps_huge"] == "cannot act here", run)
        different = []
        for name in lines:
            write("planted.cfg", read("faulty.cfg").decode() +
                  f'faults = ( {{ name = "{name}"; }} );\n')
            planted = txdiag("run", "planted.cfg", "-o", "x.h5")
            if (planted.status != 2) != (lines[name] == "can act here"):
                different.append(f"{name}, {lines[name]}: {planted}")
            if lines[name] == "can act here in experiments":
                planted = txdiag("run", "planted.cfg", "-o", "x.h5", "--experiments")
                if planted.status == 2:
                    different.append(f"{name}, {lines[name]}: {planted}")
        ok(f"{family}: run says of each fault what the list says", not different,
           "\n".join(different))
    cfg("faulty.cfg", "gemma2", "input : { tokens = ( [1, 2, 3, 4] ); };\n"
        'faults = ( { name = "cache_hole"; } );')
    refused = exits(2, "a run without calls refuses their faults", "run", "faulty.cfg",
                    "-o", "x.h5")
    holds("and says who makes them", refused.err, "--experiments",
          "txdiag check MODEL.cfg")


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


def parameters():
    """Names of parameters are listed, explained, documented and suggested."""
    run = exits(0, "parameters are listed", "list", "parameters")
    with open(os.path.join(SOURCE, "lib/model/params.def")) as file:
        names = re.findall(r'TXD_PARAM\(\w+, "([^"]+)"', file.read())
    lines = dict(line.split(None, 1) for line in run.out.splitlines())
    ok("all of params.def, in its order", list(lines) == names and len(names) > 50,
       run)
    ok("in words of model.cfg", not re.search(r"c->|TXD_|HAS_|&&", run.out), run)
    page = read(os.path.join(SOURCE, "docs/models.md")).decode()
    absent = [name for name, line in lines.items()
              if f"| `{name}` | {line} |" not in page]
    ok("docs/models.md has the same table", not absent, absent)
    for name in names:
        run = txdiag("explain", name)
        if run.status != 0 or lines[name] not in run.out:
            ok(f"{name} is explained", False, run)
    for name in "layers.3.attn.o.weight", "encoder.layers.0.attn.o.weight":
        run = exits(0, f"{name} is explained", "explain", name)
        holds("with its shape", run.out, "is a parameter",
              "(d_model, n_heads * value_dim)")
    run = exits(2, "a parameter that is not there", "explain", "attn.o.wieght")
    holds("the nearest is suggested", run.err, "nearest: attn.o.weight")


def arrays():
    """What is missing stands beside what has no place."""
    width = 4
    names = {"embed.tok.weight": (5, width), "layers.0.norm1.weight": (width,),
             "layers.0.norm2.weight": (width,), "final_norm.weight": (width,),
             "head.weight": (5, width)}
    names.update({f"layers.0.attn.{part}.weight": (width, width) for part in "qkvo"})
    names.update({f"layers.0.mlp.{part}.weight": (width, width)
                  for part in ("gate", "up", "down")})
    sizes = ('preset = "llama"; vocab = 5; d_model = 4; n_heads = 2; n_layers = 1; '
             'd_ff = 4;')
    for right, wrong in (("layers.0.attn.o.weight", "layers.0.attn.out.weight"),
                         ("final_norm.weight", "final.norm.weight")):
        numpy.savez("wrong.npz", **{wrong if name == right else name:
                                    numpy.ones(shape, "f4")
                                    for name, shape in names.items()})
        write("wrong.cfg", f'model : {{ from = "wrong.npz"; {sizes} }};\n'
              "input : { tokens = ( [1, 2, 3] ); };\n")
        run = exits(2, f"{wrong} is not {right}", "run", "wrong.cfg", "-o", "w.h5")
        holds("both are named", run.err, f'"{right}" is missing',
              f'"{wrong}" has no place', "txdiag list parameters")


recordings()
parameters()
arrays()
names_elsewhere()
classifiers()
encoders()
listed_faults()
unused_fields()
finish()
