# SPDX-License-Identifier: MIT
"""docs/benchmarks.md: the machine, and a line for every row of run.py."""
import os
import subprocess


def shown(row, key):
    value = row[key]
    if row.get("unit") == "GB":
        return f"{value:.2f} GB"
    return f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.2f} s"


def target(row):
    """What was to be reached, and whether it was."""
    wanted, sense = row["target"], row.get("sense", "at most")
    if wanted is None:
        return ""
    if sense == "seconds":
        return f"{wanted * 1e3:.0f} ms, {'met' if row['a'] <= wanted else 'missed'}"
    is_met = row["ratio"] <= wanted if sense == "at most" else row["ratio"] >= wanted
    return f"{sense} {wanted:.3g}, {'met' if is_met else 'missed'}"


def line(row):
    memory = " / ".join(f"{value:.2f}" for value in row["memory"] or ())
    cold = " / ".join(f"{value:.2f} s" for value in row["cold"] or ())
    return (f"| {row['what']} | {shown(row, 'a')} | {shown(row, 'b')} "
            f"| {row['ratio']:.3g} | {row['low']:.3g} to {row['high']:.3g} "
            f"| {target(row)} | {cold} | {memory} | {row['count']} |")


def backend(bench):
    """What a recording says of what computed it."""
    cfg, path = bench.folder / "tiny.cfg", bench.folder / "tiny.h5"
    cfg.write_text("""version = 1;
model : { preset = "mini"; n_layers = 1; d_model = 8; n_heads = 1; vocab = 8;
  max_seq_len = 8; };
input : { random : { batch = 1; length = 8; }; };
""", encoding="ascii")
    subprocess.run([bench.program, "run", cfg, "-o", path], capture_output=True,
                   check=False)
    told = subprocess.run([bench.program, "info", path], capture_output=True, text=True,
                          check=True).stdout
    return [" ".join(text.split()) for text in told.splitlines()
            if text.split(" ")[0] in ("backend", "simd", "blas")]


def machine(bench):
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        for text in info:
            if text.startswith("model name"):
                model = text.split(":", 1)[1].strip()
                break
    version = subprocess.run([str(bench.program), "--version"], capture_output=True,
                             text=True, check=True).stdout.strip()
    peer = "none"
    if bench.python:
        peer = subprocess.run(
            [bench.python, "-c", "import torch; print('PyTorch', torch.__version__)"],
            capture_output=True, text=True, check=True).stdout.strip()
    return model, version, backend(bench), peer


def head():
    columns = ["what", "ours", "beside it", "ratio", "range", "target", "cold",
               "peak GB", "turns"]
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"


def lines(bench, rows):
    model, version, told, peer = machine(bench)
    yield "# Benchmarks"
    yield ""
    yield ("Written by `./dev bench`. Every row is two processes that take turns; the "
           "ratio is the median of the ratios of neighbours, beside the smallest and "
           "the largest, over so many turns. Of times the medians are shown. Cold is "
           "the time from the start of the process to the end of its first repetition, "
           "which the ratio leaves out. The machine says how far the seconds carry: "
           "compare ratios.")
    yield ""
    yield f"- {model}, {bench.threads} cores, load {os.getloadavg()[0]:.1f} at the end"
    yield f"- {version}"
    yield f"- {', '.join(told)}"
    yield f"- peer: {peer}"
    yield ""
    yield from head()
    for row in rows:
        yield line(row)
