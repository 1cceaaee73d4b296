# SPDX-License-Identifier: MIT
"""PNG files as arrays: 8 bits per channel, RGB or RGBA, not interlaced, which is what
browsers and gnuplot write."""
import struct
import zlib

import numpy as np


def _paeth(line, above, step):
    for i in range(len(line)):
        left, corner = (int(one[i - step]) if i >= step else 0 for one in (line, above))
        up = int(above[i])
        guess = left + up - corner
        near = min((abs(guess - left), 0, left), (abs(guess - up), 1, up),
                   (abs(guess - corner), 2, corner))
        line[i] = (int(line[i]) + near[2]) & 255


def _average(line, above, step):
    for i in range(len(line)):
        left = int(line[i - step]) if i >= step else 0
        line[i] = (int(line[i]) + (left + int(above[i])) // 2) & 255


def _unfilter(kind, line, above, step):
    if kind == 1:
        line[:] = np.cumsum(line.reshape(-1, step), axis=0, dtype=np.uint8).ravel()
    elif kind == 2:
        line += above
    elif kind == 3:
        _average(line, above, step)
    elif kind == 4:
        _paeth(line, above, step)
    elif kind:
        raise ValueError(f"PNG filter {kind}")


def decode_png(data):
    """An array (height, width, 3) of bytes; transparency is dropped."""
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError("not a PNG file")
    at, packed, header = 8, [], None
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", data[at + 8:at + 8 + size])
        elif kind == b"IDAT":
            packed.append(data[at + 8:at + 8 + size])
        at += size + 12
    width, height, bits, colour, _, _, interlaced = header
    if bits != 8 or colour not in (2, 6) or interlaced:
        raise ValueError(f"a PNG of another kind: {header}")
    step = 3 if colour == 2 else 4
    rows = np.frombuffer(zlib.decompress(b"".join(packed)), np.uint8)
    rows = rows.reshape(height, 1 + width * step)
    lines = rows[:, 1:].copy()
    above = np.zeros(width * step, np.uint8)
    for kind, line in zip(rows[:, 0], lines):
        _unfilter(int(kind), line, above, step)
        above = line
    return lines.reshape(height, width, step)[:, :, :3]
