#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""run --dry-run: bytes on disk and peak memory within 20 % of what the run takes."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import (SOURCE, finish, model, ok, peak_of, read,  # noqa: E402
                     sanitized, skip, txdiag, write)

MINI = SOURCE + "/examples/mini.cfg"
STORIES = model("stories260K")
write("llama.cfg", """model : { preset = "llama"; vocab = 1000; d_model = 256;
  n_heads = 8; n_kv_heads = 4; n_layers = 4; d_ff = 688; };
input : { random : { batch = 1; length = 1000; }; };
""")
write("full.cfg", """model : { preset = "gpt2"; vocab = 300; d_model = 96; n_heads = 6;
  n_layers = 3; d_ff = 384; max_seq_len = 400; };
input : { random : { batch = 3; length = 400; }; };
record : ( { probe = "full"; points = "*"; } );
""")
write("halves.cfg", read("full.cfg").decode() + """
recording : { storage = "f16"; };
""")
write("packed.cfg", read("full.cfg").decode() + """
recording : { compression = "deflate"; };
""")
write("steps.cfg", """model : { preset = "mini"; vocab = 512; d_model = 64; n_heads = 8;
  n_layers = 4; d_ff = 256; max_seq_len = 64; };
input : { random : { batch = 4; length = 64; }; steps = 20; };
""")
write("everything.cfg", """model : { preset = "mini"; vocab = 512; d_model = 64;
  n_heads = 8; n_layers = 2; d_ff = 256; max_seq_len = 64; };
input : { random : { batch = 2; length = 16; }; steps = 200; };
record : ( { probe = "full"; points = "*"; } );
""")
# Rows of 500 end within chunks of 256: such chunks must leave memory, too.
write("odd.cfg", """model : { preset = "llama"; vocab = 100; d_model = 64; n_heads = 8;
  n_layers = 2; d_ff = 64; };
input : { random : { batch = 1; length = 500; }; steps = 12; };
""")
write("cross.cfg", """model : { preset = "gpt2"; vocab = 100; d_model = 64;
  n_heads = 4; n_layers = 3; max_seq_len = 400; cross = true; encoder_layers = 2; };
input : { random : { batch = 2; length = 70; }; steps = 3;
  memory : { random : { length = 390; }; }; };
""")
write("back.cfg", read("cross.cfg").decode() + """
record : ( { probe = "grad_norm"; }, { probe = "full"; points = "*.weight@grad"; } );
""")
write("memory.cfg", """model : { preset = "llama"; vocab = 100; d_model = 32;
  n_heads = 4; n_layers = 2; cross = true; };
input : { random : { batch = 1; length = 9; };
  memory : { random : { length = 9000; }; }; };
record : ( { probe = "full"; points = "*"; }, { probe = "rows"; },
  { probe = "pooled"; } );
""")
write("gradients.cfg", """model : { preset = "gpt2"; vocab = 300; d_model = 96;
  n_heads = 6; n_layers = 4; d_ff = 384; max_seq_len = 400; };
input : { random : { batch = 3; length = 300; }; steps = 2; };
record : ( { probe = "full"; points = "*@grad"; }, { probe = "grad_norm"; } );
""")
write("gradient_norms.cfg", """model : { preset = "llama"; vocab = 500; d_model = 128;
  n_heads = 8; n_kv_heads = 4; n_layers = 6; d_ff = 344; };
input : { random : { batch = 1; length = 1000; }; };
record : ( { probe = "grad_norm"; } );
""")
write("family.cfg", """model : { preset = "gpt2"; vocab = 900; d_model = 96;
  n_heads = 6; n_layers = 3; d_ff = 384; max_seq_len = 400; parallel = true;
  norm_placement = "sandwich"; embed_dim = 64; token_types = 2; embed_norm = true;
  head_transform = true; logit_softcap = 9.0; };
input : { random : { batch = 2; length = 150; }; };
record : ( { probe = "full"; points = "*,*@grad"; } );
""")
write("selected.cfg", """model : { preset = "gpt2"; vocab = 100; d_model = 64;
  n_heads = 8; n_layers = 6; max_seq_len = 256; };
input : { random : { batch = 2; length = 256; }; steps = 6; };
record : ( { probe = "rows"; layers = "1"; steps = "2"; },
  { probe = "pooled"; layers = "0"; steps = "1:3"; },
  { probe = "full"; points = "*.attn.weights"; heads = "1,2"; steps = "0"; } );
""")
if STORIES:
    write("stories.cfg", f"""model : {{ from = "{STORIES}"; }};
input : {{ file = "{STORIES}/golden/prompt_ids.npy"; }};
""")


# It fills whatever is allocated: memory that nobody would touch would count.
os.environ.pop("MALLOC_PERTURB_", None)


def number(text, name):
    match = re.search(rf"^{name} +(\d+) bytes", text, re.M)
    return int(match.group(1)) if match else 0


def within(name, estimate, truth):
    ok(f"{name}: estimate {estimate}, truth {truth}, ratio "
       f"{estimate / max(truth, 1):.2f}", 0.8 * truth <= estimate <= 1.2 * truth)


cases = [MINI, "llama.cfg", "full.cfg", "halves.cfg", "packed.cfg", "steps.cfg",
         "everything.cfg", "odd.cfg", "cross.cfg", "back.cfg", "memory.cfg",
         "gradients.cfg", "gradient_norms.cfg", "family.cfg", "selected.cfg"]
if STORIES:
    cases.append("stories.cfg")
else:
    skip("stories260K", "no model data")
for cfg in cases:
    dry = txdiag("run", cfg, "--dry-run")
    name = os.path.basename(cfg)
    if not ok(f"{name}: --dry-run exits with 0", dry.status == 0, dry):
        continue
    status, peak = peak_of("run", cfg, "-q", "-o", "out.h5")
    ok(f"{name}: the run exits with 0", status == 0, status)
    if name == "packed.cfg":
        ok("packed.cfg: what is saved is not foretold, and that is said",
           "before compression" in dry.out and
           os.path.getsize("out.h5") < 0.9 * number(dry.out, "on disk"), dry)
    else:
        within(f"{name}: bytes on disk", number(dry.out, "on disk"),
               os.path.getsize("out.h5"))
    if sanitized():
        skip(f"{name}: peak memory", "the sanitizer's memory is not ours")
        continue
    within(f"{name}: peak memory", number(dry.out, "peak memory"), peak)
_, few = peak_of("run", "odd.cfg", "-q", "-o", "out.h5", "--set", "input.steps=2")
_, many = peak_of("run", "odd.cfg", "-q", "-o", "out.h5", "--set", "input.steps=20")
if sanitized():
    skip("memory does not grow with the steps", "the sanitizer keeps what was freed")
else:
    ok(f"memory does not grow with the steps: {few} for 2, {many} for 20",
       many < 1.1 * few)
finish()
