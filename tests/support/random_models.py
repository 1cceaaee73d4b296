# SPDX-License-Identifier: MIT
"""Random healthy configurations, as the dicts that numpy_decoder.py reads and as
model.cfg text; and random uses of faults."""
import json

import numpy as np

MASK_FAULTS = ("mask_missing", "mask_off_by_one", "mask_inverted",
               "mask_after_softmax", "fully_masked_row", "padding_ignored")
LAYER_FAULTS = ("scale_missing", "residual_missing", "nan_in_weights")
CHOICES = {
    "norm": ("rmsnorm", "layernorm"), "norm_placement": ("pre", "post"),
    "activation": ("gelu", "gelu_tanh", "relu", "silu"), "gated": (True, False),
    "qkv": ("fused", "separate"), "bias": (True, False), "value_dim": (1, 3, 4, 9),
    "tie_embeddings": (True, False), "residual_scale": (0.5, -1.0),
    "score_scale": (1.0, 0.1, -0.5), "d_ff": (1, 5, 32), "norm_eps": (1e-6, 1e-2),
    "rope_pairing": ("half", "adjacent"), "rope_base": (10.0, 500000.0),
}


def cfg(value):
    """A value in the syntax of model.cfg."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value}L" if value >= 2**31 else str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, dict):
        return "{ " + " ".join(f"{k} = {cfg(v)};" for k, v in value.items()) + " }"
    return "( " + ", ".join(map(cfg, value)) + " )"


def text(spec):
    return "".join(f"{key} = {cfg(value)};\n" for key, value in spec.items())


def _model(draw):
    heads, width = draw.choice((1, 2, 3, 4)), draw.choice((2, 4, 8))
    model = {"preset": draw.choice(("mini", "gpt2", "llama")),
             "vocab": draw.choice((3, 17, 50)), "n_heads": heads,
             "d_model": draw.choice((heads * width, 12, 33)), "head_dim": width,
             "n_kv_heads": draw.choice([g for g in range(1, heads + 1)
                                        if heads % g == 0]),
             "n_layers": draw.choice((1, 2, 3)), "max_seq_len": 64,
             "positions": draw.choice(("learned", "sinusoidal", "rotary", "none"))}
    for key, values in CHOICES.items():
        if draw.random() < 0.35:
            model[key] = draw.choice(values)
    if model["positions"] == "rotary" and draw.random() < 0.5:
        model["rope_width"] = 2
    if draw.random() < 0.5:
        layer = draw.randrange(model["n_layers"])
        model["layers"] = [{"range": f"{layer}:", "window": draw.choice((0, 1, 3)),
                            "causal": draw.random() < 0.7,
                            "score_scale": draw.choice((0.2, 1.0))}]
    return model


def _input(draw, vocab):
    lengths = [draw.choice((1, 2, 5, 16, 31)) for _ in range(draw.choice((1, 2, 3)))]
    rows = [[draw.randrange(vocab) for _ in range(n)] for n in lengths]
    out, longest = {"tokens": rows}, max(lengths)
    if draw.random() < 0.3:
        out["steps"] = draw.randrange(1, min(4, longest) + 1)
    elif draw.random() < 0.3:
        out["length"] = max(draw.randrange(1, longest + 1), (longest + 3) // 4)
    if draw.random() < 0.5:
        out["pad"], out["pad_id"] = "left", vocab - 1
    if draw.random() < 0.2:
        out["documents"] = [[t * 3 // n for t in range(n)] for n in lengths]
    if draw.random() < 0.2:
        out["positions"] = [[2 * t % 37 for t in range(n)] for n in lengths]
    return out


def healthy(draw):
    """A model that breaks no law. `draw` is a random.Random."""
    model = _model(draw)
    spec = {"seed": draw.choice((0, 7, 2**40, 2**63 - 1)), "model": model, "mask": {},
            "weights": {"init": []}, "input": _input(draw, model["vocab"])}
    if draw.random() < 0.3:
        spec["mask"]["causal"] = draw.random() < 0.5
    if draw.random() < 0.3:
        spec["mask"]["window"] = draw.choice((1, 2, 5, 100))
    if draw.random() < 0.5:
        spec["mask"]["masked_row"] = draw.choice(("nan", "uniform"))
    elif draw.random() < 0.4:  # NaN rows times finite fills would spread, as they must
        spec["mask"]["fill"] = draw.choice((-1e9, -1e4))
    if draw.random() < 0.7:
        scheme, key = draw.choice((("normal", "std"), ("uniform", "bound")))
        spec["weights"]["init"].append({"params": "layers.*", "scheme": scheme,
                                        key: 0.3})
    if draw.random() < 0.3:
        spec["weights"]["init"].append(
            {"params": "*.attn.*.weight", "scheme": "xavier_uniform", "gain": 2.0})
    return spec


FAMILIES = {
    "norm_placement": ("sandwich", "branch"), "norm_offset": (1.0, -0.25),
    "embed_scale": (0.5, 3.0), "embed_norm": (True,), "position_offset": (1, 2),
    "embed_dim": (6, 40), "token_types": (1, 3), "head_transform": (True,),
    "head_bias": (True,), "logit_scale": (0.3, -2.0), "logit_softcap": (0.5, 30.0),
    "parallel": (True,),
}


def add_conventions(draw, spec):
    """Gives the model some conventions of families."""
    model = spec["model"]
    for key, values in FAMILIES.items():
        if draw.random() < 0.4:
            model[key] = draw.choice(values)
    if model.get("norm_placement") == "post" or model.get("cross"):
        model.pop("parallel", None)
    if model.get("parallel") and model.get("norm_placement") != "branch" and \
            draw.random() < 0.5:
        model["shared_norm"] = True
    if "embed_dim" in model:  # else positions drown the tokens, as position_norm says
        spec["weights"]["init"].append({"params": "embed.in.weight", "scheme": "normal",
                                        "std": 0.4})
    if model.get("token_types"):
        spec["input"]["types"] = [[draw.randrange(model["token_types"]) for _ in row]
                                  for row in spec["input"]["tokens"]]


def _memory_file(draw, batch, width):
    """Saves a memory as numpy does; its path and what the file does not say."""
    rng, length = np.random.default_rng(draw.randrange(2**32)), draw.choice((1, 4, 23))
    shape = draw.choice(((length, width), (batch, length, width)))
    values = rng.normal(size=shape).astype(draw.choice(("f8", "f4", "f2")))
    if draw.random() < 0.3:
        np.save("memory.npy", values)
        return {"file": "memory.npy",
                "valid": [draw.randrange(1, length + 1) for _ in range(batch)]}
    arrays = {"memory": values}
    if draw.random() < 0.6:
        valid = rng.random(shape[:-1]) < 0.7
        valid[..., 0] = True
        arrays["valid"] = valid.astype(draw.choice(("?", "i8", "i4", "u1")))
    draw.choice((np.savez, np.savez_compressed))("memory.npz", **arrays)
    return {"file": "memory.npz"}


def add_cross(draw, spec):
    """Gives the model cross-attention to a memory of one kind or another."""
    model, batch = spec["model"], len(spec["input"]["tokens"])
    length = draw.choice((1, 3, 19, 40))
    kind = draw.choice(("random", "file", "encoder"))
    model["cross"] = True
    if kind == "file":
        spec["input"]["memory"] = _memory_file(draw, batch, model["d_model"])
        return
    spec["input"]["memory"] = {"random": {"length": length}}
    if kind == "random":
        spec["input"]["memory"]["random"]["std"] = draw.choice((0.1, 1.0, 2.0))
        spec["input"]["memory"]["valid"] = [draw.randrange(1, length + 1)
                                            for _ in range(batch)]
        return
    model["encoder_layers"] = draw.choice((1, 2))
    if draw.random() < 0.6:
        spec["input"]["memory"] = {
            "tokens": [[draw.randrange(model["vocab"])
                        for _ in range(draw.choice((1, 4, 11)))] for _ in range(batch)],
            "pad": draw.choice(("left", "right"))}


def add_empty_memory(draw, spec):
    """Gives the model cross-attention to a memory of which the last batch row has
    nothing."""
    batch = len(spec["input"]["tokens"])
    spec["model"]["cross"] = True
    spec["mask"]["masked_row"] = draw.choice(("zero", "nan"))
    spec["input"]["memory"] = {"random": {"length": draw.choice((1, 3, 19))},
                               "valid": [1] * (batch - 1) + [0]}


def _range(draw, count):
    first = draw.randrange(count)
    return draw.choice((str(first), f"{first}:", "*"))


def fault(draw, layers, heads, queries, batch):
    """One use of a fault."""
    name = draw.choice(MASK_FAULTS + LAYER_FAULTS)
    use = {"name": name}
    if draw.random() < 0.6:
        use["layers"] = _range(draw, layers)
    if name in MASK_FAULTS:
        for key, count in (("heads", heads), ("queries", queries), ("batch", batch)):
            if draw.random() < 0.35:
                use[key] = _range(draw, count)
    return use
