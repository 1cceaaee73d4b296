#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""txdiag tokenize: ids and pieces of a text from every kind of file, what goes around
it, where it comes from, and what is refused."""
import json
import os
import random
import subprocess
import sys
import unicodedata

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import (PROGRAM, SOURCE, equal, exits, finish, holds,  # noqa: E402
                     model, ok, skip, write)

STORIES = model("stories260K")
GPT2 = model("gpt2-bpe")
WORDS = {"a": 0, "b": 1, "ab": 2, "<s>": 3, "\u0120": 4, "\u010a": 5, "\\": 6}


def small(**fields):
    """A tokenizer.json of a few pieces; the model's fields by name."""
    bpe = {"type": "BPE", "vocab": WORDS, "merges": ["a b"]}
    bpe.update(fields.pop("bpe", {}))
    return json.dumps({"model": bpe,
                       "pre_tokenizer": {"type": "ByteLevel", "use_regex": False,
                                         "add_prefix_space": False},
                       "added_tokens": [{"id": 3, "content": "<s>", "special": True}],
                       **fields})


def pieces(name, arguments, expected, given=None):
    """Holds ids and pieces of a call; given: bytes of standard input."""
    done = subprocess.run([PROGRAM, "tokenize", *arguments], input=given or b"",
                          capture_output=True, check=False, timeout=60)
    lines = done.stdout.decode().split("\n")
    equal(f"{name}: ids", lines[0], expected[0])
    equal(f"{name}: pieces", lines[1:], expected[1] + [""])
    ok(f"{name}: exit 0", done.returncode == 0, done.stderr)


def refused(name, text, part):
    """A tokenizer that is not supported names the field."""
    write("refused.json", text)
    result = exits(2, name, "tokenize", "refused.json", "ab")
    holds(f"{name}: named", result.err, part)


def forms():
    write("small.json", small())
    expected = ("2 4 3 0 5 6", ["ab", " ", "<s>", "a", "\\n", "\\\\"])
    text = "ab <s>a\n\\"
    pieces("a text", ["small.json", text], expected)
    pieces("standard input", ["small.json", "-"], expected, text.encode())
    write("text.txt", text)
    pieces("a file", ["small.json", "@text.txt"], expected)
    pieces("an empty text", ["small.json", ""], ("", []))
    result = exits(0, "as JSON", "tokenize", "small.json", text, "--json")
    equal("the same as JSON", json.loads(result.out),
          {"ids": [2, 4, 3, 0, 5, 6], "pieces": ["ab", " ", "<s>", "a", "\n", "\\"]})
    result = exits(2, "a character without a token", "tokenize", "small.json", "abc")
    holds("the byte is named", result.err, "byte 0x63")
    result = exits(2, "a file that is not there", "tokenize", "small.json", "@nothing")
    holds("it is named", result.err, "nothing")
    result = exits(2, "a folder as text", "tokenize", "small.json", "@.")
    holds("it is a directory", result.err, "directory")


def hostile():
    """Control characters of the second set leave JSON what it is; a normalizer that
    makes gigabytes of a text is refused."""
    named = small(bpe={"vocab": {**WORDS, "\u0085": 7}, "merges": []}, added_tokens=[
        {"id": 7, "content": "\u0085", "special": True}])
    write("controls.json", named)
    result = exits(0, "U+0085 as JSON", "tokenize", "controls.json", "a\u0085",
                   "--json")
    equal("is JSON", json.loads(result.out), {"ids": [0, 7], "pieces": ["a", "\u0085"]})

    def grow(by):
        return {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * by}
    pieces("a normalizer that makes texts longer",
           [write("twice.json", small(normalizer=grow(2))), "ab"], ("0 2", ["a", "ab"]))
    write("long.txt", "a" * 50000)
    for name, steps in {"at once": [grow(100000)], "by and by": [grow(2)] * 40}.items():
        write("grows.json",
              small(normalizer={"type": "Sequence", "normalizers": steps}))
        result = exits(2, f"gigabytes {name}", "tokenize", "grows.json", "@long.txt")
        holds("are refused", result.err, "normalizer", "times longer")


