#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""shellcheck finds nothing in any shell script."""
import shutil
import subprocess
import sys

import tree

NAME = "shell"


def main():
    root = tree.root_of(sys.argv)
    if not shutil.which("shellcheck"):
        tree.skip(NAME, "no shellcheck")
    paths = tree.files(root, lambda path: path.endswith((".sh", ".bash"))
                       or path in tree.SCRIPTS)
    if not paths:
        tree.finish(NAME, ["no shell script found"])
    # Tests source tests/support/sh.sh, and hand it functions to call (SC2317).
    done = subprocess.run(["shellcheck", "-x", "-P", ".", "-e", "SC2317",
                           "-f", "gcc", *paths],
                          cwd=root, capture_output=True, text=True, check=False)
    problems = done.stdout.splitlines() + done.stderr.splitlines()
    if done.returncode != 0 and not problems:
        problems = [f"shellcheck exited with {done.returncode}"]
    tree.finish(NAME, problems)


main()
