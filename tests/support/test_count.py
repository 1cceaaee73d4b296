#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The closing line of ./dev test counts what happened, and a failure is never lost."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def entry(result, stdout="", name="suite / test"):
    return {"name": name, "result": result, "stdout": stdout}


# Sentence: (entries of the log, last line, exit status).
CASES = {
    "a program without TAP counts once":
        ([entry("OK")], "1 passed, 0 failed, 0 skipped", 0),
    "each TAP line counts":
        ([entry("OK", "ok 1 - a\nok 2 - b # SKIP no gnuplot\n1..2\n")],
         "1 passed, 0 failed, 1 skipped", 0),
    "a failing TAP line fails":
        ([entry("FAIL", "ok 1 - a\nnot ok 2 - b\n1..2\n")],
         "1 passed, 1 failed, 0 skipped", 1),
    "a crash after good TAP lines fails":
        ([entry("ERROR", "ok 1 - a\n")], "1 passed, 1 failed, 0 skipped", 1),
    "a timeout fails":
        ([entry("OK"), entry("TIMEOUT")], "1 passed, 1 failed, 0 skipped", 1),
    "skipped alone is no success":
        ([entry("SKIP")], "0 passed, 0 failed, 1 skipped", 1),
    "nothing is no success":
        ([], "0 passed, 0 failed, 0 skipped", 1),
    "prose is no TAP":
        ([entry("OK", "okay then\n  not ok for us\n")],
         "1 passed, 0 failed, 0 skipped", 0),
}


def count(entries):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as log:
        for line in entries:
            log.write(json.dumps(line) + "\n")
        log.flush()
        done = subprocess.run([sys.executable, f"{HERE}/count.py", log.name],
                              capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def main():
    failures = 0
    for number, (sentence, (entries, last, status)) in enumerate(CASES.items(), 1):
        found = count(entries)
        good = found[0] == status and found[1][-1] == last
        failures += not good
        print(f"{'ok' if good else 'not ok'} {number} - {sentence}")
        if not good:
            print(f"# {found}")
    models = count([entry("OK", "ok 1 - a\nok 2 - b # SKIP no model data\n")])
    good = "1 model tests skipped: no model data" in models[1]
    print(f"{'ok' if good else 'not ok'} {len(CASES) + 1} - missing models are told")
    print(f"1..{len(CASES) + 1}")
    return 0 if good and not failures else 1


sys.exit(main())
