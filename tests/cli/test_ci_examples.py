#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""examples/ci: the commands of its jobs and of its README run as they stand there,
write what the jobs hand on, and fail without the waiver."""
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import PROGRAM, SOURCE, equal, finish, ok, read, write  # noqa: E402

FOLDER = SOURCE + "/examples/ci/"
for name in os.listdir(FOLDER):
    shutil.copy(FOLDER + name, name)
ENVIRONMENT = {**os.environ, "PATH": os.path.dirname(os.path.abspath(PROGRAM)) + ":" +
               os.environ["PATH"]}


def commands(name):
    """The calls of txdiag in a file: those of YAML, or indented ones of Markdown."""
    found = re.findall(r"^ *(?:- |run: |    )(txdiag .*)$", read(name).decode(), re.M)
    ok(f"{name} calls txdiag", found)
    return found


def call(command, status=0):
    done = subprocess.run(["sh", "-c", command], env=ENVIRONMENT, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    ok(f"{command}: exit status {status}", done.returncode == status,
       f"exit {done.returncode}\n{done.stdout}")


for name in ("README.md", "github.yml", "gitlab.yml"):
    for command in commands(name):
        call(command)

# --- what the jobs hand on is what the commands wrote
sarif = re.search(r"sarif_file: (\S+)", read("github.yml").decode()).group(1)
results = json.loads(read(sarif))["runs"][0]["results"]
ok("alerts: the waived finding, suppressed", results and all(
    result["ruleId"] == "projection_std" and result["suppressions"]
    for result in results), results)
junit = re.search(r"junit: (\S+)", read("gitlab.yml").decode()).group(1)
root = ElementTree.parse(junit).getroot()
equal("tests: no failure in two files",
      (root.get("failures"), root.get("errors"), len(root)), ("0", "0", 2))
for path in re.findall(r"^ {6}- (\S+)$", read("gitlab.yml").decode(), re.M):
    ok(f"the artifact {path} is there", os.path.exists(path))

# --- the job of GitLab with a broken law ends so, but writes the table of tests
os.remove(junit)
sound = read("model.cfg").decode()
write("model.cfg", sound + '\nfaults : ( { name = "mask_off_by_one"; } );\n')
call("set -e\n" + "\n".join(commands("gitlab.yml")), 1)
cases = ElementTree.parse(junit).getroot().iter("testcase")
failed = [case.get("name") for case in cases if case.find("failure") is not None]
ok("tests: what is broken is among them", "causality" in failed, failed)
write("model.cfg", sound)

# --- the waiver is needed, and ends
rules = read("rules.cfg").decode()
(judge,) = commands("github.yml")
write("rules.cfg", rules.replace("9999-12-31", "2001-01-01"))
call(judge, 1)
write("rules.cfg", re.sub(r"waivers : .*", "", rules, flags=re.S))
call(judge, 1)
call("txdiag check model.cfg --rules rules.cfg")

# --- the example of docs/ci.md is one
example = re.search(r"```\n(checks : .*?)```", read(SOURCE + "/docs/ci.md").decode(),
                    re.S).group(1)
write("rules.cfg", re.sub(r"\d{4}-\d\d-\d\d", "9999-12-31", example))
call(judge)
finish()
