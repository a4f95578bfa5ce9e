"""Random shapes to measure kernels on: models of one operator each (attention: its formula), drawn by a seed.

Sizes are drawn evenly on a logarithmic scale between what small and large networks have, and are nobody's
layers: a table must serve models it has never seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .draw import MOST_FLOPS, Draw, Shape
from .integer_shapes import INTEGERS

OPSET = 20


def _model(
    nodes: list[onnx.NodeProto], inputs: dict[str, tuple[int, ...]], weights: dict[str, Any]
) -> onnx.ModelProto:
    kinds = {"i": TensorProto.INT64}
    graph = helper.make_graph(
        nodes,
        "sample",
        [
            helper.make_tensor_value_info(n, kinds.get(n[0], TensorProto.FLOAT), list(s))
            for n, s in inputs.items()
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(w, n) for n, w in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)


def _weights(draw: Draw, *shape: int) -> Any:
    return draw.rng.uniform(-0.5, 0.5, shape).astype(np.float32)


def _conv(
    draw: Draw, channels: int, out: int, size: int, kernel: int, stride: int, groups: int
) -> tuple[str, onnx.ModelProto]:
    attributes = {"pads": [kernel // 2] * 4, "strides": [stride] * 2, "group": groups}
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], **attributes)]
    # Most convolutions of networks have an activation, which is fused into them.
    activation = draw.one_of("Identity", "Identity", "Relu", "Relu", "HardSwish", "SiLU")
    if activation == "SiLU":
        nodes += [helper.make_node("Sigmoid", ["c"], ["s"]), helper.make_node("Mul", ["c", "s"], ["y"])]
    else:
        nodes.append(helper.make_node(activation, ["c"], ["y"]))
    weights = {"w": _weights(draw, out, channels // groups, kernel, kernel), "b": _weights(draw, out)}
    text = f"{channels}>{out} {kernel}x{kernel}/{stride} on {size}" + (f" g{groups}" if groups > 1 else "")
    text += f" {activation}" if activation != "Identity" else ""
    return text, _model(nodes, {"x": (1, channels, size, size)}, weights)


def _dense_conv(draw: Draw, kernels: tuple[int, ...], strides: tuple[int, ...], low: int) -> Any:
    while True:
        channels, out = draw.size(low, 1024, 8), draw.size(16, 1536, 8)
        size, kernel, stride = draw.size(7, 160, 7), draw.one_of(*kernels), draw.one_of(*strides)
        flops = 2 * channels * out * kernel**2 * ((size - 1) // stride + 1) ** 2
        if 1e5 < flops < draw.most_flops:
            return _conv(draw, channels, out, size, kernel, stride, 1)


def _stem(draw: Draw) -> Any:
    kernel, stride = draw.one_of(3, 5, 7), draw.one_of(1, 2, 2)
    return _conv(draw, draw.one_of(1, 3, 3, 4), draw.size(8, 64, 8), draw.size(32, 224, 8), kernel, stride, 1)


def _depthwise(draw: Draw) -> Any:
    channels, size = draw.size(16, 1024, 8), draw.size(7, 112, 7)
    channels = min(channels, int(4e6 / size**2))
    return _conv(draw, channels, channels, size, draw.one_of(3, 3, 5), draw.one_of(1, 1, 2), channels)


def _grouped(draw: Draw) -> Any:
    groups, each = draw.one_of(2, 4, 8), draw.size(8, 64, 4)
    channels = groups * each
    return _conv(draw, channels, channels, draw.size(7, 56, 7), draw.one_of(1, 3), 1, groups)


def _product(draw: Draw) -> Any:
    while True:
        m, k, n = draw.size(1, 512), draw.size(16, 4096, 16), draw.size(8, 4096, 16)
        if m * k * n < 2 * draw.most_flops and k * n < 8e6:
            break
    activation = draw.one_of("Identity", "Identity", "Identity", "Gelu")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node(activation, ["p"], ["y"])]
    text = f"{m}x{k}x{n}" + (f" {activation}" if activation != "Identity" else "")
    return text, _model(nodes, {"x": (m, k)}, {"w": _weights(draw, k, n)})


def _row_product(draw: Draw) -> Any:
    m, k, n = draw.one_of(1, 1, 1, 2, 3, 4), draw.size(256, 4096, 16), draw.size(256, 4096, 16)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    return f"{m}x{k}x{n}", _model(nodes, {"x": (m, k)}, {"w": _weights(draw, k, n)})


def _computed_product(draw: Draw) -> Any:
    while True:  # up to scores of long sequences, which come from the outer cache
        batch, m, k, n = draw.size(1, 16), draw.size(8, 1024), draw.size(16, 512, 8), draw.size(8, 1024)
        if batch * m * k * n < draw.most_flops / 2:
            break
    nodes = [helper.make_node("MatMul", ["x", "z"], ["y"])]
    return f"{batch} of {m}x{k}x{n}", _model(nodes, {"x": (batch, m, k), "z": (batch, k, n)}, {})


def _unary(draw: Draw) -> Any:
    op, n = (
        draw.one_of("Relu", "Sigmoid", "Tanh", "Erf", "Exp", "Sqrt", "HardSwish"),
        draw.size(64, 1_000_000),
    )
    return f"{op} {n}", _model([helper.make_node(op, ["x"], ["y"])], {"x": (n,)}, {})


def _binary(draw: Draw) -> Any:
    op, rows, columns = draw.one_of("Add", "Mul", "Sub", "Div"), draw.size(1, 1024), draw.size(16, 1024, 16)
    other = draw.one_of((rows, columns), (columns,), (1,), (rows, 1))
    nodes = [helper.make_node(op, ["x", "z"], ["y"])]
    return f"{op} {rows}x{columns} {other}", _model(nodes, {"x": (rows, columns), "z": other}, {})


def _softmax(draw: Draw) -> Any:
    """Rows, short ones too (classes of a detector), and values that lie apart (bins before anchors)."""
    rows, columns, apart = draw.size(1, 8192), draw.size(2, 1024), draw.one_of(1, 1, 2, 16, 400)
    rows = max(rows // apart, 1)
    nodes = [helper.make_node("Softmax", ["x"], ["y"], axis=1)]
    return f"{rows}x{columns}x{apart}", _model(nodes, {"x": (rows, columns, apart)}, {})


def _attention_of_few(draw: Draw) -> Any:
    """Words that are added to a text: few queries, keys and values from a cache, shared by query heads."""
    shared, times, size = draw.size(1, 8), draw.size(1, 8), draw.size(16, 128, 16)
    queries, keys = draw.size(1, 16), draw.size(8, 4096)
    heads = shared * times
    weights = {
        "scale": np.float32(size**-0.5),
        "one": np.array([2]),
        "all": np.array([1, shared, times, keys, size]),
        "flat": np.array([1, heads, keys, size]),
    }
    nodes = []
    for name in ("z", "v"):
        nodes.append(helper.make_node("Unsqueeze", [name, "one"], [f"{name}_one"]))
        nodes.append(helper.make_node("Expand", [f"{name}_one", "all"], [f"{name}_all"]))
        nodes.append(helper.make_node("Reshape", [f"{name}_all", "flat"], [f"{name}_flat"]))
    nodes += [
        helper.make_node("Transpose", ["z_flat"], ["turned"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["x", "turned"], ["products"]),
        helper.make_node("Mul", ["products", "scale"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["shares"]),
        helper.make_node("MatMul", ["shares", "v_flat"], ["y"]),
    ]
    cache = (1, shared, keys, size)
    inputs: dict[str, tuple[int, ...]] = {"x": (1, heads, queries, size), "z": cache, "v": cache}
    return f"{heads}/{shared} of {queries}x{keys}x{size}", _model(nodes, inputs, weights)


def _attention(draw: Draw) -> Any:
    """Heads side by side, as every encoder has them."""
    while True:
        heads, size = draw.size(1, 16), draw.size(16, 128, 16)
        queries, keys = draw.size(8, 1024), draw.size(16, 1024)
        if heads * queries * keys * size < draw.most_flops / 4:
            break
    nodes, weights = [], {"scale": np.float32(size**-0.5), "whole": np.array([0, -1, heads * size])}
    weights["apart"] = np.array([0, -1, heads, size])
    for name, order in (("x", [0, 2, 1, 3]), ("z", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        nodes.append(helper.make_node("Reshape", [name, "apart"], [f"{name}_apart"]))
        nodes.append(helper.make_node("Transpose", [f"{name}_apart"], [f"{name}_heads"], perm=order))
    nodes += [
        helper.make_node("MatMul", ["x_heads", "z_heads"], ["products"]),
        helper.make_node("Mul", ["products", "scale"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["shares"]),
        helper.make_node("MatMul", ["shares", "v_heads"], ["mixed"]),
        helper.make_node("Transpose", ["mixed"], ["joined"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["joined", "whole"], ["y"]),
    ]
    inputs: dict[str, tuple[int, ...]] = {
        name: (1, queries if name == "x" else keys, heads * size) for name in ("x", "z", "v")
    }
    return f"{heads} of {queries}x{keys}x{size}", _model(nodes, inputs, weights)


def _norm(draw: Draw) -> Any:
    rows, columns = draw.size(1, 1024), draw.size(32, 1024, 16)
    nodes = [helper.make_node("LayerNormalization", ["x", "w", "b"], ["y"])]
    weights = {"w": _weights(draw, columns), "b": _weights(draw, columns)}
    return f"{rows}x{columns}", _model(nodes, {"x": (rows, columns)}, weights)


def _pool(draw: Draw) -> Any:
    op, kernel, stride = draw.one_of("MaxPool", "AveragePool"), draw.one_of(2, 3, 3), draw.one_of(1, 2, 2)
    channels, size = draw.size(16, 512, 8), draw.size(7, 112, 7)
    channels = min(channels, int(2e6 / size**2))
    attributes = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [kernel // 2] * 4}
    nodes = [helper.make_node(op, ["x"], ["y"], **attributes)]
    return f"{op} {channels} {kernel}/{stride} on {size}", _model(nodes, {"x": (1, channels, size, size)}, {})


def _reduce(draw: Draw) -> Any:
    op, axes = draw.one_of("ReduceMean", "ReduceSum", "ReduceMax"), draw.one_of([2, 3], [2, 3], [1], [0])
    channels, size = draw.size(8, 1024, 8), draw.size(4, 56)
    nodes = [helper.make_node(op, ["x", "axes"], ["y"], keepdims=1)]
    weights = {"axes": np.array(axes, np.int64)}
    return f"{op} {axes} {channels}x{size}", _model(nodes, {"x": (1, channels, size, size)}, weights)


def _move(draw: Draw) -> Any:
    a, b, c = draw.size(1, 64), draw.size(4, 128), draw.size(4, 256)
    kind = draw.one_of("permute", "transpose", "concat", "slice", "pad")
    shape = (a, b, c)
    weights: dict[str, Any] = {}
    if kind in ("permute", "transpose"):
        order = {"permute": [1, 0, 2], "transpose": [0, 2, 1]}[kind]
        nodes = [helper.make_node("Transpose", ["x"], ["y"], perm=order)]
    elif kind == "concat":
        nodes = [helper.make_node("Concat", ["x", "z"], ["y"], axis=draw.one_of(0, 1, 2))]
        return f"{kind} {shape}", _model(nodes, {"x": shape, "z": shape}, {})
    elif kind == "slice":
        weights = {"s": np.array([1]), "e": np.array([c - 1]), "a": np.array([2])}
        nodes = [helper.make_node("Slice", ["x", "s", "e", "a"], ["y"])]
    else:
        weights = {"p": np.array([0, 1, 1, 0, 1, 1])}
        nodes = [helper.make_node("Pad", ["x", "p"], ["y"])]
    return f"{kind} {shape}", _model(nodes, {"x": shape}, weights)


def _gather(draw: Draw) -> Any:
    rows, width, count = draw.size(64, 20000), draw.size(1, 512), draw.size(1, 512)
    nodes = [helper.make_node("Gather", ["w", "i"], ["y"])]
    return f"{count} of {rows}x{width}", _model(nodes, {"i": (count,)}, {"w": _weights(draw, rows, width)})


def _rnn(draw: Draw) -> Any:
    op, steps = draw.one_of("LSTM", "GRU"), draw.size(1, 100)
    width, hidden = draw.size(8, 512, 8), draw.size(8, 384, 8)
    gates = {"LSTM": 4, "GRU": 3}[op]
    nodes = [helper.make_node(op, ["x", "w", "r", "b"], ["y"], hidden_size=hidden)]
    weights = {
        "w": _weights(draw, 1, gates * hidden, width) / 8,
        "r": _weights(draw, 1, gates * hidden, hidden) / 8,
        "b": _weights(draw, 1, 2 * gates * hidden),
    }
    return f"{op} {steps}x{width}>{hidden}", _model(nodes, {"x": (steps, 1, width)}, weights)


# Family -> how to draw one, and how many of a hundred.
_FLOATS: dict[str, tuple[Callable[[Draw], Any], int]] = {
    "conv 3x3": (lambda d: _dense_conv(d, (3,), (1,), 8), 18),
    "conv 1x1": (lambda d: _dense_conv(d, (1,), (1,), 8), 16),
    "conv strided": (lambda d: _dense_conv(d, (1, 3, 3, 5), (2,), 8), 6),
    "conv stem": (_stem, 6),
    "conv depthwise": (_depthwise, 10),
    "conv grouped": (_grouped, 4),
    "product": (_product, 8),
    "product of rows": (_row_product, 4),
    "product, computed": (_computed_product, 4),
    "unary": (_unary, 4),
    "binary": (_binary, 4),
    "softmax": (_softmax, 4),
    "attention": (_attention, 4),
    "norm": (_norm, 2),
    "pool": (_pool, 3),
    "reduce": (_reduce, 6),
    "move": (_move, 4),
    "gather": (_gather, 2),
    "rnn": (_rnn, 3),
    "attention of few": (_attention_of_few, 3),
}
# The same models where sessions may multiply in bfloat16.
_BFLOATS = {
    f"bf16 {name}": _FLOATS[name]
    for name in ("conv 3x3", "conv 1x1", "conv strided", "conv stem", "product", "product of rows")
} | {"bf16 product, computed": _FLOATS["product, computed"]}
_ALL = _FLOATS | INTEGERS | _BFLOATS
GROUPS = {"float32": tuple(_FLOATS), "integers": tuple(INTEGERS), "bf16": tuple(_BFLOATS)}
FAMILIES = tuple(_ALL)


def shapes(
    count: int, seed: int, families: tuple[str, ...] = FAMILIES, most_flops: float = MOST_FLOPS
) -> Iterator[Shape]:
    """About ``count`` shapes, at least one of each family, the same for the same seed and size."""
    draw = Draw(seed, most_flops)
    share = sum(_ALL[name][1] for name in families)
    for name in families:
        make, weight = _ALL[name]
        for _ in range(max(1, round(count * weight / share))):
            text, model = make(draw)
            yield Shape(name, text, model, "bf16" if name in _BFLOATS else "float32")
