# SPDX-License-Identifier: MIT
"""Chromium without a window, for tests of pages: messages of the DevTools protocol over
two pipes, nothing but the standard library (and numpy for pixels).

    with browser.Browser() as page:
        page.open("report/index.html")
        page.resize(390, 844)
        page.emulate(dark=True)
        print(page.evaluate("document.title"), page.faults(), page.layout())

The network is cut off. What a page asks for beside itself is recorded in `requests`,
what it says on the console or throws in `messages`. The browser ends when the pipes are
closed, which they are when the test ends, however it ends."""
import base64
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time

from pixels import decode_png

SECONDS = 60  # for one answer, on a machine that does other things too
HERE = os.path.dirname(os.path.abspath(__file__))
OPTIONS = ("--headless=new", "--remote-debugging-pipe", "--no-sandbox",
           "--no-first-run", "--no-default-browser-check", "--no-zygote",
           "--disable-gpu",
           "--disable-dev-shm-usage", "--disable-extensions", "--disable-sync",
           "--disable-background-networking", "--disable-component-update",
           "--disable-default-apps", "--disable-breakpad", "--disable-lcd-text",
           "--disable-font-subpixel-positioning", "--font-render-hinting=none",
           "--force-device-scale-factor=1", "--force-color-profile=srgb",
           "--hide-scrollbars", "--mute-audio", "--password-store=basic",
           "--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1280,800")
# Windows' numbers of keys, which the protocol wants beside their names.
KEYS = {"Backspace": 8, "Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "PageUp": 33,
        "PageDown": 34, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38,
        "ArrowRight": 39, "ArrowDown": 40, "Delete": 46}
MODIFIERS = {"alt": 1, "ctrl": 2, "meta": 4, "shift": 8}


def missing():
    """Why there can be no browser here, or None."""
    return None if shutil.which("chromium") else \
        "no chromium in PATH (Debian package chromium)"


class Failure(Exception):
    """The browser refused, did not answer or ended; or the page's JavaScript threw."""


class Pipe:
    """Messages to and from the browser: JSON, ended by a byte 0."""

    def __init__(self, sending, receiving):
        self.sending, self.receiving, self.waiting = sending, receiving, b""

    def send(self, message):
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.sending, data):]

    def receive(self, deadline):
        """The next message; None after the deadline."""
        parts = [self.waiting]
        while b"\0" not in parts[-1]:
            left = max(0, deadline - time.monotonic())
            if not select.select([self.receiving], [], [], left)[0]:
                self.waiting = b"".join(parts)
                return None
            parts.append(os.read(self.receiving, 1 << 20))
            if not parts[-1]:
                raise Failure("the browser ended")
        message, _, self.waiting = b"".join(parts).partition(b"\0")
        return json.loads(message)

    def close(self):
        os.close(self.sending)
        os.close(self.receiving)


