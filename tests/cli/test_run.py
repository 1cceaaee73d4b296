#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""run and check: verdicts, exit statuses, where outputs go, what is stored."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
import h5py  # noqa: E402
from program import (SOURCE, equal, exits, finish, holds, ok, read,  # noqa: E402
                     skip, write)

MINI = SOURCE + "/examples/mini.cfg"
LEAK = SOURCE + "/examples/mini-leak.cfg"


def verdicts_of(result):
    """Law: verdict, of the first file of a JSON report."""
    report = json.loads(result.out)["files"][0]
    return {law["check"]: law["verdict"] for law in report["results"]}


# Laws that judge by values of parameters, which no recording holds.
BY_PARAMETERS = {"head_split", "output_projection"}


def without_parameters(result):
    """Laws that are skipped because a recording holds no parameters."""
    report = json.loads(result.out)["files"][0]
    return {law["check"] for law in report["results"] if law["verdict"] == "skip"
            and "parameters are not at hand" in (law["note"] or "")}


def text(values):
    return [v.decode() if isinstance(v, bytes) else v for v in values]


def stored_verdicts(path):
    with h5py.File(path, "r") as file:
        laws = file["checks/laws"]
        return dict(zip(text(laws["name"][...]), text(laws["verdict"][...])))


# --- a healthy run
result = exits(0, "the healthy example exits with 0", "run", MINI)
ok("without -o the recording is the cfg's name with .h5, here",
   os.path.exists("mini.h5"), os.listdir("."))
ok("nothing half-made is left", not os.path.exists("mini.h5.part"))
holds("stdout names every law", result.out, "row_sum", "causality", "padding", "finite",
      "position_norm", "residual_sum", "score_scale")
ok("stderr has no progress bar when it is no terminal", "\r" not in result.err)
holds("stderr says where the recording is", result.err, "mini.h5")
ok("--quiet silences stderr", exits(0, "--quiet runs", "run", MINI, "-q").err == "")
with h5py.File("mini.h5", "r") as file:
    equal("the recording is complete", int(file.attrs["complete"]), 1)
    equal("its schema is 1", int(file.attrs["txdiag_schema"]), 1)
    holds("it knows the command", file.attrs["command"], "txdiag run", "mini.cfg")
    holds("it holds the resolved configuration", file.attrs["config"],
          "d_model = 64", "head_dim = 8")
    equal("no faults are stored as an empty text", file.attrs["faults"], "")
    equal("it says that the weights were drawn", file.attrs["weights"], "drawn")
    equal("the weights have (s, b, h, q, k)",
          file["value/layers/1/attn/weights/full"].shape, (1, 2, 8, 16, 16))

    blas, simd = file.attrs["blas"], file.attrs["simd"]

# --- a BLAS that does not use this CPU
if "OpenBLAS" in blas and simd != "portable":
    old = {"OPENBLAS_CORETYPE": "Prescott"}
    result = exits(0, "a run with old BLAS kernels", "run", MINI, "-o", "old.h5",
                   env=old)
    holds("slow kernels of the BLAS are named, with what to do", result.err, "Prescott",
          "OPENBLAS_CORETYPE")
    with h5py.File("old.h5", "r") as file:
        holds("the recording names them", file.attrs["blas"], "core Prescott")
    result = exits(1, "two models", "check", MINI, LEAK, env=old)
    equal("they are named once", result.err.count("OPENBLAS_CORETYPE"), 1)
    equal("and not to who wants it quiet",
          exits(0, "--quiet", "run", MINI, "-q", env=old).err, "")
else:
    skip("slow kernels of the BLAS are named", "no OpenBLAS, or no kernels to choose")

# --- a faulty run
result = exits(1, "the faulty example exits with 1", "run", LEAK, "-o", "leak.h5")
holds("the finding names law, site, query and key", result.out, "causality",
      "layers.0.attn.weights", "query 5", "key 6")
with h5py.File("leak.h5", "r") as file:
    equal("a run with a broken law is complete too", int(file.attrs["complete"]), 1)
    holds("the fault is stored", file.attrs["faults"], "mask_off_by_one", "queries=5")
    ok("the configuration is the claimed one: no faults", "mask_off_by_one" not in
       file.attrs["config"], file.attrs["config"])

# --- check gives the verdicts that run gave
FAULTS = ("mask_missing", "mask_off_by_one", "mask_inverted", "mask_after_softmax",
          "padding_ignored", "scale_missing", "embedding_too_large",
          "position_too_small", "residual_missing", "nan_in_weights",
          "fully_masked_row")
every = ('record=({probe="full"; points="*";},{probe="rows";},{probe="stats";},'
         '{probe="norms";})')
