#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""txdiag generate: the text that a trained model is known to write, from every kind of
file and by every way through the cache; prompts, ends, and what is refused."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import (PROGRAM, SOURCE, equal, exits, finish, holds, model,  # noqa: E402
                     ok, skip, write)

STORIES = model("stories260K")
FAMILIES = os.path.join(SOURCE, "tests", "fixtures", "parity")


def printed(name, *arguments, given=b"", status=0):
    done = subprocess.run([PROGRAM, "generate", *arguments], input=given,
                          capture_output=True, check=False, timeout=120)
    ok(f"{name}: exit {status}", done.returncode == status, done.stderr)
    return done.stdout


def stories(file):
    return os.path.join(STORIES, file)


def known_text():
    """200 tokens after nothing: what llama2.c asserts of this model."""
    with open(stories("expected_greedy_200.txt"), "rb") as file:
        expected = file.read()
    tok512 = ("--tokenizer", stories("tok512.bin"))
    ways = {
        "the folder": (STORIES,),
        "llama2.c's file": (stories("stories260K.bin"), *tok512),
        "GGUF": (stories("stories260K-f32.gguf"),),
        "in double": (STORIES, "--backend", "ref64"),
        "one thread": (STORIES, "--threads", "1"),
        "without a cache": (STORIES, "--no-cache"),
        "in chunks": (STORIES, "--chunk", "1"),
    }
    for name, (path, *rest) in ways.items():
        text = printed(name, path, "", "-n", "200", *rest)
        equal(f"{name}: the known text", text, expected)


def prompts():
    prompt = "Once upon a time, there was a little girl named Lily."
    whole = printed("a prompt", STORIES, prompt, "-n", "30")
    ok("the text begins with the prompt", whole.startswith(prompt.encode()) and
       len(whole) > len(prompt) + 30, whole)
    for chunk in ("1", "4", "7", "1000"):
        equal(f"chunks of {chunk}: the same text",
              printed(f"chunks of {chunk}", STORIES, prompt, "-n", "30", "--chunk",
                      chunk), whole)
    equal("the prompt from standard input",
          printed("-", STORIES, "-", "-n", "30", given=prompt.encode()), whole)
    path = write("prompt.txt", prompt)
    equal("the prompt from a file", printed("@", STORIES, "@" + path, "-n", "30"),
          whole)
    equal("no tokens: the prompt", printed("0", STORIES, prompt, "-n", "0"),
          prompt.encode())
    ids = printed("ids", STORIES, "1 403 407 261", "--ids", "-n", "6")
    numbers = [int(word) for word in ids.split()]
    ok("ids in, ids out", numbers[:4] == [1, 403, 407, 261] and len(numbers) == 10, ids)
    longest = printed("as far as there are positions", STORIES, "1", "--ids", "-n",
                      "600")
    ok("at most as many tokens as positions", 1 < len(longest.split()) <= 512, longest)


def families():
    """What continues each family's tokens does not depend on the cache."""
    for name in sorted(os.listdir(FAMILIES)):
        if not os.path.exists(os.path.join(FAMILIES, name, "model.safetensors")):
            continue
        call = (os.path.join(FAMILIES, name), "3 1 4 1", "--ids", "-n", "7",
                "--backend", "ref64")
        done = subprocess.run([PROGRAM, "generate", *call], capture_output=True,
                              check=False, timeout=120)
        if name.startswith(("bert", "t5")):
            ok(f"{name}: refused", done.returncode == 2 and done.stderr, done)
            continue
        slow = printed(f"{name} without a cache", *call, "--no-cache")
        ok(f"{name}: the same with and without a cache",
           done.returncode == 0 and done.stdout == slow and
           len(slow.split()) == 11, f"{done.stdout} {slow} {done.stderr}")


def refused(name, *arguments, says):
    """Exit 2, with these words."""
    result = exits(2, name, "generate", *arguments)
    holds(f"{name}: says so", result.err, *says)


def refusals():
    bare = os.path.join(FAMILIES, "llama")
    refused("a model without tokenizer", bare, "text", says=("--tokenizer", "--ids"))
    refused("an id beyond the vocabulary", bare, "1 100000", "--ids",
            says=("100000", "not in the vocabulary"))
    refused("words instead of ids", bare, "once", "--ids", says=("once",))
    name = os.path.join(SOURCE, "tests", "fixtures", "tokenizers", "qwen2.json")
    refused("a tokenizer of another model", bare, "once upon", "--tokenizer", name,
            says=("0 to 52", "not the model's", "--tokenizer"))
    refused("no token", bare, "", "--ids", says=("no token",))
    refused("no model", "nowhere", "x", says=("nowhere",))
    refused("a number of tokens that is none", bare, "1", "--ids", "-n", "many",
            says=("count", "many"))
    for chunk in ("-1", "x"):
        refused(f"chunks of {chunk}", bare, "1", "--ids", "--chunk", chunk,
                says=("chunk",))
    with open("/dev/full", "wb") as full:
        done = subprocess.run([PROGRAM, "generate", bare, "1", "--ids"], stdout=full,
                              stderr=subprocess.PIPE, check=False, timeout=60)
    ok("a full disk: exit 2", done.returncode == 2 and b"standard output" in
       done.stderr, done)


if STORIES:
    known_text()
    prompts()
else:
    skip("the known text", "no model data")
families()
refusals()
finish()
