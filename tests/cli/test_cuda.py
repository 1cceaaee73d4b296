#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The CUDA backends where they cannot be had: a build without nvcc, a machine without a
driver, a driver without a GPU, files that are no module of this release. Each says what
is missing and what to do; the program starts all the same."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import (SOURCE, equal, exits, finish, holds, ok,  # noqa: E402
                     sanitized, skip, write)

EMULATED = os.environ.get("TXD_CUDA_EMULATED", "")
NATIVE = os.environ.get("TXD_CUDA_NATIVE", "")
NO_GPU = os.environ.get("TXD_NO_GPU", "")
BUILD = os.environ.get("TXD_BUILD", "")

write("model.cfg", """model : { preset = "mini"; vocab = 40; d_model = 16; n_heads = 2;
  n_layers = 1; d_ff = 32; max_seq_len = 12; };
input : { random : { batch = 1; length = 12; }; };
""")


# meson lets tests find the libraries that they depend on: here, a driver.
if NO_GPU:
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(
        path for path in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
        if path and os.path.realpath(path) != os.path.realpath(NO_GPU))


def has_driver():
    load = [sys.executable, "-c", "import ctypes; ctypes.CDLL('libcuda.so.1')"]
    return subprocess.run(load, capture_output=True, check=False).returncode == 0


def backend_line(listed, name):
    found = re.search(rf"^{name} +(.*)$", listed.out, re.M)
    return found.group(1) if found else ""


def absent(case, words, environment):
    """list names the reason beside each backend, run ends with 2 and says it."""
    listed = exits(0, f"{case}: backends are listed", "list", "backends",
                   env=environment)
    ok(f"{case}: those of the CPU are there", backend_line(listed, "cpu32"), listed)
    for name in ("cuda32", "cudabf16"):
        holds(f"{case}: {name} is listed with the reason", backend_line(listed, name),
              *words)
        ran = exits(2, f"{case}: run --backend {name} exits 2", "run", "model.cfg",
                    "--backend", name, "-o", "x.h5", env=environment)
        holds(f"{case}: and says it", ran.err, "--backend", name, *words)
        ok(f"{case}: without a crash, and nothing is written",
           "core" not in ran.err and not os.path.exists("x.h5"), ran)
    exits(0, f"{case}: cpu32 runs", "run", "model.cfg", "-o", "x.h5", env=environment)
    os.remove("x.h5")


def module(path):
    return {"TXDIAG_CUDA_MODULE": path}


absent("no module", ["nothing.so"], module(os.path.abspath("nothing.so")))
absent("a text", ["text.so"], module(os.path.abspath(write("text.so", "no module\n"))))
for path in filter(None, (EMULATED, NATIVE)):
    with open(path, "rb") as file:
        head = file.read(40)
    absent("the beginning of a module", ["cut.so"],
           module(os.path.abspath(write("cut.so", head))))
absent("another library", ["libcuda.so.1"], module(f"{NO_GPU}/libcuda.so.1"))
absent("a module of another release", ["other.so"], module(f"{NO_GPU}/other.so"))

if EMULATED:
    absent("emulated: no driver", ["driver", "install"],
           {**module(EMULATED), "TXD_EMULATED_DEVICES": "no-driver"})
    absent("emulated: no device", ["no GPU", "CUDA_VISIBLE_DEVICES"],
           {**module(EMULATED), "TXD_EMULATED_DEVICES": "none"})
    run = exits(2, "a model that is too large for the device ends before it runs",
                "run", "model.cfg", "--backend", "cuda32", "-o", "x.h5",
                env={**module(EMULATED), "TXD_EMULATED_MEMORY": "20000"})
    holds("with what is needed, what is free and what to do", run.err,
          "needed", "free", "smaller batch", "backend of the CPU")
    ok("and nothing was recorded", not os.path.exists("x.h5")
       and not os.path.exists("x.h5.part"))
else:
    skip("the emulated module", "this build has none")

if not NATIVE:
    skip("the module of nvcc", "this build has none")
else:
    if has_driver():
        skip("the module of nvcc without a driver", "this machine has one")
    else:
        absent("no driver", ["no CUDA driver", "install"], module(NATIVE))
    absent("a driver, but no device", ["no GPU", "CUDA_VISIBLE_DEVICES"],
           {**module(NATIVE), "LD_LIBRARY_PATH": NO_GPU})

# ---- what measures on a GPU, in sizes of nothing ----

if not EMULATED or sanitized():
    skip("bench/cuda.py --emulated", "no emulated module, or under sanitizers")
else:
    document = "# CUDA\n\n## Measured\n\nNot run on a device.\n"
    write("cuda.md", document)
    done = subprocess.run([sys.executable, f"{SOURCE}/bench/cuda.py", BUILD,
                           "--emulated", "--repeat", "1", "--write", "cuda.md"],
                          capture_output=True, text=True, check=False)
    equal("bench/cuda.py --emulated: exit", done.returncode, 0)
    holds("it goes through every row", done.stdout, "| copy of", "| all statistics",
          "| product of", "| forward, config tiny, cudabf16",
          "| forward, config tiny, cuda32", "all diagnostics", "no diagnostics")
    equal("but writes nothing", open("cuda.md", encoding="utf-8").read(), document)

# ---- ./dev test --cuda ----

os.mkdir("bin")
for tool in ("sh", "dirname"):
    os.symlink(shutil.which(tool), f"bin/{tool}")
os.symlink(sys.executable, "bin/python3")


def dev(case, word, environment):
    done = subprocess.run([f"{SOURCE}/dev", "test", "--cuda"], capture_output=True,
                          text=True, check=False,
                          env={"PATH": os.path.abspath("bin"), "CUDA_PATH": "/nothing",
                               "TXD_BUILD_DIR": os.path.abspath("build"),
                               **environment})
    equal(f"dev test --cuda, {case}: exit 77", done.returncode, 77)
    holds(f"dev test --cuda, {case}: says which", done.stderr, word)
    ok(f"dev test --cuda, {case}: builds nothing", not os.path.exists("build"))
    if shutil.which("bash"):
        done = subprocess.run([shutil.which("bash"), f"{SOURCE}/bench/cuda.sh"],
                              capture_output=True, text=True, check=False,
                              env={"PATH": os.path.abspath("bin"),
                                   "CUDA_PATH": "/nothing", **environment})
        equal(f"bench/cuda.sh, {case}: exit 77", done.returncode, 77)
        holds(f"bench/cuda.sh, {case}: says which", done.stderr, word)


dev("no nvcc", "no nvcc", {"LD_LIBRARY_PATH": NO_GPU})
write("bin/nvcc", "#!/bin/sh\nexit 1\n")
os.chmod("bin/nvcc", 0o755)
if has_driver():
    skip("dev test --cuda, no driver", "this machine has one")
else:
    dev("no driver", "no CUDA driver", {})
dev("no device", "no GPU", {"LD_LIBRARY_PATH": NO_GPU})

finish()
