# SPDX-License-Identifier: MIT
"""docs/benchmarks.md: the machine, and a line for every row of run.py."""
import os
import subprocess


def shown(row, key):
    value = row[key]
    if row.get("unit") == "GB":
        return f"{value:.2f} GB"
    return f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.2f} s"


def line(row):
    memory = ""
    if row["memory"]:
        memory = " / ".join(f"{value:.2f}" for value in row["memory"])
    target = "" if row["target"] is None else f"{row['target']:.3g}"
    return (f"| {row['what']} | {shown(row, 'a')} | {shown(row, 'b')} "
            f"| {row['ratio']:.3g} | {row['low']:.3g} to {row['high']:.3g} "
            f"| {target} | {memory} | {row['count']} |")


def machine(bench):
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        for text in info:
            if text.startswith("model name"):
                model = text.split(":", 1)[1].strip()
                break
    version = subprocess.run([str(bench.program), "--version"], capture_output=True,
                             text=True, check=True).stdout.strip()
    blas = subprocess.run([str(bench.program), "list", "backends"], capture_output=True,
                          text=True, check=False).stdout
    peer = "none"
    if bench.python:
        peer = subprocess.run(
            [bench.python, "-c", "import torch; print('PyTorch', torch.__version__)"],
            capture_output=True, text=True, check=True).stdout.strip()
    return model, version, blas, peer


def lines(bench, rows):
    model, version, blas, peer = machine(bench)
    yield "# Benchmarks"
    yield ""
    yield ("Written by `./dev bench`. Every row is two processes that take turns; the "
           "ratio is the median of the ratios of neighbours, beside the smallest and "
           "the largest. The machine says how far the seconds carry: compare ratios.")
    yield ""
    yield f"- {model}, {bench.threads} cores, load {os.getloadavg()[0]:.1f} at the end"
    yield f"- {version}"
    for text in blas.splitlines():
        if "cpu32" in text or "OpenBLAS" in text:
            yield f"- {text.strip()}"
    yield f"- peer: {peer}"
    yield ""
    yield "| what | ours | beside it | ratio | range | target | peak GB | turns |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in rows:
        yield line(row)
