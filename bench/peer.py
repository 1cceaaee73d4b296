#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The same work in PyTorch: after "ready", every line read makes one repetition and
prints its seconds and the most memory that the process ever held, in kB.

  peer.py forward|backward|attention|record CONFIG [FILE]

The model is that of the cfg that the other side runs: pre-norm RMSNorm, learned
positions, GELU, no biases, causal. CONFIG is layers,d_model,heads,d_ff,vocab,length.

  forward    eager, no gradients
  backward   forward and backward, hooks that take the norm of every module's gradient,
             and the norms of all parameters' gradients
  attention  one layer's attention head by head (all heads at once need 12 N^2 floats),
             with the row diagnostics that txdiag's `rows` and `pooled` record
  record     forward that keeps all attention weights, written with h5py:
             FILE ends in .gz.h5 for gzip 1 + shuffle, else uncompressed
"""
import itertools
import math
import os
import sys
import time

import torch
from torch import nn
from torch.nn import functional


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.gain


class Block(nn.Module):
    def __init__(self, width, heads, hidden, keep):
        super().__init__()
        self.heads, self.keep, self.kept = heads, keep, None
        self.norm1, self.norm2 = Norm(width), Norm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def attend(self, x, mask):
        b, n, d = x.shape
        q, k, v = (part.view(b, n, self.heads, d // self.heads).transpose(1, 2)
                   for part in self.qkv(x).split(d, dim=-1))
        scores = q @ k.transpose(-1, -2) / math.sqrt(d // self.heads)
        weights = torch.softmax(scores.masked_fill(mask, -math.inf), dim=-1)
        if self.keep:
            self.kept = weights
        return self.out((weights @ v).transpose(1, 2).reshape(b, n, d))

    def forward(self, x, mask):
        x = x + self.attend(self.norm1(x), mask)
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Decoder(nn.Module):
    def __init__(self, sizes, keep=False):
        super().__init__()
        layers, width, heads, hidden, vocab, length = sizes
        self.tokens = nn.Embedding(vocab, width)
        self.positions = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads, hidden, keep)
                                    for _ in range(layers))
        self.norm = Norm(width)
        self.head = nn.Linear(width, vocab, bias=False)
        mask = torch.ones(length, length, dtype=torch.bool).triu(1)
        self.register_buffer("mask", mask)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, ids):
        n = ids.shape[1]
        x = self.tokens(ids) + self.positions(torch.arange(n))
        for block in self.blocks:
            x = block(x, self.mask[:n, :n])
        return self.head(self.norm(x))


def forward(sizes, _):
    model = Decoder(sizes).eval()
    ids = torch.randint(sizes[4], (1, sizes[5]))

    def run():
        with torch.inference_mode():
            logits = model(ids)
            functional.cross_entropy(logits[0, :-1], ids[0, 1:])
    return run


def backward(sizes, _):
    model = Decoder(sizes)
    ids = torch.randint(sizes[4], (1, sizes[5]))
    norms = {}
    for name, module in model.named_modules():
        if name and not isinstance(module, nn.ModuleList):
            module.register_full_backward_hook(
                lambda _m, _i, out, name=name:
                norms.__setitem__(name, out[0].norm()))

    def run():
        model.zero_grad(set_to_none=False)
        logits = model(ids)
        functional.cross_entropy(logits[0, :-1], ids[0, 1:]).backward()
        for name, parameter in model.named_parameters():
            norms[name] = parameter.grad.norm()
    return run


def attention(sizes, _):
    _, width, heads, _, _, n = sizes
    d = width // heads
    q, k, v = (torch.randn(heads, n, d) for _ in range(3))
    hidden = torch.ones(n, n, dtype=torch.bool).triu(1)
    places = torch.arange(n, dtype=torch.float32)
    cells = min(64, n)

    def run():
        out = torch.empty(heads, n, d)
        with torch.inference_mode():
            for h in range(heads):
                scores = (q[h] @ k[h].T).mul_(1 / math.sqrt(d))
                scores.masked_fill_(hidden, -math.inf)
                lse = torch.logsumexp(scores, -1)
                weights = torch.softmax(scores, -1)
                peak, where = weights.max(-1)
                total = weights.sum(-1)
                entropy = torch.special.entr(weights).sum(-1)
                leaked = (weights * hidden).sum(-1)
                distance = places - weights @ places
                first, own = weights[:, 0], weights.diagonal()
                wrong = (~torch.isfinite(weights)).sum(-1)
                pooled = weights.view(cells, n // cells, cells, n // cells)
                mean, most = pooled.mean((1, 3)), pooled.amax((1, 3))
                out[h] = weights @ v[h]
        return (out, lse, peak, where, total, entropy, leaked, distance, first, own,
                wrong, mean, most)
    return run


def record(sizes, path):
    import h5py

    model = Decoder(sizes, keep=True).eval()
    ids = torch.randint(sizes[4], (1, sizes[5]))
    n = sizes[5]
    how = {"compression": "gzip", "compression_opts": 1, "shuffle": True} \
        if path.endswith(".gz.h5") else {}

    folder, name = os.path.split(path)
    count = itertools.count()

    # Every repetition leaves its data, as ours does in one file that grows: pages that
    # a file gives back and takes again cost less than new ones.
    def run():
        with torch.inference_mode():
            model(ids)
        with h5py.File(os.path.join(folder, f"{next(count)}-{name}"), "w") as file:
            for i, block in enumerate(model.blocks):
                file.create_dataset(f"layers/{i}/weights", data=block.kept.numpy(),
                                    chunks=(1, 1, min(n, 256), min(n, 256)), **how)
    return run


def peak_kilobytes():
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM"):
                return int(line.split()[1])
    return 0


def main():
    what = {"forward": forward, "backward": backward, "attention": attention,
            "record": record}[sys.argv[1]]
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    torch.manual_seed(1)
    sizes = [int(number) for number in sys.argv[2].split(",")]
    run = what(sizes, sys.argv[3] if len(sys.argv) > 3 else "")
    print("ready", flush=True)
    for _ in sys.stdin:
        begin = time.perf_counter()
        run()
        print(f"{time.perf_counter() - begin:.9f} {peak_kilobytes()}", flush=True)


if __name__ == "__main__":
    main()
