#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The CUDA backends on this machine's GPU, beside PyTorch on the same one.

  cuda.py BUILD [--python PYTHON] [--repeat N] [--write docs/cuda.md] [--emulated]

BUILD is the build folder, whose module is loaded. Our side and its peer take turns, as
bench/run.py has it. Without PYTHON (one with a torch that sees the GPU) only our side
is measured. --write puts the result in place of what stands below "## Measured" of the
document. --emulated runs everything, in sizes of nothing, on the module that emulates a
device: for tests of this file; its times mean nothing and are not written.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import run

HERE = pathlib.Path(__file__).resolve().parent
HEADING = "## Measured\n"
HEADS = 12
FULL = {"lengths": (4096, 8192, 16384, 32768), "widths": (64, 128), "heads": HEADS,
        "megabytes": 1000, "side": 8192, "model": run.SIZES["M"], "name": "M"}
TINY = {"lengths": (96,), "widths": (32,), "heads": 2, "megabytes": 1, "side": 48,
        "model": (1, 32, 4, 64, 97, 32), "name": "tiny"}
UNITS = ((1, "s"), (1e-3, "ms"), (1e-6, "us"))


def shown(seconds):
    for size, unit in UNITS:
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


class Peer(run.Measured):
    """PyTorch: one process for all jobs, since it takes seconds to start."""

    def job(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the peer ended: no memory on the device?")
        return float(line.split()[0])


class Bench:
    def __init__(self, given, folder):
        self.build, self.folder = pathlib.Path(given.build), folder
        self.repeat, self.sizes = given.repeat, TINY if given.emulated else FULL
        module = "tests/cuda_host/txdiag_cuda.so" if given.emulated \
            else "cuda/txdiag_cuda.so"
        self.environment = {"TXDIAG_CUDA_MODULE": str((self.build / module).resolve()),
                            "OMP_WAIT_POLICY": "passive"}
        self.peer = None
        if given.python:
            self.peer = Peer([given.python, HERE / "peer_cuda.py"])

    def device(self, backend, *words):
        return run.Measured([self.build / "bench" / "device", backend, *words],
                            self.environment)

    def worker(self, backend, *words):
        sizes = self.sizes["model"]
        return run.Measured(
            [self.build / "bench" / "worker", *words, "--set",
             f'precision.backend="{backend}"', run.cfg(sizes, self.folder, "model")],
            self.environment)

    def turns(self, ours, other):
        """Pairs of seconds; `other` is None or makes one repetition."""
        ours.once()
        if other:
            other()
        return [(ours.once(), other() if other else None) for _ in range(self.repeat)]


def row(what, pairs, target=None, sense="", rate=None, ratio=None):
    """`ratio` of a pair; `rate` of our seconds, as text."""
    a = statistics.median(x for x, _ in pairs)
    line = {"what": what, "a": a, "b": None, "ratio": None, "target": target,
            "sense": sense, "count": len(pairs), "rate": rate(a) if rate else ""}
    if pairs[0][1] is not None:
        ratios = [(ratio or (lambda x, y: y / x))(x, y) for x, y in pairs]
        line.update(b=statistics.median(y for _, y in pairs), low=min(ratios),
                    ratio=statistics.median(ratios), high=max(ratios))
    return line


def attention(bench):
    for width in bench.sizes["widths"]:
        for length in bench.sizes["lengths"]:
            size = (length, width, bench.sizes["heads"])
            what = f"attention, {size[2]} heads of {width}, N {length}, bf16"
            flops = 4 * length * length / 2 * width * size[2]
            told = bench.device("cudabf16", "attention", *size)
            alone = bench.device("cudabf16", "heads", *size)

            def job(kind, size=size):
                return (lambda: bench.peer.job(kind, *size)) if bench.peer else None

            def rate(seconds, flops=flops):
                return f"{flops / seconds / 1e12:.3g} TFLOP/s"
            yield row(f"{what}: all diagnostics / eager PyTorch, head by head, with "
                      "the same", bench.turns(told, job("attention")), 8, "at least",
                      rate)
            yield row(f"{what}: all diagnostics / SDPA without any",
                      bench.turns(told, job("sdpa")), 0.3, "at least", rate)
            yield row(f"{what}: no diagnostics / SDPA",
                      bench.turns(alone, job("sdpa")), None, "", rate)
            told.end()
            alone.end()


def probed(bench):
    for backend in ("cudabf16", "cuda32"):
        ours = bench.worker(backend, "-o", bench.folder / "probed.h5")
        bare = bench.worker(backend, "--taps", "none")
        yield row(f"forward, config {bench.sizes['name']}, {backend}: default probes "
                  "and all laws / bare", bench.turns(ours, bare.once), 1.25, "at most",
                  ratio=lambda x, y: x / y)
        ours.end()
        bare.end()


def memory(bench):
    size = bench.sizes["megabytes"]
    copy, stats = (bench.device("cuda32", kind, size) for kind in ("copy", "stats"))

    def bandwidth(times):
        return lambda seconds: f"{times * size / 1e3 / seconds:.4g} GB/s"
    yield row(f"copy of {size} MB, read and written / PyTorch's", bench.turns(
        copy, (lambda: bench.peer.job("copy", size)) if bench.peer else None),
        rate=bandwidth(2))
    yield row(f"all statistics of {size} MB / copy of them, by bytes moved",
              bench.turns(stats, copy.once), 0.8, "at least", bandwidth(1),
              lambda x, y: y / x / 2)
    copy.end()
    stats.end()


def products(bench):
    side = bench.sizes["side"]

    def rate(seconds):
        return f"{2 * side ** 3 / seconds / 1e12:.3g} TFLOP/s"
    for backend in ("cudabf16", "cuda32"):
        ours = bench.device(backend, "products", side)
        other = (lambda: bench.peer.job("products", side)) \
            if bench.peer and backend == "cudabf16" else None
        yield row(f"product of {side} x {side} matrices, {backend} (float32 in memory)"
                  + (" / PyTorch's, bfloat16" if other else ""),
                  bench.turns(ours, other), rate=rate)
        ours.end()


def line_of(r):
    if r["b"] is None:
        what, _, _ = r["what"].partition(" / ")
        return f"| {what} | {shown(r['a'])} | | | | | {r['rate']} | {r['count']} |"
    target = ""
    if r["target"] is not None:
        met = r["ratio"] >= r["target"] if r["sense"] == "at least" \
            else r["ratio"] <= r["target"]
        target = f"{r['sense']} {r['target']}, {'met' if met else 'missed'}"
    return (f"| {r['what']} | {shown(r['a'])} | {shown(r['b'])} | {r['ratio']:.3g} "
            f"| {r['low']:.3g} to {r['high']:.3g} | {target} | {r['rate']} "
            f"| {r['count']} |")


def head(bench, given):
    done = subprocess.run([bench.build / "cli" / "txdiag", "list", "backends"],
                          capture_output=True, text=True, check=True,
                          env={**os.environ, **bench.environment})
    yield ("Written by `bench/cuda.sh`. Two sides take turns; the ratio is the median "
           "of the ratios of neighbours, beside the smallest and the largest, and is "
           "the peer's seconds over ours where it says \"at least\". Of times the "
           "medians are shown: from the call until the device is done and what is told "
           "to the host is there. Rates count the products of the lower half.")
    yield ""
    if given.device:
        yield f"- {given.device}"
    for text in done.stdout.splitlines():
        if text.startswith("cuda"):
            yield f"- {' '.join(text.split())}"
    peer = "none"
    if given.python:
        peer = subprocess.run(
            [given.python, "-c", "import torch; print('PyTorch', torch.__version__)"],
            capture_output=True, text=True, check=True).stdout.strip()
    yield f"- peer: {peer}"
    yield ""
    columns = ["what", "ours", "beside it", "ratio", "range", "target", "rate", "turns"]
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"


def write(path, text):
    """Replaces what stands below the heading."""
    path = pathlib.Path(path)
    kept, heading, _ = path.read_text(encoding="utf-8").partition(HEADING)
    if not heading:
        raise SystemExit(f"cuda.py: {path} has no line {HEADING!r}")
    aside = path.with_name(path.name + ".new")
    aside.write_text(kept + heading + "\n" + text, encoding="utf-8")
    aside.replace(path)


def measure(given, folder):
    bench = Bench(given, folder)
    lines = list(head(bench, given))
    print("\n".join(lines), flush=True)
    for rows in (memory, products, probed, attention):
        for found in rows(bench):
            lines.append(line_of(found))
            print(lines[-1], flush=True)
            if given.write and not given.emulated:
                write(given.write, "\n".join(lines) + "\n")
    if bench.peer:
        bench.peer.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--python")
    parser.add_argument("--device", help="its name, for the document")
    parser.add_argument("--repeat", type=int, default=5, metavar="N")
    parser.add_argument("--write", metavar="FILE")
    parser.add_argument("--emulated", action="store_true")
    given = parser.parse_args()
    scratch = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = pathlib.Path(tempfile.mkdtemp(prefix="txdiag-bench-", dir=scratch))
    try:
        measure(given, folder)
    except RuntimeError as error:
        sys.exit(f"cuda.py: {error}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
