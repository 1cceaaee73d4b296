# SPDX-License-Identifier: MIT
"""What the lint scripts share: which files there are, and how a script ends."""
import os
import re
import sys

LIBRARIES = ("lib/", "probes/", "checks/", "viz/")
C_ENDINGS = (".c", ".h", ".cu", ".cpp")
SCRIPT_ENDINGS = (".sh", ".py")
SCRIPTS = ("dev", ".ci/run")
SKIPPED_FOLDERS = {".git", "build", "out", "__pycache__"}


def root_of(arguments):
    """The tree to look at: the first argument, or the one this script lies in."""
    here = os.path.dirname(os.path.abspath(__file__))
    return os.path.abspath(arguments[1]) if len(arguments) > 1 else here + "/../.."


def files(root, wanted=lambda path: True):
    """Sorted paths of files below root, relative to it; build folders left out."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f not in SKIPPED_FOLDERS
                      and not os.path.exists(f"{folder}/{f}/build.ninja")]
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), root)
            if wanted(path) and os.path.isfile(os.path.join(root, path)):
                found.append(path)
    return sorted(found)


def is_c(path):
    return path.endswith(C_ENDINGS)


def is_cuda(path):
    """What nvcc compiles, and what makes it compile for the host: C++."""
    return path.startswith(("cuda/", "tests/cuda_host/"))


def reached(root, start):
    """The headers of lib/ that one leads to, itself included."""
    seen = set()
    waiting = [start]
    while waiting:
        path = waiting.pop()
        if path in seen or not os.path.exists(os.path.join(root, path)):
            continue
        seen.add(path)
        waiting += ["lib/" + target for target in re.findall(
            r'^\s*#\s*include\s*"([^"]+)"', read(root, path), re.M)]
    return sorted(seen)


def is_source(path):
    return path.endswith(C_ENDINGS + SCRIPT_ENDINGS + (".def", ".bash")) \
        or path in SCRIPTS


def read(root, path):
    """The text of a file, or None if it is not text."""
    with open(os.path.join(root, path), "rb") as file:
        data = file.read()
    if b"\0" in data:
        return None
    return data.decode("utf-8", errors="replace")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def code_only(text):
    """C text with comments and the insides of literals blanked; lines stay."""
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
                  blank, text, flags=re.S)


def finish(name, problems):
    """Prints the problems and exits 1, or prints that all is well and exits 0."""
    for problem in problems:
        print(problem)
    if problems:
        print(f"{name}: {len(problems)} problems")
        sys.exit(1)
    print(f"{name}: ok")
    sys.exit(0)


def skip(name, reason):
    print(f"{name}: skipped: {reason}")
    sys.exit(77)
