#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Reports for a CI: JUnit XML, TAP 13 and SARIF 2.1.0 have the structure that their
readers require, say the same as the JSON report, and carry whatever stands in files."""
import json
import os
import re
import shutil
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree

import h5py

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import (SOURCE, equal, exits, finish, holds, ok, read,  # noqa: E402
                     txdiag, write)

MINI = SOURCE + "/examples/mini.cfg"
FORMATS = ("text", "json", "junit", "tap", "sarif")


# --- readers, which fail at whatever their formats do not allow

def junit(text):
    """(file, law) -> outcome; asserts the structure that readers of JUnit XML need."""
    root = ElementTree.fromstring(text)
    found, totals = {}, [0, 0, 0, 0]
    assert root.tag == "testsuites" and root.get("name") == "txdiag", root.attrib
    for suite in root:
        assert suite.tag == "testsuite" and suite.get("name"), suite.attrib
        counts = [0, 0, 0, 0]
        for case in suite:
            assert case.tag == "testcase" and case.get("name"), case.attrib
            assert case.get("classname") == suite.get("name") == case.get("file")
            assert len(case) <= 1 and not (case.text or "").strip()
            tag = case[0].tag if len(case) else ""
            assert tag in ("", "failure", "error", "skipped", "system-out"), tag
            counts[0] += 1
            for i, kind in enumerate(("failure", "error", "skipped"), 1):
                counts[i] += tag == kind
            if tag in ("failure", "error"):
                assert case[0].get("type") and case[0].get("message")
                assert case[0].text
            if tag == "skipped":
                assert case[0].get("message")
            key = suite.get("name"), case.get("name")
            assert key not in found, key
            found[key] = tag
        names = ("tests", "failures", "errors", "skipped")
        assert counts == [int(suite.get(name)) for name in names], suite.attrib
        totals = [a + b for a, b in zip(totals, counts)]
    assert totals == [int(root.get(name)) for name in names], root.attrib
    return found


def tap(text):
    """Names -> outcome, by TAP 13 and no more: version, tests in order, YAML blocks of
    what this program writes, comments, and the plan at the end."""
    lines = text.split("\n")
    assert lines[0] == "TAP version 13" and lines[-1] == "", lines[:1]
    found, at, lines = {}, 1, lines[:-1]
    while at < len(lines) - 1:
        line = lines[at]
        at += 1
        if line.startswith("# "):
            continue
        match = re.fullmatch(r"(not )?ok (\d+) - ((?:[^#\\]|\\[#\\x])*?)"
                             r"(?: # (SKIP|TO" r"DO) (\S.*))?", line)
        assert match, line
        assert int(match.group(2)) == len(found) + 1, line
        assert match.group(3) not in found, line
        found[match.group(3)] = match.group(4) or (
            "not ok" if match.group(1) else "ok")
        if lines[at] != "  ---":
            continue
        at += 1
        while lines[at] != "  ...":
            block = re.fullmatch(r'  (?:  - |[a-z_]+: )(".*")|  findings:', lines[at])
            assert block, lines[at]
            if block.group(1):
                assert isinstance(json.loads(block.group(1)), str)
            at += 1
        at += 1
    assert lines[at] == f"1..{len(found)}", lines[at]
    return found


def text_of(message):
    assert set(message) <= {"text", "markdown"} and message["text"], message
    return message["text"]


def location(place):
    physical = place["physicalLocation"]
    uri = physical["artifactLocation"]["uri"]
    assert re.fullmatch(r"([A-Za-z0-9._~/:-]|%[0-9A-F]{2})+", uri), uri
    assert not uri.startswith("/") and physical["region"]["startLine"] >= 1
    for logical in place.get("logicalLocations", ()):
        assert logical["fullyQualifiedName"]
    return uri, physical["region"]["startLine"]


def sarif(text):
    """The results; asserts what the standard and readers of SARIF 2.1.0 require."""
    log = json.loads(text, parse_constant=lambda word: 1 / 0)
    assert log["version"] == "2.1.0" and log["$schema"].endswith("2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "txdiag" and driver["version"]
    rules = [rule["id"] for rule in driver["rules"]]
    assert len(set(rules)) == len(rules)
    for rule in driver["rules"]:
        for key in ("shortDescription", "fullDescription", "help"):
            assert text_of(rule[key]), rule["id"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
    (invocation,) = run["invocations"]
    assert isinstance(invocation["executionSuccessful"], bool)
    for notice in invocation["toolExecutionNotifications"]:
        assert notice["level"] in ("error", "warning", "note")
        assert text_of(notice["message"])
        for place in notice["locations"]:
            location(place)
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["kind"] in ("fail", "pass", "open", "notApplicable",
                                  "informational", "review")
        assert (result["kind"] == "fail") == (result["level"] != "none"), result
        assert result["level"] in ("none", "note", "warning", "error")
        assert text_of(result["message"]) and result["locations"]
        for place in result["locations"]:
            location(place)
        prints = result["partialFingerprints"]
        assert all(isinstance(value, str) and value for value in prints.values())
    return run


def report(form, *arguments, status=None):
    """A report as it is printed, which must be that which -o writes."""
    result = txdiag("check", *arguments, "--format", form)
    if status is not None:
        ok(f"{form}: exit status {status}", result.status == status, result)
    written = txdiag("check", *arguments, "--format", form, "-o", f"out.{form}")
    again = read(f"out.{form}").decode(errors="replace")
    again = again.replace("txdiag check\n", "", 1) if form == "text" else again
    ok(f"{form}: -o writes what is printed", written.status == result.status and
       written.out == "" and again == result.out, f"{result}\n{again}")
    holds(f"{form}: -o leaves one summary line", written.err, "file")
    return result


# --- one healthy file, one that is not, one that cannot be judged
write("leak.cfg", 'model : {\n  preset = "mini"; vocab = 16; d_model = 16;\n'
      "  n_heads = 2; n_layers = 2; d_ff = 16; max_seq_len = 8;\n};\n"
      "input : { tokens = ( [1, 2, 3, 4, 5, 6] ); };\n"
      'faults : (\n  { name = "mask_missing"; layers = "1"; } );\n')
write("good.cfg", "".join(open("leak.cfg", encoding="utf-8").readlines()[:5]))
write("broken.cfg", "model : { preset = 7; };\n")
FILES = "good.cfg", "leak.cfg", "broken.cfg"
whole = json.loads(report("json", *FILES, status=1).out)
verdicts = {(file["source"], result["check"]): result["verdict"]
            for file in whole["files"] for result in file.get("results", ())}
equal("the leak is there", verdicts["leak.cfg", "causality"], "fail")

cases = junit(report("junit", *FILES, status=1).out)
TAGS = {"fail": "failure", "open": "error", "skip": "skipped", "pass": ""}
differing = {key: (verdict, cases.get(key)) for key, verdict in verdicts.items()
             if cases.get(key) != TAGS.get(verdict, cases.get(key))}
ok("JUnit has every verdict of the JSON report", not differing, differing)
equal("and an error for what could not be judged",
      cases.get(("broken.cfg", "could be judged")), "error")
equal("and nothing else", len(cases), len(verdicts) + 1)

lines = tap(report("tap", *FILES, status=1).out)
OUTCOMES = {"fail": "not ok", "open": "not ok", "skip": "SKIP"}
differing = {key: (verdict, lines.get(": ".join(key)))
             for key, verdict in verdicts.items()
             if lines.get(": ".join(key)) != OUTCOMES.get(verdict, "ok")}
ok("TAP has every verdict of the JSON report", not differing, differing)
equal("and one of what could not be judged",
      lines.get("broken.cfg: could be judged"), "not ok")
equal("and nothing else", len(lines), len(verdicts) + 1)

run = sarif(report("sarif", *FILES, status=1).out)
findings = {(file["source"], finding["check"], finding["site"])
            for file in whole["files"] for finding in file.get("findings", ())
            if finding["verdict"] in ("fail", "warn")}
shown = {(location(place)[0], result["ruleId"],
          place["logicalLocations"][0]["fullyQualifiedName"])
         for result in run["results"] for place in result["locations"]
         if "logicalLocations" in place}
equal("SARIF has every finding of the JSON report", shown, findings)
LINES = {result["ruleId"]: location(result["locations"][0])[1]
         for result in run["results"]}
equal("a law that names the planted fault points at its line", LINES["causality"], 7)
equal("what could not be judged is told", (
    run["invocations"][0]["executionSuccessful"], run["invocations"][0]["exitCode"],
    len(run["invocations"][0]["toolExecutionNotifications"])), (False, 1, 1))
every = sarif(txdiag("check", *FILES, "--format", "sarif", "-v").out)
equal("-v: also what held and what was skipped", {
    (location(result["locations"][0])[0], result["ruleId"])
    for result in every["results"]}, set(verdicts))
prints = [result["partialFingerprints"] for result in run["results"]]
write("moved.cfg", "\n\n" + open("leak.cfg", encoding="utf-8").read())
os.rename("moved.cfg", "leak.cfg")
moved = sarif(txdiag("check", *FILES, "--format", "sarif").out)
equal("fingerprints outlast a change of lines",
      [result["partialFingerprints"] for result in moved["results"]], prints)
equal("which are told", location(moved["results"][0]["locations"][0])[1], 9)
ok("two findings have two", len({str(p) for p in prints}) == len(prints), prints)

# --- exit statuses of all formats, and the one summary line
for form in FORMATS:
    exits(0, f"{form}: what holds", "check", "good.cfg", "--format", form)
    result = exits(2, f"{form}: what could not be judged", "check", "good.cfg",
                   "broken.cfg", "--format", form)
    where = result.out if form == "text" else result.err
    holds(f"{form}: a summary", where, "2 files: 1 held, 1 not decided; ")
    exits(77, f"{form}: nothing that could be evaluated", "check", "good.cfg",
          "--only", "memory_seen", "--format", form)
    result = txdiag("check", "good.cfg", "--format", form, "-q")
    equal(f"{form}: -q says nothing else", result.err, "")
exits(0, "a report replaces a report", "check", "good.cfg", "--format", "tap", "-o",
      "out.junit")
write("mine.xml", '<?xml version="1.0"?><notes/>')
exits(2, "and nothing else", "check", "good.cfg", "--format", "junit", "-o", "mine.xml")

# --- many files, and where allowances come from
text = txdiag("check", *FILES).out
ok("of several files what held is counted", "PASS" not in text and "FAIL causality"
   in text, text)
holds("unless -v", txdiag("check", *FILES, "-v").out, "PASS row_sum")
ok("and so is what was skipped", "SKIP" not in text and " skipped" in text, text)
holds("unless -v, too", txdiag("check", *FILES, "-v").out, "SKIP memory_seen")
holds("of one it is told, too", txdiag("check", "good.cfg").out, "SKIP memory_seen")
holds("of one it is told", txdiag("check", "good.cfg").out, "PASS row_sum")
write("rules.cfg", "checks : { row_sum : {\n  atol = 0.0625; }; };\n")
exits(0, "a recording", "run", "good.cfg", "-o", "good.h5")
for path in ("good.cfg", "good.h5"):
    holds(f"{path}: a threshold is named", txdiag("check", path).out,
          "allowed 1e-06) by checks.row_sum.atol\n")
    holds(f"{path}: and where it was set", txdiag(
        "check", path, "--rules", "rules.cfg").out,
          "allowed 0.0625) by checks.row_sum.atol of rules.cfg:2\n")
    holds(f"{path}: a bound is derived", txdiag("check", path, "-v").out,
          ") by a derived bound")
    allowances = {result["check"]: result["allowance"] for result in json.loads(txdiag(
        "check", path, "--format", "json").out)["files"][0]["results"]}
    equal(f"{path}: JSON", (allowances["causality"], allowances["memory_seen"],
                            allowances["residual_sum"]),
          ("exact", None, allowances["residual_sum"] and "a derived bound"))

# --- warnings
ALARM = ("good.cfg", "--only", "norm_moments", "--set",
         "checks.norm_moments={std_high=0.001; std_alarm_high=0.001;}")
for strict, status, tag, outcome, level in (
        ((), 0, "system-out", "ok", "warning"),
        (("--strict",), 1, "failure", "not ok", "error")):
    name = f"a warning{' under --strict' if strict else ''}"
    equal(f"{name}: JUnit", junit(report("junit", *ALARM, *strict, status=status).out),
          {("good.cfg", "norm_moments"): tag})
    equal(f"{name}: TAP", tap(report("tap", *ALARM, *strict, status=status).out),
          {"good.cfg: norm_moments": outcome})
    run = sarif(report("sarif", *ALARM, *strict, status=status).out)
    equal(f"{name}: SARIF", {result["level"] for result in run["results"]}, {level})

# --- what files may hold: control bytes, ends of CDATA, lines, bytes that are no UTF-8
NAMES = [b"a]]>b&<c>\"'.cfg", b"line\nnot ok 1 - x.cfg", b"esc\x1b[31m # SKIP.cfg",
         b"bad\xff\xfe.cfg", b"\xc2\x9b\xef\xbf\xbf.cfg", b"100% #1 \\.cfg"]
for name in NAMES:
    shutil.copy("leak.cfg", name)
    shutil.copy("broken.cfg", name + b".not")
    paths = [os.fsdecode(name), os.fsdecode(name + b".not")]
    for form, reader in (("junit", junit), ("tap", tap), ("sarif", sarif),
                         ("json", json.loads)):
        exits(1, f"{form}: {name!r}", "check", *paths, "--format", form, "-o", "h.out",
              "--force")
        try:
            found = reader(read("h.out").decode())
        except (AssertionError, ValueError, ElementTree.ParseError) as error:
            ok(f"{form}: {name!r} reads back", False, repr(error))
            continue
        if form == "sarif":
            uris = {location(place)[0] for result in found["results"]
                    for place in result["locations"]}
            equal(f"sarif: {name!r} is its URI", {urllib.parse.unquote_to_bytes(uri)
                                                  for uri in uris}, {name})
        else:
            ok(f"{form}: {name!r} reads back", len(found) > 2)

exits(1, "a recording", "run", "leak.cfg", "-o", "hostile.h5")
with h5py.File("hostile.h5", "r+") as file:
    pieces = file["input/pieces"] if "input/pieces" in file else None
    if pieces is not None:
        pieces[:] = [b"]]>\x1b[2J\n  ...\nnot ok 9 # SKIP \xff"] * len(pieces)
for form, reader in (("junit", junit), ("tap", tap), ("sarif", sarif)):
    reader(exits(1, f"{form}: of a recording", "check", "hostile.h5", "--format",
                 form).out)
uri, line = location(sarif(txdiag("check", os.path.abspath("hostile.h5"), "--format",
                                  "sarif").out)["results"][0]["locations"][0])
ok("an absolute path is an absolute URI", uri.startswith("file:///") and line == 1, uri)
finish()