def refusals():
    refused("another model", small(bpe={"type": "Unigram"}), "model.type")
    refused("another normalizer", small(normalizer={"type": "NFKC"}),
            "normalizer: type: \"NFKC\"")
    refused("one of several", small(normalizer={"type": "Sequence", "normalizers": [
        {"type": "NFC"}, {"type": "Precompiled"}]}), "normalizers.1.type")
    refused("another cut", small(pre_tokenizer={"type": "UnicodeScripts"}),
            "pre_tokenizer: type")
    refused("another post-processor", small(post_processor={"type": "Other"}),
            "post_processor: type")
    refused("another decoder", small(decoder={"type": "CTC"}), "decoder: type")
    refused("a suffix", small(bpe={"end_of_word_suffix": "</w>"}),
            "model.end_of_word_suffix")
    refused("a pattern that is none", small(pre_tokenizer={
        "type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated"}),
        "pattern.Regex")
    refused("a merge of nothing", small(bpe={"merges": ["a c"]}), "merge 0: \"c\"")
    refused("no vocabulary", "{}", "model.vocab")
    refused("half a file", small()[:100], "byte 100")
    exits(2, "a folder without a tokenizer", "tokenize", ".", "ab")
    write("model.cfg", 'model : { from = "x"; };')
    result = exits(2, "a MODEL.cfg", "tokenize", "model.cfg", "ab")
    holds("is a text", result.err, "found a text")


def folders():
    """What lies beside a tokenizer: "no limit", as transformers writes it, is read, and
    what is wrong is said of the file that it is in."""
    os.mkdir("saved")
    write("saved/tokenizer.json", small())
    write("saved/tokenizer_config.json",
          '{"model_max_length": 1000000000000000019884624838656, "eos_token": "<s>"}')
    pieces("a folder without a limit", ["saved", "ab"], ("2", ["ab"]))
    write("saved/tokenizer_config.json", '{"model_max_length": 1e999}')
    result = exits(2, "a damaged tokenizer_config.json", "tokenize", "saved", "ab")
    holds("is named", result.err, "saved/tokenizer_config.json: line 1")
    ok("and nothing else", "tokenizer.json" not in result.err, result.err)
    os.mkdir("pair")
    write("pair/vocab.json", json.dumps(WORDS))
    write("pair/merges.txt", "#version: 0.2\na b\na c\n")
    result = exits(2, "a damaged merges.txt", "tokenize", "pair", "ab")
    holds("is named, too", result.err, "pair/merges.txt: merge 1: \"c\"")
    write("pair/merges.txt", "a b\n")
    write("pair/vocab.json", json.dumps(WORDS)[:-1])
    result = exits(2, "half a vocab.json", "tokenize", "pair", "ab")
    holds("is named as such", result.err, "pair/vocab.json: ")


def told():
    """info says of a tokenizer what it is, alone and beside a model."""
    write("told.json", small())
    result = exits(0, "info of a tokenizer", "info", "told.json")
    holds("kind and size", result.out, "tokenizer       byte-level BPE, 7 tokens")
    holds("what it is for", result.out, "txdiag tokenize told.json")
    write("other.json", '{"a": 1}')
    result = exits(2, "info of other JSON", "info", "other.json")
    holds("is no tokenizer", result.err, "found JSON")
    os.mkdir("half")
    write("half/tokenizer.json", small()[:100])
    result = exits(2, "info of half a tokenizer", "info", "half/tokenizer.json")
    holds("is told by its reader", result.err, "byte 100")
    if not STORIES:
        skip("of real models", "no model data")
        return
    known = "SentencePiece BPE, 512 tokens, begin <s>, end </s>"
    for name in ("", "/model.safetensors", "/tokenizer.json"):
        result = exits(0, f"info of stories260K{name}", "info", STORIES + name)
        holds("has its tokenizer", result.out, known)
    result = exits(0, "info of llama2.c's", "info", f"{STORIES}/tok512.bin")
    holds("on one line", result.out,
          "SentencePiece BPE, 512 tokens, begin \\n<s>\\n, end \\n</s>\\n\nfor ")
    result = exits(0, "info of a model as .bin", "info", f"{STORIES}/stories260K.bin")
    holds("is a model", result.out, "llama2.c")


