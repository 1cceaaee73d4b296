# SPDX-License-Identifier: MIT
"""The explorer of a report, cell by cell, in a browser: pickers, mouse and keyboard,
colours and hover texts against what h5py reads from the recording."""
import re

import h5py
import numpy as np
from maps import Maps, Scale, number, rgb, same
from program import equal, holds, ok

WIDE, NARROW = (1280, 800), (390, 844)


def weights_of(path, layer, step=0, kind="attn"):
    """(batch, head, query, key) of a step."""
    with h5py.File(path, "r") as file:
        return file[f"value/layers/{layer}/{kind}/weights/full"][step].astype(float)


def seen_of(path, batch):
    """What a causal mask and padding leave of (query, key)."""
    with h5py.File(path, "r") as file:
        valid = file["input/valid"][0, batch] != 0
    return np.tril(np.ones((valid.size, valid.size), bool)) & valid[None, :]


def colours_are_those_of_values(web, maps, path, layer, head, scale, words):
    """Every cell of a map against the recording: its pixel, and blank where hidden."""
    maps.pick(layer=layer, head=head, scale=scale)
    maps.show()
    weights, seen = weights_of(path, layer)[0, head], seen_of(path, 0)
    colours = Scale(maps.palette, weights[seen], scale == "log")
    blank = rgb(web.evaluate("txdiagReport.blank()"))
    found, _, _ = maps.pixels()
    expected = np.array([[colours.colour(w) if shown else blank for w, shown in
                          zip(*row)] for row in zip(weights, seen)])
    away = abs(found - expected).max(axis=2)
    at = np.unravel_index(away.argmax(), away.shape)
    ok(f"layer {layer}, head {head}, {scale}, {words}: the colour of each cell is that "
       "of its recorded weight", away.max() <= 1,
       f"at {at}: {found[at]}, expected {expected[at]} for {weights[at]}")


def hover_says_what_was_recorded(maps, path, batch, layer, head):
    maps.pick(batch=batch, layer=layer, head=head)
    maps.show()
    weights, seen = weights_of(path, layer)[batch, head], seen_of(path, batch)
    wrong = []
    for q, k in ((0, 0), (3, 1), (5, 9), (7, 7), (9, 4), (9, 2), (2, 8)):
        text = maps.hover(q, k)
        value = number(text)
        right = same(value, weights[q, k], 4) if seen[q, k] else "blank" in text
        places = re.search(r"query (\d+).*key (\d+)", text)
        if not right or not places or places.groups() != (str(q), str(k)):
            wrong.append(f"{q}, {k}: {text!r}, recorded {weights[q, k]!r}")
    equal(f"batch {batch}, layer {layer}, head {head}: hover texts are what was "
          "recorded", wrong, [])


def keyboard_works(web, maps, path):
    """From the top of the page to pickers and to the map, then over its cells."""
    web.open("mini/index.html")
    reached = []
    for _ in range(60):
        web.press("Tab")
        reached.append(web.evaluate("document.activeElement.id"))
        if reached[-1] == "map":
            break
    holds("Tab reaches pickers and map", reached, "pick-layer", "pick-head",
          "pick-scale", "map")
    before = web.evaluate("document.getElementById('map-title').textContent")
    web.evaluate("document.getElementById('pick-head').focus()")
    web.press("ArrowDown")
    after = web.evaluate("document.getElementById('map-title').textContent")
    ok("a picker takes arrow keys", "head 0" in before and "head 1" in after,
       f"{before}\n{after}")
    web.evaluate("document.getElementById('map').focus()")
    web.press("Escape", "ArrowDown", *["ArrowDown"] * 5, *["ArrowRight"] * 4, "ArrowUp",
              "ArrowLeft")
    text, weights = maps.text(), weights_of(path, 0)[0, 1]
    ok("arrow keys walk over the cells",
       "query 4" in text and "key 3" in text and same(number(text), weights[4, 3], 4),
       text)
    web.press("End")
    holds("End goes to the last key", maps.text(), "query 4", "key 15", "blank")
    equal("nothing was said about it", web.faults(), [])


def mouse_works(web, maps):
    """A picker opened by a click, its list walked, its choice taken."""
    web.evaluate("document.getElementById('pick-layer').scrollIntoView()")
    web.settle()
    x, y, width, height = web.evaluate(
        "(() => {const b = document.getElementById('pick-layer')"
        ".getBoundingClientRect(); return [b.left, b.top, b.width, b.height]})()")
    before = maps.state()["layer"]
    web.click(x + width / 2, y + height / 2)
    web.settle()
    web.press("ArrowDown", "Enter")
    web.settle()
    equal("a picker takes the mouse", (before, maps.state()["layer"]), ("0", "1"))


