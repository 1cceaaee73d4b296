#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Whatever is wrong with what a person hands in: exit 2, a message that says where and
what to do, an earlier output untouched, nothing half-made left behind."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
import checkpoint  # noqa: E402
from program import SOURCE, exits, finish, holds, ok, read, txdiag, write  # noqa: E402

MINI = """version = 1;
model : { preset = "mini"; vocab = 64; d_model = 16; n_heads = 4; n_layers = 2;
          d_ff = 32; max_seq_len = 16; };
input : { tokens = ( [1, 2, 3, 4, 5] ); };
"""
write("good.cfg", MINI)
exits(0, "the healthy model runs", "run", "good.cfg", "-o", "kept.h5")
KEPT = read("kept.h5")


def refuses(name, cfg, *parts):
    """The run exits with 2, says `parts`, and leaves kept.h5 and nothing else."""
    write("bad.cfg", cfg)
    before = set(os.listdir("."))
    result = exits(2, f"{name}: exit 2", "run", "bad.cfg", "-o", "kept.h5")
    holds(f"{name}: the message says where and what", result.err, *parts)
    ok(f"{name}: nothing on stdout", result.out == "", result)
    ok(f"{name}: the earlier output is untouched", read("kept.h5") == KEPT)
    left = set(os.listdir(".")) - before
    ok(f"{name}: nothing is left behind", not left, left)


def refuses_model(name, *parts, weights=None, config=None):
    checkpoint.folder("hf", weights, config)
    refuses(name, 'model : { from = "hf"; };\ninput : { tokens = ( [1, 2, 3] ); };\n',
            *parts)


# --- the configuration
refuses("an unknown key", MINI.replace("d_model", "d_modle"),
        "bad.cfg:2", "d_modle", "nearest: d_model")
refuses("a misspelt group", MINI + "cheks : { };\n", "bad.cfg:5", "nearest: checks")
refuses("a number too large for libconfig", MINI.replace("= 64", "= 99999999999"),
        "bad.cfg:2", "99999999999")
refuses("a syntax error", MINI + "mask : { causal = ; };\n", "bad.cfg:5", "syntax")
refuses("a wrong type", MINI.replace("vocab = 64", 'vocab = "many"'),
        "bad.cfg:2", "vocab")
refuses("heads that do not divide", MINI.replace("d_model = 16", "d_model = 770")
        .replace("n_heads = 4", "n_heads = 12"), "bad.cfg:2", "770", "12", "divisible")
refuses("a token id out of range", MINI.replace("3, 4, 5", "3, 64, 5"), "bad.cfg:4",
        "64", "63")
refuses("a negative token id", MINI.replace("3, 4, 5", "3, -1, 5"), "bad.cfg:4", "-1")
refuses("a sequence longer than the positions",
        MINI.replace("[1, 2, 3, 4, 5]", "[" + ", ".join(["1"] * 17) + "]"), "17", "16")
refuses("two kinds of input", MINI.replace("tokens =", "random : { }; tokens ="),
        "bad.cfg:4", "tokens", "random")
refuses("no input", MINI.split("input")[0], "input", "tokens")
refuses("an unknown backend", MINI + 'precision : { backend = "cpu23"; };\n',
        "bad.cfg:5", "cpu23", "cpu32")
refuses("an unknown probe", MINI + 'record : ( { probe = "rovs"; } );\n', "bad.cfg:5",
        "rovs", "nearest: rows")
refuses("globs that select no point",
        MINI + 'record : ( { probe = "full"; points = "layers.9.*"; } );\n',
        "bad.cfg:5", "layers.9.*")
refuses("an unknown fault", MINI + 'faults : ( { name = "mask_mising"; } );\n',
        "bad.cfg:5", "mask_mising", "mask_missing")
refuses("a fault that cannot act",
        MINI + 'faults : ( { name = "padding_ignored"; } );\n', "padding_ignored",
        "padd")
refuses("an unknown version", MINI.replace("version = 1", "version = 2"), "bad.cfg:1",
        "version", "2")
refuses("a model that is not there",
        'model : { from = "nowhere"; };\ninput : { tokens = ( [1] ); };\n',
        "bad.cfg:1", "nowhere")
refuses("tokens that are not there",
        MINI.replace("tokens = ( [1, 2, 3, 4, 5] )", 'file = "nowhere.npy"'),
        "nowhere.npy")
refuses("a file of tokens that is none",
        MINI.replace("tokens = ( [1, 2, 3, 4, 5] )", 'file = "good.cfg"'), "good.cfg")

