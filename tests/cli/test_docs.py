#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What is written about the program is so: the reference of model.cfg is that of the
code, the examples run, and every command that README.md shows works as shown."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import (MODELS, PROGRAM, SOURCE, equal, exits, finish, holds,  # noqa: E402
                     model, ok, read, skip, txdiag)


def text_of(path):
    return read(os.path.join(SOURCE, path)).decode()


# --- model.cfg
made = exits(0, "the reference is made", "list", "keys", "--markdown").out
equal("docs/model.cfg.md is what the code accepts (./dev docs renews it)",
      text_of("docs/model.cfg.md").splitlines(), made.splitlines())
equal("docs/laws.md is what the laws say (./dev docs renews it)",
      text_of("docs/laws.md").splitlines(),
      exits(0, "the laws are a page", "list", "checks",
            "--markdown").out.splitlines())
reads = re.findall(r" It reads (.*)\.$", text_of("docs/laws.md"), re.M)
twice = [line for line in reads if len(set(line.split(", "))) < line.count(", ") + 1]
ok("of every law it is told what it reads, each point once", len(reads) > 30 and
   not twice, twice)
holds("an allowance by a threshold names its key", text_of("docs/laws.md"),
      "Allowed: ln V, checks.initial_loss.above, and")
equal("docs/faults.md is the catalogue (./dev docs renews it)",
      text_of("docs/faults.md").splitlines(),
      exits(0, "the catalogue is made", "list", "faults",
            "--markdown").out.splitlines())
for key in re.findall(r"^\| `([^`]+)`", made, re.M):
    group = re.split(r"[.\[]", key)[0]
    if group not in ("version", "seed"):
        continue
    exits(0, f"{key} is explained", "explain", key)

# The table of presets is what `info` resolves.
PRESETS = {
    "mini | rmsnorm, eps 2^-23 | learned | gelu | fused | none | its own":
        ("rmsnorm", "1.1920928955078125e-07", "learned", "gelu", "false", "fused",
         "false", "false"),
    "gpt2 | layernorm, eps 1e-5 | learned | gelu_tanh | fused | all | the token "
    "embedding":
        ("layernorm", "1e-05", "learned", "gelu_tanh", "false", "fused", "true",
         "true"),
    "llama | rmsnorm, eps 1e-5 | rotary | silu, gated | separate | none | its own":
        ("rmsnorm", "1e-05", "rotary", "silu", "true", "separate", "false", "false"),
}
KEYS = ("norm", "norm_eps", "positions", "activation", "gated", "qkv", "qkv_bias",
        "tie_embeddings")
for row, values in PRESETS.items():
    preset = row.split(" ", maxsplit=1)[0]
    holds(f"docs/model.cfg.md has the preset {preset}", made,
          "| `" + row.replace(" |", "` |", 1) + " |")
    with open("preset.cfg", "w", encoding="utf-8") as out:
        out.write(f'model : {{ preset = "{preset}"; vocab = 9; d_model = 8; '
                  "n_heads = 2; n_layers = 1; max_seq_len = 8; }; "
                  "input : { tokens = [1]; };\n")
    resolved = exits(0, f"the preset {preset} is resolved", "info", "preset.cfg").out
    holds(f"the preset {preset} is what its row says", resolved.replace('"', ""),
          "norm_placement = pre;", "final_norm = true;",
          *(f" {key} = {value};" for key, value in zip(KEYS, values)))

# --- examples
exits(0, "examples/mini.cfg is healthy", "check", SOURCE + "/examples/mini.cfg")
for name in ("cross", "memory"):
    exits(0, f"examples/{name}.cfg is healthy", "check",
          f"{SOURCE}/examples/{name}.cfg")
exits(1, "examples/mini-leak.cfg is not", "check", SOURCE + "/examples/mini-leak.cfg")
beside = os.path.abspath(SOURCE + "/../shared/models")
if MODELS and os.path.isdir(beside):
    for name in ("stories", "sort"):
        exits(0, f"examples/{name}.cfg is healthy", "check",
              f"{SOURCE}/examples/{name}.cfg")
else:
    skip("the examples of trained models", "no model data")

def blur(text):
    """Numbers differ between machines in the last digits, columns in width with what
    stands in other lines."""
    return re.sub(r" +", " ", re.sub(r"\d+(\.\d+)?(e[-+]\d+)?", "#", text))


# --- README, block by block: ```python is run. In ```console a line `$ command` is run;
# the lines that follow it, but for `...`, must be among those that it prints.
# `# exit N` states its status.
readme = text_of("README.md")
os.symlink(SOURCE + "/examples", "examples")
os.makedirs("path/to")
checkpoint = model("stories260K")
if checkpoint:
    os.symlink(checkpoint, "path/to/model")
environment = {**os.environ, "PATH": os.path.dirname(PROGRAM) + ":" +
               os.environ["PATH"]}
blocks = re.findall(r"```(console|python)\n(.*?)```", readme, re.S)
ok("README.md shows commands and Python", len(blocks) > 5)
for language, block in blocks:
    if language == "python":
        done = subprocess.run([sys.executable, "-c", block], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        ok(f"README: Python: {block.splitlines()[3]}", done.returncode == 0,
           done.stdout)
        continue
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
        command, _, remark = command.partition("  # exit ")
        if not checkpoint and re.search(r"path/to|my\.cfg|once\.h5", command):
            skip(f"README: {command}", "no model data")
            continue
        done = subprocess.run(["sh", "-c", command], env=environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        equal(f"README: {command}: exit status", done.returncode, int(remark or 0))
        missing = [line for line in shown.splitlines() if line.strip() != "..." and
                   blur(line) not in blur(done.stdout)]
        ok(f"README: {command}: prints what is shown", not missing,
           f"missing {missing} in\n{done.stdout}{done.stderr}")

exits(0, "a recording of fewer digits", "run", "examples/mini.cfg", "-o", "few.h5",
      "--set", 'recording.storage="f16"',
      "--set", 'record=({probe="full"; points="*";})')
few = re.findall(r"^SKIP (\w+) .* with fewer digits than this law needs",
                 txdiag("check", "few.h5", "-v").out, re.M)
ok("laws are skipped for it", len(few) > 5, few)
holds("docs/recording.md names them", text_of("docs/recording.md"),
      *[f"`{law}`" for law in few])

for kind in "checks", "faults":
    names = [line.split()[0] for line in txdiag("list", kind).out.splitlines()]
    missing = [name for name in names if f"`{name}`" not in readme]
    ok(f"README.md names all {kind}", names and not missing, missing)

# --- every option and every subcommand that the manual names exists
manual = text_of("docs/txdiag.1").replace("\\-", "-")
commands = re.findall(r"^  ([a-z]+) +[a-z]", txdiag("--help").out, re.M)
helps = "".join(txdiag(c, "--help").out for c in commands if c != "txdiag")
for option in sorted(set(re.findall(r"(--[a-z][a-z-]+)", manual))):
    ok(f"the option {option} of the manual exists",
       option in helps or option == "--version")
holds("the manual names every command", manual, "run", "check", "info", "list", "plot",
      "report", "explain")
finish()