def findings_lead_to_their_cells(web):
    """The buttons of the report of a leak."""
    web.open("leak/index.html")
    maps = Maps(web)
    with h5py.File("leak.h5", "r") as file:
        found = file["checks/findings"]
        laws = [one.decode() for one in found["law"][:]]
        first = laws.index("causality")
        names = ("batch", "layer", "head", "query", "key")
        batch, layer, head, query, key = places = [int(found[name][first])
                                                   for name in names]
    web.settle()
    state, text = maps.state(), maps.text()
    ok("the page opens at the first finding",
       [state[name] for name in names[:3]] == [str(at) for at in places[:3]] and
       f"query {query}" in text and f"key {key}" in text, f"{state}: {text}")
    web.evaluate("txdiagReport.select({layer: 1, head: 0})")
    weight = weights_of("leak.h5", layer)[batch, head, query, key]
    wanted = "".join(f'[data-{name}="{at}"]' for name, at in zip(names, places))
    web.evaluate(f"document.querySelector('button.show{wanted}').focus()")
    web.press("Enter")
    web.settle()
    text = maps.text()
    ok("a finding leads to its cell, which is called a leak",
       f"query {query}" in text and f"key {key}" in text and "leak" in text and
       same(number(text, "has the weight "), weight, 4), f"{text}, recorded {weight}")
    web.press("Escape")
    maps.show()
    _, shot, (wide, high) = maps.pixels()
    edge = shot[int(query * high):int((query + 1) * high),
                int(key * wide):int((key + 1) * wide)]
    away = abs(edge - rgb(maps.leak)).max(axis=2)
    ok("the cell is ringed in the colour of leaks", (away <= 8).sum() >= wide,
       f"{(away <= 8).sum()} pixels")


def heat(path, layer, head, query, key):
    """Plants one hot cell: all the weight of a query goes to one key. It is as hot as
    that of the first query, which sees itself alone."""
    with h5py.File(path, "r+") as file:
        weights = file[f"value/layers/{layer}/attn/weights/full"]
        row = np.zeros(weights.shape[-1], weights.dtype)
        row[key] = 1
        weights[0, 0, head, query] = row


