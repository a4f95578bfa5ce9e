"""Element types that are only stored: what goes in, what comes out, with ml_dtypes and without."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import walle_rt

NUMPY = {
    TensorProto.INT4: ml_dtypes.int4,
    TensorProto.UINT4: ml_dtypes.uint4,
    TensorProto.FLOAT4E2M1: ml_dtypes.float4_e2m1fn,
    TensorProto.FLOAT8E8M0: ml_dtypes.float8_e8m0fnu,
    TensorProto.BFLOAT16: ml_dtypes.bfloat16,
    TensorProto.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn,
}


def model(
    nodes: list[Any], inputs: list[tuple[str, int]], output: int, constants: list[Any]
) -> walle_rt.Model:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, kind, None) for name, kind in inputs],
        [helper.make_tensor_value_info("y", output, None)],
        constants,
    )
    return walle_rt.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=10))


@pytest.mark.parametrize("kind", list(NUMPY))
def test_values_travel_as_arrays_of_ml_dtypes(kind: int) -> None:
    session = model([helper.make_node("Transpose", ["x"], ["y"])], [("x", kind)], kind, []).session(threads=1)
    x = np.array([[1, 2, 4], [1, 1, 2]], np.float32).astype(NUMPY[kind])
    got = session.run({"x": x})["y"]
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got.astype(np.float32), x.T.astype(np.float32))
    bits = np.uint16 if kind == TensorProto.BFLOAT16 else np.uint8
    again = session.run({"x": x.view(bits)})["y"]  # the bits are as good
    np.testing.assert_array_equal(again.view(bits), got.view(bits))


@pytest.mark.parametrize("raw", [True, False])
def test_packed_weights(raw: bool) -> None:
    weights = np.arange(-8, 7, dtype=np.int8).reshape(3, 5)  # an odd count: the last byte is half empty
    packed = numpy_helper.from_array(weights.astype(ml_dtypes.int4), "w")
    if not raw:
        packed = helper.make_tensor("w", TensorProto.INT4, weights.shape, weights.ravel().tolist())
    scale = numpy_helper.from_array(np.array([0.5, 1.0, 2.0], np.float32), "s")
    nodes = [
        helper.make_node("Gather", ["w", "i"], ["g"]),
        helper.make_node("Gather", ["s", "i"], ["t"]),
        helper.make_node("DequantizeLinear", ["g", "t"], ["y"], axis=0),
    ]
    made = model(nodes, [("i", TensorProto.INT64)], TensorProto.FLOAT, [packed, scale])
    got = made.session(threads=1).run({"i": np.array([2, 0])})["y"]
    np.testing.assert_array_equal(got, weights[[2, 0]] * np.array([[2.0], [0.5]], np.float32))


def test_quantise_to_four_bits() -> None:
    zero = numpy_helper.from_array(np.array(1, ml_dtypes.int4), "z")
    scale = numpy_helper.from_array(np.array(0.5, np.float32), "s")
    node = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])
    made = model([node], [("x", TensorProto.FLOAT)], TensorProto.INT4, [zero, scale])
    got = made.session(threads=1).run({"x": np.array([-100, -0.25, 0, 0.75, 100], np.float32)})["y"]
    assert got.astype(int).tolist() == [-8, 1, 1, 3, 7]


def test_damaged_packing_is_refused() -> None:
    tensor = TensorProto(name="w", data_type=TensorProto.UINT4, dims=[5], raw_data=b"\x21")
    with pytest.raises(walle_rt.ModelError, match="bytes"):
        model([helper.make_node("Identity", ["w"], ["y"])], [], TensorProto.UINT4, [tensor])


def test_without_ml_dtypes_bits_come_back() -> None:
    script = """
import sys
sys.modules["ml_dtypes"] = None
import numpy as np, walle_rt
from walle_rt import _core
g = _core.GraphBuilder("g")
x = g.input("x", "tensor", "int4", [2])
(y,) = g.node("Transpose", "t", [x], ["y"], [])
g.outputs([y])
model = walle_rt.Model(_core.Model.create(g.finish([], {})))
print(model.session(threads=1).run({"x": np.array([1, 15], np.uint8)})["y"].dtype)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "uint8\n"
