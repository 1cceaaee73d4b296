#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the seeds of the fuzz targets of tokenizers: corpus/tokenizer_json,
tokenizer_gguf, tokenizer_bin and tokenizer_merges."""
import json
import os
import struct

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")
MARK = "\u2581"
LETTERS = {chr(c): i for i, c in enumerate([*range(0x21, 0x7F), *range(0xA1, 0x144)])}


def put(folder, name, data):
    path = os.path.join(HERE, "tokenizer_" + folder)
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, name), "wb") as file:
        file.write(data)


def numbered(pieces):
    return {piece: i for i, piece in enumerate(pieces)}


def bpe(pieces, merges, **fields):
    return {"type": "BPE", "vocab": numbered(pieces), "merges": merges, **fields}


def token(number, content, **fields):
    return {"id": number, "content": content, **fields}


BYTES = bpe([*LETTERS, "aa", "aaaa", "\u0120a", "it"],
            ["a a", "aa aa", ["\u0120", "a"], "i t"])
FALLBACK = bpe(["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256)), MARK,
                "a", MARK + "a"], [[MARK, "a"]], byte_fallback=True,
               unk_token="<unk>", fuse_unk=True)
WORDS = {"type": "WordPiece", "unk_token": "[UNK]", "max_input_chars_per_word": 9,
         "continuing_subword_prefix": "##",
         "vocab": numbered(["[UNK]", "[CLS]", "[SEP]", "caf", "##e", "it", "1", "##2"])}
SPLIT = {"type": "Split", "behavior": "Isolated", "invert": False,
         "pattern": {"Regex": "(?i:'s|'t)|\\p{N}{1,3}|\\s+(?!\\S)|\\S+"}}
LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "use_regex": True}


def of(model, **fields):
    return json.dumps({"version": "1.0", "model": model, **fields}).encode()


def template(before, after):
    names = {before: 1, after: 2}
    return {"type": "TemplateProcessing", "single": [
        {"SpecialToken": {"id": before}}, {"Sequence": {"id": "A"}},
        {"SpecialToken": {"id": after}}],
        "special_tokens": {name: {"ids": [i]} for name, i in names.items()}}


def json_files():
    added = [token(300, "<s>", special=True, lstrip=True, rstrip=True),
             token(301, "it", single_word=True), token(302, "aaa", normalized=True)]
    good = of(BYTES, pre_tokenizer=LEVEL, added_tokens=added)
    put("json", "byte_level", good)
    put("json", "split", of(BYTES, normalizer={"type": "NFC"}, pre_tokenizer={
        "type": "Sequence", "pretokenizers": [SPLIT, {**LEVEL, "use_regex": False}]}))
    put("json", "digits", of(BYTES, pre_tokenizer={
        "type": "Sequence", "pretokenizers": [
            {"type": "Digits", "individual_digits": True},
            {"type": "Punctuation", "behavior": "Contiguous"}, LEVEL]}))
    put("json", "fallback", of(FALLBACK, normalizer={
        "type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": MARK},
            {"type": "Replace", "pattern": {"String": " "}, "content": MARK}]},
        decoder={"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": MARK}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Strip", "start": 1}]},
        post_processor=template("<s>", "</s>")))
    put("json", "metaspace", of(FALLBACK, pre_tokenizer={
        "type": "Metaspace", "replacement": MARK, "prepend_scheme": "first",
        "split": True}))
    put("json", "wordpiece", of(WORDS, normalizer={"type": "BertNormalizer"},
                                pre_tokenizer={"type": "BertPreTokenizer"},
                                post_processor={
                                    "type": "BertProcessing", "cls": ["[CLS]", 1],
                                    "sep": ["[SEP]", 2]}))
    put("json", "cuts", of(BYTES, normalizer={"type": "Strip"}, pre_tokenizer={
        "type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"String": "a"}, "behavior": behavior}
            for behavior in ("Removed", "MergedWithPrevious", "MergedWithNext")] +
            [{"type": "WhitespaceSplit"}, LEVEL]}))
    put("json", "slow_pattern", of(BYTES, pre_tokenizer={
        "type": "Split", "pattern": {"Regex": "(a|aa)+$|(\\w+\\s?)+!"},
        "behavior": "Isolated"}))
    put("json", "bad_pattern", of(BYTES, pre_tokenizer={
        **SPLIT, "pattern": {"Regex": "[a&&b]"}}))
    put("json", "huge_id", of({**BYTES, "vocab": {"a": 2147483646}}))
    put("json", "negative_id", of({**BYTES, "vocab": {"a": -1}}))
    put("json", "same_id", of({**BYTES, "vocab": {"a": 1, "b": 1}}))
    put("json", "added_id", of(BYTES, added_tokens=[token(2147483645, "x")]))
    put("json", "merge_of_nothing", of(bpe(["a"], ["a b"])))
    put("json", "merge_alone", of(bpe(["a"], ["a"])))
    put("json", "merge_of_three", of(bpe(["a", "aa"], [["a", "a", "a"]])))
    put("json", "no_vocab", of({"type": "BPE", "merges": []}))
    put("json", "unigram", of({"type": "Unigram", "vocab": [["a", -1.5]]}))
    put("json", "vocab_list", of({"vocab": [["a", -1.5]]}))
    put("json", "unknown_token", of(bpe(["a"], [], unk_token="b")))
    put("json", "surrogates", b'{"model":{"vocab":{"\\ud83d\\ude00":0,"\\u0000":1}}}')
    put("json", "half_surrogate", b'{"model":{"vocab":{"\\ud83d":0}}}')
    put("json", "not_utf8", b'{"model":{"vocab":{"\xff":0}}}')
    put("json", "deep", b'{"x":' + b"[" * 1000)
    put("json", "truncated", good[:len(good) // 2])
    put("json", "string_open", b'{"model":{"vocab":{"a')
    put("json", "twice", b'{"model":{"vocab":{"a":0}},"model":{"vocab":{"b":0}}}')
    put("json", "empty", b"")


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key, kind, data):
    return text(key) + struct.pack("<I", kind) + data


def strings(key, values):
    return entry("tokenizer.ggml." + key, 9, struct.pack("<IQ", 8, len(values)) +
                 b"".join(map(text, values)))


def numbers(key, kind, code, values):
    return entry("tokenizer.ggml." + key, 9, struct.pack("<IQ", kind, len(values)) +
                 struct.pack(f"<{len(values)}{code}", *values))


def gguf(*entries):
    return (b"GGUF" + struct.pack("<IQQ", 3, 0, len(entries)) + b"".join(entries) +
            bytes(32))


def number(key, value):
    return entry("tokenizer.ggml." + key, 4, struct.pack("<I", value))


def word(key, value):
    return entry("tokenizer.ggml." + key, 8, text(value))


def gguf_files():
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256)), MARK, "a",
              MARK + "a", b"\xff\xfe", ""]
    types = [2, 3, 3] + [6] * 256 + [1] * 5
    scores = [0.0] * 261 + [-1.0, -2.0, 0.0]
    lists = [strings("tokens", pieces), numbers("token_type", 5, "i", types)]
    spm = [word("model", "llama"), *lists, numbers("scores", 6, "f", scores),
           number("bos_token_id", 1), number("unknown_token_id", 0)]
    letters = [*LETTERS, "aa", "<|endoftext|>"]
    level = [word("model", "gpt2"), word("pre", "llama-bpe"),
             strings("tokens", letters),
             numbers("token_type", 5, "i", [1] * (len(letters) - 1) + [3]),
             number("bos_token_id", len(letters) - 1)]
    put("gguf", "spm", gguf(*spm))
    put("gguf", "spm_no_scores", gguf(*spm[:3], *spm[4:]))
    put("gguf", "spm_short_scores", gguf(*spm[:3], numbers("scores", 6, "f", [1.0])))
    put("gguf", "spm_nan", gguf(*spm[:3], numbers("scores", 6, "f", [
        float("nan")] * len(pieces))))
    put("gguf", "bos_beyond", gguf(*spm[:4], number("bos_token_id", 99999)))
    put("gguf", "byte_level", gguf(*level, strings("merges", ["a a"])))
    put("gguf", "default_cuts", gguf(level[0], *level[2:], strings("merges", ["a a"])))
    put("gguf", "no_merges", gguf(*level))
    put("gguf", "bad_merge", gguf(*level, strings("merges", ["a"])))
    put("gguf", "other_cuts", gguf(level[0], word("pre", "nothing"), *level[2:],
                                   strings("merges", [])))
    put("gguf", "bert", gguf(
        word("model", "bert"), strings("tokens", ["[UNK]", "[CLS]", MARK + "it", "s"]),
        numbers("token_type", 5, "i", [2, 3, 1, 1]), number("bos_token_id", 1),
        number("unknown_token_id", 0)))
    put("gguf", "unigram", gguf(word("model", "t5"), *lists))
    put("gguf", "numbers_as_tokens", gguf(numbers("tokens", 5, "i", [1, 2])))
    put("gguf", "no_tokens", gguf(word("model", "llama")))
    put("gguf", "truncated", gguf(*spm)[:-900])


def record(score, piece):
    return struct.pack("<fi", score, len(piece)) + piece


def bin_files():
    head = struct.pack("<i", 8)
    pieces = [b"<unk>", b"\n<s>\n", b"\n</s>\n", *(b"<0x%02X>" % b for b in range(256)),
              b" ", b"a", b" a", b"aa", b"\xff"]
    good = head + b"".join(record(-i, piece) for i, piece in enumerate(pieces))
    put("bin", "good", good)
    put("bin", "few", head + record(0, b"a"))
    put("bin", "truncated", good[:-1])
    put("bin", "half_record", good + b"\0" * 5)
    put("bin", "too_long", head + record(0, b"123456789"))
    put("bin", "negative", head + struct.pack("<fi", 0, -1))
    put("bin", "nan", head + record(float("nan"), b"a"))
    put("bin", "empty_pieces", head + record(1, b"") * 300)
    put("bin", "empty", b"")


def merges_files():
    vocab = json.dumps({**LETTERS, "aa": 300, "<|endoftext|>": 301}).encode()
    put("merges", "good", vocab + b"\0#version: 0.2\r\na a\r\n")
    put("merges", "no_merges", vocab)
    put("merges", "alone", vocab + b"\0a\n")
    put("merges", "blanks", vocab + b"\0  a\n")
    put("merges", "of_nothing", vocab + b"\0a b\n")
    put("merges", "after_vocab", vocab + b"x\0a a\n")
    put("merges", "empty", b"")


json_files()
gguf_files()
bin_files()
merges_files()
