#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The browser of the tests and its judges, each shown by a planted fault: a judge that
finds nothing in a broken page proves nothing about ours."""
import os
import re
import signal
import subprocess
import sys
import time
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser  # noqa: E402
import numpy as np  # noqa: E402
from pixels import decode_png  # noqa: E402
from program import equal, finish, holds, ok, skip, write  # noqa: E402

WORDS = "some words that are longer than their box"
STYLE = ("body{margin:8px;font:16px/1.5 'DejaVu Sans'}"
         ".half{width:100px;white-space:nowrap}"
         ".over{position:absolute;left:8px;top:8px}")


def drawn(commands):
    return ("<canvas id=c width=90 height=50></canvas><script>const pen = "
            f"c.getContext('2d');{commands}</script>")


PLANTED = (
    ("text in a box that hides what is too long", "cut",
     f"<div class=half style='overflow:hidden'>{WORDS}</div>"),
    ("text that ends in dots", "cut",
     f"<div class=half style='overflow:hidden;text-overflow:ellipsis'>{WORDS}</div>"),
    ("a line below the end of its box", "cut",
     f"<div style='height:30px;width:200px;overflow:hidden'>{WORDS}</div>"),
    ("text left of its scroll box", "cut",
     "<div style='overflow:auto'><p style='margin-left:-90px'>words</p></div>"),
    ("text beyond the page", "cut",
     "<div style='position:absolute;left:-20px'>words</div>"),
    ("text beyond the window", "cut",
     "<div style='position:fixed;bottom:-9px'>words</div>"),
    ("a text field that is too narrow", "cut", f"<input size=3 value='{WORDS}'>"),
    ("a list that is too narrow", "cut",
     f"<select style='width:60px'><option>{WORDS}</select>"),
    ("two texts in one place", "overlap",
     "<p>first text</p><p style='margin-top:-30px'>second text</p>"),
    ("lines of one text", "overlap",
     f"<p style='line-height:.4;width:120px'>{WORDS}</p>"),
    ("text over a picture", "overlap",
     "<canvas width=90 height=50></canvas><p class=over>words</p>"),
    ("two texts in one place of a canvas", "overlap",
     drawn("pen.fillText('one', 9, 20);"
           "pen.translate(20, 30); pen.rotate(-1.57); pen.fillText('other', 0, 0);")),
    ("text that leaves its canvas", "cut", drawn("pen.fillText('words', 70, 20);")),
    ("text that leaves its cell", "overlap",
     f"<table><td><div class=half>{WORDS}</div><td>next</table>"),
    ("a page wider than its window", "sideways",
     "<div style='width:1400px;text-align:right'>words</div>"),
    ("dark text on dark ground", "faint",
     "<p style='color:#333;background:#222'>words</p>"),
)
SOUND = (
    ("text that scrolls",
     f"<div class=half style='overflow-x:auto'>{WORDS}</div>"),
    ("what lies outside a box that it does not belong to",
     "<div style='overflow:hidden;height:9px;width:9px'>"
     "<div style='position:absolute;top:90px'>words</div></div>"),
    ("text in a closed box",
     f"<details><summary>more</summary><p class=over>{WORDS}</p></details>"),
    ("what is hidden", "<p>words</p><p class=over style='visibility:hidden'>other</p>"
     "<p class=over style='display:none'>other</p>"),
    ("text for screen readers",
     "<span style='position:absolute;width:1px;height:1px;overflow:hidden'>"
     f"{WORDS}</span>"),
    ("a word in bold", "<p>some <b>bold</b> and <code>code</code><sup>2</sup></p>"),
    ("a button, a list and a field",
     "<button>press</button> <select><option>one</select> <input value=2 size=4>"),
    ("labels on a canvas", drawn("pen.fillText('old', 9, 20); c.width = 90;"
     "for (const y of [15, 28]) pen.fillText('gjÄ', 9, y);")),
    ("a picture with its border", "<canvas style='border:3px solid'></canvas>"),
)


def page(body, head="", style=STYLE):
    return write("page.html", "<!DOCTYPE html><html lang=en><meta charset=utf-8>"
                 f"<title>t</title><style>{style}</style>{head}<body>{body}")


def chunk(kind, data):
    crc = zlib.crc32(kind + data)
    return len(data).to_bytes(4, "big") + kind + data + crc.to_bytes(4, "big")


def encoded(picture):
    """A PNG whose rows go through the filters in turn."""
    height, width, step = picture.shape
    rows = picture.reshape(height, width * step).astype(int)
    zero = np.zeros(step, int)
    data = b""
    for y, row in enumerate(rows):
        up = rows[y - 1] if y else 0 * row
        left, corner = np.append(zero, row[:-step]), np.append(zero, up[:-step])
        guess = left + up - corner
        away = abs(np.stack([left, up, corner]) - guess)
        paeth = np.choose(away.argmin(axis=0), [left, up, corner])
        guesses = [0 * row, left, up, (left + up) // 2, paeth]
        data += bytes([y % 5]) + (row - guesses[y % 5]).astype(np.uint8).tobytes()
    header = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes(
        [8, 2 if step == 3 else 6, 0, 0, 0])
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(
        b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


def pixels_are_read():
    for step in (3, 4):
        noise = np.random.default_rng(step).integers(0, 256, (11, 9, step))
        ok(f"a PNG of {step} channels is read through every filter",
           (decode_png(encoded(noise)) == noise[:, :, :3]).all())


def judges_find(web):
    for what, judge, body in PLANTED:
        web.open(page(body))
        found = web.layout()
        ok(f"found, {judge}: {what}",
           any(line.startswith(judge + ": ") for line in found), found)
    for what, body in SOUND:
        web.open(page(body))
        equal(f"sound: {what}", web.layout(), [])
    web.open(page("<p>words</p><p class='over tip'>hover text</p>"))
    equal("what lies over the page on purpose is no overlap", web.layout(".tip"), [])
    web.open(page(f"<div class=half style='overflow:auto'>{WORDS}</div>"))
    web.emulate(paper=True)
    holds("paper does not scroll", "".join(web.layout()), "cut: ", WORDS[:20])
    web.emulate()


def faults_are_kept(web):
    for what, body, part in (
            ("an error on the console", "<script>console.error('bad', 7)</script>",
             "console.error: bad 7"),
            ("a remark on the console", "<script>console.log('hm')</script>",
             "console.log: hm"),
            ("an exception", "<script>null.x</script>", "exception: TypeError"),
            ("a dialog", "<script>alert('stop')</script>", "alert: stop"),
            ("a promise that nobody catches", "<script>Promise.reject(57)</script>",
             "57"),
            ("a picture from the network", "<img src='http://example.org/a.png' alt=a>",
             "request: http://example.org/a.png"),
            ("a file beside the page", "<img src='other.png' alt=a>", "/other.png"),
            ("a request of a script", "<script>fetch('http://example.org/').catch("
             "() => 0)</script>", "request: http://example.org/")):
        web.open(page(body))
        holds(f"kept: {what}", "\n".join(web.faults()), part)
    web.open(page("<img alt=a src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>"))
    equal("a picture within the page is no request", web.faults(), [])


def media_are_emulated(web):
    web.open(page("<p>words</p>",
                  style="body{background:#fff}@media (prefers-color-scheme:dark)"
                  "{body{background:#123456}}@media print{body{background:#abcdef}}"))
    for colour, options in (((255, 255, 255), {}), ((0x12, 0x34, 0x56), {"dark": True}),
                            ((0xab, 0xcd, 0xef), {"paper": True})):
        web.emulate(**options)
        equal(f"the ground with {options}", tuple(web.screenshot()[700, 900]), colour)
    web.emulate()
    web.open(page("<p style='height:3000px'>words</p><b id=b>end</b>",
                  style="#b{position:absolute;left:50px;width:40px;height:30px;"
                  "background:red}"))
    web.evaluate("b.scrollIntoView(true)")
    left, top = web.evaluate("(({x, y}) => [x, y])(b.getBoundingClientRect())")
    equal("a part of a page that is scrolled",
          web.screenshot(box=(left, top, 40, 30))[28, 38].tolist(), [255, 0, 0])
    web.open(page("<script>document.title = 'ran'</script>words"))
    web.resize(390, 844)
    equal("a narrow window", web.screenshot().shape, (844, 390, 3))
    equal("the page knows", web.evaluate("innerWidth"), 390)
    equal("scripts run", web.evaluate("document.title"), "ran")
    web.emulate(scripts=False)
    web.open("page.html")
    equal("or not", web.evaluate("document.title"), "t")
    equal("judges look at such a page too", web.layout(), [])
    web.emulate()
    web.resize(1280, 800)
    web.open(page("<p>one</p><p>two</p><p>three</p>",
                  style="@media print{p{break-after:page}}"))
    ok("it prints by the styles of paper",
       len(re.findall(rb"/Type\s*/Page\b", web.pdf())) >= 3)


def hands_work(web):
    web.open(page(
        "<canvas id=c width=64 height=64 style='position:absolute;left:40px;top:30px'>"
        "</canvas><input id=i style='position:absolute;top:200px'><script>"
        "const pen = c.getContext('2d'), seen = [];"
        "for (let k = 0; k < 4096; k++) {pen.fillStyle = '#' + "
        "(k * 4057 % 16777216).toString(16).padStart(6, '0');"
        "pen.fillRect(k % 64, k >> 6, 1, 1);}"
        "for (const e of ['mousemove', 'click']) c.addEventListener(e, (event) => "
        "seen.push([e, event.offsetX, event.offsetY]));"
        "addEventListener('keydown', (e) => seen.push([e.key, e.code, e.shiftKey]));"
        "</script>"))
    expected = (np.arange(4096) * 4057 % 16777216).reshape(64, 64)
    shot = web.screenshot(box=(40, 30, 64, 64)).astype(int)
    equal("a screenshot has the very colours of a canvas",
          int((shot[:, :, 0] * 65536 + shot[:, :, 1] * 256 + shot[:, :, 2]
               != expected).sum()), 0)
    web.move(45, 37)
    web.click(50, 60)
    equal("the mouse", web.evaluate("seen.splice(0)"),
          [["mousemove", 5, 7], ["mousemove", 10, 30], ["click", 10, 30]])
    web.press("shift+Tab", "ArrowDown", "a", " ")
    equal("keys", web.evaluate("seen.splice(0)"),
          [["Tab", "Tab", True], ["ArrowDown", "ArrowDown", False],
           ["a", "KeyA", False], [" ", "Space", False]])
    web.click(60, 210)
    web.press("x", "7", "Backspace", "y")
    equal("typing", web.evaluate("i.value"), "xy")


def alive(group):
    """Whether any process of a group runs."""
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/stat", encoding="utf-8") as file:
                state, _, its_group = file.read().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(its_group) == group and state != "Z":
            return True
    return False


def it_ends_with_the_test():
    """Even with one that is killed."""
    script = ("import browser, time; b = browser.Browser(); "
              "print(b.pid, b.home, flush=True); time.sleep(60)")
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(browser.__file__)}
    with subprocess.Popen([sys.executable, "-c", script], env=environment,
                          stdout=subprocess.PIPE, text=True) as test:
        pid, home = test.stdout.readline().split()
        ok("it runs", alive(int(pid)))
        test.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while alive(int(pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    ok("it ends with its test", not alive(int(pid)))
    subprocess.run(["rm", "-rf", home], check=True)


REASON = browser.missing()
if REASON:
    skip("the browser of the tests", REASON)
    finish()
pixels_are_read()
with browser.Browser() as WEB:
    judges_find(WEB)
    faults_are_kept(WEB)
    media_are_emulated(WEB)
    hands_work(WEB)
    PID, HOME = WEB.pid, WEB.home
ok("close() ends it", not alive(PID))
ok("and leaves no profile", not os.path.exists(HOME))
it_ends_with_the_test()
finish()
