# SPDX-License-Identifier: MIT
"""What docs/probes.md makes of values, in numpy: row statistics, the elements that
statistics count, pooled attention."""
import numpy as np

from numpy_decoder import FUTURE, PADDING


def rows(weights, masked, why, inputs, cross=False):
    """The row statistics of one layer, as docs/probes.md lists them: (b, h, q)."""
    place = np.arange(weights.shape[-1])
    hidden = np.broadcast_to((why != 0)[:, None], weights.shape)
    first = np.broadcast_to((why == 0).argmax(-1)[:, None], weights.shape[:-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(weights > 0, weights * np.log(weights), 0)
        top = masked.max(-1)
        lse = np.log(np.exp(masked - top[..., None]).sum(-1)) + top
    out = {"sum": weights.sum(-1), "max": top, "lse": lse, "entropy": -logs.sum(-1),
           "peak": weights.max(-1),
           "first": np.take_along_axis(weights, first[..., None], -1)[..., 0],
           "hidden_sum": np.where(hidden, np.abs(weights), 0).sum(-1),
           "hidden_max": np.where(hidden, np.abs(weights), 0).max(-1),
           "nonfinite": (~np.isfinite(weights)).sum(-1),
           "seen": np.broadcast_to((why == 0).sum(-1)[:, None], top.shape)}
    out["self"] = out["distance"] = np.full(top.shape, np.nan)
    if not cross:
        out["self"] = np.diagonal(weights, 0, 2, 3)
        out["distance"] = (weights * (place[:, None] - place)).sum(-1)
    for name, reason in (("future", FUTURE), ("padding", PADDING)):
        here = np.broadcast_to((why == reason)[:, None], weights.shape)
        out[name + "_count"] = here.sum(-1)
        out[name + "_max"] = np.where(here, np.abs(weights), 0).max(-1)
    padded = np.broadcast_to((inputs["valid"] == 0)[:, None], top.shape)
    return {name: np.where(padded, np.nan, value) for name, value in out.items()}


def counted(axes, shape, why, inputs):
    """Which elements of a value statistics are about: no padding, no hidden cell."""
    valid = inputs["valid"] == 1
    if axes == "bhqk":
        keep = valid[:, None, :, None] & (why == 0)[:, None]
    elif axes[1] in "hg":
        keep = valid[:, None, :, None]
    else:
        keep = valid[:, :, None] if len(axes) == 3 else valid
    return np.broadcast_to(keep, shape)


def pooled(weights, inputs, cells):
    """mean and max, (b, h, i, j)."""
    def cut(n):
        c = min(cells, n)
        return [i * n // c for i in range(c + 1)]
    edges, columns = cut(weights.shape[2]), cut(weights.shape[3])
    shape = weights.shape[:2] + (len(edges) - 1, len(columns) - 1)
    mean, top = np.full(shape, np.nan), np.full(shape, np.nan)
    for b in range(shape[0]):
        for i in range(shape[2]):
            rows_of = np.flatnonzero(inputs["valid"][b, edges[i]:edges[i + 1]])
            if len(rows_of) == 0:
                continue
            part = weights[b][:, edges[i] + rows_of]
            for j in range(shape[3]):
                cell = part[:, :, columns[j]:columns[j + 1]]
                mean[b, :, i, j] = cell.mean((1, 2))
                top[b, :, i, j] = cell.max((1, 2))
    return mean, top
