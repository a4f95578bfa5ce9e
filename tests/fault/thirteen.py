"""The small model that damage is done to: 13 nodes over convolution, control flow, movement and reduction."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FEEDS = {"image": np.linspace(-1, 1, 3 * 8 * 8, dtype=np.float32).reshape(1, 3, 8, 8)}


def _branch(name: str, kind: str) -> onnx.GraphProto:
    node = helper.make_node(kind, ["joined"], [f"{name}_out"], name=f"{name}_node")
    return helper.make_graph(
        [node], name, [], [helper.make_tensor_value_info(f"{name}_out", TensorProto.FLOAT, None)]
    )


def model() -> onnx.ModelProto:
    """A checked model with all that a file can get wrong: weights, attributes, shapes,
    sub-graphs, indices.
    """
    rng = np.random.default_rng(13)
    weights = {
        "kernel": rng.standard_normal((4, 3, 3, 3)).astype(np.float32),
        "bias": rng.standard_normal(4).astype(np.float32),
        "target": np.array([1, 4, 16], np.int64),
        "indices": np.array([3, 0, 1], np.int64),
        "matrix": rng.standard_normal((16, 5)).astype(np.float32),
        "starts": np.array([1], np.int64),
        "ends": np.array([5], np.int64),
        "axes": np.array([2], np.int64),
        "zero": np.array(0, np.float32),
    }
    yes, no = _branch("yes", "Tanh"), _branch("no", "Neg")
    nodes = [
        helper.make_node(
            "Conv", ["image", "kernel", "bias"], ["conv"], pads=[1, 1, 1, 1], kernel_shape=[3, 3]
        ),
        helper.make_node("Relu", ["conv"], ["relu"]),
        helper.make_node("MaxPool", ["relu"], ["pool"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Reshape", ["pool", "target"], ["flat"]),
        helper.make_node("Gather", ["flat", "indices"], ["picked"], axis=1),
        helper.make_node("MatMul", ["picked", "matrix"], ["product"]),
        helper.make_node("Slice", ["product", "starts", "ends", "axes"], ["cut"]),
        helper.make_node("Transpose", ["cut"], ["turned"], perm=[0, 2, 1]),
        helper.make_node("Concat", ["turned", "turned"], ["joined"], axis=1),
        helper.make_node("ReduceMax", ["joined"], ["peak"], keepdims=0),
        helper.make_node("Greater", ["peak", "zero"], ["positive"]),
        helper.make_node("If", ["positive"], ["chosen"], then_branch=yes, else_branch=no),
        helper.make_node("Softmax", ["chosen"], ["result"], axis=-1),
    ]
    for i, node in enumerate(nodes):
        node.name = f"node_{i}"
    graph = helper.make_graph(
        nodes,
        "thirteen",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("result", TensorProto.FLOAT, [1, 8, 3])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(made)
    return made
