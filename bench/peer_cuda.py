#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What PyTorch does on the GPU: after "ready", every line read names a job, of which
one repetition is made and its seconds printed, until the device is done.

  attention LENGTH WIDTH HEADS   causal, bfloat16, eager, head by head, with the
                                 diagnostics of `rows` and `pooled`
  sdpa LENGTH WIDTH HEADS        scaled_dot_product_attention, without any
  products SIDE                  a product of square bfloat16 matrices
  copy MEGABYTES                 a copy within the device's memory

A job that differs from the last one is made ready first, which is not measured.
"""
import math
import sys
import time

import torch
from torch.nn import functional

HALF = {"device": "cuda", "dtype": torch.bfloat16}


def attention(n, width, heads):
    q, k, v = (torch.randn(heads, n, width, **HALF) for _ in range(3))
    hidden = torch.ones(n, n, dtype=torch.bool, device="cuda").triu(1)
    places = torch.arange(n, dtype=torch.float32, device="cuda")
    cells = min(64, n)

    def run():
        out = torch.empty(heads, n, width, **HALF)
        told = []
        for h in range(heads):
            scores = (q[h] @ k[h].T).mul_(1 / math.sqrt(width))
            scores.masked_fill_(hidden, -math.inf)
            lse = torch.logsumexp(scores, -1)
            weights = torch.softmax(scores, -1)
            pooled = weights.view(cells, n // cells, cells, n // cells)
            told.append((lse, weights.max(-1), weights.sum(-1),
                         torch.special.entr(weights).sum(-1),
                         (weights * hidden).sum(-1),
                         places - weights @ places.to(weights.dtype), weights[:, 0],
                         weights.diagonal(), (~torch.isfinite(weights)).sum(-1),
                         pooled.mean((1, 3)), pooled.amax((1, 3))))
            out[h] = weights @ v[h]
        return out, told
    return run


def sdpa(n, width, heads):
    q, k, v = (torch.randn(1, heads, n, width, **HALF) for _ in range(3))
    return lambda: functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def products(side):
    a, b = (torch.randn(side, side, **HALF) for _ in range(2))
    return lambda: a @ b.T


def copy(megabytes):
    a = torch.zeros(megabytes * 1000000 // 4, device="cuda")
    b = torch.empty_like(a)
    return lambda: b.copy_(a)


def main():
    kinds = {"attention": attention, "sdpa": sdpa, "products": products, "copy": copy}
    torch.manual_seed(1)
    torch.cuda.init()
    print("ready", flush=True)
    last, run = None, None
    with torch.inference_mode():
        for line in sys.stdin:
            if line != last:
                run = None  # gives its memory back
                kind, *sizes = line.split()
                last, run = line, kinds[kind](*map(int, sizes))
                torch.cuda.synchronize()
            begin = time.perf_counter()
            run()
            torch.cuda.synchronize()
            print(f"{time.perf_counter() - begin:.9f} 0", flush=True)


if __name__ == "__main__":
    main()
