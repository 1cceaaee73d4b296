#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every lint can fail: a small healthy tree passes, and each planted fault is seen."""
import os
import shutil
import subprocess
import sys
import tempfile

import tree

NAME = "selftest"
HERE = os.path.dirname(os.path.abspath(__file__))
LICENCE = "/* SPDX-License-Identifier: MIT */\n"
HASH = "#!/bin/sh\n# SPDX-License-Identifier: MIT\n"
C_PLUS_PLUS = '#ifdef __cplusplus\nextern "C" {\n#endif\n%s\n' \
              "#ifdef __cplusplus\n}\n#endif\n"


def header(body):
    return LICENCE + C_PLUS_PLUS % body


HEALTHY = {
    "dev": HASH + "echo healthy\n",
    "lib/meson.build": "['txd.h', 'base/good.h',\n'base/good.c', "
                       "'formats/h5_write.c', 'ops/cpu.c', 'ops/module.c']\n",
    "lib/txd.h": LICENCE + '#include "base/good.h"\n',
    "lib/base/good.h": header("int txd_good(int value);"),
    "lib/ops/ops.h": LICENCE + '#include "base/good.h"\n#include "ops/args.h"\n',
    "lib/ops/args.h": LICENCE + "int txd_args;\n",
    "cuda/meson.build": "['good.cu']\n",
    "cuda/launch.h": LICENCE + "#include <cuda_runtime.h>\n\n"
                     "#define TXD_LAUNCH(k, b, ...) k<<<b, 1>>>(__VA_ARGS__)\n",
    "cuda/good.cu": LICENCE + '#include "ops/args.h"\n#include "cuda/launch.h"\n\n'
                    "__global__ void good(int *x)\n{\n    *x = 1;\n}\n",
    "tests/cuda_host/meson.build": "# empty\n",
    "tests/cuda_host/include/cuda_runtime.h": LICENCE + "#define __global__\n",
    "lib/base/good.c": LICENCE + '#include "base/good.h"\n\n'
                       "int txd_good(int value)\n{\n    return value;\n}\n",
    "lib/formats/h5_write.c": LICENCE + "#include <hdf5.h>\n",
    "lib/ops/cpu.c": LICENCE + "#include <cblas.h>\n",
    "probes/probe.h": LICENCE + '#include "txd.h"\n',
    "checks/check.h": LICENCE + '#include "txd.h"\n',
}


def code(line):
    """A C file that is well formed but for one line."""
    return f"{LICENCE}\nvoid txd_bad(void);\n\nvoid txd_bad(void)\n{{\n    {line}\n}}\n"


def include(target):
    return f"{LICENCE}#include {target}\n"


def long_function(note=""):
    return (LICENCE + "\nvoid txd_bad(int *x);\n\nvoid txd_bad(int *x)\n{\n" + note
            + "    *x += 1;\n" * 61 + "}\n")