def ids_of(name, text):
    done = subprocess.run([PROGRAM, "tokenize", name, "-", "--no-special"],
                          input=text.encode(), capture_output=True, check=False,
                          timeout=60)
    return done.stdout.split(b"\n")[0] if done.returncode == 0 else done.stderr


def normal_forms():
    """Composing is what Python does, for every character and for marks in any order."""
    if unicodedata.unidata_version != "14.0.0":
        skip("canonical forms", f"Python has Unicode {unicodedata.unidata_version}")
        return
    path = f"{SOURCE}/tests/fixtures/tokenizers/qwen2.json"
    with open(path, encoding="utf-8") as file:
        qwen2 = json.load(file)
    qwen2["pre_tokenizer"] = {"type": "ByteLevel", "add_prefix_space": False,
                              "use_regex": False}
    # No merges: ids are bytes, so that nothing hides a difference.
    qwen2["model"]["merges"] = []
    for form in ("NFC", "NFD"):
        write(f"{form}.json", json.dumps({**qwen2, "normalizer": {"type": form}}))
    write("none.json", json.dumps({**qwen2, "normalizer": None}))
    draw = random.Random(3)
    marks = [chr(c) for c in range(0x110000) if unicodedata.combining(chr(c))]
    bases = [chr(c) for c in range(0xC0, 0x30000) if unicodedata.decomposition(chr(c))]
    texts = ["x".join(chr(c) for c in range(first, first + 0x4000)
                      if not 0xD800 <= c < 0xE000)
             for first in range(0, 0x30000, 0x4000)]
    jamo = "".join(chr(c) for c in range(0x1100, 0x1200))
    texts += [jamo * 2 + "\uac00\u11a8",
              "".join(draw.choice(bases) + "".join(draw.choices(marks, k=i % 5))
                      for i in range(9000)), "e" + "".join(draw.choices(marks, k=9000))]
    for form in ("NFC", "NFD"):
        wrong = [i for i, text in enumerate(texts) if ids_of(f"{form}.json", text) !=
                 ids_of("none.json", unicodedata.normalize(form, text))]
        equal(f"{form} is that of Python", wrong, [])
    ok("which changes texts", ids_of("NFC.json", texts[0]) !=
       ids_of("NFD.json", texts[0]) and len(ids_of("NFC.json", texts[0])) > 9000)


def real():
    if not STORIES or not GPT2:
        skip("real tokenizers", "no model data")
        return
    once = ("1 403 407 261 378", ["<s>", " Once", " upon", " a", " time"])
    for name in ("", "/tokenizer.json", "/model.safetensors", "/stories260K-q8_0.gguf"):
        pieces(f"stories260K{name}", [STORIES + name, "Once upon a time"], once)
    os.mkdir("alone")
    os.symlink(f"{STORIES}/stories260K-f32.gguf", "alone/model.gguf")
    pieces("a folder with one GGUF file", ["alone", "Once upon a time"], once)
    os.symlink(f"{STORIES}/stories260K-f32.gguf", "alone/other.gguf")
    result = exits(2, "a folder with two", "tokenize", "alone", "x")
    holds("names what is expected", result.err, "one GGUF file")
    bare = (once[0][2:], once[1][1:])
    pieces("without BOS", [STORIES, "Once upon a time", "--no-special"], bare)
    result = exits(2, "a model without a tokenizer", "tokenize",
                   f"{STORIES}/stories260K.bin", "x")
    holds("says what to do", result.err, "--tokenizer")
    pieces("with one", [f"{STORIES}/stories260K.bin", "Once upon a time", "--tokenizer",
                        f"{STORIES}/tok512.bin"],
           (once[0], ["\\n<s>\\n"] + once[1][1:]))
    pieces("bytes that are no character", [GPT2, "-"],
           ("19526 50256", ["<0xE4><0xBD>", "<|endoftext|>"]),
           b"\xe4\xbd<|endoftext|>")
    pieces("a zero byte", [GPT2, "-"], ("188", ["<0x00>"]), b"\0")


forms()
hostile()
refusals()
folders()
told()
normal_forms()
real()
finish()
