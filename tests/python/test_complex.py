"""Complex numbers: every operator that moves them against NumPy; what computes says that it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from build_model import model, run
from onnx import TensorProto, helper
from onnx.helper import make_node

import walle_rt

Array = np.ndarray[Any, Any]
TYPES = {"complex64": TensorProto.COMPLEX64, "complex128": TensorProto.COMPLEX128}


def numbers(dtype: str, *shape: int, seed: int = 0) -> Array:
    random = np.random.default_rng(seed)
    real, imaginary = random.standard_normal((2, *shape))
    return np.asarray(real + 1j * imaginary, dtype)


def i64(*values: int) -> Array:
    return np.array(values, np.int64)


X = (2, 3, 4)
SQUEEZED = (1, 3, 4)
# A node, its constants, and what NumPy makes of x.
MOVES: list[tuple[onnx.NodeProto, dict[str, Any], Any]] = [
    (make_node("Transpose", ["x"], ["y"], perm=[2, 0, 1]), {}, lambda x: x.transpose(2, 0, 1)),
    (make_node("Reshape", ["x", "s"], ["y"]), {"s": i64(4, 6)}, lambda x: x.reshape(4, 6)),
    (make_node("Flatten", ["x"], ["y"], axis=2), {}, lambda x: x.reshape(6, 4)),
    (make_node("Squeeze", ["x", "a"], ["y"]), {"a": i64(0)}, lambda x: x[0]),
    (make_node("Unsqueeze", ["x", "a"], ["y"]), {"a": i64(1)}, lambda x: x[:, None]),
    (
        make_node("Slice", ["x", "b", "e", "a", "t"], ["y"]),
        {"b": i64(3, 0), "e": i64(-9, 3), "a": i64(2, 1), "t": i64(-2, 2)},
        lambda x: x[:, 0:3:2, ::-2],
    ),
    (make_node("Concat", ["x", "x"], ["y"], axis=-1), {}, lambda x: np.concatenate([x, x], -1)),
    (make_node("Gather", ["x", "i"], ["y"], axis=2), {"i": i64(3, 0, -1)}, lambda x: x[..., [3, 0, -1]]),
    (
        make_node("GatherElements", ["x", "i"], ["y"], axis=2),
        {"i": np.array([[[3, 0]] * 3] * 2, np.int64)},
        lambda x: x[..., [3, 0]],
    ),
    (
        make_node("GatherND", ["x", "i"], ["y"]),
        {"i": np.array([[1, 2], [0, 0]])},
        lambda x: x[[1, 0], [2, 0]],
    ),
    (make_node("Expand", ["x", "s"], ["y"]), {"s": i64(2, 2, 3, 4)}, lambda x: np.stack([x, x])),
    (make_node("Tile", ["x", "r"], ["y"]), {"r": i64(1, 2, 2)}, lambda x: np.tile(x, (1, 2, 2))),
    (
        make_node("Pad", ["x", "p"], ["y"]),
        {"p": i64(0, 1, 0, 0, 0, 2)},
        lambda x: np.pad(x, [(0, 0), (1, 0), (0, 2)]),
    ),
    (
        make_node("Pad", ["x", "p"], ["y"], mode="reflect"),
        {"p": i64(0, 1, 0, 0, 0, 2)},
        lambda x: np.pad(x, [(0, 0), (1, 0), (0, 2)], mode="reflect"),
    ),
    (make_node("Identity", ["x"], ["y"]), {}, lambda x: x),
    (
        make_node("Where", ["c", "x", "x"], ["y"]),
        {"c": np.array([True, False, True, False])},
        lambda x: x,
    ),
    (make_node("Trilu", ["x"], ["y"], upper=0), {}, np.tril),
    (
        make_node("ReverseSequence", ["x", "n"], ["y"], batch_axis=0, time_axis=1),
        {"n": i64(2, 3)},
        lambda x: np.stack([x[0][[1, 0, 2]], x[1][::-1]]),
    ),
    (
        make_node("ScatterElements", ["x", "i", "x"], ["y"], axis=2),
        {"i": np.broadcast_to(i64(3, 2, 1, 0), X).copy()},
        lambda x: x[..., ::-1],
    ),
    (
        make_node("Compress", ["x", "c"], ["y"], axis=2),
        {"c": np.array([True, False, False, True])},
        lambda x: x[..., [0, 3]],
    ),
]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("node", "weights", "meant"), MOVES, ids=[f"{i}_{m[0].op_type}" for i, m in enumerate(MOVES)]
)
def test_movement_is_numpys(node: onnx.NodeProto, weights: dict[str, Any], meant: Any, dtype: str) -> None:
    x = numbers(dtype, *(SQUEEZED if node.op_type == "Squeeze" else X))
    made = model([node], {"x": (TYPES[dtype], x.shape)}, ["y"], weights, opset=18)
    options: list[dict[str, Any]] = [{}, {"debug": "search=off"}, {"backend": "null"}]
    for some in options:
        got = walle_rt.load(made).session(threads=1, **some).run({"x": x})["y"]
        assert got.dtype == np.dtype(dtype), some
        np.testing.assert_array_equal(got, meant(x), str(some))


@pytest.mark.parametrize("dtype", TYPES)
def test_a_choice_is_made_of_whole_numbers(dtype: str) -> None:
    node = make_node("Where", ["c", "x", "z"], ["y"])
    c = np.array([[True], [False], [True]])
    x, z = numbers(dtype, 3, 5), numbers(dtype, 5, seed=1)
    made = model([node], {"c": (TensorProto.BOOL, c.shape), "x": (TYPES[dtype], x.shape)}, ["y"], {"z": z})
    np.testing.assert_array_equal(run(made, c=c, x=x)["y"], np.where(c, x, z))


@pytest.mark.parametrize("dtype", TYPES)
def test_chains_are_one_copy(dtype: str) -> None:
    nodes = [
        make_node("Transpose", ["x"], ["a"], perm=[2, 1, 0]),
        make_node("Pad", ["a", "p", "v"], ["b"]),
        make_node("Transpose", ["b"], ["y"], perm=[2, 1, 0]),
    ]
    value = np.array(2 - 3j, dtype)
    weights = {"p": i64(1, 0, 0, 0, 0, 0), "v": value}
    made = model(nodes, {"x": (TYPES[dtype], X)}, ["y"], weights, opset=18)
    session = walle_rt.load(made).session(threads=1)
    x = numbers(dtype, *X)
    want = np.pad(x, [(0, 0), (0, 0), (1, 0)], constant_values=value)
    np.testing.assert_array_equal(session.run({"x": x})["y"], want)
    assert sum(row.op == "raster" for row in session.explain().rows) == 1


@pytest.mark.parametrize("dtype", TYPES)
def test_arrays_that_lie_otherwise(dtype: str) -> None:
    made = model([make_node("Transpose", ["x"], ["y"])], {"x": (TYPES[dtype], [3, 2])}, ["y"])
    x = numbers(dtype, 3, 2)
    halves = np.zeros(x.size * 2 + 1, x.real.dtype)
    shifted = halves[1:].view(dtype).reshape(3, 2)  # on an odd half of an element
    shifted[:] = x
    foreign = x.astype(x.dtype.newbyteorder())
    for given in (x, np.asfortranarray(x), shifted, foreign, numbers(dtype, 6, 2)[::2]):
        np.testing.assert_array_equal(run(made, x=given)["y"], given.T)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("raw", [True, False])
def test_constants_travel_in_files(dtype: str, raw: bool, tmp_path: Path) -> None:
    w = numbers(dtype, 2, 3)
    node = make_node("Concat", ["x", "w"], ["y"], axis=0)
    made = model([node], {"x": (TYPES[dtype], [1, 3])}, ["y"])
    flat = w.tobytes() if raw else w.ravel().tolist()
    made.graph.initializer.append(helper.make_tensor("w", TYPES[dtype], w.shape, flat, raw=raw))
    walle_rt.load(made).save(str(tmp_path / "m.walle"))
    x = numbers(dtype, 1, 3, seed=1)
    got = walle_rt.load(str(tmp_path / "m.walle")).session(threads=1).run({"x": x})["y"]
    np.testing.assert_array_equal(got, np.concatenate([x, w]))


@pytest.mark.parametrize(
    "node",
    [
        make_node("Add", ["x", "x"], ["y"]),
        make_node("Sqrt", ["x"], ["y"]),
        make_node("MatMul", ["x", "x"], ["y"]),
        make_node("ReduceSum", ["x"], ["y"]),
        make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT),
    ],
    ids=lambda node: node.op_type,
)
def test_what_computes_says_what_is_supported(node: onnx.NodeProto) -> None:
    made = model([node], {"x": (TensorProto.COMPLEX64, [2, 2])}, ["y"])
    with pytest.raises(walle_rt.Error, match=r"complex64.*real and imaginary parts"):
        run(made, x=numbers("complex64", 2, 2))
