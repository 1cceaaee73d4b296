#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What an unkind world does to the program: names that talk to the terminal, sizes that
no machine has, files of others where ours would go, signals, limits, a gnuplot that is
none. Nothing hangs, nothing is lost, and no exit status lies."""
import glob
import os
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
import checkpoint  # noqa: E402
from program import (PROGRAM, equal, exits, finish, holds, ok,  # noqa: E402
                     read, sanitized, skip, txdiag, write)

MINI = """model : { preset = "mini"; vocab = 64; d_model = 16; n_heads = 4;
          n_layers = 2; d_ff = 32; max_seq_len = 16; };
input : { tokens = ( [1, 2, 3, 4, 5] ); };
"""
write("good.cfg", MINI)
exits(0, "the healthy model runs", "run", "good.cfg", "-o", "kept.h5")
KEPT = read("kept.h5")
PLOT = ("plot", "kept.h5", "logits", "-o", "a.png")
DRAWS = txdiag(*PLOT).status == 0


def tame(text):
    """Whether a terminal shows the text and obeys nothing in it."""
    return all(c in "\n\t" or (c >= " " and not "\x7f" <= c < "\xa0") for c in text)


# --- names that talk to the terminal
EVIL = "\x1b[31m\x9b1m\x07\x7f"
for arguments in (("run", EVIL), ("check", "a" + EVIL), ("info", EVIL), (EVIL,),
                  ("explain", EVIL), ("list", EVIL), ("run", "--" + EVIL),
                  ("run", "good.cfg", "--set", f'model.preset="{EVIL}"'),
                  ("run", "good.cfg", "--set", f'record=({{probe="{EVIL}";}})')):
    result = txdiag(*arguments)
    ok(f"escape sequences stay in {arguments[0].strip(EVIL)}", result.status == 2
       and tame(result.err) and tame(result.out) and "\\x1b[31m" in result.err, result)
result = txdiag("run", "good.cfg", "--backend", "a\nPASS row_sum")
ok("a message is one line", result.status == 2 and result.err.count("\n") == 1, result)
write(EVIL + ".cfg", MINI)
result = exits(0, "a name of escape sequences is a name", "run", EVIL + ".cfg")
ok("and is shown as one", tame(result.err) and tame(result.out), result)
ok("the recording has it", os.path.exists(EVIL + ".h5"))
result = exits(0, "info on it", "info", EVIL + ".h5")
ok("is tame as well", tame(result.out), result)

# --- sizes that no machine has
for name, old, new, part in (
        ("more parameters than memory",
         "d_model = 16; n_heads = 4;\n          n_layers = 2",
         "d_model = 65536; n_heads = 4; n_layers = 4096", "memory"),
        ("more positions than memory", "max_seq_len = 16", "max_seq_len = 2147483647",
         "memory"),
        ("an endless row", "tokens = ( [1, 2, 3, 4, 5] )",
         "random : { length = 2147483647; }", "2147483647"),
        ("a pass of terabytes", "max_seq_len = 16; };\ninput : { tokens = "
         "( [1, 2, 3, 4, 5] )", 'max_seq_len = 67108864; positions = "none"; };\n'
         "input : { random : { length = 67108864; }", "memory")):
    begin = time.monotonic()
    write("huge.cfg", MINI.replace(old, new))
    result = exits(2, f"{name}: exit 2", "run", "huge.cfg")
    holds(f"{name}: the message says what is too large", result.err, part)
    ok(f"{name}: it is found at once", time.monotonic() - begin < 60)
HEADER = b"{'descr': '<i4', 'fortran_order': False, 'shape': (2147483648,), }\n"
with open("endless.npy", "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(HEADER)) + HEADER)
    file.truncate(10 + len(HEADER) + 4 * 2 ** 31)
result = exits(2, "a .npy of eight gigabytes", "run", write("npy.cfg", MINI.replace(
    "tokens = ( [1, 2, 3, 4, 5] )", 'file = "endless.npy"')))
holds("is refused before it is read", result.err, "endless.npy", "268435456")
os.remove("endless.npy")

# --- what is not a file
os.mkfifo("pipe")
for arguments in (("check", "pipe"), ("info", "pipe"), ("run", "pipe"),
                  ("plot", "pipe", "logits", "-o", "b.png")):
    holds("a pipe where a file should be",
          exits(2, f"{arguments[0]} does not wait for it", *arguments).err, "pipe")
damaged = bytearray(KEPT)
at = damaged.find(b"GCOL")
while at >= 0:  # the first string of every heap becomes longer than the heap
    damaged[at + 24:at + 32] = struct.pack("<Q", 2 ** 30)
    at = damaged.find(b"GCOL", at + 4)
write("damaged.h5", bytes(damaged))
for arguments in (("check", "damaged.h5"), ("info", "damaged.h5"),
                  ("report", "damaged.h5", "-o", "damaged"),
                  ("plot", "damaged.h5", "logits", "-o", "b.png")):
    if sanitized():
        skip(f"{arguments[0]} of what breaks HDF5", "the sanitizer stops in HDF5")
        continue
    holds("the damaged file is named",
          exits(2, f"{arguments[0]}: what breaks HDF5 does not break us",
                *arguments).err, "damaged.h5")
circle = bytearray(KEPT)
at = circle.find(b"GCOL")
while at >= 0:  # a heap whose first string is followed by itself
    circle[at + 16:at + 32] = bytes(16)
    at = circle.find(b"GCOL", at + 4)
write("circle.h5", bytes(circle))
if sanitized():
    skip("what leads HDF5 in circles", "ends by a limit of time that is too long here")
else:
    holds("what leads HDF5 in circles comes to an end",
          exits(2, "with exit 2", "info", "circle.h5").err, "circle.h5", "damaged")

# --- a name that is none
for arguments in (("plot", "kept.h5", "logits", "-o"), ("report", "kept.h5", "-o"),
                  ("plot", "kept.h5", "logits", "--gp"), ("run", "good.cfg", "-o"),
                  ("report", "kept.h5", "--markdown", "-o"), ("mask", "good.cfg", "-o"),
                  ("check", "kept.h5", "-o")):
    holds("it is said where it goes", exits(2, " ".join(arguments) + " -", *arguments,
                                            "-").err, "output -: ", "stdout")
    ok("nothing is called -", not os.path.exists("-"))

# --- files that are not ours to write
checkpoint.folder("hf")
write("more.cfg", "seed = 2;\n")
write("hf.cfg", 'model : { from = "hf"; };\ninput : { tokens = [1, 2]; };\n'
                '@include "more.cfg"\n')
for name in ("hf.cfg", "more.cfg", "hf/config.json", "hf/model.safetensors"):
    before = read(name)
    result = exits(2, f"{name} is an input, --force or not", "run", "hf.cfg", "-o",
                   name, "--force")
    ok(f"{name} is named and untouched", name in result.err and read(name) == before,
       result)
write("rules.cfg", "checks : { };\n")
exits(2, "rules are an input", "check", "kept.h5", "--rules", "rules.cfg", "-o",
      "rules.cfg", "--force")
equal("they stay", read("rules.cfg"), b"checks : { };\n")
checkpoint.folder("hf")
before = read("hf/config.json")
exits(2, "what a cfg reads is an input of check too", "check", "hf.cfg", "-o",
      "hf/config.json", "--force")
equal("it stays", read("hf/config.json"), before)
write("part.h5.part", KEPT)
exits(2, "REC.h5 is an input where only REC.h5.part is there", "check", "part.h5", "-o",
      "part.h5")
exits(0, "a report beside a .part", "check", "part.h5.part", "-o", "part.h5")
equal("leaves it alone", read("part.h5.part"), KEPT)
write("target", "mine")
for taken in ("b.h5.part", "b.h5.jsonl"):
    write(taken, "mine")
    holds("its name is in the message",
          exits(2, f"{taken} of somebody else", "run", "good.cfg", "-o", "b.h5").err,
          taken)
    equal("is left alone", read(taken), b"mine")
    os.remove(taken)
    os.symlink("target", taken)
    exits(2 if "jsonl" in taken else 0, f"{taken} that leads elsewhere", "run",
          "good.cfg", "-o", "b.h5")
    equal("leads to what it was", read("target"), b"mine")
    if os.path.lexists(taken):
        os.remove(taken)

# --- two at once
LONG = write("long.cfg", MINI.replace("tokens = ( [1, 2, 3, 4, 5] )",
                                      "random : { length = 12; }; steps = 60"))
for trial in range(5):
    both = [subprocess.Popen([PROGRAM, "run", LONG, "-o", "two.h5"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             text=True) for _ in range(4)]
    told = [process.communicate()[1] for process in both]
    states = [process.returncode for process in both]
    ok("of many runs to one output, one at a time writes", states.count(0) >= 1
       and all("is writing it" in err for err, state in zip(told, states) if state),
       told)
    equal("and its lines are its own", read("two.h5.jsonl").count(b"\n"), 60)
exits(0, "what they leave is whole", "check", "two.h5")
both = [subprocess.Popen([PROGRAM, "check", "kept.h5", "-o", "two.txt"],
                         stderr=subprocess.PIPE) for _ in range(8)]
ok("many reports to one output all succeed",
   all(process.wait(60) == 0 for process in both))

# --- streams and limits
for arguments in (("check", "kept.h5"), ("info", "kept.h5"), ("list", "checks"),
                  ("--help",)):
    with open("/dev/full", "wb") as full:
        equal(f"no room for the results of {arguments[0]}",
              subprocess.run([PROGRAM, *arguments], stdout=full,
                             stderr=subprocess.DEVNULL, check=False).returncode, 2)
shell = f"'{PROGRAM}' run good.cfg -o closed.h5 <&- >&- 2>&-"
equal("with all streams closed the results are lost",
      subprocess.run(["sh", "-c", shell], check=False).returncode, 2)
exits(0, "but the recording is whole", "check", "closed.h5")
for arguments in (PLOT, ("check", "kept.h5", "-o", "a.txt"),
                  ("report", "kept.h5", "-o", "rep"),
                  ("run", "good.cfg", "-o", "limit.h5")):
    for limit in (0, 100, 5000):
        result = txdiag(*arguments, file_limit=limit)
        ok(f"a limit of {limit} bytes is no crash of {arguments[0]}",
           result.status in (0, 2), result)
        if result.status == 2 and arguments[0] == "check":
            holds("and the remedy is named", result.err, "a.txt", "ulimit -f")
equal("and nothing stays behind", glob.glob("*.part*") + glob.glob("rep/*.part*"),
      ["part.h5.part"])

# --- signals
process = subprocess.Popen([PROGRAM, "run", write("slow.cfg", MINI.replace(
    "max_seq_len = 16", 'max_seq_len = 200000; positions = "none"').replace(
        "tokens = ( [1, 2, 3, 4, 5] )", "random : { length = 100000; }")),
    "-o", "slow.h5"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
time.sleep(2)
for _ in range(3):
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
try:
    process.wait(5)
except subprocess.TimeoutExpired:
    process.kill()
equal("the third interrupt ends even a layer of hours", process.wait(), -signal.SIGINT)


def false_gnuplot(body):
    """A PATH on which gnuplot does `body`."""
    os.makedirs("false", exist_ok=True)
    os.chmod(write("false/gnuplot", "#!/bin/sh\n" + body + "\n"), 0o755)
    return {"PATH": os.path.abspath("false") + ":" + os.environ["PATH"]}



write("a.png", b"\x89PNG of before")
for name, body in (("says nothing", "exit 0"), ("fails", "exit 3"),
                   ("complains", "echo 'no' >&2"), ("crashes", "kill -SEGV $$"),
                   ("draws nonsense", 'cd "${2%/*}"; echo no >picture; echo a >blank'),
                   ("draws the half", "printf '\\211PNG\\r\\n\\032\\n' "
                                      '>"${2%/*}/picture"; head -c 999 /dev/zero '
                                      '>>"${2%/*}/picture"'),
                   ("draws a pipe", 'mkfifo "${2%/*}/picture"')):
    environment = false_gnuplot(body)
    exits(2, f"a gnuplot that {name}: plot", *PLOT, env=environment)
    equal("the earlier picture stays", read("a.png"), b"\x89PNG of before")
    holds("a report without pictures says so",
          exits(2, f"a gnuplot that {name}: report", "report", "kept.h5", "-o", "rep",
                env=environment).err, "no pictures")
for name, command in (("plot", PLOT), ("report", ("report", "kept.h5", "-o", "rep"))):
    environment = {**os.environ, **false_gnuplot(
        'echo "${2%/*}" >folder; echo $$ >child; exec sleep 60')}
    for number in (signal.SIGINT, signal.SIGTERM):
        for left in ("folder", "child"):
            if os.path.exists(left):
                os.remove(left)
        process = subprocess.Popen([PROGRAM, *command], env=environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(200):
            if os.path.exists("child") and read("child"):
                break
            time.sleep(0.05)
        process.send_signal(number)
        equal(f"{name}: signal {number} ends it", process.wait(30), -number)
        ok(f"{name}: gnuplot's folder is gone",
           not os.path.exists(read("folder").strip()))
        ok(f"{name}: gnuplot is gone", not os.path.exists(
            "/proc/" + read("child").decode().strip()))
if DRAWS:
    exits(0, "the real gnuplot still draws", *PLOT)
else:
    skip("the real gnuplot still draws", "no gnuplot with fonts")
finish()
