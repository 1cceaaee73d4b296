#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every entry of the list of bug reports is rebuilt by a row of these tests, or left
out for a reason that stands here. Prints which law speaks of each."""
import os
import re
import sys

HERE = os.path.join(os.environ["TXD_SOURCE"], "tests", "bugs")
ENTRIES = set(range(1, 103)) | {113, 116, 122, 132, 134, 139, 143, 145, 149, 164, 188}
# Of a report that was a false alarm, the case in which it is none.
EDGE = "test_precision.c"
FALSE_ALARMS = {6, 12, 21, 38, 39, 44, 62, 85}
LEFT_OUT = {
    57: "a stride of the user's own tensors: values here have one layout",
}
ROW = re.compile(r'^    \{(\d+), "([^"]*)",(.*?)\},?$(?=\n    \{\d|\n\};)', re.S | re.M)
LAWS = re.compile(r'"([a-z0-9_]+)"')


def rows_of(name):
    text = open(os.path.join(HERE, name), encoding="utf-8").read()
    start = text.index("static const bug rows[]")
    for entry, report, rest in ROW.findall(text[start:]):
        yield int(entry), report, rest, name


def law_of(rest):
    """The first word alone in its quotes that is no backend."""
    head = rest.split(".shown")[0].split(".backend")[0]
    head = re.sub(r'"name = (\\.|[^"\\])*"', "", head)
    found = LAWS.findall(head)
    return found[0] if found else None


def main():
    rows = []
    for name in sorted(os.listdir(HERE)):
        if name.startswith("test_") and name.endswith(".c") and name != "test_equal.c":
            rows += rows_of(name)
    tested = {row[0] for row in rows}
    left = set(LEFT_OUT)
    problems = [f"B{n:02}: no row, and no reason" for n in ENTRIES - tested - left]
    problems += [f"B{n:02}: left out, but there is a row" for n in tested & left]
    problems += [f"B{n:02}: there is no such entry" for n in tested - ENTRIES]
    problems += [f"B{row[0]:02}: a false alarm that {law_of(row[2])} is to speak of"
                 for row in rows if row[0] in FALSE_ALARMS and law_of(row[2])
                 and row[3] != EDGE]
    for entry, report, rest, name in sorted(rows):
        print(f"# B{entry:02}  {law_of(rest) or 'nothing speaks':20} {report}")
    for entry, reason in sorted(LEFT_OUT.items()):
        print(f"# B{entry:02}  left out: {reason}")
    print(f"# {len(tested)} of {len(ENTRIES)} entries, {len(tested & FALSE_ALARMS)} "
          f"of them false alarms; {len(LEFT_OUT)} left out; {len(rows)} rows")
    for problem in problems:
        print("#", problem)
    print("not ok" if problems else "ok", "1 - every entry is rebuilt or left out")
    print("1..1")
    sys.exit(1 if problems else 0)


main()
