# SPDX-License-Identifier: MIT
"""The maps of a report in a browser, held to what h5py reads from the recording: what
colour a cell must have, what its hover text must say. The rules of colours are those
that the report states, written once more."""
import math
import re

import numpy as np

STATE = "txdiagReport.state()"
HOVER = "document.getElementById('readout').textContent"
BOX = """(() => {const box = document.getElementById("map").getBoundingClientRect();
    return [box.left, box.top, box.width, box.height]})()"""
NUMBER = r"(-?(?:\d[\d.]*(?:e[+-]?\d+)?|infinity)|NaN)"


def blend(stops, share):
    """A colour between stops at equal distances."""
    at = min(max(share, 0), 1) * (len(stops) - 1)
    first = min(int(at), len(stops) - 2)
    return [round(a + (b - a) * (at - first))
            for a, b in zip(stops[first], stops[first + 1])]


def rgb(text):
    """#rrggbb or #rgb as three numbers."""
    if len(text) == 4:
        text = "#" + "".join(2 * digit for digit in text[1:])
    return [int(text[i:i + 2], 16) for i in (1, 3, 5)]


class Scale:
    """Colours of the finite values of a map: linear from 0 (or less), or the upper six
    decades."""

    def __init__(self, palette, values, logarithmic):
        finite = np.asarray(values, float)
        finite = finite[np.isfinite(finite)]
        self.palette, self.logarithmic = palette, logarithmic
        self.low, self.high = min(finite.min(), 0), finite.max()
        if logarithmic:
            self.low = max(finite[finite > 0].min(), self.high * 1e-6)
            self.low = min(self.low, self.high * 0.1)

    def colour(self, value):
        size = min(max(float(value), self.low), self.high)
        share = math.log(size / self.low) / math.log(self.high / self.low) \
            if self.logarithmic else (size - self.low) / (self.high - self.low)
        return blend(self.palette, share)


class Maps:
    """The explorer of the report that is open in a browser."""

    def __init__(self, web):
        self.web = web
        self.palette, self.leak, self.nonfinite = web.evaluate(
            "[txdiagReport.data.palette, txdiagReport.data.leak, "
            "txdiagReport.data.nonfinite]")
        self.palette = [rgb(one) for one in self.palette]

    def state(self):
        return self.web.evaluate(STATE)

    def pick(self, **wanted):
        """Picks by hand: the picker gets the focus, keys walk its list."""
        for name, value in wanted.items():
            self.web.evaluate(f"document.getElementById('pick-{name}').focus()")
            options, at = self.web.evaluate(
                "((pick) => [[...pick.options].map((one) => one.value), "
                f"pick.selectedIndex])(document.getElementById('pick-{name}'))")
            move = options.index(str(value)) - at
            self.web.press(*["ArrowDown" if move > 0 else "ArrowUp"] * abs(move))
        self.web.settle()

    def show(self):
        """Scrolls the map into the window, pointer and focus away from it."""
        self.web.evaluate("document.activeElement.blur(); "
                          "document.getElementById('map').scrollIntoView()")
        self.web.settle()

    def grid(self):
        """Rows and columns of cells."""
        size = self.web.evaluate("txdiagReport.grid()")
        return size["rows"], size["columns"]

    def corner(self):
        """Left and top of the canvas in the window, width and height of a cell."""
        left, top, _, _ = self.web.evaluate(BOX)
        a, b = self.web.evaluate(
            "[txdiagReport.centre(0, 0), txdiagReport.centre(1, 1)]")
        wide, high = b["x"] - a["x"], b["y"] - a["y"]
        return left + a["x"] - wide / 2, top + a["y"] - high / 2, wide, high

    def pixels(self):
        """The colours at the centres of all cells, (rows, columns, 3), and the shot of
        the map: (its pixels, size of a cell)."""
        rows, columns = self.grid()
        left, top, wide, high = self.corner()
        shot = self.web.screenshot(
            box=(round(left), round(top), round(columns * wide), round(rows * high)))
        y = ((np.arange(rows) + 0.5) * high).astype(int)
        x = ((np.arange(columns) + 0.5) * wide).astype(int)
        return shot[np.ix_(y, x)].astype(int), shot.astype(int), (wide, high)

    def hover(self, row, column):
        """Moves the mouse to a cell; what the page says there."""
        left, top, wide, high = self.corner()
        self.web.move(left + (column + 0.5) * wide, top + (row + 0.5) * high)
        return self.text()

    def text(self):
        return self.web.evaluate(HOVER)


def number(text, before="weight "):
    """The number that stands behind a word, or None."""
    found = re.search(re.escape(before) + NUMBER, text)
    return float(found.group(1).replace("infinity", "inf")) if found else None


def same(found, recorded, width):
    """Whether a number of the page is the recorded one: the digits that name a float32
    (width 4) or a float64 (8)."""
    if found is None:
        return False
    if np.isnan(recorded) or np.isnan(found):
        return bool(np.isnan(recorded) and np.isnan(found))
    return found == recorded if width == 8 else np.float32(found) == recorded
