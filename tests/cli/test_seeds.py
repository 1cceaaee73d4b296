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
from program import (MODELS, SOURCE, equal, exits, finish, holds, ok,  # noqa: E402
                     skip)

import h5py  # noqa: E402

SEEDS = os.path.join(SOURCE, "examples", "seeds")
GOLDEN = os.path.join(SOURCE, "tests", "seeds", "golden")
# S19 is an experiment with training, S24 a benchmark.
ROWS = set(range(1, 28)) - {19, 24}
# Without examples so far: what they show is not there yet.
PENDING = {9, 10, 12, 16, 18, 25, 26}
ROWS -= PENDING
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
    found = re.search(r'from = "[./]*shared/models/([^"]+)"', text_of(name))
    if not found:
        return []
    if not MODELS or not os.path.isdir(os.path.join(MODELS, found.group(1))):
        return None
    return ["--set", f'model.from="{os.path.join(MODELS, found.group(1))}"']


def healthy(name, law):
    run = exits(0, f"{name} is healthy", "run", path_of(name), "-q", "-o", name + ".h5")
    if law:
        ok(f"{name}: {law} has judged it and holds",
           re.search(rf"^PASS {law} .*\([1-9]\d* ", run.out, re.M), run)


def faulty(name, law, site):
    run = exits(1, f"{name} is not healthy", "run", path_of(name), "-q", "-o",
                name + ".h5")
    ok(f"{name}: {law} fails", re.search(rf"^FAIL {law} ", run.out, re.M), run)
    ok(f"{name}: {law} names {site}",
       re.search(rf"^ +{law}: {re.escape(site)}[:,] ", run.out, re.M), run)
    alone = exits(1, f"{name}: {law} alone finds it", "check", path_of(name), "--only",
                  law)
    ok(f"{name}: {law} alone names {site}", f"{law}: {site}" in alone.out, alone)


def refused(name, words):
    options = from_models(name)
    if options is None:
        skip(f"{name} is refused", "no model data")
        return
    run = exits(2, f"{name} is refused", "run", path_of(name), "-q", *options)
    holds(f"{name}: the message says what does not fit", run.err, *words)


def compare(name, site, found, expected, allowed):
    size = np.abs(expected).max()
    error = np.abs(found - expected).max() if found.shape == expected.shape else np.nan
    ok(f"{name}: {site} is the golden one within {allowed:g}",
       found.shape == expected.shape and error <= allowed * size,
       f"shape {found.shape}, expected {expected.shape}; error {error}, size {size}")


def golden(name, file_name):
    """In float64 the numbers agree to its rounding, by default to that of float32."""
    for backend, allowed in (("ref64", 1e-12), ("cpu32", 1e-5)):
        exits(0, f"{name} is healthy with {backend}", "run", path_of(name), "-q", "-o",
              "golden.h5", "--backend", backend, "--set", RECORD)
        with h5py.File("golden.h5", "r") as recorded, \
                np.load(os.path.join(GOLDEN, file_name)) as numbers:
            ok(f"{name}: there are golden numbers", len(numbers.files) >= 4)
            for site in numbers.files:
                found = recorded["value/" + site.replace(".", "/") + "/full"][0]
                compare(f"{name}, {backend}", site, found, numbers[site], allowed)


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
    if by == "golden":
        golden(good, where)
    elif by == "exit 2":
        refused(bad, where.split(", "))
    else:
        if good and (good, by) not in seen:
            healthy(good, by)
        seen.add((good, by))
        if bad:
            faulty(bad, by, where)
for number in sorted(ROWS):
    lines = [line for line in LINES if line[0] == number]
    ok(f"S{number} shows what is right and what is wrong, or is golden, or refused",
       any(line[1] and line[2] for line in lines) or
       all(line[3] in ("golden", "exit 2") for line in lines) and lines)
finish()
