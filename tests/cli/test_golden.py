#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every figure against its golden script, tests/viz/golden/NAME.gp: what gnuplot is
told, word by word, numbers within rounding. The loop is over `txdiag list figures`: a
figure without a golden script fails. TXD_RENEW=1 writes them anew; look at what is new.
"""
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import (SOURCE, equal, exits, finish, ok, read,  # noqa: E402
                     txdiag, write)

GOLDEN = SOURCE + "/tests/viz/golden"
FIXTURE = GOLDEN + "/figures.cfg"
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
# What is recorded besides of the fixture, and the figures that need it.
OTHERS = {"nonfinite": "nan.h5"}


def usage(name):
    """The arguments of the command that `explain` shows for a figure."""
    text = txdiag("explain", name).out
    lines = [line for line in text[text.index("is a figure"):].splitlines()
             if line.startswith("  txdiag ")]
    return shlex.split(lines[0])[1:]


def figure_command(name):
    """It, with the fixture as recordings, and without a file to draw."""
    words = usage(name)
    words = words[:words.index("-o")]
    seen = [word for word in words if word.endswith(".h5")]
    files = dict(zip(seen, (OTHERS.get(name, "rec.h5"), "other.h5")))
    return [files.get(word, word) for word in words]


def draw(name):
    command = [*figure_command(name), "--gp", "kept/" + name, "-o", f"drawn/{name}.svg"]
    return command, txdiag(*command)


def same(found, expected):
    """The first line in which two scripts differ; None if there is none. Numbers with
    digits after the point may differ as they do between processors."""
    ours, theirs = found.splitlines(), expected.splitlines()
    for line, other in zip(ours, theirs):
        if NUMBER.sub("#", line) != NUMBER.sub("#", other):
            return f"found    {line}\nexpected {other}"
        for a, b in zip(NUMBER.findall(line), NUMBER.findall(other)):
            near = abs(float(a) - float(b)) <= 2e-3 * abs(float(b)) + 1e-12
            if a != b and not ("." in a + b or "e" in a + b) or not near:
                return f"{a} for {b}\nfound    {line}\nexpected {other}"
    return None if len(ours) == len(theirs) else f"{len(ours)} lines for {len(theirs)}"


def cut_labels(svg):
    """Texts of a picture that begin or end outside of it."""
    width, height = map(int, re.search(r'width="(\d+)" height="(\d+)"', svg).groups())
    cut = []
    for x, y, text in re.findall(
            r'translate\(([-\d.]+),([-\d.]+)\)[^>]*>\s*<text><[^>]*>([^<]*)<', svg):
        if not (0 <= float(x) <= width and 0 <= float(y) <= height):
            cut.append(text)
    return cut


exits(1, "the fixture is recorded", "run", FIXTURE, "-o", "rec.h5")
exits(0, "and again without the mistake, in another format", "run", FIXTURE, "-o",
      "other.h5", "--set", "faults=()", "--backend", "ref32")
exits(1, "and with a NaN", "run", FIXTURE, "-o", "nan.h5", "--set",
      'faults=({name="nan_in_weights";layers="1";})')
os.mkdir("kept")
os.mkdir("drawn")
names = [line.split()[0] for line in txdiag("list", "figures").out.splitlines()]
with ThreadPoolExecutor(2) as pool:
    results = dict(zip(names, pool.map(draw, names)))
renew = os.environ.get("TXD_RENEW")
for name, (command, result) in results.items():
    golden = f"{GOLDEN}/{name}.gp"
    if not ok(f"{name} is drawn by the command that explains it", result.status == 0,
              f"{command}\n{result}"):
        continue
    script = read(f"kept/{name}/picture.gp").decode()
    if renew:
        with open(golden, "w", encoding="utf-8") as out:
            out.write(script)
    if not ok(f"{name} has a golden script", os.path.exists(golden),
              f"TXD_RENEW=1 writes {golden}"):
        continue
    difference = same(script, read(golden).decode())
    ok(f"{name} is drawn as its golden script says", difference is None, difference)
    svg = read(f"drawn/{name}.svg").decode()
    equal(f"no label of {name} lies outside of the picture", cut_labels(svg), [])
# --- what is kept draws the same picture again
def draw_again():
    """All in one gnuplot. It warns of undefined values, which are the blank cells."""
    write("all.gp", "".join(f"cd 'kept/{name}'\nload 'picture.gp'\nreset session\n"
                            "cd '../..'\n" for name in names))
    done = subprocess.run(["gnuplot", "-d", "all.gp"], capture_output=True, text=True,
                          check=False)
    return [line for line in done.stderr.splitlines()
            if line.strip() and "missing or undefined values" not in line]


def untitled(path):
    """SVG names the data of a curve by where it was read from; and what the picture
    before it ended with stands in groups that draw nothing."""
    return re.sub(r"<title>.*?</title>|<g fill=.*", "", read(path).decode())


equal("all kept scripts run", draw_again(), [])
for name in names:
    equal(f"what is kept of {name} draws the same picture",
          untitled(f"kept/{name}/picture.svg") == untitled(f"drawn/{name}.svg"), True)
    ok(f"all data of {name} are text",
       all(re.fullmatch(r"picture\.(gp|svg)|\w+\.txt", entry)
           for entry in os.listdir("kept/" + name)), os.listdir("kept/" + name))
equal("no golden script is left without a figure",
      sorted(entry[:-3] for entry in os.listdir(GOLDEN) if entry.endswith(".gp")),
      sorted(names))
ok("a number that differs is a difference",
   same("set cbrange [0:0.5]", "set cbrange [0:0.6]"))
finish()