for fault in ("",) + FAULTS:
    planted = ["--set", f'faults=({{name="{fault}";}})'] if fault else []
    name = fault or "the healthy model"
    made = exits(1 if fault else 0, f"run: {name}", "run", MINI, "-o", "f.h5", "--set",
                 every, *planted)
    again = exits(made.status, f"check of its recording exits alike: {name}", "check",
                  "f.h5", "--format", "json")
    blind = without_parameters(again)
    ok(f"it cannot judge without parameters: {name}",
       BY_PARAMETERS <= blind, blind)
    equal(f"and gives the same verdicts: {name}",
          {law: verdict for law, verdict in verdicts_of(again).items()
           if law not in blind},
          {law: verdict for law, verdict in stored_verdicts("f.h5").items()
           if law not in blind})
    live = exits(made.status, f"check of the cfg exits alike: {name}", "check", MINI,
                 "--format", "json", *planted) if not fault else None
    if live:
        exits(0, "a run that makes experiments, too", "run", MINI, "-o", "f.h5",
              "--experiments")
        equal("gives the same verdicts", verdicts_of(live), stored_verdicts("f.h5"))

# --- what a recording says of itself reads back
exits(0, "a seed of 63 bits", "run", MINI, "-o", "seed.h5", "--set",
      "seed=9223372036854775807L")
exits(0, "its recording can be judged", "check", "seed.h5")
exits(1, "a head without any weight", "run", MINI, "-o", "empty.h5", "--set",
      "input.tokens=[1]", "--set", "record=({probe=\"full\";})", "--set",
      'faults=({name="fully_masked_row"; layers="1";})')
holds("is not green in its recording",
      exits(1, "exit 1", "check", "empty.h5").out, "FAIL row_sum",
      "layers.1.attn.weights")

# --- thresholds
strict = exits(1, "a threshold of the cfg is used", "run", MINI, "-o", "strict.h5",
               "--set", "checks.position_norm.factor=1.0")
holds("by the law it belongs to", strict.out, "position_norm")
exits(1, "check judges by the thresholds of the run", "check", "strict.h5")
write("rules.cfg", "checks : { position_norm : { factor = 10.0; }; };\n")
exits(0, "unless a rules file says otherwise", "check", "strict.h5", "--rules",
      "rules.cfg")
write("rules.cfg", "checks : { position_norm : { factor = 1.0; }; };\n")
exits(1, "a rules file can be stricter", "check", "mini.h5", "--rules", "rules.cfg")
exits(1, "a rules file works on a cfg too", "check", MINI, "--rules", "rules.cfg")
write("rules.cfg", "checks : { position_norm : { faktor = 1.0; }; };\n")
holds("a wrong key of a rules file is an error",
      exits(2, "exit 2", "check", "mini.h5", "--rules", "rules.cfg").err,
      "rules.cfg:1", "nearest: factor")
write("rules.cfg", "mask : { causal = false; };\n")
exits(2, "rules are about checks alone", "check", "mini.h5", "--rules", "rules.cfg")

# --- which laws
only = exits(0, "--only", "check", "mini.h5", "--only", "causality", "--format", "json")
equal("evaluates that law alone", list(verdicts_of(only)), ["causality"])
skipped = exits(0, "--skip", "check", "leak.h5", "--skip", "causality", "--skip",
                "finite", "--format", "json")
ok("leaves these laws out", not {"causality", "finite"} & set(verdicts_of(skipped)))
exits(1, "the fault shows with all other laws off", "check", "leak.h5", "--only",
      "causality")
exits(0, "a recording without the sums", "run", MINI, "-o", "bare.h5", "--set",
      'record=({probe="full"; points="logits";})')
bare = exits(77, "nothing that can be evaluated is 77", "check", "bare.h5", "--only",
             "residual_sum,score_scale")
holds("the skip is explained", bare.out, "residual_sum", "not recorded")

# --- several files
exits(1, "one broken file of two", "check", "mini.h5", "leak.h5")
exits(2, "one unreadable file of two", "check", "mini.h5", "missing.h5")
exits(77, "one file of two in which nothing can be evaluated", "check", "mini.h5",
      "bare.h5", "--only", "residual_sum,score_scale,padding")
both = exits(1, "a broken law outranks an unreadable file", "check", "missing.h5",
             "leak.h5", "--format", "json")
report = json.loads(both.out)
equal("every file has its place in the report",
      [f["source"] for f in report["files"]], ["missing.h5", "leak.h5"])
holds("the unreadable one has its error", report["files"][0]["error"], "missing.h5")
equal("the exit status stands in it", report["exit"], 1)
exits(0, "a report goes to a file", "check", "mini.h5", "--format", "json", "-o",
      "report.json")
