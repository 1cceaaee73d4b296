#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What verdicts do not say themselves: faults that no law noticed, laws that no
recording answers, and losses that mean nothing."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import SOURCE, equal, exits, finish, holds, ok, txdiag, write  # noqa: E402

MINI = SOURCE + "/examples/mini.cfg"
PARITY = SOURCE + "/tests/fixtures/parity/"
EVERYTHING = ('record=({probe="full"; points="*";},{probe="rows";},{probe="stats";},'
              '{probe="norms";})')


def model(name):
    write(f"{name}.cfg", f'model : {{ from = "{PARITY}{name}"; }};\n'
          "input : { tokens = ( [1, 5, 9, 2, 7, 4, 8, 3] ); };\n")
    return f"{name}.cfg"


def fault(name, more=""):
    return "--set", f'faults=({{name="{name}"; {more}}})'


def verdicts(result):
    found = {law: verdict for verdict, law in re.findall(
        r"^(PASS|INFO|WARN|FAIL|SKIP|OPEN) (\w+)", result.out, re.M)}
    for verdict, others in re.findall(r"^(SKIP|OPEN) .*; so too: (.*)$", result.out,
                                      re.M):
        found.update({law: verdict for law in others.split(", ")})
    return found


# --- a planted fault that nothing can notice
post = model("opt_post")
for how in (("run",), ("check", "--skip", "precision_ladder")):
    result = exits(0, f"{how[0]}: an effect below rounding breaks no law", *how, post,
                   *fault("norm_eps_tiny"))
    equal("its law passed", verdicts(result)["norm_output"], "PASS")
    holds("that nobody noticed is said", result.err, "planted, but no law noticed it: "
          "norm_eps_tiny", "norm_output passed", "--backend ref64", "another strength")
result = exits(1, "the ladder of precisions finds it", "check", post,
               *fault("norm_eps_tiny"))
equal("as the only law", [law for law, verdict in verdicts(result).items()
                          if verdict == "FAIL"], ["precision_ladder"])
ok("and so it is noticed", "no law noticed" not in result.err, result.err)
result = exits(1, "what it advises", "run", post, *fault("norm_eps_tiny"), "--backend",
               "ref64")
ok("helps", "no law noticed" not in result.err and "FAIL norm_output" in result.out,
   result)
result = exits(1, "of two faults", "run", post, "--set",
               'faults=({name="norm_eps_tiny"; layers="0";},{name="scale_missing";})')
holds("the one that nobody noticed is named", result.err, "no law noticed it: "
      "norm_eps_tiny layers=0;")
ok("alone", "noticed it: scale_missing" not in result.err, result.err)
for name in ("mask_missing", "heads_identical"):
    ok(f"{name} is noticed, and nothing said",
       "no law noticed" not in exits(1, name, "run", MINI, *fault(name)).err)
ok("nor without a fault", "noticed" not in txdiag("run", MINI).err)
ok("nor where its laws were not asked for", "noticed" not in txdiag(
    "check", post, "--only", "row_sum", *fault("norm_eps_tiny")).err)
ok("--quiet says nothing", txdiag("run", post, "-q", *fault("norm_eps_tiny")).err == "")

# --- what a recording cannot answer
LINE = r"^(\d+) laws? that the run judged could not be judged from what is recorded;.*$"
RUN = exits(0, "a run", "run", MINI, "-o", "r.h5")
result = exits(0, "a check of what is recorded by default", "check", "r.h5")
live, again = verdicts(RUN), verdicts(result)
lost = [law for law in again if again[law] == "SKIP" and live[law] != "SKIP"]
ok("judges less than the run", len(lost) > 5, again)
found = re.search(LINE, result.out, re.M)
ok("and says so, last", found and result.out.rstrip().endswith(found.group(0)),
   result.out)
equal("with the number", int(found.group(1)) if found else None, len(lost))
holds("where the verdicts are, and what to record", result.out, "`txdiag info r.h5`",
      'record : ( { probe = "full"; points = "*"; }')