def hot_cell_is_found(web, name, layer, head, query, key, side, size):
    """By its pixels alone, in the page that is open; `side` queries and keys share a
    cell."""
    web.resize(*size)
    maps = Maps(web)
    maps.pick(layer=layer, head=head, scale="linear")
    maps.show()
    _, shot, (wide, high) = maps.pixels()
    away = abs(shot - maps.palette[-1]).max(axis=2)
    away[:int(2 * high)] = 255
    rows, columns = np.nonzero(away <= 2)
    place = ((rows.mean() + 0.5) / high, (columns.mean() + 0.5) / wide) \
        if rows.size else (0, 0)
    ok(f"{name}, {size[0]} pixels wide: a hot cell is found at its pixels, row 0 on "
       "top",
       abs(place[0] - query // side - 0.5) < 0.3 and
       abs(place[1] - key // side - 0.5) < 0.3 and rows.size >= wide * high / 2,
       f"found at {place}, {rows.size} pixels of {wide} x {high}")
    return maps


def long_maps_are_pooled(web):
    """300 tokens are more than the cells of a page: two queries and two keys share one,
    in which the hottest shows, and the mean on request."""
    web.open("long/index.html")
    for size in (NARROW, WIDE):
        maps = hot_cell_is_found(web, "long", 1, 3, 211, 70, 2, size)
    equal("two by two share a cell", maps.grid(), (150, 150))
    wrong = []
    for step in (0, 1):
        maps.pick(step=step)
        maps.show()
        weights = weights_of("long.h5", 1, step)[0, 3]
        for q, k in ((210, 70), (80, 20), (149, 2)):
            cell = weights[q // 2 * 2:q // 2 * 2 + 2, k // 2 * 2:k // 2 * 2 + 2]
            text = maps.hover(q // 2, k // 2)
            if not (close(number(text, "cells: "), cell.max(), 1e-6) and
                    close(number(text, "mean "), cell.mean(), 1e-6)):
                wrong.append(f"step {step}: {text!r}, recorded {cell}")
    equal("in two steps hover texts are the largest and the mean of what shares the "
          "cell", wrong, [])


def close(found, recorded, within):
    return found is not None and abs(found - recorded) <= within * abs(recorded)


def cross_attention_is_shown(web):
    """The second row of the batch, whose memory is longer than its queries."""
    web.open("cross/index.html")
    maps = Maps(web)
    kinds = web.evaluate("txdiagReport.data.kinds.map((kind) => kind.name)")
    maps.pick(kind=kinds.index("cross"), batch=1, layer=1, head=4)
    maps.show()
    weights = weights_of("cross.h5", 1, kind="cross")[1, 4]
    equal("memory rows are across", maps.grid(), weights.shape)
    wrong = []
    for q, k in ((0, 12), (5, 3), (2, 7)):
        text = maps.hover(q, k)
        if not (f"query {q}" in text and f"memory row {k}" in text and
                same(number(text), weights[q, k], 4)):
            wrong.append(f"{text!r}, recorded {weights[q, k]!r}")
    equal("hover texts of the cross-attention are what was recorded", wrong, [])


def nan_is_shown(web):
    web.open("nan/index.html")
    maps = Maps(web)
    weights = weights_of("nan.h5", 0)
    seen = seen_of("nan.h5", 0)
    head, query, key = np.argwhere(np.isnan(weights[0]) & seen)[0]
    maps.pick(layer=0, head=head)
    maps.show()
    found, _, _ = maps.pixels()
    equal("NaN has a colour of its own", found[query, key].tolist(),
          rgb(maps.nonfinite))
    holds("and its hover text says so", maps.hover(query, key), f"query {query}",
          "NaN")


def two_are_compared(web):
    web.open("two/index.html")
    maps = Maps(web)
    a, b = (weights_of(name + ".h5", 1)[0, 6] for name in ("ref64", "bf16"))
    wrong = []
    for view, at in enumerate((a, b)):
        maps.pick(layer=1, head=6, view=view)
        maps.show()
        for q, k in ((4, 1), (15, 9)):
            text = maps.hover(q, k)
            if not same(number(text), at[q, k], 8):
                wrong.append(f"{text!r}, recorded {at[q, k]!r}")
    maps.pick(view=2)
    maps.show()
    for q, k in ((4, 1), (15, 9), (9, 9)):
        text = maps.hover(q, k)
        if not close(number(text, "difference: "), b[q, k] - a[q, k], 5.1e-3):
            wrong.append(f"{text!r}, recorded {b[q, k] - a[q, k]!r}")
    equal("hover texts of two recordings, and of what they differ by", wrong, [])


def hostile_labels_are_text(web, hostile):
    """Labels on the map and in hover texts are those of tokens, and run nothing."""
    web.open("hostile/index.html")
    for size in (NARROW, WIDE):
        maps = hot_cell_is_found(web, "hostile", 1, 3, 11, 4, 1, size)
    said = " ".join(maps.hover(place, 0) for place in range(maps.grid()[0]))
    holds("hover texts hold how the texts of tokens begin", said,
          *(text[:12].replace(" ", "\u2423") for text in hostile))
    equal("which ran nothing", (web.evaluate("String(window.ran)"), web.faults()),
          ("undefined", []))


def work(web, hostile):
    """Everything. The folders and recordings are those of test_page.py."""
    web.emulate()
    web.resize(*WIDE)
    web.open("mini/index.html")
    maps = Maps(web)
    light = [0.299 * r + 0.587 * g + 0.114 * b for r, g, b in maps.palette]
    equal("the palette survives greyscale", light, sorted(light))
    for layer, head, scale in ((0, 0, "linear"), (1, 5, "log")):
        for size, dark in ((WIDE, False), (NARROW, True)):
            web.resize(*size)
            web.emulate(dark=dark)
            colours_are_those_of_values(
                web, maps, "mini.h5", layer, head, scale,
                f"{size[0]} pixels wide, {'dark' if dark else 'light'}")
        hover_says_what_was_recorded(maps, "mini.h5", 0, layer, head)
    hover_says_what_was_recorded(maps, "mini.h5", 1, 1, 2)
    web.resize(*WIDE)
    web.emulate()
    keyboard_works(web, maps, "mini.h5")
    mouse_works(web, maps)
    findings_lead_to_their_cells(web)
    long_maps_are_pooled(web)
    cross_attention_is_shown(web)
    nan_is_shown(web)
    two_are_compared(web)
    hostile_labels_are_text(web, hostile)
