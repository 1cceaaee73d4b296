#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""txdiag beside its peer, in turns: docs/benchmarks.md.

  run.py BUILD [ROW...] [--python PYTHON] [--repeat N] [--write FILE]

BUILD is the build folder. Every row starts two processes, which bind their model and
warm up once; then they take turns, A B A B, so that whatever else the machine does
falls on both. A row's ratio is the median of the ratios of neighbours. Without PYTHON
(one that has torch and h5py) the rows that need the peer are left out. Without ROW all
rows. FILE is written aside after every row, as FILE.new, and renamed at the end.
"""
import argparse
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import document

HERE = pathlib.Path(__file__).resolve().parent
SIZES = {"S": (6, 256, 8, 1024, 8192, 1024), "M": (12, 768, 12, 3072, 50257, 1024)}
GRADIENTS = ('record=({probe="grad_norm";},{probe="norms";points="*";},'
             '{probe="stats";points="*,*@grad";})')
ORIGIN = 'record=({probe="nonfinite";points="*,*@grad";})'
WEIGHTS = 'record=({probe="full";points="layers.*.attn.weights";})'
COMPRESSED = ["--set", 'recording.compression="deflate"']


def cfg(sizes, folder, name, positions="learned"):
    layers, width, heads, hidden, vocab, length = sizes
    path = folder / f"{name}.cfg"
    path.write_text(f"""version = 1;
seed = 1;
model : {{ preset = "mini"; n_layers = {layers}; d_model = {width};
  n_heads = {heads}; d_ff = {hidden}; vocab = {vocab}; max_seq_len = {length};
  positions = "{positions}"; }};
