"""Models of a few layers with every place that quantisation treats in its own way."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from build_model import model
from onnx.helper import make_node

Array = np.ndarray[Any, Any]


def weights(rng: np.random.Generator, *shape: int) -> Array:
    return (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)


def convolutions(seed: int = 0) -> onnx.ModelProto:
    """Batch normalisation, ReLU, a residual sum, pooling, Concat, a bounded Clip, a Gemm, a Softmax."""
    rng = np.random.default_rng(seed)
    nodes = [
        make_node("Conv", ["x", "w1"], ["c1"], name="first", pads=[1, 1, 1, 1]),
        make_node("BatchNormalization", ["c1", "s", "b", "m", "v"], ["n1"], name="norm"),
        make_node("Relu", ["n1"], ["r1"], name="relu"),
        make_node("Conv", ["r1", "w2", "b2"], ["c2"], name="second", pads=[1, 1, 1, 1]),
        make_node("Add", ["c2", "r1"], ["sum"], name="residual"),
        make_node("Relu", ["sum"], ["r2"], name="relu2"),
        make_node("MaxPool", ["r2"], ["p"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        make_node("Conv", ["p", "w3"], ["c3"], name="left"),
        make_node("Clip", ["c3", "zero", "six"], ["l"], name="clip"),
        make_node("Conv", ["p", "w4"], ["c4"], name="right", group=8),
        make_node("HardSwish", ["c4"], ["h"], name="swish"),
        make_node("Concat", ["l", "h"], ["cat"], name="cat", axis=1),
        make_node("GlobalAveragePool", ["cat"], ["g"], name="mean"),
        make_node("Flatten", ["g"], ["f"], name="flat"),
        make_node("Gemm", ["f", "w5", "b5"], ["y"], name="last", transB=1, alpha=0.5),
        make_node("Softmax", ["y"], ["prob"], name="softmax"),
    ]
    given = {
        "w1": weights(rng, 8, 3, 3, 3), "s": rng.uniform(0.5, 2, 8), "b": rng.standard_normal(8),
        "m": rng.standard_normal(8) / 4, "v": rng.uniform(0.5, 2, 8), "w2": weights(rng, 8, 8, 3, 3),
        "b2": rng.standard_normal(8) / 4, "w3": weights(rng, 6, 8, 1, 1), "w4": weights(rng, 8, 1, 1, 1),
        "w5": weights(rng, 5, 14), "b5": rng.standard_normal(5), "zero": np.float32(0),
        "six": np.float32([6]),
    }  # fmt: skip
    floats = {name: np.asarray(array, np.float32) for name, array in given.items()}
    return model(nodes, {"x": ["n", 3, 8, 8]}, {"prob": ["n", 5]}, floats)


def pictures(count: int = 24, seed: int = 1) -> Array:
    return np.random.default_rng(seed).standard_normal((count, 3, 8, 8)).astype(np.float32)


def attention(seed: int = 0, width: int = 32) -> onnx.ModelProto:
    """An embedding, two projections with biases, a product of activations, and a feed-forward part."""
    rng = np.random.default_rng(seed)
    nodes = [
        make_node("Gather", ["table", "ids"], ["e"], name="embed"),
        make_node("MatMul", ["e", "wq"], ["q0"], name="query"),
        make_node("Add", ["q0", "bq"], ["q"], name="query_bias"),
        make_node("MatMul", ["e", "wk"], ["k0"], name="key"),
        make_node("Add", ["bk", "k0"], ["k"], name="key_bias"),
        make_node("Transpose", ["k"], ["kt"], name="turn", perm=[0, 2, 1]),
        make_node("MatMul", ["q", "kt"], ["score"], name="scores"),
        make_node("Softmax", ["score"], ["share"], name="share"),
        make_node("MatMul", ["share", "e"], ["mix"], name="mixed"),
        make_node("MatMul", ["mix", "wo"], ["y"], name="out"),
    ]
    given = {
        "table": weights(rng, 20, width) * 3, "wq": weights(rng, width, width),
        "wk": weights(rng, width, width), "wo": weights(rng, width, 3),
        "bq": rng.standard_normal(width), "bk": rng.standard_normal(width),
    }  # fmt: skip
    floats = {name: np.asarray(array, np.float32) for name, array in given.items()}
    return model(nodes, {"ids": (onnx.TensorProto.INT64, ["n", "t"])}, {"y": ["n", "t", 3]}, floats)


def texts(count: int = 16, seed: int = 1) -> Array:
    return np.random.default_rng(seed).integers(0, 20, (count, 7))


def exposed(made: onnx.ModelProto, wanted: str) -> onnx.ModelProto:
    """The model whose results are all outputs of one operator."""
    copy = onnx.ModelProto()
    copy.CopyFrom(made)
    names = [n.output[0] for n in copy.graph.node if n.op_type == wanted and n.output[0] != "prob"]
    copy.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return copy


def layer_by_layer(
    made: onnx.ModelProto, kind: int = onnx.TensorProto.UINT8
) -> tuple[onnx.ModelProto, dict[str, str]]:
    """The model in which codes are inputs: the codes that are computed -> the input that is read instead."""
    copy = onnx.ModelProto()
    copy.CopyFrom(made)
    computed = [node.output[0] for node in copy.graph.node if node.op_type == "QuantizeLinear"]
    given = {name: f"{name}_given" for name in computed}
    for node in copy.graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = given.get(name, name)
    del copy.graph.output[:]
    for name, value in given.items():
        copy.graph.output.append(onnx.ValueInfoProto(name=name))
        copy.graph.input.append(onnx.helper.make_tensor_value_info(value, kind, None))
    return copy, given
