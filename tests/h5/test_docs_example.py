#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The examples of docs/recording.md work as they stand there: the first on a recording
made here, the second makes one that `check` judges."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
from program import (SOURCE, exits, finish, holds, ok, read, skip,  # noqa: E402
                     txdiag, write)

import numpy  # noqa: E402

with open(SOURCE + "/docs/recording.md", encoding="utf-8") as page:
    blocks = re.findall(r"^```python\n(.*?)^```", page.read(), re.M | re.S)
ok("the page has two examples", len(blocks) == 2, len(blocks))

exits(0, "a recording is made", "run", SOURCE + "/examples/mini.cfg", "-q", "-o",
      "mini.h5")
write("example.py", blocks[0])
done = subprocess.run([sys.executable, "example.py", "mini.h5"], capture_output=True,
                      text=True, check=False)
ok("the reading example runs", done.returncode == 0, done.stderr)
holds("and prints what the recording holds", done.stdout, "cpu32",
      "['step', 'batch', 'head', 'query', 'key']",
      "layers x heads x queries: (2, 8, 16)",
      "layers.1.resid.post rms", "pass causality")

scope = {}
exec(blocks[1], scope)  # pylint: disable=exec-used
length = 7
scores = numpy.random.default_rng(1).normal(size=(2, 3, 4, length, length))
scores[..., numpy.triu_indices(length, 1)[0], numpy.triu_indices(length, 1)[1]] = -1e30
weights = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
weights /= weights.sum(axis=-1, keepdims=True)
scope["write"]("healthy.h5", weights)
good = exits(0, "what the writing example wrote is judged", "check", "healthy.h5")
holds("the laws that it can answer pass", good.out, "PASS row_sum", "PASS causality",
      "not recorded: attn.scores")
weights[1, 2, 3, 4, 6] = 1e-3
scope["write"]("leaky.h5", weights)
bad = exits(1, "a leak in it is found", "check", "leaky.h5")
holds("with its place", bad.out, "FAIL causality", "layers.1.attn.weights")
drawn = txdiag("plot", "leaky.h5", "layers.1.attn.weights", "--head", "3", "--batch",
               "2", "-o", "leaky.svg")
if "gnuplot" in drawn.err:
    skip("the leak is marked in the picture", "no gnuplot")
else:
    words = " ".join(re.sub("<[^>]*>", " ", read("leaky.svg").decode()).split())
    holds("the leak is marked in the picture", words,
          "1 hidden cell that is not 0", "hidden by the claimed mask (causal)")
finish()
