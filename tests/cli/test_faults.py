#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Random models under faults, against a decoder in numpy with the same fault, written
from its sentence: what runs is what the sentence says, and what is refused would change
nothing. A fixed seed; TXD_EXPLORE=N looks at N uses of each fault instead."""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "support"))
import h5py  # noqa: E402
import numpy as np  # noqa: E402
import numpy_decoder as decoder  # noqa: E402
import numpy_faults  # noqa: E402
import numpy_params  # noqa: E402
import random_models  # noqa: E402
from numpy_compare import wrong_values  # noqa: E402
from program import finish, ok, txdiag, write  # noqa: E402

COUNT = int(os.environ.get("TXD_EXPLORE", "4"))
# Lanes in which all tokens are nearly equal are divided by nearly nothing.
LOOSE = {"norm_axis_tokens": 1e4}
np.seterr(all="ignore")


def is_idle(parts, healthy, steps):
    """True if the fault changes no value of a real token."""
    config, weights, how = parts
    for inputs in steps:
        right = decoder.forward(*healthy, inputs)
        wrong = decoder.forward(config, weights, inputs, None, how)
        for name, value in right.items():
            if not np.array_equal(value, wrong[name], equal_nan=True):
                return False
    return True


def explore(seed, name):
    draw = random.Random(f"{name} {seed}")
    spec = random_models.healthy(draw)
    if name == "mask_fill_finite" and draw.random() < 0.7:
        random_models.add_empty_memory(draw, spec)
    use = {"name": name}
    if name != "post_ln" and draw.random() < 0.6:
        use["layers"] = random_models._range(draw, spec["model"]["n_layers"])
    config = decoder.resolve(spec)
    weights, steps = numpy_params.draw(spec, config), decoder.batches(spec, config)
    spec["precision"] = {"backend": "ref64"}
    spec["record"] = [{"probe": "full", "points": "*"}]
    spec["faults"] = [use]
    write("fault.cfg", random_models.text(spec))
    run = txdiag("run", "fault.cfg", "-o", "fault.h5")
    what = f"{seed}: {use}"
    if "cannot act here" in run.err or "already" in run.err:
        return False
    actual = (numpy_faults.configured(use, config),
              numpy_faults.parameters(use, config, weights), numpy_faults.Wrong(use))
    if run.status == 2:
        ok(f"{what}: refused since it changes nothing",
           "no real query" in run.err or is_idle(actual, (config, weights), steps),
           f"{run}\n{random_models.text(spec)}")
        return False
    with h5py.File("fault.h5", "r") as file:
        wrong = wrong_values(file, actual[0], actual[1], steps, None, actual[2],
                             LOOSE.get(name, 1))
    ok(f"{what}: acts as its sentence says", not wrong,
       f"{wrong}\n{random_models.text(spec)}")
    return True


for fault in numpy_faults.NAMES:
    acted = sum(explore(number, fault) for number in range(COUNT))
    ok(f"{fault} acts in some model", acted)
finish()
