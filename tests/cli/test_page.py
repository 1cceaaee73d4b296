#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Reports as a browser shows them: wide and narrow, light and dark, on paper, with
JavaScript and without. Nothing is cut, overlaps or is too faint to read; nothing is
asked of the network, nothing is said on the console; what is hostile stays text."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
import browser  # noqa: E402
import h5py  # noqa: E402
import page_cells  # noqa: E402
from program import (SOURCE, equal, exits, finish, holds, ok, skip,  # noqa: E402
                     txdiag, write)

MINI = SOURCE + "/examples/mini.cfg"
STILL = ("leak", "nan", "two", "long", "hostile")  # are opened without JavaScript, too
WIDE, NARROW, PAPER = (1280, 800), (390, 844), (718, 1000)
TARGETS = """[...document.querySelectorAll("a[href]")]
    .map((link) => link.getAttribute("href")).filter((href) => !href.startsWith("#") ||
        !document.getElementById(decodeURIComponent(href.slice(1))))"""
PICTURES = """[...document.images].filter((one) => !one.complete || !one.naturalWidth ||
    !(one.getAttribute("alt") || "").trim())
    .map((one) => one.outerHTML.slice(0, 200))"""
UNFOLD = """document.querySelectorAll("details").forEach((one) => {one.open = true})"""
TWICE = """[...document.querySelectorAll("[id]")].map((one) => one.id)
    .filter((id, at, all) => all.indexOf(id) !== at)"""
# Texts that would run if they were not text. Each says so by window.ran.
HOSTILE = ("<img src=x onerror=window.ran=1>", "<script>window.ran=2</script>",
           "</script><script>window.ran=3</script>", "'\";window.ran=4;//",
           "\"><svg onload=window.ran=5>", "`${window.ran=6}`", "]]>--><!--",
           "</style>", "&lt;b&gt;&amp;", "\u202egnp.exe", "a\nb\tc",
           "\x01\x1b[31m", "\u05e9\u05dc",
           "{{window.ran=7}}", "javascript:window.ran=8", "\u2028window.ran=9")


def recordings():
    """Reports of every kind, each in a folder of its name: that and its index.html."""
    made = []
    for name, status, config in (
            ("mini", 0, MINI), ("leak", 1, SOURCE + "/examples/mini-leak.cfg"),
            ("cross", 0, SOURCE + "/examples/cross.cfg"),
            ("nan", 1, SOURCE + "/examples/seeds/S10-empty-row-faulty.cfg")):
        exits(status, f"a report of {name}", "run", config, "-o", name + ".h5",
              "--report", name)
        made.append(name)
    for backend in ("bf16", "ref64"):
        exits(0, f"a recording in {backend}", "run", MINI, "-o", backend + ".h5",
              "--set", f'precision={{backend="{backend}";}}')
    exits(0, "a report of two", "report", "ref64.h5", "bf16.h5", "-o", "two")
    exits(0, "a longer recording", "run", MINI, "-o", "long.h5", "--set",
          "model.max_seq_len=300", "--set",
          "input={random={length=300;batch=1;};steps=2;}", "--set",
          'record=({probe="full";points="layers.*.attn.weights";})')
    page_cells.heat("long.h5", 1, 3, 211, 70)
    os.mkdir("empty")
    exits(2, "its report without gnuplot", "report", "long.h5", "-o", "long",
          env={"PATH": os.path.abspath("empty")})
    hostile = hostile_recording()
    result = txdiag("report", hostile, "-o", "hostile")
    ok("a report of a hostile recording", result.status == 0, result)
    return made + ["two", "long", "hostile"]


def hostile_recording():
    """The small recording with texts that nobody should run, of tokens, of the command,
    of its own name; with a hot cell; and with numbers whose range overflows."""
    name = "<img src=x onerror=window.ran=10>.h5"
    with open("mini.h5", "rb") as source:
        write(name, source.read())
    with h5py.File(name, "r+") as file:
        count = file["input/tokens"].size
        kind = h5py.string_dtype()
        pieces = [HOSTILE[i % len(HOSTILE)] for i in range(count)]
        file["input"].create_dataset("pieces", data=pieces, dtype=kind)
        for key in ("command", "model", "backend"):
            if key in file.attrs:
                file.attrs[key] = HOSTILE[0] + HOSTILE[2]
        path = "value/layers/0/attn/weights/full"
        values, kept = file[path][:].astype("f8"), dict(file[path].attrs)
        values[0, 0, 0], values[0, 0, 0, 2, 1] = -1e308, 1e308
        del file[path]
        file[path] = values
        file[path].attrs.update(axes=kept["axes"], fill=kept["fill"],
                                point=kept["point"], dtype="float64")
    page_cells.heat(name, 1, 3, 11, 4)
    return name


def looks(web, name, size, **options):
    """One way to look at the page that is open."""
    web.resize(*size)
    web.emulate(**options)
    words = ["dark" if options.get("dark") else "light"]
    words += ["on paper"] if options.get("paper") else []
    words += [] if options.get("scripts", True) else ["without JavaScript"]
    found = web.layout()
    if not ok(f"{name}, {size[0]} pixels wide, {', '.join(words)}: nothing is cut, "
              "overlaps or is faint", not found, "\n".join(found)):
        keep = os.environ.get("TXD_PAGES")
        if keep:
            web.screenshot(f"{keep}/{name}-{size[0]}-{words[0]}.png", whole=True)


def page_is_sound(web, name):
    path = name + "/index.html"
    for scripts in (True, False) if name in STILL else (True,):
        web.emulate(scripts=scripts)
        web.open(path)
        looks(web, name, WIDE, scripts=scripts, dark=not scripts)
        web.evaluate(UNFOLD)
        looks(web, name, NARROW, scripts=scripts, dark=scripts)
        if scripts:
            looks(web, name, PAPER, paper=True)
            equal(f"{name}: every link leads to a place of the page",
                  web.evaluate(TARGETS), [])
            equal(f"{name}: no two places have one name", web.evaluate(TWICE), [])
        equal(f"{name}: every picture loads and has words in its place",
              web.evaluate(PICTURES), [])
        equal(f"{name}: nothing is asked for, nothing is said on the console",
              web.faults(), [])
    web.emulate()


def hostile_is_text(web):
    web.resize(*WIDE)
    web.open("hostile/index.html")
    equal("nothing hostile ran", web.evaluate("String(window.ran)"), "undefined")
    equal("nor became an element",
          web.evaluate('document.querySelectorAll("img[src=x],svg[onload],'
                       '[onerror]").length'), 0)
    holds("it is there as text", web.evaluate("document.body.innerText"), HOSTILE[0],
          HOSTILE[2], "<img src=x onerror=window.ran=10>.h5")


def main():
    reason = browser.missing()
    if reason:
        skip("pages in a browser", reason)
        finish()
    pages = recordings()
    with browser.Browser() as web:
        for name in pages:
            page_is_sound(web, name)
        hostile_is_text(web)
        page_cells.work(web, HOSTILE[:4])
    finish()


main()