ok("which holds it", json.loads(read("report.json"))["exit"] == 0)
exits(0, "it is replaced by the next one", "check", "mini.h5", "-o", "report.json")
exits(0, "and that one too", "check", "mini.h5", "-o", "report.json")

# --- outputs
write("notes.h5", "my notes\n")
exits(2, "what is no recording is not replaced", "run", MINI, "-o", "notes.h5")
equal("it is untouched", read("notes.h5"), b"my notes\n")
exits(0, "--force replaces it", "run", MINI, "-o", "notes.h5", "--force")
ok("by a recording", read("notes.h5")[:4] == b"\x89HDF")
before = read("leak.h5")
exits(0, "a recording is replaced without asking", "run", MINI, "-o", "leak.h5")
ok("it is the new one", read("leak.h5") != before)

# --- settings, backends, threads
exits(0, "--set may be repeated", "run", MINI, "-o", "set.h5", "--set",
      "model.n_layers=3", "--set", "input.tokens=[1,2,3]", "--backend", "ref64")
with h5py.File("set.h5", "r") as file:
    weights = file["value/layers/2/attn/weights/full"]
    equal("both are used", weights.shape, (1, 1, 8, 3, 3))
    equal("ref64 is recorded as float64", weights.dtype.name, "float64")
    equal("the backend is stored", file.attrs["backend"], "ref64")
for threads in (1, 3):
    exits(0, f"--threads {threads}", "run", MINI, "-o", f"threads{threads}.h5",
          "--threads", threads)
with h5py.File("threads1.h5", "r") as a, h5py.File("threads3.h5", "r") as b:
    ok("the bits do not depend on the threads",
       (a["value/logits/full"][...] == b["value/logits/full"][...]).all())
for softmax, status in (("float32", 0), ("same", 0), ("float64", 2)):
    exits(status, f"precision.softmax = {softmax}", "run", MINI, "-o", "softmax.h5",
          "--set", f'precision.softmax="{softmax}"', "--backend", "ref32")
with h5py.File("softmax.h5", "r") as file:
    holds("the recorded configuration says what ran", file.attrs["config"],
          'backend = "ref32"', 'softmax = "same"')
    equal("once", file.attrs["config"].count("precision : {"), 1)
exits(0, "windows of the input are steps", "run", MINI, "-o", "steps.h5", "--set",
      "input.tokens=[1,2,3,4,5,6,7,8]", "--set", "input.steps=4")
with h5py.File("steps.h5", "r") as file:
    equal("each is recorded", file["input/tokens"].shape, (4, 1, 2))

# --- hidden cells that are not computed
NEVER = ("--set", 'mask={causal=true;window=5;evaluate_hidden="never";}', "--set",
         "model.max_seq_len=300", "--set", "input={random={length=300;};}", "--set",
         'record=({probe="full";points="*.scores,*.masked,*.weights";})')
result = exits(0, "a pass without them", "run", MINI, "-o", "never.h5", *NEVER)
judged = [line for line in result.out.splitlines() if line.startswith("PASS mask_fill")]
holds("its recording", exits(0, "is judged", "check", "never.h5").out, *judged)
equal("as it was", len(judged), 1)
os.remove("never.h5")

# --- info
info = json.loads(exits(0, "info of a recording", "info", "leak.h5", "--json").out)
equal("its kind", info["kind"], "recording")
equal("its state", info["state"], "complete")
equal("its verdicts", info["verdicts"], stored_verdicts("leak.h5"))
ok("its datasets", any(d["name"] == "layers.0.attn.weights" and
                       d["shape"] == [1, 2, 8, 16, 16] for d in info["datasets"]))
info = json.loads(exits(0, "info of a cfg", "info", LEAK, "--json").out)
holds("says everything resolved", info["config"], "head_dim = 8")
holds("and the faults", info["faults"], "mask_off_by_one")
exits(0, "info as text", "info", "leak.h5")
write("short.cfg", 'model : { vocab = 9; d_model = 8; n_heads = 2; n_layers = 1; '
      'max_seq_len = 8; }; input : { tokens = [1]; };')
holds("a cfg of one line is no safetensors file",
      exits(0, "info of a cfg of one line", "info", "short.cfg").out, "head_dim = 4")

# --- dry run
before = set(os.listdir("."))
dry = exits(0, "--dry-run", "run", MINI, "--dry-run", "-o", "never.h5")
holds("prints points, shapes, bytes and memory", dry.out, "layers.1.attn.weights",
      "on disk", "peak memory")
equal("and writes nothing", set(os.listdir(".")), before)
finish()
