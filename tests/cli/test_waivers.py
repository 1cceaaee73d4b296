#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Waivers of a rules file, in every format: a known finding is information until a day,
an expired waiver fails, and one that is of no use is told."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import SOURCE, equal, exits, finish, holds, ok, write  # noqa: E402

LEAK = SOURCE + "/examples/mini-leak.cfg"
REASON = 'until the mask is mended ]]> # "100%"'


def rules(*waivers):
    """A file of waivers: (law, site, expires)."""
    lines = [f'  {{ law = "{law}"; site = "{site}"; expires = "{expires}";\n    reason '
             f'= {json.dumps(REASON)}; }}' for law, site, expires in waivers]
    return write("rules.cfg", "waivers : (\n" + ",\n".join(lines) + "\n);\n")


def check(status, name, form="text", *options):
    return exits(status, f"{name}: {form}", "check", LEAK, "--rules", "rules.cfg",
                 "--only", "causality,mask_fill,memory_seen,finite", "--format", form,
                 *options)


# --- known findings
KNOWN = ("causality", "layers.*", "9999-12-31"), ("mask_fill", "*", "9999-12-31")
rules(*KNOWN)
result = check(0, "waived")
holds("the text says so", result.out, "INFO causality", "INFO mask_fill",
      f"waived until 9999-12-31: {REASON} (rules.cfg:2)", "2 waived")
check(0, "a warning that is waived is none", "text", "--strict")
report = json.loads(check(0, "waived", "json").out)
found = [f for f in report["files"][0]["findings"] if f["waived"]]
equal("JSON: the findings", [(f["check"], f["verdict"]) for f in found],
      [("causality", "info"), ("mask_fill", "info")])
equal("JSON: the waivers", [(w["law"], w["site"], w["expires"], w["expired"],
                             w["reason"], w["findings"]) for w in report["waivers"]],
      [(*waiver, False, REASON, 1) for waiver in KNOWN])
holds("JUnit: no failure", check(0, "waived", "junit").out, 'failures="0"',
      "<system-out>", "waived until 9999-12-31")
lines = check(0, "waived", "tap").out.splitlines()
ok("TAP: known to be broken", any(
    line.startswith("not ok ") and "causality # TO" "DO waived until 9999-12-31: "
    in line and "\\#" in line for line in lines), lines)
equal("TAP: nothing else is not ok", sum(line.startswith("not ok ") for line in lines),
      2)
run = json.loads(check(0, "waived", "sarif").out)["runs"][0]
equal("SARIF: suppressed alerts", [
    (r["ruleId"], r["level"], r["suppressions"][0]["kind"],
     REASON in r["suppressions"][0]["justification"]) for r in run["results"]],
    [(law, "error", "external", True) for law in ("causality", "mask_fill")])

# --- what waivers do not cover
rules(KNOWN[0])
holds("another law fails", check(1, "of one law").out, "INFO causality",
      "FAIL mask_fill")
rules(("causality", "layers.1.*", "9999-12-31"), KNOWN[1])
result = check(1, "of another layer")
holds("another site fails, and the waiver is told", result.out, "FAIL causality",
      "\nrules.cfg:2: the waiver of causality at layers.1.* matches nothing: remove it")
holds("on stderr, of reports for programs", check(1, "of another layer", "tap").err,
      "rules.cfg:2: the waiver of causality at layers.1.* matches nothing")
rules(("memory_seen", "*", "9999-12-31"), *KNOWN)
holds("a law that was skipped", check(0, "a skip is not waived").out,
      "matches nothing, as no file was judged by this law")

# --- expired ones
rules(("causality", "layers.*", "2001-02-03"), KNOWN[1])
for form in ("text", "junit", "tap", "sarif", "json"):
    holds(f"{form}: says when it expired", check(1, "expired", form).out,
          "its waiver expired on 2001-02-03: ")
rules(("finite", "*", "2001-02-03"), *KNOWN)
holds("one that is of no use, too", check(0, "expired").out,
      "the waiver of finite at * expired on 2001-02-03 and matches nothing: remove it")

# --- files that are not right
for text, part in (('waivers : ( { law = "causality"; } );', "`reason`"),
                   ('waivers : ( { law = "causalty"; } );', "nearest: causality"),
                   ('waivers : ( { lay = "causality"; } );', "law"),
                   ('waivers : ( { law = "causality"; site = " ,"; } );',
                    "`site` is empty"),
                   ('waiver : ( );', "waivers")):
    write("rules.cfg", text)
    holds(f"{text} is refused", check(2, "not right").err, "rules.cfg:1", part)
finish()