# Lint: (what is planted, where, text, must the lint be red?).
PLANTED = {
    "format": [
        ("indent 2", "lib/base/a.c", "int txd_bad(void)\n{\n  return 1;\n}\n", True),
        ("pointer left", "lib/base/a.h", header("void txd_bad(int* x);"), True),
        ("brace on the line", "lib/base/a.c", "int txd_bad(void) {\n    return 1;\n}\n",
         True),
        ("short function", "lib/base/a.c", "int txd_bad(void) { return 1; }\n", True),
        ("short if", "lib/base/a.c", code("if (1) return;"), True),
        ("a kernel", "cuda/a.cu", "__global__ void a(int *x)\n{\n  *x = 1;\n}\n",
         True),
    ],
    "headers": [
        ("a type nobody declared", "lib/base/a.h", header("size_t txd_bad(void);"),
         True),
        ("a C++ keyword", "lib/base/a.h", header("void txd_bad(int class);"), True),
        ("no extern C", "lib/base/a.h", LICENCE + "int txd_bad(void);\n", True),
        ("an internal header for C alone", "lib/base/a_internal.h",
         LICENCE + "int txd_bad(int class);\n", False),
        ("a header of kernels that misses CUDA", "cuda/a.h",
         LICENCE + "__global__ void a(int *x);\n", True),
        ("C++ in a header of kernels", "cuda/a.h",
         LICENCE + '#include "cuda/launch.h"\n'
         "template <typename T> __global__ void a(T *x);\n", False),
        ("an error in a test header", "tests/a.h", LICENCE + "int a(uint8_t x);\n",
         True),
    ],
    "layers": [
        ("base knows ops", "lib/base/a.c", include('"ops/ops.h"'), True),
        ("base knows txd.h", "lib/base/a.c", include('"txd.h"'), True),
        ("ops knows model", "lib/ops/a.c", include('"model/config.h"'), True),
        ("model knows formats", "lib/model/a.c", include('"formats/cfg.h"'), True),
        ("model knows faults", "lib/model/a.c", include('"faults/fault.h"'), True),
        ("faults knows formats", "lib/faults/a.c", include('"formats/cfg.h"'), True),
        ("formats knows faults", "lib/formats/a.c", include('"faults/fault.h"'), True),
        ("lib knows probes", "lib/a.h", include('"probes/probe.h"'), True),
        ("probes knows checks", "probes/a.c", include('"checks/check.h"'), True),
        ("checks knows base alone", "checks/a.c", include('"base/good.h"'), True),
        ("viz knows probes", "viz/a.c", include('"probes/probe.h"'), True),
        ("a path with dots", "viz/a.c", include('"../probes/probe.h"'), True),
        ("hdf5 elsewhere", "probes/a.c", include("<hdf5.h>"), True),
        ("libconfig elsewhere", "cli/a.c", include("<libconfig.h>"), True),
        ("jansson elsewhere", "lib/formats/a.c", include("<jansson.h>"), True),
        ("libzip elsewhere", "lib/formats/npy.c", include("<zip.h>"), True),
        ("PCRE2 elsewhere", "lib/formats/cfg.c", include("<pcre2.h>"), True),
        ("libdeflate elsewhere", "lib/formats/h5_tile.c", include("<libdeflate.h>"),
         True),
        ("zlib elsewhere", "viz/a.c", include("<zlib.h>"), True),
        ("cblas elsewhere", "lib/model/a.c", include("<cblas.h>"), True),
        ("spawn elsewhere", "cli/a.c", include("<spawn.h>"), True),
        ("CUDA elsewhere", "lib/ops/a.c", include("<cuda_runtime.h>"), True),
        ("cuBLAS elsewhere", "cli/a.c", include("<cublas_v2.h>"), True),
        ("dlfcn elsewhere", "cli/a.c", include("<dlfcn.h>"), True),
        ("dlfcn for the module", "lib/ops/module.c", include("<dlfcn.h>"), False),
        ("lib knows cuda", "lib/ops/module.c", include('"cuda/launch.h"'), True),
        ("the program knows cuda", "cli/a.c", include('"cuda/launch.h"'), True),
        ("cuda knows txd.h", "cuda/a.cu", include('"txd.h"'), True),
        ("cuda knows model", "cuda/a.cu", include('"model/run.h"'), True),
        ("cuda knows more of ops", "cuda/a.cu", include('"ops/cpu.h"'), True),
        ("cuda knows base", "cuda/a.cu", include('"base/good.h"'), False),
        ("cuda knows the emulation", "cuda/a.cu", include('"emulated.h"'), True),
        ("the library of C++", "cuda/a.cu", include("<vector>"), True),
        ("its names", "cuda/a.cu", code("std::swap(a, b);"), True),
        ("a launch without the macro", "cuda/a.cu", code("a<<<1, 1>>>();"), True),
        ("assembly", "cuda/a.cu", code('asm("");'), True),
        ("assembly where it is said", "cuda/a_mma.cu", code('asm("");'), False),
        ("constant memory", "cuda/a.cu", code("__constant__ int a;"), True),
        ("a rough exponential", "cuda/a.cu", code("x = __expf(y);"), True),
        ("rounding to bfloat16 is fine", "cuda/a.cu",
         code("x = __float2bfloat16_rn(y);"), False),
        ("printf in a kernel", "cuda/a.cu", code('printf("x");'), True),
        ("fast arithmetic", "cuda/meson.build", "['good.cu', '--use_fast_math']\n",
         True),
        ("printf", "lib/base/a.c", code('printf("x");'), True),
        ("stderr", "probes/a.c", code('fprintf(stderr, "x");'), True),
        ("exit", "checks/a.c", code("exit(1);"), True),
        ("abort", "viz/a.c", code("abort();"), True),
        ("getenv", "lib/base/a.c", code('getenv("X");'), True),
        ("posix_spawn", "viz/a.c", code("posix_spawnp(0, 0, 0, 0, 0, 0);"), True),
        ("snprintf is fine", "lib/base/a.c", code('snprintf(0, 0, "x");'), False),
        ("a word in a comment is fine", "lib/base/a.c", code("/* exit(1) */;"), False),
        ("printing in the program is fine", "cli/a.c", code('printf("x");'), False),
        ("siblings in the program are fine", "cli/a.c", include('"checks/check.h"'),
         False),
        ("model knows ops", "lib/model/a.c", include('"ops/ops.h"'), False),
    ],
    "lengths": [
        ("a file of 401 lines", "lib/base/a.c", LICENCE + "\n" * 400, True),
        ("a reason for the file", "lib/base/a.c",
         LICENCE + "/* lint: long because it is one table */\n" + "\n" * 400, False),
        ("no reason", "lib/base/a.c",
         LICENCE + "/* lint: long because */\n" + "\n" * 400, True),
        ("a function of 61 lines", "lib/base/a.c", long_function(), True),
        ("a reason elsewhere", "lib/base/a.c",
         long_function() + "/* lint: long because it is one table */\n", True),
        ("a reason in the function", "lib/base/a.c",
         long_function("    /* lint: long because it is one table */\n"), False),
        ("a line of 89", "lib/base/a.c", LICENCE + "/*" + "x" * 85 + "*/\n", True),
        ("a long script line", "tests/a.sh", HASH + "# " + "x" * 87 + "\n", True),
    ],
    "words": [
        ("no licence", "lib/base/a.c", "int a;\n", True),
        ("no licence in a kernel", "cuda/a.cu", "int a;\n", True),
        ("no licence in a script", "tests/a.sh", "#!/bin/sh\n", True),
        ("a note", "lib/base/a.c", LICENCE + "/* TO" "DO: later */\n", True),
        ("a note in a document", "docs/a.md", "FIX" "ME\n", True),
        ("a machine's path", "docs/a.md", "see /wo" "rk/x\n", True),
        ("root's path", "README.md", "in /ro" "ot/x\n", True),
        ("a registry", "README.md", "from pypi" ".org\n", True),
        ("a template is fine", "lib/base/a.c", LICENCE + '// "x-XXXXXX"\n', False),
    ],
    "listed": [
        ("a source", "lib/base/a.c", LICENCE, True),
        ("a source in a comment", "lib/meson.build", "# 'base/good.c'\n", True),
        ("a header for everybody", "lib/meson.build",
         "['txd.h', 'base/good.c', 'formats/h5_write.c', 'ops/cpu.c']\n", True),
        ("a test", "tests/base/test_a.c", LICENCE, True),
        ("a script", "tests/cli/test_a.sh", HASH, True),
        ("a fuzz target", "tests/fuzz/fuzz_a.c", LICENCE, True),
        ("an example", "examples/a.cfg", "", True),
        ("a kernel", "cuda/a.cu", LICENCE, True),
        ("a source of the emulation", "tests/cuda_host/a.cpp", LICENCE, True),
        ("an internal header", "lib/base/a.h", LICENCE, False),
    ],
    "shell": [
        ("an unquoted variable", "tests/a.sh", HASH + "cat $1\n", True),
        ("a bashism", "dev", HASH + "[[ a == b ]]\n", True),
    ],
}


