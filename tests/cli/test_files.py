#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""One model in every kind of file that holds models: the logits are those that others
computed from the same numbers, whichever file they came from. And what is wrong with a
file is said, with exit status 2."""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
import h5py  # noqa: E402
import numpy  # noqa: E402
import numpy_decoder as decoder  # noqa: E402
import weights  # noqa: E402
from program import (SOURCE, equal, exits, finish, holds, model, ok, read,  # noqa: E402
                     skip, txdiag, write)

STORIES = model("stories260K")
VOCABULARIES = model("llama.cpp-vocab")
SIZES = """preset = "llama"; vocab = 512; d_model = 64; n_heads = 8; n_kv_heads = 4;
  n_layers = 5; d_ff = 172; max_seq_len = 512; tie_embeddings = true;"""
BOUNDS = {"ref64": 1e-9, "cpu32": 5e-5}


def logits_of(source, backend, extra=""):
    """What txdiag computes from a model for the golden prompt."""
    write("run.cfg", f'model : {{ from = "{source}"; {extra} }};\n'
          f'input : {{ file = "{STORIES}/golden/prompt_ids.npy"; }};\n'
          'record : ( { probe = "full"; points = "logits"; } );\n')
    result = txdiag("run", "run.cfg", "--backend", backend, "-o", "run.h5", "--force")
    if not ok(f"{os.path.basename(source)}, {backend}: runs", result.status == 0,
              result):
        return numpy.full((27, 512), numpy.nan)
    with h5py.File("run.h5", "r") as file:
        return file["value/logits/full"][0, 0].astype(numpy.float64)


def close(name, found, expected, allowed):
    worst = numpy.abs(found - expected).max()
    ok(f"{name}: within {allowed:g}", worst <= allowed, f"off by {worst:.3g}")


def golden(name):
    return numpy.load(f"{STORIES}/golden/{name}.npy")


def real_files():
    files = {"stories260K.bin": "logits_fp64", "model.safetensors": "logits_fp64",
             "stories260K-f32.gguf": "logits_fp64"}
    for kind in ("f16", "q8_0", "q4_0", "q4_1"):
        files[f"stories260K-{kind}.gguf"] = f"logits_{kind}_dequant_fp64"
    for name, expected in files.items():
        for backend, allowed in BOUNDS.items():
            close(f"{name}, {backend}", logits_of(f"{STORIES}/{name}", backend),
                  golden(expected), allowed)
    # A bound that holds whatever was read would prove nothing.
    ok("the quantised logits are others", numpy.abs(
        golden("logits_q4_0_dequant_fp64") - golden("logits_fp64")).max() > 0.1)


def narrowed_files():
    """Their weights are others than those of any golden logits: the decoder of numpy,
    in float64, on the widened weights."""
    spec = {"model": {"preset": "llama", "vocab": 512, "d_model": 64, "n_heads": 8,
                      "n_kv_heads": 4, "n_layers": 5, "d_ff": 172,
                      "tie_embeddings": True}}
    tokens = golden("prompt_ids").reshape(1, -1)
    inputs = {"tokens": tokens, "valid": numpy.ones_like(tokens),
              "positions": numpy.arange(tokens.size)[None],
              "document": numpy.zeros_like(tokens)}
    config = decoder.resolve(spec)
    for kind in ("", ".f16", ".bf16"):
        name = f"model{kind}.safetensors"
        loaded = weights.own(weights.load(f"{STORIES}/{name}"))
        expected = decoder.forward(config, loaded, inputs)["logits"][0]
        if not kind:
            close("the decoder of numpy", expected, golden("logits_fp64"), 1e-11)
            continue
        for backend, allowed in BOUNDS.items():
            close(f"{name}, {backend}", logits_of(f"{STORIES}/{name}", backend),
                  expected, allowed)


def made_files():
    """The same tensors in other files: not one bit differs."""
    tensors = weights.load(f"{STORIES}/model.safetensors")
    expected = logits_of(f"{STORIES}/model.safetensors", "cpu32")

    def same(name, source, extra=""):
        equal(f"{name}: the bits of the safetensors",
              logits_of(source, "cpu32", extra).tobytes(), expected.tobytes())

    def folder(name):
        os.makedirs(name)
        shutil.copyfile(f"{STORIES}/config.json", f"{name}/config.json")
        return os.path.abspath(name)
    shards = folder("shards")
    names = sorted(tensors)
    files = [f"model-0000{i + 1}-of-00003.safetensors" for i in range(3)]
    for i, file in enumerate(files):
        weights.save(f"shards/{file}", {name: tensors[name] for name in names[i::3]})
    write("shards/model.safetensors.index.json", json.dumps({
        "metadata": {"total_size": 0},
        "weight_map": {name: files[i % 3] for i, name in enumerate(names)}}))
    same("a folder of shards", shards)
    same("an index of shards", f"{shards}/model.safetensors.index.json")
    shutil.copyfile(f"{STORIES}/model.safetensors", f"{folder('other')}/w.safetensors")
    same("a folder with one safetensors", os.path.abspath("other"))
    weights.save(f"{folder('f64')}/model.safetensors", tensors, "F64")
    equal("float64 tensors: the shape of the logits",
          logits_of(os.path.abspath("f64"), "ref64").shape, (27, 512))
    arrays = {name: values.astype(numpy.float32) for name, values in tensors.items()}
    numpy.savez_compressed(f"{folder('npz')}/weights.npz", **arrays)
    same("a folder with an npz", os.path.abspath("npz"))
    same("an npz beside config.json", os.path.abspath("npz/weights.npz"))
    numpy.savez(f"{folder('named')}/weights.npz", **weights.own(arrays))
    same("an npz with the names of parameters", os.path.abspath("named"))
    os.makedirs("bare")
    shutil.copyfile("named/weights.npz", "bare/weights.npz")
    same("an npz with sizes in the cfg", os.path.abspath("bare/weights.npz"), SIZES)
    os.makedirs("gguf")
    shutil.copyfile(f"{STORIES}/stories260K-f32.gguf", "gguf/model.gguf")
    close("a folder with one GGUF", logits_of(os.path.abspath("gguf"), "cpu32"),
          expected, 5e-5)


def untied():
    """A head of its own in a .bin, against the same arrays as an npz."""
    data = bytearray(read(f"{STORIES}/stories260K.bin"))
    embedding = weights.load_bin(f"{STORIES}/stories260K.bin")["embed.tok.weight"]
    data[20:24] = (-512).to_bytes(4, "little", signed=True)
    write("untied.bin", bytes(data) + embedding[::-1].tobytes())
    arrays = weights.load_bin("untied.bin")
    ok("the head of a .bin is found", numpy.array_equal(arrays["head.weight"],
                                                        embedding[::-1]))
    numpy.savez("untied.npz", **arrays)
    sizes = SIZES.replace("tie_embeddings = true", 'rope_pairing = "adjacent"')
    found = logits_of(os.path.abspath("untied.bin"), "cpu32")
    equal("an untied .bin: the bits of an npz", found.tobytes(), logits_of(
        os.path.abspath("untied.npz"), "cpu32", sizes).tobytes())
    ok("its head is read", numpy.array_equal(found[:, ::-1], logits_of(
        f"{STORIES}/stories260K.bin", "cpu32")))


def refused(name, source, *parts, extra=""):
    write("bad.cfg", f'model : {{ from = "{os.path.abspath(source)}"; {extra} }};\n'
          "input : { random : { length = 4; }; };\n")
    holds(f"{name}: says so", exits(2, f"{name}: exit 2", "run", "bad.cfg").err,
          *parts)


def bad_files():
    whole = read(f"{STORIES}/stories260K-q8_0.gguf")
    write("cut.gguf", whole[:len(whole) // 2])
    refused("a cut GGUF", "cut.gguf", "byte offset", "is it truncated?")
    write("old.gguf", whole[:4] + b"\1" + whole[5:])
    refused("GGUF version 1", "old.gguf", "byte offset 4: GGUF version 1")
    write("cut.bin", read(f"{STORIES}/stories260K.bin")[:-4])
    refused("a cut .bin", "cut.bin", "byte offset 0", "the file has 1056536")
    shutil.copyfile("gguf/model.gguf", "gguf/other.gguf")
    refused("two GGUF files in a folder", "gguf", "2 .gguf files", "name one")
    shutil.copyfile("shards/config.json", "config.json")
    write("index.index.json", json.dumps({"weight_map": {"a": "../secret"}}))
    refused("an index that leads elsewhere", "index.index.json", "beside the index")
    write("gone.index.json", json.dumps({"weight_map": {"a": "gone.safetensors"}}))
    refused("an index of a file that is not there", "gone.index.json",
            "gone.safetensors")
    mapped = json.loads(read("shards/model.safetensors.index.json"))["weight_map"]
    name = next(iter(mapped))
    mapped[name] = sorted(set(mapped.values()) - {mapped[name]})[0]
    write("shards/wrong.index.json", json.dumps({"weight_map": mapped}))
    refused("an index that is wrong", "shards/wrong.index.json", name,
            "is said to be in")
    refused("one of several files", "shards/" + mapped[name], "name their folder",
            "shards/model.safetensors.index.json")
    refused("a preset of a model that states its own", STORIES, "model.preset",
            "remove preset or from", extra='preset = "llama";')
    refused("an npz without sizes", "bare/weights.npz", "vocab is missing")
    refused("an npz with other sizes", "bare/weights.npz", "embed.tok.weight",
            "(513, 64)", extra=SIZES.replace("512;", "513;", 1))
    numpy.savez("strange.npz", a=numpy.zeros(3, numpy.float32))
    os.remove("config.json")
    refused("an npz of strange names", "strange.npz", "embed.tok.weight")
    write("pickle.bin", b"\x80\x02}q\0.")
    refused("what torch.save writes", "pickle.bin", "save_pretrained")


def facts_of(name, path):
    """What `info` says, as text and as JSON."""
    text = exits(0, f"info of {name}", "info", path).out
    return text, json.loads(exits(0, f"info of {name} as JSON", "info", path,
                                  "--json").out)


def infos():
    text, facts = facts_of("a GGUF", f"{STORIES}/stories260K-q4_0.gguf")
    equal("its kind and family", (facts["kind"], facts["family"]), ("GGUF", "llama"))
    equal("its parameters", facts["parameters"], 260032)
    holds("its conventions", text, "5 layers of width 64", "8 heads of 8 lanes on 4",
          "causal, no window", "adjacent pairs, base 10000, not scaled",
          "rmsnorm, pre, eps 1e-05", "gated, silu", "as it is",
          "times 0.353553390593", "tied to the embedding")
    tensors = {entry["name"]: entry for entry in facts["tensors"]}
    equal("a tensor as it is stored", tensors["blk.0.ffn_up.weight"],
          {"name": "blk.0.ffn_up.weight", "dtype": "Q4_0", "axes": "",
           "shape": [172, 64], "bytes": 172 * 64 // 32 * 18})
    holds("also in the text", text, "Q4_0      (172, 64)  6192 bytes", "float16")
    equal("the bytes of all", facts["tensor_bytes"],
          sum(entry["bytes"] for entry in facts["tensors"]))
    text, facts = facts_of("a .bin", f"{STORIES}/stories260K.bin")
    equal("the kind of a .bin", facts["kind"], "llama2.c")
    holds("its pairs", text, "adjacent pairs")
    text, facts = facts_of("shards", "shards")
    equal("the kind of shards", facts["kind"], "sharded safetensors")
    holds("their pairs", text, "half pairs", "47 tensors")
    text, facts = facts_of("an npz alone", "bare/weights.npz")
    equal("the kind of an npz", facts["kind"], "npz")
    ok("no model is made up for it", "family" not in facts, text)
    exits(2, "info of a cut GGUF", "info", "cut.gguf")
    holds("info of a cut .bin", exits(2, "info of a cut .bin: exit 2", "info",
                                      "cut.bin").err, "the file has 1056536")
    exits(2, "info of a pickle", "info", "pickle.bin")
    for path in ("stories260K-f16.gguf", "stories260K.bin", "model.safetensors"):
        holds(f"{path} where a cfg belongs", exits(
            2, f"{path} is no cfg", "run", f"{STORIES}/{path}").err,
            "expected a MODEL.cfg, found", f'model : {{ from = "{STORIES}/{path}"')


def patterns():
    """Layers that differ are told with the layers that they are."""
    source = os.path.join(SOURCE, "tests/fixtures/parity")
    for name, parts in {
            "smollm3": ["half pairs, base", "in layers 0,2; rotary, none in layers"],
            "llama3": ["scaled (llama3, factor 8, from 64)"],
            "gpt_neox": ["parallel blocks", "layernorm", "4 of 6 lanes"],
            "gemma": ["gains + 1", "times "],
            "bloom": ["alibi", "a norm over the sum"],
            "opt": ["learned", "positions from row 2 on", "relu"],
            "mistral": ["window of"],
            "qwen3": ["norms of queries and keys per head"],
            "gemma2": ["capped at", "sandwich", "logits capped at", "window of",
                       "no window in layer 1"],
            "gemma3": ["not scaled in layers 0:2,3; ", "window of 4 in layers",
                       "scaled (linear, factor 2) in layer 2",
                       "no window in layer 2", "sandwich, eps"],
            "gpt_oss": ["a sink per head", "scaled (yarn, factor"],
            "t5": ["relative, 8 ranges up to 10", "an encoder of 3 layers",
                   "in every layer, 6 heads on what the encoder makes",
                   "3 layers of width 20, MLP of 28, 6 heads of 6 "
                   "lanes, both ways, relative positions of its own, 8 ranges"],
            "bert": ["both ways", "token types", "after a map, an activation"],
            "phi": ["one for both branches of parallel blocks", "a bias"],
            "olmo2": ["norms of queries and keys over all heads", "rmsnorm, branch"],
            }.items():
        holds(f"the conventions of {name}", facts_of(name, f"{source}/{name}")[0],
              *parts)


def spared():
    """What a model is read from is never an output, not even with --force."""
    shutil.copyfile(f"{STORIES}/stories260K-f16.gguf", "own.gguf")
    part = "shards/model-00002-of-00003.safetensors"
    for source, outputs in {"own.gguf": ["own.gguf"],
                            "shards": [part, "shards/config.json",
                                       "shards/model.safetensors.index.json"],
                            "bare/weights.npz": ["bare/weights.npz"]}.items():
        write("own.cfg", f'model : {{ from = "{source}"; '
              f'{SIZES if "bare" in source else ""} }};\n'
              "input : { random : { length = 4; }; };\n")
        for output in outputs:
            before = read(output)
            holds(f"{output} as an output", exits(
                2, f"{output} as an output: exit 2", "run", "own.cfg", "-o", output,
                "--force").err, output)
            ok(f"{output} is as it was", read(output) == before)


def vocabularies():
    for name in ("gpt-2", "llama-spm", "starcoder"):
        path = f"{VOCABULARIES}/ggml-vocab-{name}.gguf"
        refused(f"the vocabulary {name} as a model", path,
                "holds a vocabulary and no weights")
        text, facts = facts_of(f"the vocabulary {name}", path)
        holds("its tokenizer", facts["tokenizer"], " tokens")
        holds("that it is no model", facts["not_a_model"], "no weights")
        equal("no tensors", facts["tensors"], [])


if STORIES:
    real_files()
    narrowed_files()
    made_files()
    untied()
    bad_files()
    infos()
    spared()
else:
    skip("models in files", "no model data")
patterns()
if VOCABULARIES:
    vocabularies()
else:
    skip("vocabularies", "no model data")
finish()
