#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Text as input: what input.text runs is what its ids would, pieces are in the
recording for every step and label pictures, whatever they hold, and what is missing is
said."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
import h5py  # noqa: E402
from program import (equal, exits, finish, holds, model, ok, read,  # noqa: E402
                     skip, write)

MODEL = ('model : { preset = "mini"; vocab = 300; d_model = 16; n_heads = 2; '
         'n_layers = 1; max_seq_len = 64; };\n')
HOSTILE = "<script>alert(1)</script>'`touch pwned`\n!touch pwned"


def byte_letters():
    """GPT-2's letters of bytes, by the rule that they were made with."""
    known = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(256) if byte not in known]
    return {**{byte: chr(byte) for byte in known},
            **{byte: chr(0x100 + i) for i, byte in enumerate(rest)}}


def write_bytes_tokenizer():
    """A token for every byte, two merges, and the hostile text as an added token."""
    vocab = {letter: byte for byte, letter in byte_letters().items()}
    vocab.update({"on": 256, "\u0120on": 257})
    write("bytes.json", json.dumps({
        "added_tokens": [{"id": 258, "content": HOSTILE, "special": False,
                          "normalized": False}],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
        "model": {"type": "BPE", "vocab": vocab,
                  "merges": ["o n", "\u0120 on"]}}))


def pieces_of(path):
    with h5py.File(path) as file:
        tokens = file["input/tokens"][...]
        pieces = file["input/pieces"].asstr()[...].reshape(tokens.shape)
        return tokens, pieces.tolist(), file["value/logits/full"][...]


def cfg(name, text):
    write(name, MODEL + text + '\nrecord : ( { probe = "full"; points = '
          '"logits,layers.*.attn.weights"; } );\n')
    return name


def batches():
    cfg("t.cfg", 'input : { tokenizer = "bytes.json"; text = '
        '("on on\\xC3\\xA9", "a"); pad = "left"; pad_id = 7; };')
    exits(0, "a batch of texts runs", "run", "t.cfg", "-o", "t.h5")
    tokens, pieces, logits = pieces_of("t.h5")
    equal("its ids are padded", tokens.tolist(), [[[256, 257, 0xC3, 0xA9],
                                                  [7, 7, 7, 97]]])
    equal("its pieces are theirs", pieces,
          [[["on", " on", "<0xC3>", "<0xA9>"], ["", "", "", "a"]]])
    cfg("i.cfg", 'input : { tokens = ( [256, 257, 195, 169], [97] ); pad = "left"; '
        'pad_id = 7; };')
    exits(0, "the ids alone run", "run", "i.cfg", "-o", "i.h5")
    with h5py.File("i.h5") as file:
        ok("to the same logits", (file["value/logits/full"][...] == logits).all() and
           logits.size > 0)
        ok("without pieces", "pieces" not in file["input"])
    cfg("l.cfg", 'input : { tokenizer = "bytes.json"; tokens = [256, 300, 258, 299]; '
        '};'.replace("300", "65"))
    exits(0, "ids with a tokenizer run", "run", "l.cfg", "-o", "l.h5")
    equal("and have pieces", pieces_of("l.h5")[1], [[["on", "A", HOSTILE, ""]]])


def windows():
    cfg("w.cfg", 'input : { tokenizer = "bytes.json"; text = "abcdefg"; length = 3; };')
    exits(0, "a text in windows runs", "run", "w.cfg", "-o", "w.h5")
    equal("every step has its pieces", pieces_of("w.h5")[1],
          [[["a", "b", "c"]], [["d", "e", "f"]], [["g", "", ""]]])
    exits(0, "what was recorded is judged", "check", "w.h5")
    write("story.txt", "abcdefg")
    cfg("f.cfg", 'input : { tokenizer = "bytes.json"; file = "story.txt"; '
        'length = 3; };')
    exits(0, "a file of text runs", "run", "f.cfg", "-o", "f.h5")
    equal("as its text does", pieces_of("f.h5")[1], pieces_of("w.h5")[1])
    ok("by the same ids", (pieces_of("f.h5")[0] == pieces_of("w.h5")[0]).all())
    cfg("c.cfg", 'input : { tokenizer = "bytes.json"; file = "story.txt"; length = 5; '
        'steps = 1; };')
    exits(0, "one window of it", "run", "c.cfg", "-o", "c.h5")
    equal("is its beginning", pieces_of("c.h5")[1], [[["a", "b", "c", "d", "e"]]])