input : {{ random : {{ batch = 1; length = {length}; }}; steps = 100; }};
""", encoding="ascii")
    return path


class Measured:
    """A process that makes one repetition per line."""

    def __init__(self, words, environment=None):
        self.begin = time.perf_counter()
        self.cold = None  # seconds from the start to the end of the first repetition
        self.process = subprocess.Popen(
            [str(word) for word in words], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
            env={**os.environ, **(environment or {})})
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError(f"{words[0]} did not start")
        self.kilobytes = 0

    def once(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        seconds, self.kilobytes = self.process.stdout.readline().split()
        self.cold = self.cold or time.perf_counter() - self.begin
        return float(seconds)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def whole_process(words, environment=None):
    begin = time.perf_counter()
    subprocess.run([str(word) for word in words], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env={**os.environ, **(environment or {})})
    return time.perf_counter() - begin


class Bench:
    def __init__(self, build, python, repeat, folder):
        self.build, self.python = pathlib.Path(build), python
        self.repeat, self.folder = repeat, folder
        self.program = self.build / "cli" / "txdiag"
        self.worker = self.build / "bench" / "worker"
        self.floor = self.build / "bench" / "floor"
        self.threads = str(os.cpu_count())
        # Both with all cores and threads that sleep while they wait: threads that spin
        # take several times as long as soon as anything else runs, on both sides. The
        # peer with memory that it gives back to nobody.
        self.mine = {"OMP_NUM_THREADS": self.threads, "OMP_WAIT_POLICY": "passive"}
        self.peers = {**self.mine,
                      "MALLOC_MMAP_THRESHOLD_": "1099511627776",
                      "MALLOC_TRIM_THRESHOLD_": "1099511627776",
                      "MALLOC_TOP_PAD_": "67108864"}
        multiarch = pathlib.Path(f"/usr/lib/{platform.machine()}-linux-gnu")
        if (multiarch / "openblas-openmp").is_dir():
            self.peers["LD_LIBRARY_PATH"] = str(multiarch / "openblas-openmp")
        for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
            os.environ.pop(name, None)

    # ---- the two sides ----

    def ours(self, sizes, *words, threads=None):
        name = "-".join(str(size) for size in sizes)
        environment = dict(self.mine)
        if threads:
            environment["OMP_NUM_THREADS"] = str(threads)
        # A table of positions has no part in attention.
        positions = "none" if "--attention" in words else "learned"
        return Measured([self.worker, *words,
                         cfg(sizes, self.folder, name, positions)], environment)

    def peer(self, what, sizes, *words):
        return Measured([self.python, HERE / "peer.py", what,
                         ",".join(str(size) for size in sizes), *words], self.peers)

    def scratch(self, name):
        return self.folder / name

    # ---- in turns ----

    def turns(self, make_a, make_b):
        a = make_a()
        a.once()
        b = make_b()
        b.once()
        pairs = [(a.once(), b.once()) for _ in range(self.repeat)]
        a.end()
        b.end()
        return {"pairs": pairs, "cold": (a.cold, b.cold),
                "memory": (int(a.kilobytes) / 1e6, int(b.kilobytes) / 1e6)}


def row_of(name, what, target, turns, sense="at most"):
    a, b = zip(*turns["pairs"])
    ratios = [x / y for x, y in turns["pairs"]]
    return {"name": name, "what": what, "target": target, "a": statistics.median(a),
            "b": statistics.median(b), "ratio": statistics.median(ratios),
            "low": min(ratios), "high": max(ratios), "count": len(ratios),
            "memory": turns.get("memory"), "sense": sense, "cold": turns.get("cold")}


# ---- the rows: name, needs the peer, function ----

def forward(bench, size, target):
    turns = bench.turns(
        lambda: bench.ours(SIZES[size], "-o", bench.scratch("probed.h5")),
        lambda: bench.peer("forward", SIZES[size]))
    yield row_of(f"forward-{size}", f"forward, config {size}: default probes and all "
                 "laws / PyTorch's bare forward", target, turns)


def bare(bench, size, target):
    turns = bench.turns(
        lambda: bench.ours(SIZES[size], "--taps", "none"),
        lambda: bench.peer("forward", SIZES[size]))
    yield row_of(f"bare-{size}", f"forward, config {size}: bare / PyTorch's bare",
                 target, turns)


def observed(bench, size, target):
    turns = bench.turns(
        lambda: bench.ours(SIZES[size], "-o", bench.scratch("probed.h5")),
        lambda: bench.ours(SIZES[size], "--taps", "none"))
    yield row_of(f"observed-{size}", f"forward, config {size}: default probes and all "
                 "laws / bare", target, turns)


def gradients(bench, size, target):
    turns = bench.turns(
        lambda: bench.ours(SIZES[size], "--taps", "record", "--set", GRADIENTS, "-o",
                           bench.scratch("gradients.h5")),
        lambda: bench.peer("backward", SIZES[size]))
    yield row_of(f"gradients-{size}", f"forward and backward, config {size}: all norms "
                 "/ PyTorch with norms and hooks", target, turns)
    if size == "M":
        a, b = turns["memory"]
        yield {"name": "memory-M", "what": "peak memory of that",
               "target": 0.5, "a": a, "b": b, "ratio": a / b,
               "low": a / b, "high": a / b,
               "count": 1, "memory": None, "cold": None, "unit": "GB"}


def origin(bench, size, target):
    turns = bench.turns(
        lambda: bench.ours(SIZES[size], "--taps", "record", "--set", ORIGIN, "-o",
                           bench.scratch("origin.h5")),
        lambda: bench.ours(SIZES[size], "--taps", "none", "--backward"))
    yield row_of(f"origin-{size}", f"where a NaN comes from, config {size} / plain "
                 "forward and backward", target, turns)


def attention_sizes(length):
    return (1, 768, 12, 64, 64, length)


def streaming(bench, length, target):
    turns = bench.turns(
        lambda: bench.ours(attention_sizes(length), "--attention", "--taps", "record",
                           "-o", bench.scratch("attention.h5")),
        lambda: bench.peer("attention", attention_sizes(length)))
    yield row_of(f"attention-{length}", f"attention, 12 heads, N {length}: all row "
                 "diagnostics / PyTorch per head with the same", target, turns)


def over_floor(bench, length, target):
    turns = bench.turns(
        lambda: bench.ours(attention_sizes(length), "--attention", "--taps", "record",
                           "-o", bench.scratch("attention.h5")),
        lambda: Measured([bench.floor, "attention", length, 64, 12], bench.mine))
    yield row_of(f"floor-{length}", f"the same, N {length} / this machine's sgemm at "
                 "as many operations", target, turns)


def hidden(bench, length, target):
    def ours(when):
        return bench.ours(attention_sizes(length), "--attention", "--taps", "record",
                          "--set", f'mask.evaluate_hidden="{when}"', "-o",
                          bench.scratch(f"hidden-{when}.h5"))

    turns = bench.turns(lambda: ours("always"), lambda: ours("never"))
    yield row_of(f"hidden-{length}", f"attention with all row diagnostics, N {length}: "
                 "cells that the mask hides computed / not", target, turns)


def recording(bench, size, target):
    for ending, what, how in ((".h5", "uncompressed", "none"),
                              (".gz.h5", "compressed", "deflate")):
        turns = bench.turns(
            lambda: bench.ours(SIZES[size], "--taps", "record", "--set", WEIGHTS,
                               "--set", f'recording.compression="{how}"', "-o",
                               bench.scratch("weights.h5")),
            lambda: bench.peer("record", SIZES[size], bench.scratch("peer" + ending)))
        for path in bench.folder.glob("*.h5*"):
            path.unlink()
        yield row_of(f"recording-{size}-{what}", f"forward that records all attention "
                     f"weights, config {size} / PyTorch and h5py, {what}",
                     target[what], turns)


def scan(bench, _size, target):
    both = Measured([bench.floor, "scan", 12 * 4096], bench.mine)
    pairs = [(both.once(), both.once()) for _ in range(bench.repeat + 1)]
    both.end()
    yield row_of("scan", "reading 805 MB of memory / scan of it as attention weights, "
                 "both threads", target, {"pairs": pairs[1:]}, "at least")


def scanned(bench, size, target):
    path = bench.scratch("scanned.h5")
    words = [bench.program, "check", path]
    for how, settings in (("uncompressed", []), ("compressed", COMPRESSED)):
        whole_process([bench.program, "run", cfg(SIZES[size], bench.folder, "scanned"),
                       "--set", WEIGHTS, "--set", "input.steps=1", *settings,
                       "-o", path], bench.mine)
        read = ["cat", path]
        whole_process(words, bench.mine)
        pairs = [(whole_process(read), whole_process(words, bench.mine))
                 for _ in range(bench.repeat)]
        megabytes = path.stat().st_size / 1e6
        yield row_of(f"scanned-{size}-{how}", f"`cat` of {megabytes:.0f} MB, all "
                     f"attention weights of config {size}, {how} / `txdiag check` of "
                     "them", target[how], {"pairs": pairs}, "at least")
        path.unlink()


def start(bench, what, target):
    models = bench.build / ".." / ".." / ".." / "shared" / "models"
    models = pathlib.Path(os.environ.get("TXD_MODELS", models))
    path = bench.folder / "stories.cfg"
    path.write_text(f"""version = 1;
