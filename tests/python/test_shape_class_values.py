"""Inputs whose values decide sizes: symbols of a class where they are sizes, plans of their own elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from build_model import model
from onnx import TensorProto, helper
from random_seed import random_seed

import walle_rt

STEPS = 9
F = TensorProto.FLOAT


def node(op: str, *inputs: str, to: str = "y", **attributes: Any) -> Any:
    return helper.make_node(op, list(inputs), [to], **attributes)


# Nodes over x [30, 40] and v; v at a step; at most so many plans.
CASES: dict[str, tuple[list[Any], Any, int]] = {
    "ends of a slice": ([node("Slice", "x", "from", "v")], lambda i: [3 + 2 * i, 5 + 3 * i], 3),
    "starts of a slice": ([node("Slice", "x", "v", "to")], lambda i: [2 + i, 3 + i], 3),
    "ends before the end": ([node("Slice", "x", "from", "v")], lambda i: [-2 - i, 5 + i], STEPS),
    "largest": ([node("TopK", "x", "v", to="y")], lambda i: [3 + i], STEPS),
    "targets": ([node("Expand", "one", "v")], lambda i: [4 + i, 2 + 3 * i], 3),
    "reshaped": (
        [node("Slice", "x", "zeros", "v", to="s"), node("Reshape", "s", "flat")],
        lambda i: [6, 5 + i],
        3,
    ),
    "repeats": ([node("Tile", "x", "v")], lambda i: [2 + i, 2 + 2 * i], STEPS),
    "pads": ([node("Pad", "x", "v")], lambda i: [2 + i, 3, 4 + 2 * i, 0], STEPS),
    "one that is a size and a number": (
        [node("Expand", "one", "v", to="e"), node("Cast", "v", to="f"), node("Add", "e", "f")],
        lambda i: [5 + i, 2],
        STEPS,
    ),
    "sizes of one and none": ([node("Slice", "x", "from", "v")], lambda i: [i % 4, i % 3], STEPS),
    "axes": ([node("Squeeze", "wide", "v")], lambda i: [i % 2], STEPS),
}
for nodes, _, _ in CASES.values():
    for made in nodes:
        if made.op_type == "Cast":
            made.attribute.append(helper.make_attribute("to", F))


@pytest.mark.parametrize("name", CASES)
def test_values_that_decide_sizes(name: str) -> None:
    nodes, values, most = CASES[name]
    constants = {
        "from": np.array([1, 0]),
        "to": np.array([29, 38]),
        "zeros": np.array([0, 0]),
        "flat": np.array([3, 2, -1]),
        "one": np.float32(1.5).reshape(1, 1),
        "wide": np.ones((1, 1, 3), np.float32),
    }
    if name == "largest":
        nodes[0].output.append("places")
    used = {k: v for k, v in constants.items() if any(k in n.input for n in nodes)}
    loaded = walle_rt.load(
        model(
            nodes,
            {"x": (F, ["r", "c"]), "v": (TensorProto.INT64, [len(values(0))])},
            {"y": (F, None)},
            used,
            opset=18,
        )
    )
    rng = np.random.default_rng(random_seed())
    classes, exact = loaded.session(), loaded.session(debug="classes=off")
    for step in [*range(STEPS), 2, 0]:
        x = rng.standard_normal((30, 40)).astype(np.float32)
        feeds = {"x": x, "v": np.array(values(step))}
        got, wanted = classes.run(feeds)["y"], exact.run(feeds)["y"]
        assert got.shape == wanted.shape and got.tobytes() == wanted.tobytes(), f"{name}, step {step}"
    assert classes.memory().plans <= most


def test_a_decoder_makes_one_plan_for_all_lengths() -> None:
    """The total length is a number beside the cache that is as long."""
    heads, kept, size = 4, 2, 16
    inputs = ["q", "k", "v", "past_k", "past_v", "last", "total"]
    grouped = helper.make_node(
        "GroupQueryAttention", inputs, ["y", "next_k", "next_v"], domain="com.microsoft",
        num_heads=heads, kv_num_heads=kept,
    )  # fmt: skip
    cache = (F, ["b", kept, "past", size])
    given: dict[str, Any] = {
        "q": (F, ["b", "n", heads * size]),
        "k": (F, ["b", "n", kept * size]),
        "v": (F, ["b", "n", kept * size]),
        "past_k": cache,
        "past_v": cache,
        "last": (TensorProto.INT32, ["b"]),
        "total": (TensorProto.INT32, []),
    }
    imports = [helper.make_opsetid("com.microsoft", 1)]
    loaded = walle_rt.load(model([grouped], given, ["y", "next_k", "next_v"], imports=imports))
    sessions = [loaded.session(threads=1), loaded.session(threads=1, debug="classes=off")]
    rng = np.random.default_rng(random_seed())
    caches = [{f"past_{p}": np.zeros((1, kept, 0, size), np.float32) for p in "kv"} for _ in sessions]
    length = 0
    for count in (5, *([1] * 20)):
        length += count
        new = {
            p: rng.standard_normal((1, count, w * size)).astype(np.float32)
            for p, w in zip("qkv", (heads, kept, kept), strict=True)
        }
        sizes = {"last": np.array([length - 1], np.int32), "total": np.array(length, np.int32)}
        made = [s.run({**new, **c, **sizes}) for s, c in zip(sessions, caches, strict=True)]
        for name in ("y", "next_k", "next_v"):
            assert made[0][name].tobytes() == made[1][name].tobytes(), f"{name} at {length}"
        assert made[0]["next_k"].shape == (1, kept, length, size)
        caches = [{f"past_{p}": m[f"next_{p}"] for p in "kv"} for m in made]
    assert sessions[0].memory().plans <= 4