def _high(descriptor):
    """The same pipe above the numbers that the browser's ends get."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved


class Browser:
    """One browser with one page. Sizes and places are CSS pixels, of which each is one
    pixel of a screenshot."""

    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="txdiag-browser-")
        self.number, self.events, self.path = 0, [], None
        self.width, self.height = 1280, 800
        self.messages, self.requests, self.asked = [], [], set()
        self.scripts, self.pid = True, None
        self._start()
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self.session = None
        self.session = self._call("Target.attachToTarget", targetId=target,
                                  flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "DOM"):
            self._call(domain + ".enable")
        self._call("Page.addScriptToEvaluateOnNewDocument",
                   source=_text("canvas_text.js"))
        self.resize(self.width, self.height)
        self.emulate()

    def _start(self):
        theirs_in, ours_out = map(_high, os.pipe())
        ours_in, theirs_out = map(_high, os.pipe())
        log = os.open(self.home + "/log", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC,
                      0o600)
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        moves = [(os.POSIX_SPAWN_DUP2, source, target) for source, target in (
            (null, 0), (log, 1), (log, 2), (theirs_in, 3), (theirs_out, 4))]
        environment = {"PATH": os.environ["PATH"], "HOME": self.home,
                       "TMPDIR": self.home, "LC_ALL": "C.UTF-8",
                       "XDG_RUNTIME_DIR": self.home}
        self.session = None
        self.pid = os.posix_spawn(
            shutil.which("chromium"),
            ["chromium", *OPTIONS, f"--user-data-dir={self.home}/profile",
             "about:blank"],
            environment, file_actions=moves, setsid=True)
        for descriptor in (theirs_in, theirs_out, log, null):
            os.close(descriptor)
        self.pipe = Pipe(ours_out, ours_in)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the browser and deletes its profile."""
        if self.pid is None:
            return
        self.pipe.close()
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.pid, 0)
        self.pid = None
        shutil.rmtree(self.home, ignore_errors=True)

    # --- messages

    def _send(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.pipe.send(message)
        return self.number

    def _call(self, method, **parameters):
        """Sends a command and returns its result; events on the way are kept."""
        number = self._send(method, **parameters)
        deadline = time.monotonic() + SECONDS
        while True:
            answer = self._next(deadline, method)
            if answer.get("id") == number:
                if "error" in answer:
                    raise Failure(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def _next(self, deadline, what):
        try:
            message = self.pipe.receive(deadline)
        except Failure as failure:
            with open(self.home + "/log", encoding="utf-8", errors="replace") as file:
                raise Failure(f"{what}: {failure}: {file.read()[-2000:]}") from None
        if message is None:
            raise Failure(f"{what}: no answer within {SECONDS} s")
        if "method" in message:
            self.events.append(message)
            self._note(message["method"], message.get("params", {}))
        return message

    def _note(self, method, parameters):
        """Keeps what a page should not do."""
        if method == "Runtime.consoleAPICalled":
            words = [str(a.get("value", a.get("description", a["type"])))
                     for a in parameters["args"]]
            self.messages.append(f"console.{parameters['type']}: {' '.join(words)}")
        elif method == "Runtime.exceptionThrown":
            thrown = _thrown(parameters["exceptionDetails"])
            self.messages.append("exception: " + thrown)
        elif method == "Log.entryAdded":
            entry = parameters["entry"]
            if entry.get("networkRequestId", "") not in self.asked | {""}:
                return  # of the page before this one
            self.messages.append(f"{entry['level']}: {entry['text']} "
                                 f"{entry.get('url', '')}".strip())
        elif method == "Network.requestWillBeSent":
            self.asked.add(parameters["requestId"])
            self._note_request(parameters["request"]["url"])
        elif method in ("Network.webSocketCreated", "Network.webTransportCreated"):
            self._note_request(parameters["url"])
        elif method == "Page.javascriptDialogOpening":
            self.messages.append(f"{parameters['type']}: {parameters['message']}")
            self._send("Page.handleJavaScriptDialog", accept=False)

    def _note_request(self, url):
        within = url.startswith(("data:", "blob:"))
        if url.partition("#")[0] != self.path and not within:
            self.requests.append(url)

    def _wait(self, event):
        """Waits for an event of those that came since `events` was cleared."""
        deadline = time.monotonic() + SECONDS
        while not any(e["method"] == event for e in self.events):
            self._next(deadline, event)

    # --- what a person does

    def open(self, path):
        """Shows a file; returns when all of it is loaded and drawn."""
        self.path = "file://" + os.path.abspath(path)
        self.messages, self.requests, self.asked = [], [], set()
        self.events = []
        answer = self._call("Page.navigate", url=self.path)
        if "errorText" in answer:
            raise Failure(f"{self.path}: {answer['errorText']}")
        self._wait("Page.loadEventFired")
        self.settle()

    def settle(self):
        """Returns when what the page has begun is drawn; without scripts at once."""
        if self.scripts:
            self.evaluate("new Promise(done => requestAnimationFrame("
                          "() => requestAnimationFrame(() => done(true))))")

    def resize(self, width, height):
        self.width, self.height = width, height
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                   deviceScaleFactor=1, mobile=False)

    def emulate(self, dark=False, paper=False, scripts=True):
        """Colour scheme and medium act at once, scripts from the next open() on."""
        self._call("Emulation.setEmulatedMedia", media="print" if paper else "",
                   features=[{"name": "prefers-color-scheme",
                              "value": "dark" if dark else "light"},
                             {"name": "prefers-reduced-motion", "value": "reduce"}])
        self._call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.scripts = scripts

    def move(self, x, y):
        """Moves the mouse to a place of the window."""
        self._mouse("mouseMoved", x, y)

    def click(self, x, y):
        self.move(x, y)
        self._mouse("mousePressed", x, y, button="left", clickCount=1)
        self._mouse("mouseReleased", x, y, button="left", clickCount=1)

    def _mouse(self, kind, x, y, **more):
        self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def press(self, *keys):
        """Presses keys, each "a", "Tab", "ArrowLeft", "shift+Tab"..."""
        for key in keys:
            held, _, name = key.rpartition("+") if len(key) > 1 else ("", "", key)
            modifiers = sum(MODIFIERS[m] for m in held.split("+") if m)
            number = KEYS.get(name, ord(name[0].upper()))
            text = "\r" if name == "Enter" else name if len(name) == 1 else ""
            common = {"key": name, "windowsVirtualKeyCode": number,
                      "modifiers": modifiers, "code": _code(name)}
            self._call("Input.dispatchKeyEvent", type="keyDown", **common,
                       **({"text": text} if text and not modifiers & 7 else {}))
            self._call("Input.dispatchKeyEvent", type="keyUp", **common)

    # --- what a person sees

    def evaluate(self, script):
        """The value of an expression (of a promise, what comes of it)."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True,
                            awaitPromise=True, allowUnsafeEvalBlockedByCSP=True)
        if "exceptionDetails" in answer:
            raise Failure(f"{script[:200]}: {_thrown(answer['exceptionDetails'])}")
        return answer["result"].get("value")

    def screenshot(self, path=None, box=None, whole=False):
        """Pixels as an array (height, width, 3) of bytes: of the window, of a box (x,
        y, width, height) in it, or of the whole page; also as PNG into a file."""
        clip = {}
        self.settle()
        if whole:
            size = self._call("Page.getLayoutMetrics")["cssContentSize"]
            box = (0, 0, size["width"], size["height"])
        if box is not None:
            at = {"pageX": 0, "pageY": 0} if whole else self._call(
                "Page.getLayoutMetrics")["cssVisualViewport"]
            clip = {"clip": {"x": at["pageX"] + box[0], "y": at["pageY"] + box[1],
                             "width": box[2], "height": box[3], "scale": 1}}
        answer = self._call("Page.captureScreenshot", format="png",
                            captureBeyondViewport=whole, optimizeForSpeed=True, **clip)
        data = base64.b64decode(answer["data"])
        if path:
            with open(path, "wb") as file:
                file.write(data)
        return decode_png(data)

    def pdf(self, path=None):
        """The page as it is printed, on A4: a PDF."""
        data = base64.b64decode(self._call(
            "Page.printToPDF", printBackground=True, paperWidth=8.27,
            paperHeight=11.69)["data"])
        if path:
            with open(path, "wb") as file:
                file.write(data)
        return data

    def faults(self):
        """What no page of ours may do: requests, messages, exceptions."""
        return [f"request: {url}" for url in self.requests] + self.messages

    def layout(self, above=""):
        """What is cut, overlaps or sticks out, a line each (see layout.js). `above`
        selects what lies over the page on purpose, such as a hover text."""
        self.settle()
        found = self.evaluate(f"({_text('layout.js')})({json.dumps(above)})")
        return [f"{one['judge']}: {one['text']}" for one in found]


def _text(name):
    with open(f"{HERE}/{name}", encoding="utf-8") as file:
        return file.read()


def _thrown(details):
    about = details.get("exception", {})
    return str(about.get("description", about.get("value", details["text"])))


def _code(name):
    if len(name) == 1 and name.isascii() and name.isalnum():
        return ("Digit" if name.isdigit() else "Key") + name.upper()
    return "Space" if name == " " else name
