# SPDX-License-Identifier: MIT
"""What a recording holds against what the numpy decoder computes."""
import numpy as np
import numpy_decoder as decoder

# Values of ref64 agree to rounding; float32 to what a few layers make of it.
TOLERANCE = {"float64": 1e-10, "float32": 2e-3}


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def differs(found, expected, tolerance):
    """The first place, or None. Infinite and NaN values must be the same."""
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    if found.shape != expected.shape:
        return f"shape {found.shape}, expected {expected.shape}"
    size = np.where(np.isfinite(expected) & (np.abs(expected) < 1e8),
                    np.abs(expected), 0)
    allowed = tolerance * np.maximum(size.max(initial=0), np.abs(expected))
    same = (found == expected) | (np.isnan(found) & np.isnan(expected)) | \
        (np.isfinite(expected) & (np.abs(found - expected) <= allowed))
    if same.all():
        return None
    at = np.unravel_index((~same).argmax(), same.shape)
    return f"at {at}: {found[at]}, expected {expected[at]}"


def recorded(file, name, step, inputs):
    """The value of a step as far as the step reaches."""
    data = file["value/" + name.replace(".", "/") + "/full"]
    axes = text(data.attrs["axes"]).replace(" ", "").replace(",", "")[1:]
    sizes = dict.fromkeys("tqk", inputs["tokens"].shape[1])
    if ".cross." in name or name == "input.memory":
        sizes["k"] = inputs["memory_valid"].shape[1]
    return data[(step,) + tuple(slice(0, sizes.get(axis)) for axis in axes)]


def wrong_values(file, config, weights, steps, sight, how=decoder.Steps(), loose=1):
    """What the file holds otherwise than the numpy decoder."""
    tolerance = loose * TOLERANCE[text(file.attrs["dtype"])]
    for step, inputs in enumerate(steps):
        expected = decoder.forward(
            config, weights, inputs,
            sight and (lambda layer, seen: sight(layer, seen, inputs)), how)
        for name, value in expected.items():
            found = differs(recorded(file, name, step, inputs), value, tolerance)
            if found:
                return f"step {step}, {name} {found}"
        loss = expected["loss.token"]
        loss = loss[decoder.pairs(inputs)]
        found = differs(file["steps/loss"][step], loss.mean() if loss.size else np.nan,
                        10 * tolerance)
        if found:
            return f"step {step}, loss {found}"
    return None
