#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How many instructions the hot kernels take, by callgrind: bench/instructions.txt.

  instructions.py BUILD           the counts beside those of the file
  instructions.py BUILD --check   the same; exits with 1 if one is off by more than 2 %
  instructions.py BUILD --write   writes the file

Counts do not depend on what else the machine does, but on the compiler and on the set
of kernels: the file's first line says which. With others there is nothing to compare:
exit 77.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FILE = pathlib.Path(__file__).resolve().parent / "instructions.txt"
ROOM = 0.02


def counted(build):
    """What was measured, and the instructions of each kernel."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        said = subprocess.run(
            ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}",
             str(pathlib.Path(build) / "bench" / "instructions")],
            check=True, capture_output=True, text=True).stdout.strip()
        text = subprocess.run(
            ["callgrind_annotate", "--inclusive=yes", "--auto=no", "--threshold=100",
             str(out)], check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^\s*([\d,]+) .*:measured_(\w+)", text, re.M)
    return said, {name: int(count.replace(",", "")) for count, name in reversed(found)}


def kept():
    lines = FILE.read_text(encoding="ascii").splitlines()
    return lines[0], {name: int(count) for name, count in map(str.split, lines[1:])}


def compare(counts, known):
    """Prints all; the names of those that changed."""
    changed = []
    for name in sorted(counts.keys() | known.keys()):
        now, before = counts.get(name), known.get(name)
        off = now is None or before is None or abs(now - before) > ROOM * before
        print(f"{name:12} {now} instructions, {before} in the file"
              f"{': changed' if off else ''}")
        if off:
            changed.append(name)
    return changed


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    if not shutil.which("valgrind"):
        print("no valgrind")
        return 77
    said, counts = counted(given.build)
    if given.write:
        text = "".join(f"{name} {counts[name]}\n" for name in sorted(counts))
        FILE.write_text(f"{said}\n{text}", encoding="ascii")
        return 0
    measured, known = kept()
    if said != measured:
        print(f"the file was measured with {measured}, this is {said}")
        return 77
    changed = compare(counts, known)
    if changed:
        print(f"changed: {', '.join(changed)}; if that is right, "
              "`./dev bench instructions --write`")
    return 1 if changed and given.check else 0


if __name__ == "__main__":
    sys.exit(main())
