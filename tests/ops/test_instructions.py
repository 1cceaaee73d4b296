#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The hot kernels take as many instructions as bench/instructions.txt says."""
import os
import pathlib
import subprocess
import sys

script = pathlib.Path(os.environ["TXD_SOURCE"]) / "bench" / "instructions.py"
sys.exit(subprocess.run(
    [sys.executable, str(script), os.environ["TXD_BUILD"], "--check"],
    check=False).returncode)