holds("they are there", txdiag("info", "r.h5").out, *live)
advised = re.search(r"`record : (.*);`", result.out).group(1)
exits(0, "the advice", "run", MINI, "-o", "all.h5", "--set", f"record={advised}")
again = verdicts(exits(0, "its check", "check", "all.h5"))
equal("leaves out those that read parameters", {
    law for law in again if again[law] == "SKIP" and live[law] != "SKIP"},
      {"head_logits", "head_split", "mlp_linear", "output_projection"})
ok("a run itself lacks nothing", not re.search(LINE, RUN.out, re.M), RUN.out)
ok("JSON has no such line", "could not be judged from" not in txdiag(
    "check", "r.h5", "--format", "json").out)

notes = "".join(re.findall("^SKIP.* not recorded: .*$", result.out, re.M))
ok("points that the model has not are not missed", "attn.masked" in notes and
   "cross." not in notes, notes)

# --- one mistake breaks many laws, one NaN leaves many open
result = exits(1, "no mask", "check", MINI, *fault("mask_missing", 'layers="1";'))
ok("breaks many laws", list(verdicts(result).values()).count("FAIL") > 2, result.out)
holds("the first value that is wrong is where to begin", result.out.splitlines()[-1],
      " failed, ", "; begin with mask_fill: layers.1.attn.masked")
equal("JSON says so, too", json.loads(txdiag(
    "check", MINI, *fault("mask_missing", 'layers="1";'), "--format",
    "json").out)["files"][0]["begin_with"],
      {"check": "mask_fill", "site": "layers.1.attn.masked"})
holds("and TAP", txdiag("check", MINI, *fault("mask_missing", 'layers="1";'),
                        "--format", "tap").out,
      "mini.cfg: begin with mask_fill: layers.1.attn.masked\n")
equal("nothing does where nothing is broken", json.loads(txdiag(
    "check", "r.h5", "--format", "json").out)["files"][0]["begin_with"], None)
result = exits(1, "a NaN", "run", MINI, *fault("nan_in_weights", 'layers="1";'))
holds("is where to begin", result.out.splitlines()[-1],
      "; begin with finite: layers.1.attn.qkv.weight")
opened = [law for law, verdict in verdicts(result).items() if verdict == "OPEN"]
ok("and leaves laws open on one line", len(opened) > 15 and len(
    re.findall("^OPEN", result.out, re.M)) == 1, result.out)

# --- laws that make passes of their own
OWN = ["future_perturbation", "padding_invariance", "packed_separate",
       "batch_invariance", "batch_permutation", "repeatability", "gradient_causality"]
for name, result in (("run", RUN), ("a check of a recording", txdiag("check", "r.h5"))):
    equal(f"{name} skips them", {verdicts(result)[law] for law in OWN}, {"SKIP"})
holds("with the reason", RUN.out,
      "makes passes of its own: `txdiag check MODEL.cfg` does")
for command in (("run", MINI, "--experiments"), ("check", MINI)):
    found = verdicts(exits(0, " ".join(command[::2]), *command))
    equal("judges them", {found[law] for law in OWN}, {"PASS"})
found = verdicts(exits(1, "a leak past the softmax", "check", MINI,
                       *fault("block_means")))
equal("breaks two of them", [found[law] for law in (
    "future_perturbation", "gradient_causality", "causality", "repeatability")],
      ["FAIL", "FAIL", "PASS", "PASS"])

# --- the loss of a model that sees what it is to predict
AHEAD = "of predicting the next token, which this model sees"
SEES = "this model sees the token that it is to predict"
result = exits(0, "an encoder", "run", model("bert"))
holds("its loss is no measure", result.err, "loss ", AHEAD)
holds("loss_token says that, too", result.out, SEES)
holds("beside a gradient, too", exits(0, "with gradients", "run", "bert.cfg", "--set",
                                      'record=({probe="grad_norm";})').err,
      AHEAD + ", gradient norm ")
result = exits(0, "a causal model", "run", MINI)
ok("has nothing of it", AHEAD not in result.err and SEES not in result.out, result)
result = exits(0, "one of two layers without a mask", "run", MINI, "--set",
               'model.layers=({range="1"; causal=false;})')
holds("is enough", result.err, AHEAD)
finish()
