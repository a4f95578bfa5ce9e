"""Fusions that once went wrong: each is a few nodes whose result is known, run with fusion on and off."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import walle_rt


@pytest.mark.parametrize("debug", ["", "fuse=off"])
@pytest.mark.parametrize("kind", ["MatMul", "Conv"])
def test_sum_of_two_products_with_activation(kind: str, debug: str) -> None:
    """Both products could take the sum, and the activation behind it, as their epilogue; only one may."""
    rng = np.random.default_rng(0)
    first, second = rng.standard_normal((2, 8, 8)).astype(np.float32)
    x = rng.standard_normal((4, 8)).astype(np.float32)
    want = np.maximum(x @ first + x @ second, 0)
    if kind == "Conv":
        weights, data = [w.T[:, :, None, None] for w in (first, second)], x[:, :, None, None]
    else:
        weights, data = [first, second], x
    nodes = [
        helper.make_node(kind, ["x", "first"], ["a"], name="a"),
        helper.make_node(kind, ["x", "second"], ["b"], name="b"),
        helper.make_node("Add", ["a", "b"], ["sum"], name="sum"),
        helper.make_node("Relu", ["sum"], ["y"], name="relu"),
    ]
    graph = helper.make_graph(
        nodes,
        "two_products",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, data.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, data.shape)],
        [
            numpy_helper.from_array(np.ascontiguousarray(w), n)
            for w, n in zip(weights, ("first", "second"), strict=True)
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    got = walle_rt.load(model).session(threads=1, debug=debug).run({"x": np.ascontiguousarray(data)})["y"]
    np.testing.assert_allclose(got.reshape(want.shape), want, rtol=1e-4, atol=1e-5)
