#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every header compiles alone: as C11, and those of the libraries as C++17 too, except
what is never installed (*_internal.h). Headers of kernels are C++17, with the CUDA of
the emulation, as tests compile them."""
import multiprocessing.pool
import re
import shutil
import subprocess
import sys

import tree

NAME = "headers"
STRICT = ["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
# A header of the reference arithmetic is read once for double and once for float.
DEFINES = ["-DTXD_REAL_BITS=64", "-D_POSIX_C_SOURCE=200809L", "-D_DEFAULT_SOURCE"]
CHECKS = {
    "C11": ["gcc", "-std=c11", "-x", "c"],
    "C++17": ["g++", "-std=c++17", "-x", "c++"],
    "CUDA": ["g++", "-std=c++17", "-x", "c++", "-fno-exceptions", "-fno-rtti",
             "-DTXD_CUDA_HOST", "-isystem", "tests/cuda_host/include"],
}


def external_flags():
    flags = []
    for package in ("hdf5-serial", "libconfig", "jansson", "libzip", "libpcre2-8",
                    "check"):
        done = subprocess.run(["pkg-config", "--cflags", package],
                              capture_output=True, text=True, check=False)
        flags += [flag.replace("-I", "-isystem", 1) if flag.startswith("-I") else flag
                  for flag in done.stdout.split() if flag.startswith("-I")]
    return flags


def compile_alone(root, path, language, flags):
    command = CHECKS[language] + STRICT + DEFINES + [
        "-I", "lib", "-I", ".", "-I", "tests/support", *flags, "-"]
    done = subprocess.run(command, cwd=root, input=f'#include "{path}"\n',
                          capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    return f"{path}: does not compile alone as {language}:\n{done.stderr.strip()}"


def lacks_linkage(root, path):
    code = tree.code_only(tree.read(root, path))
    declares = re.search(r"^[a-z][\w \*]*\btxd_\w+\([^;{]*\);", code, re.M)
    return bool(declares) and 'extern "C"' not in tree.read(root, path)


def main():
    root = tree.root_of(sys.argv)
    for compiler in ("gcc", "g++", "pkg-config"):
        if not shutil.which(compiler):
            tree.skip(NAME, f"no {compiler}")
    paths = tree.files(root, lambda path: path.endswith(".h"))
    public = [path for path in paths if path.startswith(tree.LIBRARIES)
              and not path.endswith("_internal.h")]
    flags = external_flags()
    jobs = [(root, path, "CUDA" if tree.is_cuda(path) else "C11", flags)
            for path in paths]
    jobs += [(root, path, "C++17", flags) for path in public]
    with multiprocessing.pool.ThreadPool(2) as pool:
        problems = [p for p in pool.starmap(compile_alone, jobs) if p]
    problems += [f'{path}: declares functions without extern "C"'
                 for path in public if lacks_linkage(root, path)]
    tree.finish(NAME, problems)


main()