def hostile():
    cfg("h.cfg", 'input : { tokenizer = "bytes.json"; text = "a ' +
        HOSTILE.replace("\n", "\\n") + ' b"; };')
    exits(0, "hostile pieces are recorded", "run", "h.cfg", "-o", "h.h5")
    ok("as they are", HOSTILE in pieces_of("h.h5")[1][0][0], pieces_of("h.h5")[1])
    result = exits(0, "and drawn", "plot", "h.h5", "layers.0.attn.weights", "--head",
                   "0", "-o", "h.svg")
    ok("with the piece as text", b"&lt;script" in read("h.svg") and
       b"<script" not in read("h.svg"), result)
    exits(0, "and reported", "report", "h.h5", "-o", "page")
    page = read("page/index.html")
    ok("as text", b"<script>alert" not in page and b"&lt;script" in page)
    ok("nothing was run", not os.path.exists("pwned") and
       not os.path.exists("page/pwned"))
    result = exits(1, "a fault is found", "run", "h.cfg", "-o", "b.h5", "--set",
                   'faults=({name="mask_missing";})', "--report", "broken")
    holds("findings have pieces", read("broken/index.html").decode(),
          "q { unicode-bidi: isolate; }",
          "query 0 <q>a</q>, key", "<q>&lt;script&gt;alert(1)&lt;/script&gt;")
    seen = f'query 2 "{HOSTILE}", key 4 "b"'.replace("\n", "\\n")
    holds("on the terminal, too, on one line", result.out, f"       {seen}\n")
    result = exits(1, "what was recorded has them", "check", "b.h5")
    holds("from the recording", result.out, f"       {seen}\n")
    result = exits(1, "and what is only judged", "check", "h.cfg", "--set",
                   'faults=({name="mask_missing";})')
    holds("from the text", result.out, f"       {seen}\n")
    exits(0, "labels are pieces", "plot", "t.h5", "layers.0.attn.weights", "--head",
          "0", "-o", "t.svg")
    holds("in the picture", read("t.svg").decode(), "1 \u2423on")


def literal():
    """"@FILE" names a file among arguments, and is a text in a cfg, which is said."""
    write("uni.txt", "abc")
    for text, said in (('"@uni.txt"', "input.text"), ('("a", "@uni.txt")',
                                                      "input.text.1")):
        cfg("u.cfg", f'input : {{ tokenizer = "bytes.json"; text = {text}; }};')
        result = exits(0, f"text = {text} runs", "run", "u.cfg", "-o", "u.h5",
                       "--force")
        holds("and says that it is no file", result.err, f"u.cfg:2: {said}: ",
              'input.file = "uni.txt"')
        equal("it is itself", "".join(pieces_of("u.h5")[1][0][-1]), "@uni.txt")
    cfg("u.cfg", 'input : { tokenizer = "bytes.json"; text = "@nobody"; };')
    result = exits(0, "where there is none", "run", "u.cfg", "-o", "u.h5", "--force")
    ok("nothing is said", "input.file" not in result.err, result.err)


def refused(name, text, *parts):
    write("r.cfg", MODEL + text)
    result = exits(2, name, "run", "r.cfg", "-o", "r.h5")
    holds(f"{name}: said", result.err, "r.cfg:2: input", *parts)


