"""Networks whose shapes change from call to call, as exporters write them, and the calls of one pass.

Weights are drawn from a fixed seed; what they compute means nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SEED = 7
Feeds = dict[str, np.ndarray]


class Graph:
    """Collects nodes and weights."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(SEED)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.made = 0

    def node(self, op: str, *inputs: str, to: str = "", **attributes: Any) -> str:
        self.made += 1
        out = to or f"t{self.made}"
        self.nodes.append(helper.make_node(op, list(inputs), [out], **attributes))
        return out

    def weight(self, *shape: int, scale: float | None = None) -> str:
        values = self.rng.standard_normal(shape, np.float32) * (scale or 1 / np.sqrt(shape[-1]))
        return self.constant(values.astype(np.float32))

    def constant(self, values: np.ndarray) -> str:
        self.made += 1
        self.weights.append(numpy_helper.from_array(values, f"w{self.made}"))
        return self.weights[-1].name

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def model(self, inputs: dict[str, list[Any]], outputs: list[str]) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "shapes",
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs],
            self.weights,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def linear(self, x: str, width: int, out: int) -> str:
        """y = x W + b, as transformers are exported."""
        return self.node("Add", self.node("MatMul", x, self.weight(width, out)), self.weight(out))

    def norm(self, x: str, width: int) -> str:
        ones = self.constant(np.ones(width, np.float32))
        return self.node("LayerNormalization", x, ones, self.weight(width, scale=0.1), axis=-1)

    def heads(self, x: str, heads: int, each: int) -> str:
        split = self.node("Reshape", x, self.ints(0, -1, heads, each))
        return self.node("Transpose", split, perm=[0, 2, 1, 3])

    def attended(self, q: str, k: str, v: str, width: int, heads: int) -> str:
        turned = self.node("Transpose", k, perm=[0, 1, 3, 2])
        root = self.constant(np.float32(np.sqrt(width // heads)))
        weights = self.node("Softmax", self.node("Div", self.node("MatMul", q, turned), root), axis=-1)
        joined = self.node("Transpose", self.node("MatMul", weights, v), perm=[0, 2, 1, 3])
        return self.node("Reshape", joined, self.ints(0, -1, width))

    def feed_forward(self, x: str, width: int) -> str:
        inner = self.linear(self.norm(x, width), width, 4 * width)
        return self.node("Add", x, self.linear(self.node("Relu", inner), 4 * width, width))


def decoder(layers: int = 12, width: int = 256, heads: int = 4) -> onnx.ModelProto:
    """One token in, with the keys and values of those before; they come out one longer."""
    g, each = Graph(), width // heads
    inputs: dict[str, list[Any]] = {"x": [1, 1, width]}
    outputs, x = [], "x"
    for layer in range(layers):
        normed = g.norm(x, width)
        q, k, v = (g.heads(g.linear(normed, width, width), heads, each) for _ in range(3))
        for name in ("k", "v"):
            inputs[f"{name}{layer}"] = [1, heads, "past", each]
            outputs.append(f"new_{name}{layer}")
        keys = g.node("Concat", f"k{layer}", k, to=f"new_k{layer}", axis=2)
        values = g.node("Concat", f"v{layer}", v, to=f"new_v{layer}", axis=2)
        x = g.node("Add", x, g.linear(g.attended(q, keys, values, width, heads), width, width))
        x = g.feed_forward(x, width)
    g.node("Identity", x, to="y")
    return g.model(inputs, ["y", *outputs])


def encoder(layers: int = 12, width: int = 768, heads: int = 12) -> onnx.ModelProto:
    """BERT's encoder over embedded tokens, of any length."""
    g, x = Graph(), "x"
    for _ in range(layers):
        normed = g.norm(x, width)
        q, k, v = (g.heads(g.linear(normed, width, width), heads, width // heads) for _ in range(3))
        x = g.node("Add", x, g.linear(g.attended(q, k, v, width, heads), width, width))
        x = g.feed_forward(x, width)
    g.node("Identity", x, to="y")
    return g.model({"x": [1, "tokens", width]}, ["y"])


def perceptron() -> onnx.ModelProto:
    """Linear layers as torch exports them on a dynamic batch: Gemm with transposed weights."""
    g, x = Graph(), "x"
    sizes = [784, 512, 256, 10]
    for given, made in pairwise(sizes):
        x = g.node("Relu", g.node("Gemm", x, g.weight(made, given), g.weight(made), transB=1))
    g.node("Identity", x, to="y")
    return g.model({"x": ["batch", 784]}, ["y"])


def convolutions() -> onnx.ModelProto:
    """Convolutions with normalisation over pictures of any size."""
    g, x, given = Graph(), "x", 3
    for made, stride in ((32, 2), (64, 1), (64, 2), (128, 1), (128, 2), (256, 1)):
        conv = g.node("Conv", x, g.weight(made, given, 3, 3, scale=0.05), pads=[1] * 4, strides=[stride] * 2)
        ones = g.constant(np.ones(made, np.float32))
        scale, bias, mean = g.weight(made, scale=0.2), g.weight(made, scale=0.2), g.weight(made, scale=0.2)
        x, given = g.node("Relu", g.node("BatchNormalization", conv, scale, bias, mean, ones)), made
    g.node("GlobalAveragePool", x, to="y")
    return g.model({"x": [1, 3, "height", "width"]}, ["y"])


MODELS = {"decoder": decoder, "encoder": encoder, "perceptron": perceptron, "convolutions": convolutions}


def calls(name: str, quick: bool = False) -> Iterator[Feeds | None]:
    """The feeds of one pass; None for a decoder's next token, whose feeds are the results of the last.

    ``quick`` takes an eighth of the encoder's lengths: all of them take a minute and a half a pass.
    """
    rng = np.random.default_rng(SEED)
    if name == "decoder":
        empty = np.zeros((1, 4, 0, 64), np.float32)
        token = rng.standard_normal((1, 1, 256)).astype(np.float32)
        yield {"x": token, **{f"{kv}{i}": empty for i in range(12) for kv in "kv"}}
        for _ in range(255):
            yield None
    elif name == "encoder":
        for length in rng.integers(1, 129, 25 if quick else 200):
            yield {"x": rng.standard_normal((1, length, 768)).astype(np.float32)}
    elif name == "perceptron":
        for batch in [*range(1, 129)] * 4:
            yield {"x": rng.standard_normal((batch, 784)).astype(np.float32)}
    else:
        for size in rng.permutation(64):
            yield {"x": rng.standard_normal((1, 3, 64 + 2 * size, 64 + 3 * size)).astype(np.float32)}
