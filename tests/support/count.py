#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Counts the tests in a meson testlog.json and prints the closing line.

A test program that prints TAP counts once per line of it, any other once. Exits 1
if a test failed or none passed.
"""
import json
import re
import sys

TAP = re.compile(r"^(not )?ok\b[^#\n]*(?:#\s*(\w+)\s*(.*))?", re.M)


def count(entry):
    """Returns passed, failed, skipped and skipped for want of models."""
    passed = failed = skipped = models = 0
    for match in TAP.finditer(entry.get("stdout", "")):
        if (match.group(2) or "").upper() == "SKIP":
            skipped += 1
            models += "no model data" in match.group(3)
        elif match.group(1):
            failed += 1
        else:
            passed += 1
    result = entry["result"]
    if result == "SKIP" and passed + failed + skipped == 0:
        skipped = 1
        models = int("no model data" in entry.get("stdout", ""))
    elif result in ("OK", "EXPECTEDFAIL"):
        passed += passed + failed + skipped == 0
    elif result != "SKIP" and failed == 0:
        failed = 1
        print(f"{entry['name']}: {result}")
    return passed, failed, skipped, models


def main(paths):
    totals = [0, 0, 0, 0]
    for path in paths:
        with open(path, encoding="utf-8") as log:
            for line in log:
                for i, n in enumerate(count(json.loads(line))):
                    totals[i] += n
    passed, failed, skipped, models = totals
    if models:
        print(f"{models} model tests skipped: no model data")
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