def refusals():
    refused("a text without a tokenizer", 'input : { text = "a"; };',
            "input.text", "input.tokenizer")
    refused("a tokenizer that is not there",
            'input : { text = "a"; tokenizer = "no.json"; };', "no.json")
    refused("two sources", 'input : { text = "a"; tokens = [1]; '
            'tokenizer = "bytes.json"; };', "one source")
    refused("an empty text",
            'input : { text = ("a", ""); tokenizer = "bytes.json"; };', "input.text.1",
            "no token")
    write("empty.txt", "")
    refused("an empty file",
            'input : { file = "empty.txt"; tokenizer = "bytes.json"; };', "no token")
    refused("a file that is not there",
            'input : { file = "no.txt"; tokenizer = "bytes.json"; };', "no.txt")
    refused("a file of text without a tokenizer", 'input : { file = "story.txt"; };',
            "input.tokenizer")
    refused("no texts", 'input : { text = (); tokenizer = "bytes.json"; };', "empty")
    refused("a number", 'input : { text = (1); tokenizer = "bytes.json"; };', "string")
    write("large.json", json.dumps({"model": {
        "type": "BPE", "vocab": {"a": 400, **{str(i) + "x": i for i in range(300)}},
        "merges": []}}))
    refused("another model's tokenizer",
            'input : { text = "a"; tokenizer = "large.json"; };', "400", "0 to 299")
    write("m.cfg", MODEL.replace("};", "cross = true; encoder_layers = 1; };") +
          'input : { tokens = [1, 2]; tokenizer = "bytes.json"; '
          'memory : { text = "on on"; }; };\n')
    exits(0, "an encoder reads text", "run", "m.cfg", "-o", "m.h5")


def memories():
    """Rows of the memory are what the encoder's tokens stand for."""
    small = MODEL.replace("};", "cross = true; encoder_layers = 1; };")
    write("k.cfg", small + 'input : { tokens = ( [1, 2], [3, 4] ); '
          'tokenizer = "bytes.json"; memory : { text = ("on on Q", "Z"); }; };\n'
          'record : ( { probe = "full"; points = "layers.*.cross.*"; } );')
    exits(0, "a memory of texts runs", "run", "k.cfg", "-o", "k.h5")
    with h5py.File("k.h5") as file:
        valid = file["input/memory_valid"][...]
        pieces = file["memory/pieces"].asstr()[...].reshape(valid.shape)
        equal("its pieces are recorded", pieces.tolist(),
              [[["on", " on", " ", "Q"], ["Z", "", "", ""]]])
        ok("where rows are real", ((pieces != "") == (valid == 1)).all(), valid)
    for batch, label in (("0", "1 \u2423on"), ("1", "0 Z")):
        exits(0, f"keys of batch row {batch}", "plot", "k.h5", "layers.0.cross.weights",
              "--head", "0", "--batch", batch, "-o", "k.svg")
        holds("are labelled by the memory's", read("k.svg").decode(), label)
    ok("and padding as such", "1 (pad)" in read("k.svg").decode())
    result = exits(1, "a fault in cross-attention", "run", "k.cfg", "-o", "j.h5",
                   "--report", "cross", "--set", 'faults=({name="cross_causal";})')
    holds("and so on the terminal", result.out, ', key 1 " on"\n')
    holds("and of a recording", exits(1, "judged again", "check", "j.h5").out,
          ', key 1 " on"\n')
    holds("findings name rows of the memory by their pieces",
          read("cross/index.html").decode(), "key 1 <q> on</q>")
    write("q.cfg", small.replace("encoder_layers = 1; ", "") +
          'input : { text = "on"; tokenizer = "bytes.json"; '
          'memory : { random : { length = 3; }; }; };\n')
    exits(0, "a drawn memory", "run", "q.cfg", "-o", "q.h5")
    with h5py.File("q.h5") as file:
        ok("has no pieces", "memory" not in file and
           "pieces" in file["input"])


def real():
    stories = model("stories260K")
    if not stories:
        skip("the text of a real model", "no model data")
        return
    write("s.cfg", f'model : {{ from = "{stories}"; }};\n'
          'input : { text = "Once upon a time"; };\n'
          'record : ( { probe = "full"; points = "logits"; } );')
    exits(0, "a model's own tokenizer is found", "run", "s.cfg", "-o", "s.h5")
    tokens, pieces, _ = pieces_of("s.h5")
    equal("with BOS", tokens.tolist(), [[[1, 403, 407, 261, 378]]])
    equal("pieces", pieces, [[["<s>", " Once", " upon", " a", " time"]]])
    result = exits(0, "the report", "report", "s.h5", "-o", "once")
    ok("shows the text", b"Once upon a time" in read("once/index.html"), result)


write_bytes_tokenizer()
batches()
windows()
hostile()
refusals()
memories()
literal()
real()
finish()