# --- the checkpoint
INDEX, DATA = checkpoint.index_and_data()
WHOLE = checkpoint.safetensors(INDEX, DATA)
checkpoint.folder("hf")
write("hf.cfg", 'model : { from = "hf"; };\ninput : { tokens = ( [1, 2, 3] ); };\n')
exits(0, "the healthy checkpoint runs", "run", "hf.cfg", "-o", "hf.h5")
Q = "model.layers.1.self_attn.q_proj.weight"
FILE = "model.safetensors"


def spoilt(**fields):
    """The healthy file with some fields of one tensor's entry replaced."""
    index = {**INDEX, Q: {**INDEX[Q], **fields}}
    return checkpoint.safetensors(index, DATA)


begin, end = INDEX[Q]["data_offsets"]
refuses_model("a truncated safetensors", FILE, "byte", weights=WHOLE[:len(WHOLE) // 2])
refuses_model("a header cut off", FILE, weights=WHOLE[:40])
refuses_model("an empty safetensors", FILE, weights=b"")
refuses_model("a header length of 2^60", FILE, str(2 ** 60),
              weights=checkpoint.safetensors(INDEX, DATA, length=2 ** 60))
refuses_model("overlapping offsets", FILE, Q,
              weights=spoilt(data_offsets=[begin - 4, end - 4]))
refuses_model("offsets beyond the file", FILE, Q,
              weights=spoilt(data_offsets=[len(DATA), len(DATA) + end - begin]))
refuses_model("offsets that wrap", FILE, Q,
              weights=spoilt(data_offsets=[begin, 2 ** 63 - 1]))
refuses_model("a shape that does not fit the bytes", FILE, Q,
              weights=spoilt(shape=[16, 17]))
DOWN = "model.layers.1.mlp.down_proj.weight"
missing = dict(INDEX)
cut = missing.pop(DOWN)["data_offsets"][0]
refuses_model("a missing tensor", DOWN,
              weights=checkpoint.safetensors(missing, DATA[:cut]))
refuses_model("a wrongly shaped tensor", Q, "(8, 32)", "(16, 16)",
              weights=spoilt(shape=[8, 32]))
refuses_model("an unknown dtype", Q, "Q4",  weights=spoilt(dtype="Q4"))
text = json.dumps(INDEX)
refuses_model("duplicate keys in the header", FILE, "duplicate",
              weights=checkpoint.safetensors(
                  INDEX, DATA, header=text[:-1] + f', "{Q}": {json.dumps(INDEX[Q])}}}'))
refuses_model("a header that is not JSON", FILE, weights=checkpoint.safetensors(
    INDEX, DATA, header="{" + "x" * 200))
config = json.dumps(checkpoint.CONFIG)
refuses_model("duplicate keys in config.json", "config.json", "duplicate",
              config=config[:-1] + ', "hidden_size": 16}')
refuses_model("a field of config.json that is missing", "config.json", "hidden_size",
              config=config.replace('"hidden_size"', '"hidden_sized"'))
refuses_model("an unknown family", "config.json", "mamba",
              config=config.replace("llama", "mamba").replace("Llama", "Mamba"))
refuses_model("heads of a checkpoint that do not divide", "3", "4",
              config=config.replace('"num_key_value_heads": 2',
                                    '"num_key_value_heads": 3'))
bias = dict(INDEX)
bias["model.layers.0.self_attn.q_proj.bias"] = {
    "dtype": "F32", "shape": [16], "data_offsets": [len(DATA), len(DATA) + 64]}
refuses_model("a bias in some layers", "q_proj.bias",
              weights=checkpoint.safetensors(bias, DATA + b"\0" * 64))

# --- the output
write("notes.txt", "my notes\n")
for name, output, parts in (
        ("a folder that is missing", "missing/out.h5", ("missing", "out.h5")),
        ("a folder that is a file", "notes.txt/out.h5", ("notes.txt",)),
        ("an output that is a folder", "hf", ("hf",)),
        ("an output that is not ours", "notes.txt", ("notes.txt", "--force")),
        ("an output over its input", "good.cfg", ("good.cfg", "input")),
        ("an output that is a device", "/dev/null", ("/dev/null",))):
    before = set(os.listdir("."))
    result = exits(2, f"{name}: exit 2", "run", "good.cfg", "-o", output)
    holds(f"{name}: the message says so", result.err, *parts)
    ok(f"{name}: nothing was run or left", set(os.listdir(".")) == before
       and result.out == "", result)
ok("what is not ours is untouched", read("notes.txt") == b"my notes\n")
result = exits(2, "a report folder that cannot be made", "run", "good.cfg", "-o",
               "kept.h5", "--report", "missing/report")
holds("it is named", result.err, "missing/report")
ok("it is found before the run", read("kept.h5") == KEPT)

# --- other commands
write("empty.h5", b"")
write("ids.npy", b"\x93NUMPY\x01\0")
for arguments, parts in (
        (("check", "nowhere.h5"), ("nowhere.h5",)),
        (("check", "hf/model.safetensors"), ("model.safetensors",)),
        (("info", "nowhere"), ("nowhere",)),
        (("info", "/dev/null"), ("/dev/null",)),
        (("info", "."), ("config.json",)),
        (("check", "kept.h5", "--only", "rowsum"), ("rowsum", "row_sum")),
        (("check", "kept.h5", "--rules", "notes.txt"), ("notes.txt:1",)),
        (("check", "kept.h5", "--set", "seed=2"), ("--set", "kept.h5", "recording")),
        (("info", "kept.h5", "--set", "seed=2"), ("--set", "kept.h5")),
        (("list", "points", "--set", "seed=2"), ("--set",)),
        (("check", "kept.h5", "--format", "yaml"), ("yaml", "json")),
        (("check", "kept.h5", "-o", "notes.txt"), ("notes.txt", "--force")),
        (("plot", "kept.h5", "layers.0.attn.wieghts", "--head", "0", "-o", "a.png"),
         ("layers.*.attn.weights",)),
        (("plot", "kept.h5", "layers.0.attn.weights", "--head", "9", "-o", "a.png"),
         ("head", "9", "3")),
        (("plot", "kept.h5", "layers.0.attn.weights", "--head", "0"), ("-o",)),
        (("plot", "kept.h5", "layers.0.attn.weights", "--head", "0", "-o", "a.txt"),
         ("a.txt", ".png")),
        (("plot", "good.cfg", "logits", "-o", "a.png"), ("good.cfg",)),
        (("report", "kept.h5"), ("-o",)),
        (("report", "kept.h5", "-o", "notes.txt"), ("notes.txt",)),
        (("explain", "causalty"), ("nearest: causality",)),
        (("run", "."), ("expected a MODEL.cfg, found a folder", 'from = "."', "input")),
        (("run", "kept.h5"), ("MODEL.cfg", "found an HDF5 file", "txdiag check")),
        (("run", "hf/model.safetensors"), ("safetensors", 'from = "hf/model.saf')),
        (("run", "hf/config.json"), ("MODEL.cfg", "Hugging Face", 'from = "hf"')),
        (("run", "ids.npy"), ("found a .npy array", "input.file")),
        (("run", "empty.h5"), ("empty.h5", "empty")),
        (("check", "empty.h5"), ("empty.h5", "empty")),
        (("plot", "ids.npy", "logits", "-o", "a.png"), ("recording", ".npy")),
        (("report", "good.cfg", "-o", "r"), ("recording", "found a text")),
        (("run", "good.cfg", "--set", "model.layers=4"), ("is model.n_layers meant",)),
        (("run", "good.cfg", "--set", "model.hidden_size=4"), ("called d_model",)),
        (("run", "good.cfg", "--set", 'record="stats"'), ("groups", "probe")),
        (("check", "."), ("expected a MODEL.cfg, found a folder",)),
        (("list", "fault"), ("nearest: faults",)),
        (("run", "nowhere.cfg"), ("nowhere.cfg",)),
        (("run", "good.cfg", "--set", "model.d_modle=3"), ("--set", "d_model")),
        (("run", "good.cfg", "--set", "model.d_model"), ("model.d_model", "=")),
        (("run", "good.cfg", "--backend", "cpu23"), ("--backend", "cpu32")),
        (("run", "good.cfg", "--threads", "none"), ("--threads", "none")),
        (("run", "good.cfg", "extra"), ("extra",)),
        (("run", "--otput", "x"), ("--otput", "nearest: --output"))):
    result = exits(2, f"exit 2: txdiag {' '.join(arguments)}", *arguments)
    holds(f"and it says why: {' '.join(arguments)}", result.err, *parts)
    ok("and nothing on stdout", result.out == "", result.out)
ok("a hundred junk files are no crash", all(
    txdiag("info", write("junk", bytes((i * 37 + j * j) % 256 for j in range(i * 7))))
    .status == 2 for i in range(100)))
ok("the source tree has the examples", os.path.exists(SOURCE + "/examples/mini.cfg"))
finish()