model : {{ from = "{models.resolve()}/stories260K"; }};
input : {{ random : {{ batch = 1; length = 128; }}; }};
{"record = ();" if what == "empty" else ""}
""", encoding="utf-8")
    words = [bench.program, "run", path, "-o", bench.folder / "s.h5"]
    load = [bench.program, "--version"]
    whole_process(words, bench.mine)
    pairs = [(whole_process(words, bench.mine), whole_process(load, bench.mine))
             for _ in range(max(bench.repeat, 9))]
    row = row_of(f"start-{what}", f"`txdiag run` on stories260K, 128 tokens, whole "
                 f"process, {what} record / `txdiag --version`",
                 target, {"pairs": pairs}, "seconds")
    yield row


def scaling(bench, _size, _target):
    for length in (512, 1024, 2048, 4096, 8192, 16384, 32768):
        one = bench.ours(attention_sizes(length), "--attention", threads=1)
        all_of_them = bench.ours(attention_sizes(length), "--attention")
        repeat = bench.repeat if length < 16384 else 1
        pairs = []
        for _ in range(repeat + 1):
            pairs.append((one.once(), all_of_them.once()))
        one.end()
        all_of_them.end()
        turns = {"pairs": pairs[1:], "cold": (one.cold, all_of_them.cold),
                 "memory": (int(one.kilobytes) / 1e6, int(all_of_them.kilobytes) / 1e6)}
        yield row_of(f"threads-{length}", f"attention with all probes and laws, N "
                     f"{length}: 1 thread / {bench.threads}", None, turns)


ROWS = [
    ("forward-S", True, forward, "S", 0.6),
    ("forward-M", True, forward, "M", 0.95),
    ("bare-S", True, bare, "S", None),
    ("bare-M", True, bare, "M", None),
    ("gradients-S", True, gradients, "S", 0.6),
    ("gradients-M", True, gradients, "M", 0.95),
    ("observed-S", False, observed, "S", 1.2),
    ("observed-M", False, observed, "M", 1.1),
    ("origin-S", False, origin, "S", 1.05),
    ("origin-M", False, origin, "M", 1.05),
    ("attention-4096", True, streaming, 4096, 1 / 7),
    ("attention-8192", True, streaming, 8192, 1 / 7),
    ("attention-16384", True, streaming, 16384, 1 / 7),
    ("floor-4096", False, over_floor, 4096, 1.6),
    ("floor-16384", False, over_floor, 16384, 1.6),
    ("hidden-1024", False, hidden, 1024, None),
    ("hidden-4096", False, hidden, 4096, None),
    ("recording-S", True, recording, "S", {"uncompressed": 0.6, "compressed": 0.4}),
    ("recording-M", True, recording, "M", {"uncompressed": 0.6, "compressed": 0.4}),
    ("scan", False, scan, "", 0.85),
    ("scanned-S", False, scanned, "S", {"uncompressed": 0.5, "compressed": None}),
    ("scanned-M", False, scanned, "M", {"uncompressed": 0.5, "compressed": None}),
    ("start-default", False, start, "default", 0.080),
    ("start-empty", False, start, "empty", 0.040),
    ("scaling", False, scaling, "", None),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build", help="build folder; ./dev bench gives it")
    parser.add_argument("rows", nargs="*", metavar="ROW",
                        help="\n".join(row[0] for row in ROWS))
    parser.add_argument("--python", help="one that has torch and h5py; likewise")
    parser.add_argument("--repeat", type=int, default=5, metavar="N",
                        help="turns (default 5; of whole processes 9 at least)")
    parser.add_argument("--write", metavar="FILE", help="instead of standard output")
    given = parser.parse_intermixed_args()
    scratch = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    unknown = set(given.rows) - {row[0] for row in ROWS}
    if unknown:
        parser.error(f"no such row: {', '.join(sorted(unknown))}; there are "
                     f"{', '.join(row[0] for row in ROWS)}")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="txdiag-bench-", dir=scratch))
    rows = []
    print("\n".join(document.head()), file=sys.stderr, flush=True)
    aside = pathlib.Path(given.write + ".new") if given.write else None
    try:
        bench = Bench(given.build, given.python, given.repeat, folder)
        for name, needs_peer, function, size, target in ROWS:
            if given.rows and name not in given.rows:
                continue
            if needs_peer and not given.python:
                print(f"bench: {name} left out: no PyTorch", file=sys.stderr)
                continue
            for row in function(bench, size, target):
                rows.append(row)
                print(document.line(row), file=sys.stderr, flush=True)
                text = "\n".join(document.lines(bench, rows)) + "\n"
                if aside:
                    aside.write_text(text, encoding="utf-8")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if aside:
        aside.replace(given.write)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
