"""The float64 reference: right where it computes by itself, and how errors are measured against it."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from layers import one_node

import walle_rt
from walle_rt.bench import accuracy, reference

Array = np.ndarray[Any, Any]
SEED = 11


def by_definition(x: Array, w: Array, stride: int, pad: int, dilation: int, groups: int) -> Array:
    """Convolution as sums over taps."""
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    n, _, height, width = x.shape
    out, each, k, _ = w.shape
    rows, columns = ((size - (k - 1) * dilation - 1) // stride + 1 for size in (height, width))
    y = np.zeros((n, out, rows, columns))
    for o, c, i, j in product(range(out), range(each), range(k), range(k)):
        source = o // (out // groups) * each + c
        taps = x[:, source, i * dilation :: stride, j * dilation :: stride][:, :rows, :columns]
        y[:, o] += w[o, c, i, j].astype(np.float64) * taps
    return y


@pytest.mark.parametrize(
    ("stride", "pad", "dilation", "groups"), [(1, 0, 1, 1), (2, 1, 1, 2), (1, 2, 2, 4), (3, 1, 2, 1)]
)
def test_convolution(stride: int, pad: int, dilation: int, groups: int) -> None:
    rng = np.random.default_rng(SEED)
    x = rng.standard_normal((2, 4, 9, 11)).astype(np.float32)
    w = rng.standard_normal((8, 4 // groups, 3, 3)).astype(np.float32)
    attributes = {"strides": [stride] * 2, "pads": [pad] * 4, "dilations": [dilation] * 2, "group": groups}
    model = one_node("Conv", {"x": x, "w": w}, constants=["w"], **attributes)
    (got,) = reference.evaluate(model, {"x": x})
    assert got.dtype == np.float64
    np.testing.assert_allclose(
        got, by_definition(x, w, stride, pad, dilation, groups), rtol=1e-12, atol=1e-12
    )


def engine_agrees(model: onnx.ModelProto, x: Array) -> None:
    (want,) = reference.evaluate(model, {"x": x})
    got = list(walle_rt.load(model).session(threads=1).run({"x": x}).values())
    assert accuracy.error(got, [want]) < 1e-6


@pytest.mark.parametrize("auto", ["SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize("stride", [1, 2])
def test_padding_by_name(auto: str, stride: int) -> None:
    rng = np.random.default_rng(SEED)
    x = rng.standard_normal((1, 3, 10, 7)).astype(np.float32)
    w = rng.standard_normal((5, 3, 4, 4)).astype(np.float32)
    engine_agrees(one_node("Conv", {"x": x, "w": w}, constants=["w"], auto_pad=auto, strides=[stride] * 2), x)


def test_one_spatial_axis() -> None:
    rng = np.random.default_rng(SEED)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 17), (4, 3, 5)))
    engine_agrees(one_node("Conv", {"x": x, "w": w}, constants=["w"], pads=[1, 2], strides=[2]), x)


@pytest.mark.parametrize(
    ("kernel", "stride", "pad", "more"), [(2, 2, 0, 0), (4, 2, 1, 0), (3, 2, 1, 1), (3, 1, 0, 0)]
)
def test_transposed_convolution(kernel: int, stride: int, pad: int, more: int) -> None:
    rng = np.random.default_rng(SEED)
    x = rng.standard_normal((2, 3, 5, 6)).astype(np.float32)
    w = rng.standard_normal((3, 4, kernel, kernel)).astype(np.float32)
    attributes = {"strides": [stride] * 2, "pads": [pad] * 4, "output_padding": [more] * 2}
    engine_agrees(one_node("ConvTranspose", {"x": x, "w": w}, constants=["w"], **attributes), x)


@pytest.mark.parametrize("ceil", [0, 1])
@pytest.mark.parametrize("pad", [0, 1])
def test_max_pool(ceil: int, pad: int) -> None:
    x = np.random.default_rng(SEED).standard_normal((1, 2, 10, 13)).astype(np.float32)
    attributes = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [pad] * 4, "ceil_mode": ceil}
    engine_agrees(one_node("MaxPool", {"x": x}, **attributes), x)


@pytest.mark.parametrize("opset", [9, 15])
def test_normalisation_by_stored_figures(opset: int) -> None:
    rng = np.random.default_rng(SEED)
    x = rng.standard_normal((2, 3, 4, 4)).astype(np.float32)
    figures = {name: rng.uniform(0.5, 2, 3).astype(np.float32) for name in ("s", "b", "m", "v")}
    model = one_node(
        "BatchNormalization", {"x": x, **figures}, constants=figures, opset=opset, epsilon=1e-3, momentum=0.9
    )
    engine_agrees(model, x)


def test_float32_in_the_graph_is_raised_and_kept(tmp_path: Path) -> None:
    x = np.full((1, 4), 1 / 3, np.float32)
    model = one_node("Cast", {"x": x}, to=onnx.TensorProto.FLOAT)
    file = tmp_path / "cast.onnx"
    onnx.save(model, str(file))
    first = reference.reference(file, {"x": x}, tmp_path)
    assert first[0].dtype == np.float64
    assert (tmp_path / "cast.float64.npz").exists()
    np.testing.assert_array_equal(reference.reference(file, {"x": x}, tmp_path)[0], first[0])
    assert model.graph.node[0].attribute[0].i == onnx.TensorProto.FLOAT  # ours is a copy


def test_error_is_in_parts_of_the_range() -> None:
    want = [np.array([0.0, 10.0]), np.array([[1.0], [3.0]])]
    assert accuracy.error([np.array([0.0, 10.0]), np.array([1.0, 3.0])], want) == 0
    assert accuracy.error([np.array([0.0, 10.1]), np.array([1.0, 3.0])], want) == pytest.approx(0.01)
    assert accuracy.error([np.array([0.0, 10.0]), np.array([1.0, 3.2])], want) == pytest.approx(0.1)
    assert accuracy.error([np.array([7.0])], [np.array([7.0])]) == 0
    assert accuracy.error([np.array([6.3])], [np.array([7.0])]) == pytest.approx(0.1)  # its own size
    assert accuracy.error([np.array([1e-5, 0])], [np.array([0.0, 0.0])]) == pytest.approx(1e-2)


def test_what_is_not_finite_has_to_be_so_on_both_sides() -> None:
    want = [np.array([1.0, np.inf, 3.0])]
    assert accuracy.error([np.array([1.0, np.inf, 3.0])], want) == 0
    assert accuracy.error([np.array([1.0, 2.0, 3.0])], want) == float("inf")
    assert accuracy.error([np.array([np.nan, np.inf, 3.0])], want) == float("inf")
    assert accuracy.error([], want) == float("inf")
    assert accuracy.error([np.zeros(2)], want) == float("inf")
    assert accuracy.error([np.zeros(0)], [np.zeros(0)]) == 0
