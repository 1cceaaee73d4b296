#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Interrupted, killed, out of space: the earlier output stays, what was recorded can be
read, and the exit status says what happened."""
import os
import pty
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
import h5py  # noqa: E402
from program import (PROGRAM, SOURCE, equal, exits, finish, holds,  # noqa: E402
                     ok, read, skip, write)

MINI = SOURCE + "/examples/mini.cfg"
STEPS = 20000
LONG = ["--set", f"input={{random={{batch=2; length=64;}}; steps={STEPS};}}",
        "--set", 'record=({probe="rows";})']


def start(output, *more, **options):
    settings = [word for setting in more for word in ("--set", setting)]
    return subprocess.Popen([PROGRAM, "run", MINI, "-o", output, *LONG, *settings],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                            **{"stderr": subprocess.PIPE, **options})


def steps_in(path):
    with h5py.File(path, "r") as file:
        ok(f"{path} is not complete", int(file.attrs["complete"]) == 0)
        return file["rows/entropy"].shape[0]


def wait_for_steps(output):
    """Until some steps were flushed: each adds a line to the .jsonl."""
    for _ in range(600):
        time.sleep(0.05)
        if os.path.exists(output + ".jsonl") and \
                read(output + ".jsonl").count(b"\n") > 2:
            return True
    return False


exits(0, "an earlier recording", "run", MINI, "-o", "a.h5")
EARLIER = read("a.h5")

for name, number in (("SIGINT", signal.SIGINT), ("SIGTERM", signal.SIGTERM)):
    process = start("a.h5")
    ok(f"{name}: the run is under way", wait_for_steps("a.h5"))
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    equal(f"{name}: exit 130", process.returncode, 130)
    holds(f"{name}: the message says what is there", err, "interrupted", "a.h5.part")
    ok(f"{name}: the earlier recording stays", read("a.h5") == EARLIER)
    ok(f"{name}: the .part holds steps", 2 < steps_in("a.h5.part") < STEPS)
    os.remove("a.h5.jsonl")
os.rename("a.h5.part", "b.h5.part")
result = exits(0, "check reads the .part where there is nothing else", "check", "b.h5")
holds("and says so", result.err, "b.h5.part")
holds("so does info", exits(0, "info", "info", "b.h5").out, "partial")

process = start("c.h5")
ok("killed: the run is under way", wait_for_steps("c.h5"))
process.kill()
process.communicate(timeout=60)
ok("killed: the .part holds the flushed steps", 2 < steps_in("c.h5.part") < STEPS)
ok("killed: there is no c.h5", not os.path.exists("c.h5"))

# --- a terminal
def on_a_terminal(master, slave):
    running = start("d.h5", stderr=slave)
    time.sleep(2)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    os.close(slave)
    shown = os.read(master, 65536).decode()
    holds("on a terminal there is a progress bar", shown, "\r[", "step", "left")
    ok("which is removed at the end",
       shown.rfind("\033[K") < shown.rfind("interrupted")
       and "]" not in shown[shown.rfind("\r\033[K"):], shown[-200:])


def until(master, text):
    """What is shown until that is; at most a minute."""
    shown = ""
    end = time.monotonic() + 60
    while text not in shown and time.monotonic() < end:
        if select.select([master], [], [], 1)[0]:
            shown += os.read(master, 65536).decode()
    return shown


def twice_on_a_terminal(master, slave):
    running = start("e.h5", "model.n_layers=2000", "input.steps=1", stderr=slave)
    until(master, "\r[")
    running.send_signal(signal.SIGINT)
    shown = until(master, "the last")
    holds("an interrupt is acknowledged within the step", shown,
          "the last; once more: stops after this layer")
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    equal("the second one ends it", running.returncode, 130)
    os.close(slave)


try:
    terminals = pty.openpty(), pty.openpty()
except OSError:
    skip("on a terminal there is a progress bar", "this machine has no terminals")
else:
    on_a_terminal(*terminals[0])
    twice_on_a_terminal(*terminals[1])

# --- no space
result = exits(2, "a file that cannot grow: exit 2", "run", MINI, "-o", "a.h5",
               file_limit=60000)
holds("the message names the file", result.err, "a.h5")
ok("the earlier recording stays", read("a.h5") == EARLIER)
ok("nothing worthless is left", not os.path.exists("a.h5.part"), os.listdir("."))
os.mkdir("small")
mounted = os.geteuid() == 0 and subprocess.run(
    ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", "small"],
    capture_output=True, check=False).returncode == 0
if mounted:
    try:
        exits(0, "a recording on a small disk", "run", MINI, "-o", "small/a.h5")
        earlier = read("small/a.h5")
        write("small/ballast", b"x")
        with open("small/ballast", "ab") as ballast:
            free = os.statvfs("small")
            ballast.write(b"x" * max(0, free.f_bavail * free.f_frsize - 80000))
        result = exits(2, "a full disk: exit 2", "run", MINI, "-o", "small/a.h5")
        holds("the message names the file", result.err, "small/a.h5")
        ok("the earlier recording stays", read("small/a.h5") == earlier)
        ok("nothing worthless is left", sorted(os.listdir("small")) ==
           ["a.h5", "a.h5.jsonl", "ballast"] or sorted(os.listdir("small")) ==
           ["a.h5", "ballast"], os.listdir("small"))
    finally:
        subprocess.run(["umount", "small"], check=False)
else:
    skip("a full disk", "a small file system cannot be mounted here")
finish()
