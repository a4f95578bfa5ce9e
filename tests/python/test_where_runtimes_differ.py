"""Each line of docs/reference/where-runtimes-differ.md that no other test holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from test_exported_files import run

import walle_rt

INFINITY = float("inf")


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("given", [np.float32, np.float64, np.float16])
def test_infinity_becomes_the_largest_integer(given: Any, dtype: Any) -> None:
    x = np.array([INFINITY, -INFINITY, np.nan, 2.7], given)
    target = {"int8": 3, "uint8": 2, "int16": 5, "int32": 6, "uint32": 12, "int64": 7, "uint64": 13}
    to = target[np.dtype(dtype).name]
    y = run("Cast", {"x": x}, to=to, result=to)
    limits = np.iinfo(dtype)
    assert y.tolist() == [limits.max, limits.min, 0, 2]


def test_what_64_bits_hold_keeps_its_low_bits() -> None:
    x = np.array([300, -300, 2.0**40 + 5], np.float32)
    assert run("Cast", {"x": x}, to=TensorProto.INT8, result=TensorProto.INT8)[:2].tolist() == [44, -44]


def test_zeros_are_quantised_with_a_scale_of_one() -> None:
    x = np.zeros(4, np.float32)
    y, scale, point = run_dynamic(x)
    assert (y.tolist(), float(scale), int(point)) == ([0] * 4, 1.0, 0)


def run_dynamic(x: np.ndarray) -> list[np.ndarray]:
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "scale", "point"])
    kinds = {"y": TensorProto.UINT8, "scale": TensorProto.FLOAT, "point": TensorProto.UINT8}
    graph = helper.make_graph(
        [node],
        "quantise",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in kinds.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    found = walle_rt.load(model).session().run({"x": x})
    return [found[name] for name in kinds]


def test_a_mean_of_nothing_is_not_a_number() -> None:
    y = run("ReduceMean", {"x": np.zeros((0, 3), np.float32)}, {"a": np.array([0], np.int64)}, opset=18)
    assert np.isnan(y).all() and y.shape == (1, 3)


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin"])
def test_reductions_do_not_hide_nan(op: str) -> None:
    x = np.array([1, np.nan, 3] * 20, np.float32)
    assert np.isnan(run(op, {"x": x}, keepdims=0))


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
def test_the_place_of_the_first_nan(op: str) -> None:
    x = np.array([1, 2, np.nan, 3, np.nan], np.float32)
    assert run(op, {"x": x}, keepdims=0, result=TensorProto.INT64) == 2


def test_a_power_of_one_half_is_a_square_root() -> None:
    y = run("Pow", {"x": np.array([-INFINITY, 4], np.float32)}, {"p": np.float32(0.5)})
    assert np.isnan(y[0]) and y[1] == 2


def test_wrap_repeats_the_whole_input() -> None:
    x = np.arange(6, dtype=np.float32)
    y = run("Pad", {"x": x}, {"p": np.array([-2, 3], np.int64)}, mode="wrap", opset=19)
    assert y.tolist() == [2, 3, 4, 5, 0, 1, 2]


def test_clip_with_its_bounds_exchanged() -> None:
    x = np.array([1, 3], np.float32)
    assert run("Clip", {"x": x}, {"lo": np.float32(5), "hi": np.float32(2)}).tolist() == [2, 2]


def test_recurrences_over_a_batch_of_none() -> None:
    x = np.zeros((3, 0, 4), np.float32)
    weights = {"w": np.zeros((1, 8, 4), np.float32), "r": np.zeros((1, 8, 2), np.float32)}
    assert run("LSTM", {"x": x}, weights, hidden_size=2).shape == (3, 1, 0, 2)


def test_unique_slices_of_nothing() -> None:
    x = np.zeros((3, 0), np.float32)
    assert run("Unique", {"x": x}, axis=0).shape == np.unique(x, axis=0).shape == (1, 0)
    assert run("Unique", {"x": x}, axis=1).shape == (3, 0)


def test_powers_of_integers_keep_their_low_bits() -> None:
    x = np.array([3, -2], np.int32)
    y = run("Pow", {"x": x}, {"p": np.array([25, 3], np.int32)}, result=TensorProto.INT32)
    assert y.tolist() == [3**25 % 2**32, -8]


def test_not_a_number_is_the_largest() -> None:
    x = np.array([1, 3, 3, np.nan], np.float32)
    assert run("Hardmax", {"x": x}).tolist() == [0, 0, 0, 1]
    y = run("MaxPool", {"x": x.reshape(1, 1, 4)}, kernel_shape=[2]).ravel()
    assert y[:2].tolist() == [3, 3] and np.isnan(y[2])


def test_a_bound_that_is_not_a_number() -> None:
    x = np.array([1, 3], np.float32)
    assert np.isnan(run("Clip", {"x": x}, {"lo": np.float32(np.nan), "hi": np.float32(2)})).all()


def test_what_is_not_a_number_is_not_quantised() -> None:
    y, scale, _ = run_dynamic(np.array([np.nan, 1], np.float32))
    assert np.isnan(scale) and y.tolist() == [0, 0]


def test_scores_that_are_not_numbers_are_not_selected() -> None:
    boxes = np.array([[[0, 0, 1, 1], [5, 5, 6, 6], [0, 0, 1, np.nan]]], np.float32)
    scores = np.array([[[0.9, np.nan, 0.8]]], np.float32)
    most = {"m": np.array([3], np.int64), "iou": np.array([0.5], np.float32)}
    picked = run("NonMaxSuppression", {"x": boxes, "s": scores}, most, result=TensorProto.INT64)
    assert picked.tolist() == [[0, 0, 0], [0, 0, 2]]


def test_equal_numbers_are_normalised_to_zero() -> None:
    assert not run("MeanVarianceNormalization", {"x": np.ones((1, 2, 2, 2), np.float32)}).any()


def test_reflection_goes_on_beyond_the_other_end() -> None:
    x = np.arange(3, dtype=np.float32)
    y = run("Pad", {"x": x}, {"p": np.array([4, 4], np.int64)}, mode="reflect")
    assert y.tolist() == np.pad(x, 4, "reflect").tolist()


def test_cubic_along_one_axis() -> None:
    x = np.arange(4, dtype=np.float32)
    sizes = {"roi": np.zeros(0, np.float32), "scales": np.array([1, 1, 2], np.float32)}
    line = run("Resize", {"x": x.reshape(1, 1, 4)}, sizes, mode="cubic").ravel()
    sizes["scales"] = np.array([1, 1, 1, 2], np.float32)
    assert line.tolist() == run("Resize", {"x": x.reshape(1, 1, 1, 4)}, sizes, mode="cubic").ravel().tolist()
