#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""tests/seeds.def, line by line: healthy examples hold and their law has judged
something, faulty ones are told apart by that law at the claimed site, what is no model
is refused in words, and golden ones give the numbers of tests/seeds/golden.py."""
import glob
import os
import re
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
import libconfig  # noqa: E402
from program import (MODELS, SOURCE, equal, exits, finish, holds, ok,  # noqa: E402
                     skip)

import h5py  # noqa: E402

SEEDS = os.path.join(SOURCE, "examples", "seeds")
GOLDEN = os.path.join(SOURCE, "tests", "seeds", "golden")
# S19 is an experiment with training, S24 a benchmark.
ROWS = set(range(1, 28)) - {19, 24}
RECORD = 'record=({probe="full";points="*";})'


def table():
    with open(os.path.join(SOURCE, "tests", "seeds.def"), encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    lines = re.findall(r"TXD_SEED\((.*?)\)\s*$", text, re.M | re.S)
    for line in lines:
        row, *words = re.findall(r'"([^"]*)"|(NONE|\d+)', line)
        yield (int(row[1]), *(word[0] if word[1] != "NONE" else None for word in words))


def path_of(name):
    return os.path.join(SEEDS, name + ".cfg")


def text_of(name):
    with open(path_of(name), encoding="utf-8") as file:
        return file.read()


def from_models(name):
    """Options that put the folder of real models in the place of the one beside the
    repository; None if the example needs a model and there is none."""
    path = libconfig.load(path_of(name))["model"].get("from", "")
    found = path.partition("shared/models/")[2]
    if not found:
        return []
    if not MODELS or not os.path.isdir(os.path.join(MODELS, found)):
        return None
    return ["--set", f'model.from="{os.path.join(MODELS, found)}"']


def healthy(name, law, options):
    run = exits(0, f"{name} is healthy", "run", path_of(name), "-q", "-o",
                name + ".h5", *options)
    ok(f"{name}: {law} has judged it and holds",
       re.search(rf"^PASS {law} .*\([1-9]\d* ", run.out, re.M), run)


def faulty(name, law, verdict, where, options):
    """A failure is exit 1, a warning is with --strict."""
    site, _, words = where.partition(": ")
    status = 1 if verdict == "fail" else 0
    run = exits(status, f"{name} has its exit status", "run", path_of(name), "-q", "-o",
                name + ".h5", *options)
    ok(f"{name}: {law} says {verdict}",
       re.search(rf"^{verdict.upper()} {law} ", run.out, re.M), run)
    ok(f"{name}: {law} names {site}, {words or 'and no cause'}",
       re.search(rf"^ +{law}: {re.escape(site)}[:,] .*{re.escape(words)}", run.out,
                 re.M), run)
    alone = exits(0 if verdict == "info" else 1, f"{name}: {law} alone finds it",
                  "check", path_of(name), "--only", law, "--strict", *options)
    ok(f"{name}: {law} alone names {site}", f"{law}: {site}" in alone.out, alone)


def refused(name, words, options):
    run = exits(2, f"{name} is refused", "run", path_of(name), "-q", *options)
    holds(f"{name}: the message says what does not fit", run.err, *words)


def compare(name, site, found, numbers, allowed):
    """Values of padding are nobody's; of weights, whose axis 2 is the query, too."""
    expected, valid = numbers[site], numbers["valid"]
    same = ok(f"{name}: {site} has the golden shape", found.shape == expected.shape,
              f"{found.shape}, expected {expected.shape}")
    if not same:
        return
    if expected.ndim == 4:
        found, expected = (x.swapaxes(1, 2) for x in (found, expected))
    found, expected = found[valid], expected[valid]
    size, error = np.abs(expected).max(), np.abs(found - expected).max()
    ok(f"{name}: {site} is the golden one within {allowed:g}", error <= allowed * size,
       f"error {error}, size {size}")


def golden(name, file_name):
    """In float64 the numbers agree to its rounding, by default to that of float32."""
    for backend, allowed in (("ref64", 1e-12), ("cpu32", 1e-5)):
        exits(0, f"{name} is healthy with {backend}", "run", path_of(name), "-q", "-o",
              "golden.h5", "--backend", backend, "--set", RECORD)
        with h5py.File("golden.h5", "r") as recorded, \
                np.load(os.path.join(GOLDEN, file_name)) as numbers:
            sites = set(numbers.files) - {"valid"}
            ok(f"{name}: there are golden numbers", "logits" in sites and
               len(sites) >= 3)
            for site in sorted(sites):
                found = recorded["value/" + site.replace(".", "/") + "/full"][0]
                compare(f"{name}, {backend}", site, found, numbers, allowed)


LINES = list(table())
equal("every row of the documents has an example", {line[0] for line in LINES}, ROWS)
used = {name for line in LINES for name in line[1:3] if name}
equal("every example is in the table, and no other", used,
      {os.path.basename(path)[:-4] for path in glob.glob(os.path.join(SEEDS, "*.cfg"))})
for used_name in sorted(used):
    holds(f"{used_name} says which row it shows, and how to run it",
          text_of(used_name), f"# S{re.match(r'S([0-9]+)-', used_name).group(1)}",
          f"txdiag run examples/seeds/{used_name}.cfg")
seen = set()
for number, good, bad, by, where in LINES:
    equal(f"S{number}: its examples are named so", {
        name.split("-")[0] for name in (good, bad) if name}, {f"S{number}"})
    law, _, verdict = by.partition(": ")
    for name in (good, bad):
        choice = name and from_models(name)
        if not name or (name, by) in seen:
            continue
        seen.add((name, by))
        if choice is None:
            skip(f"{name}: {by}", "no model data")
        elif by == "golden":
            golden(name, where)
        elif by == "exit 2":
            refused(name, where.split(", "), choice)
        elif name == good:
            healthy(name, law, choice)
        else:
            faulty(name, law, verdict or "fail", where, choice)
for number in sorted(ROWS):
    lines = [line for line in LINES if line[0] == number]
    ok(f"S{number} shows what is right and what is wrong, or is golden, or refused",
       any(line[1] and line[2] for line in lines) or
       all(line[3] in ("golden", "exit 2") for line in lines) and lines)
finish()
