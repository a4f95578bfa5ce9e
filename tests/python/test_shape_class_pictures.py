"""Classes of picture sizes: convolutions, pools and layouts give the digits of a plan for each size."""

from __future__ import annotations

import os
import random

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import walle_rt

# A fifth as many as of test_shape_classes.py: each costs five times as much.
NETWORKS = int(os.environ.get("WALLE_TEST_NETWORKS", "150")) // 5
CHUNK = 10
SIZES = [1, 2, 3, 5, 7, 8, 9, 16, 17, 24, 31, 33, 48]
BATCHES = [1, 1, 1, 2, 3, 0]


class Pictures:
    """A graph over x [batch, 3, height, width], grown by a seed: chains, branches that meet, heads."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.values = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def node(self, op: str, *inputs: str, **attributes: object) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def weight(self, *shape: int) -> str:
        name = f"c{len(self.constants)}"
        values = self.values.uniform(-1, 1, shape).astype(np.float32)
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def conv(self, x: str, given: int, made: int, stride: int = 1) -> str:
        kernel = self.rng.choice([1, 3, 3, 5])
        group = given if made == given and self.rng.random() < 0.3 else 1
        y = self.node(
            "Conv",
            x,
            self.weight(made, given // group, kernel, kernel),
            *([self.weight(made)] if self.rng.random() < 0.5 else []),
            pads=[kernel // 2] * 4,
            strides=[stride] * 2,
            group=group,
        )
        if self.rng.random() < 0.4:
            ones = self.node("Abs", self.weight(made))
            y = self.node(
                "BatchNormalization", y, self.weight(made), self.weight(made), self.weight(made), ones
            )
        return self.node(self.rng.choice(["Relu", "Sigmoid", "Identity", "HardSwish"]), y)

    def pool(self, x: str) -> str:
        op = self.rng.choice(["MaxPool", "AveragePool"])
        return self.node(op, x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)

    def grow(self) -> onnx.ModelProto:
        x, channels = "x", 3
        for _ in range(self.rng.randint(2, 6)):
            step = self.rng.choice(["conv", "conv", "stride", "residual", "branches", "pool", "turned"])
            if step == "residual":
                x = self.node("Add", x, self.conv(x, channels, channels))
            elif step == "branches":
                other = self.conv(x, channels, 8)
                x, channels = self.node("Concat", x, other, axis=1), channels + 8
            elif step == "pool":
                x = self.pool(x)
            elif step == "turned":  # rows for a moment, as attention over pictures has it
                rows = self.node("Transpose", x, perm=[0, 2, 3, 1])
                x = self.node("Transpose", self.node("Softmax", rows, axis=-1), perm=[0, 3, 1, 2])
            else:
                made = self.rng.choice([4, 8, 16, 24, channels])
                x, channels = self.conv(x, channels, made, 2 if step == "stride" else 1), made
        pooled = self.node("GlobalAveragePool", x)
        for value, name in ((x, "map"), (pooled, "mean")):
            self.nodes.append(helper.make_node("Neg", [value], [name]))
        graph = helper.make_graph(
            self.nodes,
            "pictures",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, "height", "width"])],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("map", "mean")],
            self.constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def compare(seed: int, **options: object) -> None:
    network = Pictures(seed)
    model = walle_rt.load(network.grow())
    debug = str(options.pop("debug", ""))
    classes = model.session(debug=debug, **options)
    exact = model.session(debug=",".join(filter(None, ["classes=off", debug])), **options)
    for _ in range(8):
        shape = (network.rng.choice(BATCHES), 3, network.rng.choice(SIZES), network.rng.choice(SIZES))
        feeds = {"x": network.values.standard_normal(shape, np.float32)}
        got, expected = classes.run(feeds), exact.run(feeds)
        for name, y in expected.items():
            assert got[name].shape == y.shape and got[name].tobytes() == y.tobytes(), (
                f"network {seed}, {shape}, {name}: WALLE_TEST_NETWORKS={5 * (seed + 1)} repeats it"
            )


@pytest.mark.parametrize("first", range(0, NETWORKS, CHUNK))
def test_a_class_of_pictures_gives_the_digits_of_a_plan_for_each(first: int) -> None:
    for seed in range(first, min(first + CHUNK, NETWORKS)):
        compare(seed, threads=1 + seed % 2)


# Alike steps that were placed in two memories and got one kernel.
@pytest.mark.parametrize("seed", [1033, 1336, 1850, 1888, 2046, 2102])
def test_what_random_networks_have_found(seed: int) -> None:
    compare(seed, threads=1 + seed % 2)


@pytest.mark.parametrize("debug", ["layouts=off", "search=off", "fuse=off", "merge=off"])
def test_so_it_does_with_parts_of_planning_left_out(debug: str) -> None:
    for seed in range(1000, 1005):
        compare(seed, debug=debug)
