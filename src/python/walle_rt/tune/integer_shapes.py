"""Random shapes of what quantised networks are made of: layers between codes, products of integers, packed
weights, and float64 products, which share their place in the tables.

A layer of codes is spelt as static quantisers write it, between DequantizeLinear and QuantizeLinear; what
becomes of it is one step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .draw import Draw

_OPSET = 21
_MICROSOFT = "com.microsoft"
_MOST_PRODUCTS = 3e8  # of one sample, as two operations each: some 3 ms
Drawn = tuple[str, onnx.ModelProto]


@dataclass
class _Graph:
    """One operator, and what it stands between."""

    draw: Draw
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    inputs: dict[str, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    weights: dict[str, Any] = field(default_factory=dict)

    def node(self, op: str, inputs: list[str], **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def constant(self, value: Any) -> str:
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(value)
        return name

    def given(self, shape: tuple[int, ...], dtype: int = TensorProto.UINT8) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs[name] = (dtype, shape)
        return name

    def numbers(self, codes: str) -> str:
        """What codes stand for."""
        scale, zero = self.constant(np.float32(0.03)), self.constant(np.uint8(120))
        return self.node("DequantizeLinear", [codes, scale, zero])

    def codes(self, numbers: str, scale: float = 0.05) -> str:
        zero = self.constant(np.uint8(120))
        return self.node("QuantizeLinear", [numbers, self.constant(np.float32(scale)), zero])

    def random(self, dtype: Any, *shape: int) -> Any:
        bounds = np.iinfo(dtype)
        return self.draw.rng.integers(bounds.min, bounds.max + 1, shape, dtype=dtype)

    def model(self) -> onnx.ModelProto:
        result = self.nodes[-1].output[0]
        graph = helper.make_graph(
            self.nodes,
            "sample",
            [helper.make_tensor_value_info(n, t, list(s)) for n, (t, s) in self.inputs.items()],
            [helper.make_tensor_value_info(result, TensorProto.UNDEFINED, None)],
            [numpy_helper.from_array(w, n) for n, w in self.weights.items()],
        )
        known = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=known, ir_version=10)


def _conv(draw: Draw, channels: int, out: int, size: int, kernel: int, stride: int, groups: int) -> Drawn:
    g = _Graph(draw)
    scales = draw.rng.uniform(1e-3, 1e-2, out).astype(np.float32)
    given = [g.constant(g.random(np.int8, out, channels // groups, kernel, kernel)), g.constant(scales)]
    given.append(g.constant(np.zeros(out, np.int8)))
    inputs = [
        g.numbers(g.given((1, channels, size, size))),
        g.node("DequantizeLinear", given, axis=0),
    ]
    steps = draw.rng.integers(-2000, 2000, out).astype(np.int32)
    zero = g.constant(np.zeros(out, np.int32))
    bias = [g.constant(steps), g.constant((np.float32(0.03) * scales).astype(np.float32)), zero]
    inputs.append(g.node("DequantizeLinear", bias, axis=0))
    value = g.node("Conv", inputs, pads=[kernel // 2] * 4, strides=[stride] * 2, group=groups)
    end = draw.one_of("", "Relu", "Relu", "Add")
    if end == "Relu":
        value = g.node("Relu", [value])
    value = g.codes(value)
    if end == "Add":
        places = (size - 1) // stride + 1
        value = g.node("Add", [g.numbers(value), g.numbers(g.given((1, out, places, places)))])
        value = g.codes(g.node("Relu", [value]))
    text = f"{channels}>{out} {kernel}x{kernel}/{stride} on {size}" + (f" g{groups}" if groups > 1 else "")
    return f"{text} {end}".rstrip(), g.model()


def _dense(draw: Draw, kernels: tuple[int, ...], strides: tuple[int, ...]) -> Drawn:
    while True:
        channels, out = draw.size(16, 1024, 8), draw.size(16, 1536, 8)
        size, kernel, stride = draw.size(7, 112, 7), draw.one_of(*kernels), draw.one_of(*strides)
        flops = 2 * channels * out * kernel**2 * ((size - 1) // stride + 1) ** 2
        if 1e5 < flops < 2 * _MOST_PRODUCTS and channels * out * kernel**2 < 8e6:
            return _conv(draw, channels, out, size, kernel, stride, 1)


def _stem(draw: Draw) -> Drawn:
    kernel, stride = draw.one_of(3, 5, 7), draw.one_of(1, 2, 2)
    return _conv(
        draw, draw.one_of(1, 3, 3, 4, 8), draw.size(8, 64, 8), draw.size(32, 224, 8), kernel, stride, 1
    )


def _depthwise(draw: Draw) -> Drawn:
    channels, size = draw.size(16, 1024, 8), draw.size(7, 112, 7)
    channels = min(channels, int(4e6 / size**2))
    return _conv(draw, channels, channels, size, draw.one_of(3, 3, 5), draw.one_of(1, 1, 2), channels)


def _grouped(draw: Draw) -> Drawn:
    groups, each = draw.one_of(2, 4, 8), draw.size(32, 64, 32)
    channels = groups * each
    return _conv(draw, channels, channels, draw.size(7, 56, 7), draw.one_of(1, 3), 1, groups)


def _image(draw: Draw) -> tuple[int, int]:
    """Channels, and places of a side."""
    channels, size = draw.size(16, 1024, 8), draw.size(1, 112, 7)
    return min(channels, int(2e6 / size**2)), size


def _binary(draw: Draw) -> Drawn:
    g, op = _Graph(draw), draw.one_of("Add", "Add", "Mul", "scale")
    channels, size = _image(draw)
    other = 1 if op == "scale" else size
    a, b = g.given((1, channels, size, size)), g.given((1, channels, other, other))
    g.codes(g.node("Mul" if op == "scale" else op, [g.numbers(a), g.numbers(b)]))
    return f"{op} {channels} on {size}", g.model()


def _function(draw: Draw) -> Drawn:
    g, op = _Graph(draw), draw.one_of("Sigmoid", "HardSwish", "Tanh")
    channels, size = _image(draw)
    g.codes(g.node(op, [g.numbers(g.given((1, channels, size, size)))]))
    return f"{op} {channels} on {size}", g.model()


def _mean(draw: Draw) -> Drawn:
    g = _Graph(draw)
    channels, size = _image(draw)
    g.codes(g.node("GlobalAveragePool", [g.numbers(g.given((1, channels, size, size)))]))
    return f"{channels} on {size}", g.model()


def _pool(draw: Draw) -> Drawn:
    g = _Graph(draw)
    channels, size = _image(draw)
    size = max(size, 4)
    kernel, stride = draw.one_of(2, 3, 3), draw.one_of(1, 2, 2)
    attributes = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [kernel // 2] * 4}
    # The scale does not change: a maximum of codes is a code.
    g.codes(g.node("MaxPool", [g.numbers(g.given((1, channels, size, size)))], **attributes), 0.03)
    return f"{channels} {kernel}/{stride} on {size}", g.model()


def _sizes(draw: Draw, rows: int) -> tuple[int, int, int]:
    while True:
        m, k, n = draw.size(1, rows), draw.size(16, 4096, 16), draw.size(8, 4096, 16)
        if m * k * n < _MOST_PRODUCTS and k * n < 8e6:
            return m, k, n


def _product(draw: Draw, rows: int) -> Drawn:
    """A constant matrix of int8, as dynamic quantisation has it."""
    g = _Graph(draw)
    m, k, n = _sizes(draw, rows)
    zeros = [g.constant(np.uint8(120)), g.constant(np.int8(0))]
    g.node("MatMulInteger", [g.given((m, k)), g.constant(g.random(np.int8, k, n)), *zeros])
    return f"{m}x{k}x{n}", g.model()


def _computed_product(draw: Draw) -> Drawn:
    g = _Graph(draw)
    m, k, n = _sizes(draw, 512)
    zeros = [g.constant(np.uint8(120)), g.constant(np.uint8(128))]
    g.node("MatMulInteger", [g.given((m, k)), g.given((k, n)), *zeros])
    return f"{m}x{k}x{n}", g.model()


def _packed(draw: Draw, rows: int) -> Drawn:
    g = _Graph(draw)
    while True:
        m, k, n = draw.size(1, rows), draw.size(128, 8192, 128), draw.size(128, 11008, 64)
        if m * k * n < _MOST_PRODUCTS and k * n < 16e6:
            break
    bits, block, level = draw.one_of(4, 4, 8), draw.one_of(16, 32, 32, 64, 128), draw.one_of(0, 4)
    blocks = -(-k // block)
    codes = g.constant(g.random(np.uint8, n, blocks, block * bits // 8))
    scales = g.constant(draw.rng.uniform(0.01, 0.02, (n, blocks)).astype(np.float32))
    attributes = {"K": k, "N": n, "bits": bits, "block_size": block, "accuracy_level": level}
    g.node(
        "MatMulNBits", [g.given((m, k), TensorProto.FLOAT), codes, scales], domain=_MICROSOFT, **attributes
    )
    return f"{m}x{k}x{n} of {bits} in {block}, level {level}", g.model()


def _doubles(draw: Draw) -> Drawn:
    g = _Graph(draw)
    while True:
        m, k, n = draw.size(1, 512), draw.size(16, 2048, 16), draw.size(8, 2048, 16)
        if m * k * n < _MOST_PRODUCTS / 4:
            break
    known = draw.one_of(True, False)
    b = g.constant(draw.rng.uniform(-0.5, 0.5, (k, n))) if known else g.given((k, n), TensorProto.DOUBLE)
    g.node("MatMul", [g.given((m, k), TensorProto.DOUBLE), b])
    return f"{m}x{k}x{n}" + ("" if known else " computed"), g.model()


def _quantise(draw: Draw) -> Drawn:
    g, n = _Graph(draw), draw.size(64, 1_000_000)
    kind = draw.one_of("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear")
    if kind == "QuantizeLinear":
        g.codes(g.given((n,), TensorProto.FLOAT))
    elif kind == "DequantizeLinear":
        g.numbers(g.given((n,)))
    else:
        names = ["codes", "scale", "zero"]
        g.nodes.append(helper.make_node(kind, [g.given((n,), TensorProto.FLOAT)], names))
    return f"{kind} {n}", g.model()


# Family -> how to draw one, and how many of a hundred.
INTEGERS: dict[str, tuple[Callable[[Draw], Drawn], int]] = {
    "codes conv 3x3": (lambda d: _dense(d, (3,), (1,)), 16),
    "codes conv 1x1": (lambda d: _dense(d, (1,), (1,)), 16),
    "codes conv strided": (lambda d: _dense(d, (1, 3, 3, 5), (2,)), 6),
    "codes conv stem": (_stem, 6),
    "codes conv depthwise": (_depthwise, 12),
    "codes conv grouped": (_grouped, 4),
    "codes arithmetic": (_binary, 6),
    "codes function": (_function, 5),
    "codes mean": (_mean, 4),
    "codes pool": (_pool, 4),
    "integer product": (lambda d: _product(d, 512), 8),
    "integer product of rows": (lambda d: _product(d, 4), 4),
    "integer product, computed": (_computed_product, 4),
    "packed product": (lambda d: _packed(d, 256), 6),
    "packed product of rows": (lambda d: _packed(d, 4), 6),
    "float64 product": (_doubles, 5),
    "quantise": (_quantise, 6),
}