def plant(root, path, text):
    os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
    with open(os.path.join(root, path), "w", encoding="utf-8") as file:
        file.write(text)


def lint(name, root):
    done = subprocess.run([sys.executable, f"{HERE}/lint_{name}.py", root],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def healthy_tree(root):
    for path, text in HEALTHY.items():
        plant(root, path, text)
    shutil.copy(f"{HERE}/../../.clang-format", root)


def try_one(name, what, path, text, red):
    with tempfile.TemporaryDirectory() as root:
        healthy_tree(root)
        plant(root, path, text)
        status, output = lint(name, root)
        wanted = 1 if red else 0
        seen = path in output or path.endswith("meson.build")
        if status == wanted and (not red or seen):
            return None
        return f"{name}: {what}: exit {status}, expected {wanted}\n{output}"


def main():
    problems = []
    planted = 0
    for name, faults in PLANTED.items():
        with tempfile.TemporaryDirectory() as root:
            healthy_tree(root)
            status, output = lint(name, root)
        if status == 77:
            print(f"{name}: not tried: {output.strip()}")
            continue
        if status != 0:
            problems.append(f"{name}: a healthy tree fails: {output}")
        for fault in faults:
            planted += 1
            problems.append(try_one(name, *fault))
    problems = [problem for problem in problems if problem]
    unknown = {f[5:-3] for f in os.listdir(HERE) if f.startswith("lint_")}
    for name in sorted(unknown - set(PLANTED) - {NAME}):
        problems.append(f"{name}: nothing planted for this lint")
    print(f"{planted} faults planted")
    tree.finish(NAME, problems)


main()
