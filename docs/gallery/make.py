#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the gallery: the face of each fault beside the healthy one, and what the laws
say of it. make.py PROGRAM FOLDER writes FOLDER/gallery.md and FOLDER/gallery/*.png from
the configurations beside this file; with --text only the words: a test compares them.
"""
import os
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

# Picture, configuration, fault, what is plotted, the law that says so, what to see.
PAIRS = (
    ("off-by-one", "text", '{ name = "mask_off_by_one"; layers = "2"; }',
     "layers.2.attn.weights --head 4 --scale log", "causality",
     "One diagonal too many, ringed: each query sees the next token, which is what it "
     "is to predict. The loss falls beautifully."),
    ("leaks", "text", '{ name = "mask_missing"; layers = "3"; heads = "5"; }',
     "leaks", "causality",
     "One head of one layer sees what the mask hides, wherever there is something to "
     "see. Blank everywhere is healthy."),
    ("padding", "padded", '{ name = "padding_ignored"; }',
     "layers.1.attn.weights --head 2 --batch 1 --scale log", "padding",
     "The columns of padding have weight. Rows of padded queries are grey: nobody "
     "reads them."),
    ("documents", "documents", '{ name = "documents_ignored"; }',
     "layers.1.attn.weights --head 2 --scale log", "documents",
     "The lower left block is ringed: the second document reads the first one."),
    ("scale", "text", '{ name = "scale_missing"; layers = "1,3"; }',
     "entropy", "score_scale",
     "Two rows are dark from end to end: without the scale every head of these layers "
     "looks at a key or two."),
    ("alike", "text", '{ name = "heads_identical"; layers = "2"; }',
     "similarity", "heads_distinct",
     "A yellow block on the diagonal, ringed: the heads of layer 2 are one head, eight "
     "times; their neighbours' columns have become stripes."),
    ("positions", "text", '{ name = "position_offset"; }',
     "profiles", "rotation_angle",
     "The heads that looked at the previous token, yellow in the last row of maps, are "
     "gone: queries look three positions beside where they should."),
    ("norm", "deep", '{ name = "norm_inverted"; layers = "5"; }',
     "norm_output", "norm_output",
     "The outputs of one layer's norms leave the band."),
    ("channel", "text", '{ name = "massive_channel"; layers = "2"; }',
     "activations", "massive_channels",
     "The residual stream jumps in one layer and stays there, beyond what float16 can "
     "hold; what the norms after it let through is nearly 0."),
    ("embedding", "deep", '{ name = "embedding_too_large"; }',
     "norms", "position_norm",
     "Token embeddings drown the positions, and the layers add nothing that shows: the "
     "stream is flat."),
    ("detached", "deep", '{ name = "grad_zeroed"; layers = "6"; }',
     "gradients", "grad_range",
     "A gap in the line, and a mark at 0 below it: nothing of the gradient reaches the "
     "parameters of layer 6. The layers before it still learn."),
    ("post-norm", "deep", '{ name = "post_ln"; }',
     "gradients", "residual_sum",
     "The gradient no longer grows evenly on its way down: norms after the sums even "
     "it out at every layer."),
    ("nan", "text", '{ name = "nan_in_weights"; layers = "2"; }',
     "nonfinite", "finite",
     "It began where the ring is, in a weight. A lane of the queries carries it into "
     "the scores of one head, the output projection into every channel, the stream "
     "into every layer after."),
)
WORDS = """# What faults look like

Each fault beside the same model without it, drawn by `txdiag plot`, and the line in
which `txdiag run` names it. The configurations are in `docs/gallery`; `text`, `padded`
and `documents` run a trained model, karpathy's stories260K, `deep` draws its weights.
This page is written by `./dev gallery`.
"""


def call(*arguments, allowed=(0,)):
    """What was said, and the exit status."""
    done = subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode not in allowed:
        sys.exit(f"gallery: {shlex.join(arguments)}: exit {done.returncode}\n"
                 f"{done.stderr}")
    return done.stdout, done.returncode


class Gallery:
    """Recordings are made once for each configuration and fault."""

    def __init__(self, program, pictures, scratch):
        self.program, self.pictures, self.scratch = program, pictures, scratch

    def record(self, config):
        path = os.path.join(self.scratch, f"{config}.h5")
        if not os.path.exists(path):
            call(self.program, "run", "-q", f"{HERE}/{config}.cfg", "-o", path)
        return path

    def plant(self, config, fault):
        path = os.path.join(self.scratch, "faulty.h5")
        said, status = call(self.program, "run", "-q", f"{HERE}/{config}.cfg", "-o",
                            path, "--set", f"faults=({fault})", allowed=(0, 1))
        return path, said, status

    def draw(self, recording, what, name):
        if self.pictures:
            call(self.program, "plot", "-q", recording, *what.split(), "-o",
                 os.path.join(self.pictures, name))

    def pair(self, picture, config, fault, what, law, words):
        healthy = self.record(config)
        faulty, said, status = self.plant(config, fault)
        name = fault.split('"')[1]
        lines = [line for line in said.splitlines() if line.startswith(f"     {law}: ")]
        if not lines:
            sys.exit(f"gallery: {name}: {law} says nothing:\n{said}")
        self.draw(healthy, what, f"{picture}-healthy.png")
        self.draw(faulty, what, f"{picture}-faulty.png")
        path = "gallery/" + picture
        exit_words = "  # exit 1" if status else ""
        title = call(self.program, "explain", name)[0].splitlines()[2]
        return f"""
## {name}

{title[0].upper()}{title[1:]}.

| healthy | faulty |
|---|---|
| ![healthy]({path}-healthy.png) | ![{name}]({path}-faulty.png) |

{words}

```console
$ txdiag run docs/gallery/{config}.cfg --set 'faults=({fault})' -o faulty.h5{exit_words}
...
{lines[0].strip()}
...
$ txdiag plot faulty.h5 {what} -o faulty.png
```
"""


def main():
    program, folder = sys.argv[1:3]
    pictures = None if "--text" in sys.argv else os.path.join(folder, "gallery")
    if pictures:
        os.makedirs(pictures, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="txdiag-gallery-") as scratch:
        gallery = Gallery(program, pictures, scratch)
        page = WORDS + "".join(gallery.pair(*each) for each in PAIRS)
    with open(os.path.join(folder, "gallery.md"), "w", encoding="utf-8") as file:
        file.write(page)


main()
