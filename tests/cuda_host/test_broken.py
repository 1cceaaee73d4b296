#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernels that are broken on purpose: each is compiled into a module of its own, and
the tests of operations must be red with it, as they are green with the right one."""

import json
import os
import shlex
import subprocess
import sys
import tempfile

SOURCE, BUILD = os.environ["TXD_SOURCE"], os.environ["TXD_BUILD"]
MODULE = "tests/cuda_host/txdiag_cuda.so"
OBJECTS = "tests/cuda_host/libcuda_host.a.p"

# What is wrong, the file that is edited and the text that is replaced, the unit that is
# compiled, the operation and the test that must see it, and what it then says.
BROKEN = [
    ("a result that is not rounded to bfloat16", "rest.cu",
     "Round()(function(quad.at[k]))", "function(quad.at[k])", "rest.cu",
     "scale", "ops_test_ops", "cudabf16: scale: no number of the format"),
    ("a key that is taken for its neighbour", "mask.cu",
     "map != NULL ? map[j] != 0", "map != NULL ? map[j ^ 1] != 0", "mask.cu",
     "mask", "ops_test_ops", "mask"),
    ("a row beyond the last", "mask.cu",
     "r < rows; r += gridDim.y", "r <= rows; r += gridDim.y", "mask.cu",
     "mask", "ops_test_ops", "beyond an allocation"),
    ("a barrier that is missing before what others wrote is read", "reduce.h",
     "__syncthreads();\n    value = of_warp[0];", "value = of_warp[0];", "softmax.cu",
     "softmax", "ops_test_device", "softmax"),
]


def compiled(folder, unit):
    """The object of a unit whose headers are looked for in `folder` first."""
    name = unit.replace(".cu", ".cpp")
    output = f"libcuda_host.a.p/meson-generated_.._{name}.o"
    with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as file:
        commands = [c for c in json.load(file) if c["output"].endswith(output)]
    words = shlex.split(commands[0]["command"])
    made, source = os.path.join(folder, "made.o"), os.path.join(folder, name)
    with open(source, "w", encoding="utf-8") as file:
        file.write(f'#include "cuda/{unit}"\n')
    words[words.index("-c") + 1] = source
    for option, value in (("-o", made), ("-MF", made + ".d")):
        words[words.index(option) + 1] = value
    first = next(i for i, word in enumerate(words) if word.startswith("-I"))
    words.insert(first, "-I" + folder)
    subprocess.run(words, cwd=BUILD, check=True)
    return made, os.path.basename(output)


def linked(folder, made, instead_of):
    """The module with one object in place of another."""
    lines = subprocess.run(["ninja", "-t", "commands", MODULE], cwd=BUILD, check=True,
                           capture_output=True, text=True).stdout.splitlines()
    words = shlex.split(lines[-1])
    module = os.path.join(folder, "broken.so")
    objects = [os.path.join(OBJECTS, name)
               for name in sorted(os.listdir(os.path.join(BUILD, OBJECTS)))
               if name.endswith(".o") and name != instead_of]
    at = words.index("tests/cuda_host/libcuda_host.a")
    words[at:at + 1] = objects + [made]
    words[words.index("-o") + 1] = module
    subprocess.run(words, cwd=BUILD, check=True)
    return module


def run(module, operation, program):
    test = {"ops_test_ops": "every_operation_of_every_backend_is_within_its_bound",
            "ops_test_device": "no_order_of_blocks_and_threads_changes_a_bit"}[program]
    done = subprocess.run([os.path.join(BUILD, "tests", program), test],
                          env={**os.environ, "TXDIAG_CUDA_MODULE": module,
                               "TXD_OPERATION": operation},
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def is_red(broken):
    """Whether the tests see what is broken, having been green; why not."""
    _, file, old, new, unit, operation, program, says = broken
    with open(os.path.join(SOURCE, "cuda", file), encoding="utf-8") as whole:
        text = whole.read()
    if text.count(old) != 1:
        return f"cuda/{file} has {text.count(old)} times {old}, not once"
    code, output = run(os.path.join(BUILD, MODULE), operation, program)
    if code != 0:
        return "red with the right kernel: " + output
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "cuda"))
        with open(os.path.join(folder, "cuda", file), "w", encoding="utf-8") as edited:
            edited.write(text.replace(old, new))
        code, output = run(linked(folder, *compiled(folder, unit)), operation, program)
    if code == 0 or says not in output:
        return f"not seen: exit {code}: {output}"
    return None


def main():
    failed = 0
    for number, broken in enumerate(BROKEN, 1):
        why = is_red(broken)
        failed += why is not None
        print("ok" if why is None else "not ok",
              f"{number} - the tests see {broken[0]}")
        for line in (why or "").splitlines():
            print("#", line)
    print(f"1..{len(BROKEN)}")
    return 1 if failed else 0


sys.exit(main())
