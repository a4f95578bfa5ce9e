"""Random quantised graphs, every result of which is a tensor of codes that a test can look at.

Each layer stands between DequantizeLinear and QuantizeLinear, as onnxruntime's static quantiser writes it, or
is one operator on codes, as its format QOperator has it.
What it must give is computed from the codes that it was given, in float64: the nearest code, or its neighbour
where the result lies halfway between two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from build_model import model
from onnx import ModelProto, NodeProto, TensorProto, helper

Array = np.ndarray[Any, Any]
# Products of scales in float32 are off by some units in the last place: of a code, this much.
HALFWAY = 0.5 + 2e-3


@dataclass
class Codes:
    """A tensor of codes: its name, its form, what they stand for."""

    name: str
    shape: tuple[int, ...]
    dtype: Any
    scale: float
    zero: int

    def numbers(self, codes: Array) -> Array:
        return (codes.astype(np.float64) - self.zero) * float(np.float32(self.scale))


@dataclass
class Layer:
    """What result stands for, as a function of the codes of every tensor before it."""

    result: Codes
    numbers: Callable[[dict[str, Array]], Array]
    reads: tuple[str, ...]  # names of the codes that it is given


@dataclass
class Graph:
    """A graph under construction."""

    rng: np.random.Generator
    nodes: list[NodeProto] = field(default_factory=list)
    weights: dict[str, Array] = field(default_factory=dict)
    codes: list[Codes] = field(default_factory=list)
    layers: list[Layer] = field(default_factory=list)
    reading: list[str] = field(default_factory=list)
    made: int = 0
    standard: bool = False  # no operators of com.microsoft

    def constant(self, value: Any) -> str:
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(value)
        return name

    def node(self, op: str, inputs: list[str], **attributes: Any) -> str:
        name = f"v{self.made}"
        self.made += 1
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def pick(self, rank: int = 4) -> Codes:
        """Recent tensors more often."""
        known = [c for c in self.codes if len(c.shape) == rank]
        return known[max(0, len(known) - 1 - int(self.rng.exponential(1.2)))]

    def dequantized(self, c: Codes) -> str:
        self.reading.append(c.name)
        zero = self.constant(np.asarray(c.zero, c.dtype))
        return self.node("DequantizeLinear", [c.name, self.constant(np.float32(c.scale)), zero])

    def quantized(self, value: str, shape: tuple[int, ...], numbers: Any, same: Codes | None = None) -> None:
        """The end of a layer; ``same``: with the scale of that tensor."""
        dtype = self.rng.choice([np.uint8, np.int8]) if same is None else same.dtype
        bounds = np.iinfo(dtype)
        scale = same.scale if same else float(2.0 ** self.rng.uniform(-7, -2))
        zero = same.zero if same else int(self.rng.integers(bounds.min, bounds.max + 1))
        given = [value, self.constant(np.float32(scale)), self.constant(np.asarray(zero, dtype))]
        result = Codes(self.next_name(), shape, dtype, scale, zero)
        self.nodes.append(helper.make_node("QuantizeLinear", given, [result.name]))
        self.ended(result, numbers)

    def operator(
        self, op: str, given: list[Codes | list[str]], shape: tuple[int, ...], numbers: Any, **attributes: Any
    ) -> None:
        """A layer that is one operator on codes: of the type of the first, as onnxruntime has it."""
        first = next(c for c in given if isinstance(c, Codes))
        bounds = np.iinfo(first.dtype)
        zero = int(self.rng.integers(bounds.min, bounds.max + 1))
        result = Codes(self.next_name(), shape, first.dtype, float(2.0 ** self.rng.uniform(-7, -2)), zero)
        ends = [self.constant(np.float32(result.scale)), self.constant(np.asarray(zero, first.dtype))]
        inputs: list[str] = []
        for c in given:
            if isinstance(c, Codes):
                self.reading.append(c.name)
                inputs += [c.name, self.constant(np.float32(c.scale))]
                inputs.append(self.constant(np.asarray(c.zero, c.dtype)))
            else:
                inputs += c
        inputs = ends + inputs if op == "QLinearConcat" else inputs + ends
        domain = "" if op == "QLinearMatMul" else "com.microsoft"
        self.nodes.append(helper.make_node(op, inputs, [result.name], domain=domain, **attributes))
        self.ended(result, numbers)

    def as_operator(self, *given: Codes) -> bool:
        """Whether a layer is spelt as one operator: where all are of one type, now and then."""
        return not self.standard and len({c.dtype for c in given}) == 1 and self.rng.random() < 0.35

    def next_name(self) -> str:
        return f"codes{len(self.layers)}"

    def ended(self, result: Codes, numbers: Any) -> None:
        """A layer that gives these codes."""
        self.codes.append(result)
        self.layers.append(Layer(result, numbers, tuple(self.reading)))
        self.reading.clear()

    def begin(self, shape: tuple[int, ...]) -> None:
        """Codes of the input x."""
        self.quantized("x", shape, lambda known: known["x"].astype(np.float64))

    def clamp(self, value: str, numbers: Any) -> tuple[str, Any]:
        """Relu, Clip or nothing."""
        kind = self.rng.integers(3)
        if kind == 0:
            return self.node("Relu", [value]), lambda known: np.maximum(numbers(known), 0)
        if kind == 1:
            low, high = np.float32(self.rng.uniform(-2, 0)), np.float32(self.rng.uniform(0.5, 6))
            given = [value, self.constant(low), self.constant(high)]
            return self.node("Clip", given), lambda known: np.clip(numbers(known), float(low), float(high))
        return value, numbers

    def model(self, shape: tuple[int, ...], free: bool) -> ModelProto:
        """``free``: any number of images, of any height."""
        kinds = {np.uint8: TensorProto.UINT8, np.int8: TensorProto.INT8}
        results = {c.name: (kinds[c.dtype], None if free else list(c.shape)) for c in self.codes}
        given = ["n", shape[1], "h", shape[3]] if free else list(shape)
        # onnx's evaluator has QuantizeLinear from 19 on.
        opset, imports = (19, []) if self.standard else (17, [helper.make_opsetid("com.microsoft", 1)])
        return model(self.nodes, {"x": given}, results, self.weights, opset=opset, imports=imports)


def correlated(x: Array, w: Array, stride: int, pad: int, dilation: int, group: int) -> Array:
    """A convolution, tap by tap."""
    n, _, h, width = x.shape
    m, each, kh, kw = w.shape
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    oh = (h + 2 * pad - dilation * (kh - 1) - 1) // stride + 1
    ow = (width + 2 * pad - dilation * (kw - 1) - 1) // stride + 1
    out = np.zeros((n, m, oh, ow))
    for g in range(group):
        part = padded[:, g * each : (g + 1) * each]
        rows = slice(g * m // group, (g + 1) * m // group)
        for i in range(kh):
            for j in range(kw):
                a, b = i * dilation, j * dilation
                seen = part[
                    :, :, a : a + stride * (oh - 1) + 1 : stride, b : b + stride * (ow - 1) + 1 : stride
                ]
                out[:, rows] += np.einsum("nchw,mc->nmhw", seen, w[rows, :, i, j])
    return out


def convolution(g: Graph) -> None:
    x = g.pick()
    _, channels, h, w = x.shape
    depthwise = g.rng.random() < 0.3
    m = channels if depthwise else int(g.rng.integers(1, 40))
    group = channels if depthwise else 1
    kernel = int(g.rng.choice([1, 1, 3, 5]))
    stride, dilation = int(g.rng.integers(1, 3)), int(g.rng.integers(1, 3))
    pad = int(g.rng.integers(0, kernel))
    if min(h, w) + 2 * pad < dilation * (kernel - 1) + 1:
        kernel, pad = 1, 0
    dtype = g.rng.choice([np.int8, np.uint8])
    bounds = np.iinfo(dtype)
    codes = g.rng.integers(bounds.min, bounds.max + 1, (m, channels // group, kernel, kernel)).astype(dtype)
    each = m if g.rng.random() < 0.6 else 1
    scales = (2.0 ** g.rng.uniform(-12, -8, each)).astype(np.float32)
    zeros = g.rng.integers(bounds.min, bounds.max + 1, each) if g.rng.random() < 0.3 else np.zeros(each)
    if dtype is np.uint8 and not zeros.any():
        zeros = np.full(each, 128)
    zeros = zeros.astype(dtype)
    one = each == 1
    given = [
        g.constant(codes),
        g.constant(scales[0] if one else scales),
        g.constant(zeros[0] if one else zeros),
    ]
    inputs = [g.dequantized(x), g.node("DequantizeLinear", given, axis=0)]
    spread = (np.ones(m) * scales.astype(np.float64), np.ones(m) * zeros.astype(np.float64))
    weights = (codes - spread[1][:, None, None, None]) * spread[0][:, None, None, None]
    bias = np.zeros(m)
    steps = g.rng.integers(-2000, 2000, m).astype(np.int32) if g.rng.random() < 0.6 else None
    if steps is not None:
        scale = (np.float32(x.scale) * np.ones(m, np.float32) * scales).astype(np.float32)
        inputs.append(g.node("DequantizeLinear", [g.constant(steps), g.constant(scale)], axis=0))
        bias = steps * float(np.float32(x.scale)) * spread[0]
    attributes: dict[str, Any] = {"group": group, "strides": [stride] * 2, "dilations": [dilation] * 2}
    attributes |= {"pads": [pad] * 4, "kernel_shape": [kernel] * 2}

    def numbers(known: dict[str, Array]) -> Array:
        sums = correlated(x.numbers(known[x.name]), weights, stride, pad, dilation, group)
        return sums + bias[:, None, None]

    shape = (x.shape[0], m, *((s + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1 for s in (h, w)))
    if g.rng.random() < 0.3:
        g.nodes = [n for n in g.nodes if n.output[0] not in inputs]  # as one node, of codes
        qlinear_conv(g, x, given, steps, attributes, shape, numbers)
        return
    g.quantized(*_ended(g, g.node("Conv", inputs, **attributes), shape, numbers))


def qlinear_conv(
    g: Graph,
    x: Codes,
    weights: list[str],
    steps: Array | None,
    attributes: dict[str, Any],
    shape: Any,
    numbers: Any,
) -> None:
    """The format QOperator; onnxruntime takes results of the type of x alone."""
    bounds = np.iinfo(x.dtype)
    zero = int(g.rng.integers(bounds.min, bounds.max + 1))
    result = Codes(g.next_name(), shape, x.dtype, float(2.0 ** g.rng.uniform(-7, -2)), zero)
    inputs = [x.name, g.constant(np.float32(x.scale)), g.constant(np.asarray(x.zero, x.dtype)), *weights]
    inputs += [g.constant(np.float32(result.scale)), g.constant(np.asarray(zero, x.dtype))]
    if steps is not None:
        inputs.append(g.constant(steps))
    g.nodes.append(helper.make_node("QLinearConv", inputs, [result.name], **attributes))
    g.ended(result, numbers)


def _ended(g: Graph, value: str, shape: tuple[int, ...], numbers: Any) -> tuple[str, tuple[int, ...], Any]:
    value, numbers = g.clamp(value, numbers)
    return value, shape, numbers


def product(g: Graph) -> None:
    """Rows of pixels times a matrix, as it is or turned; a bias or none."""
    x = g.pick()
    depth, n = x.shape[-1], int(g.rng.integers(1, 40))
    turned = g.rng.random() < 0.5
    codes = g.rng.integers(-128, 128, (n, depth) if turned else (depth, n)).astype(np.int8)
    each = n if g.rng.random() < 0.6 else 1
    scales = (2.0 ** g.rng.uniform(-9, -6, each)).astype(np.float32)
    zeros = np.zeros(each, np.int8)
    one = each == 1
    given = [
        g.constant(codes),
        g.constant(scales[0] if one else scales),
        g.constant(zeros[0] if one else zeros),
    ]
    spread = np.ones(n) * scales.astype(np.float64)
    weights = (codes.T if turned else codes) * spread
    if not turned and g.rng.random() < 0.3:
        shape = (*x.shape[:-1], n)
        g.operator("QLinearMatMul", [x, given], shape, lambda k: x.numbers(k[x.name]) @ weights)
        return
    w = g.node("DequantizeLinear", given, axis=0 if turned else 1)
    a = g.dequantized(x)
    bias = g.rng.normal(0, 0.3, n).astype(np.float32) if g.rng.random() < 0.5 else np.zeros(n, np.float32)
    value = g.node("MatMul", [a, g.node("Transpose", [w], perm=[1, 0]) if turned else w])
    if bias.any():
        value = g.node("Add", [value, g.constant(bias)])
    shape = (*x.shape[:-1], n)
    g.quantized(*_ended(g, value, shape, lambda k: x.numbers(k[x.name]) @ weights + bias))


def arithmetic(g: Graph) -> None:
    a = g.pick()
    known_shapes = [c for c in g.codes if c.shape == a.shape]
    b = known_shapes[int(g.rng.integers(len(known_shapes)))]
    op = str(g.rng.choice(["Add", "Add", "Mul"]))
    of = np.add if op == "Add" else np.multiply
    numbers = lambda k: of(a.numbers(k[a.name]), b.numbers(k[b.name]))  # noqa: E731
    if g.as_operator(a, b):
        g.operator(f"QLinear{op}", [a, b], a.shape, numbers)
        return
    value = g.node(op, [g.dequantized(a), g.dequantized(b)])
    g.quantized(*_ended(g, value, a.shape, numbers))


def scaling(g: Graph) -> None:
    """A value per channel, as squeeze and excitation has it."""
    a = g.pick()
    shape = (*a.shape[:2], 1, 1)
    mean = lambda k: a.numbers(k[a.name]).mean((2, 3), keepdims=True)  # noqa: E731
    if g.as_operator(a):
        g.operator("QLinearGlobalAveragePool", [a], shape, mean, channels_last=0)
    else:
        g.quantized(g.node("GlobalAveragePool", [g.dequantized(a)]), shape, mean)
    s = g.codes[-1]
    value = g.node("Mul", [g.dequantized(a), g.dequantized(s)])
    g.quantized(value, a.shape, lambda k: a.numbers(k[a.name]) * s.numbers(k[s.name]))


def function(g: Graph) -> None:
    x = g.pick()
    table: dict[str, Callable[[Array], Array]] = {
        "Sigmoid": lambda v: 1 / (1 + np.exp(-v)),
        "HardSwish": lambda v: v * np.clip(v / 6 + 0.5, 0, 1),
        "LeakyRelu": lambda v: np.where(v < 0, 0.01 * v, v),
        "Tanh": np.tanh,
    }
    op = str(g.rng.choice(list(table)))
    numbers = lambda k: table[op](x.numbers(k[x.name]))  # noqa: E731
    if op in ("Sigmoid", "LeakyRelu") and g.as_operator(x):
        g.operator(f"QLinear{op}", [x], x.shape, numbers)
        return
    g.quantized(g.node(op, [g.dequantized(x)]), x.shape, numbers)


def silu(g: Graph) -> None:
    x = g.pick()
    gate = lambda k: 1 / (1 + np.exp(-x.numbers(k[x.name])))  # noqa: E731
    g.quantized(g.node("Sigmoid", [g.dequantized(x)]), x.shape, gate)
    s = g.codes[-1]
    value = g.node("Mul", [g.dequantized(x), g.dequantized(s)])
    g.quantized(value, x.shape, lambda k: x.numbers(k[x.name]) * s.numbers(k[s.name]))


def pool(g: Graph) -> None:
    x = g.pick()
    _, _, h, w = x.shape
    size = int(g.rng.integers(1, 4))
    if min(h, w) < size:
        return
    stride = int(g.rng.integers(1, 4))
    value = g.node("MaxPool", [g.dequantized(x)], kernel_shape=[size] * 2, strides=[stride] * 2)
    oh, ow = ((s - size) // stride + 1 for s in (h, w))

    def numbers(known: dict[str, Array]) -> Array:
        v = x.numbers(known[x.name])
        rows = (v.shape[2] - size) // stride + 1
        seen = [
            v[:, :, i : i + stride * (rows - 1) + 1 : stride, j : j + stride * (ow - 1) + 1 : stride]
            for i in range(size)
            for j in range(size)
        ]
        return np.max(seen, axis=0)

    g.quantized(value, (*x.shape[:2], oh, ow), numbers, same=x)


def concatenation(g: Graph) -> None:
    a = g.pick()
    fits = [
        c for c in g.codes if len(c.shape) == 4 and c.shape[2:] == a.shape[2:] and c.shape[0] == a.shape[0]
    ]
    b = fits[int(g.rng.integers(len(fits)))]
    shape = (a.shape[0], a.shape[1] + b.shape[1], *a.shape[2:])
    numbers = lambda k: np.concatenate([a.numbers(k[a.name]), b.numbers(k[b.name])], 1)  # noqa: E731
    if g.as_operator(a, b):
        g.operator("QLinearConcat", [a, b], shape, numbers, axis=1)
        return
    value = g.node("Concat", [g.dequantized(a), g.dequantized(b)], axis=1)
    g.quantized(value, shape, numbers, same=a if g.rng.random() < 0.5 else None)


def movement(g: Graph) -> None:
    x = g.pick()
    value = g.node("Pad", [g.dequantized(x), g.constant(np.array([0, 0, 1, 0, 0, 0, 0, 2]))])
    shape = (*x.shape[:2], x.shape[2] + 1, x.shape[3] + 2)
    g.quantized(
        value, shape, lambda k: np.pad(x.numbers(k[x.name]), ((0, 0), (0, 0), (1, 0), (0, 2))), same=x
    )


LAYERS = [
    *[convolution] * 3, product, arithmetic, arithmetic, scaling, function, silu, pool, concatenation,
    movement,
]  # fmt: skip


def grown(seed: int, free: bool = False, standard: bool = False) -> tuple[ModelProto, list[Layer], Array]:
    """A graph of some layers, what each must give, and an input.

    ``free``: of any count and height; ``standard``: of ONNX's own operators.
    """
    rng = np.random.default_rng(seed)
    g = Graph(rng, standard=standard)
    shape = (
        int(rng.integers(1, 3)),
        int(rng.integers(1, 36)),
        int(rng.integers(1, 12)),
        int(rng.integers(1, 12)),
    )
    g.begin(shape)
    for _ in range(int(rng.integers(1, 9))):
        LAYERS[int(rng.integers(len(LAYERS)))](g)
        if np.prod(g.codes[-1].shape) > 40_000:
            break
    x = rng.normal(0, 1.5, shape).astype(np.float32)
    return g.model(shape, free), g.layers, x


def wrong(layer: Layer, known: dict[str, Array]) -> float:
    """How far codes are from the numbers that they stand for, in codes; what is at a bound may be beyond."""
    result = layer.result
    bounds = np.iinfo(result.dtype)
    wanted = layer.numbers(known) / float(np.float32(result.scale)) + result.zero
    wanted = np.clip(wanted, bounds.min, bounds.max)
    return float(np.max(np.abs(known[result.name].astype(np.float64) - wanted), initial=0))
