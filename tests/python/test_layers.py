"""Convolutions, pools, resizing and sampling against onnx's reference evaluator on seeded random shapes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from layers import Array, feeds, one_node
from onnx.reference import ReferenceEvaluator

import walle_rt


def agree(
    op: str,
    inputs: dict[str, Array | None],
    outputs: int = 1,
    constants: tuple[str, ...] = (),
    **attributes: Any,
) -> None:
    model = one_node(op, inputs, outputs, constants, **attributes)
    given = feeds(inputs, constants)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = ReferenceEvaluator(model).run(None, given)
    for threads in (1, 2):
        got = walle_rt.load(model).session(threads=threads).run(given)
        for value, want in zip(got.values(), wanted, strict=True):
            np.testing.assert_allclose(value, want, rtol=1e-4, atol=1e-4, err_msg=f"{op} {attributes}")


def floats(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def ints(rng: np.random.Generator, low: int, high: int, count: int) -> list[int]:
    return [int(v) for v in rng.integers(low, high, count)]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_convolution(axes: int, seed: int) -> None:
    rng = np.random.default_rng([axes, seed])
    group = 1 if axes == 1 else 1 + seed % 2
    kernel = ints(rng, 1, 4, axes)
    inputs = {
        "X": floats(rng, 2, 2 * group, *ints(rng, 7, 10, axes)),
        "W": floats(rng, 3 * group, 2, *kernel),
        "B": floats(rng, 3 * group),
    }
    agree(
        "Conv",
        inputs,
        constants=("W", "B"),
        kernel_shape=kernel,
        group=group,
        strides=ints(rng, 1, 3, axes),
        dilations=ints(rng, 1, 3, axes),
        pads=ints(rng, 0, 3, 2 * axes),
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("axes", [1, 2])
def test_transposed_convolution(axes: int, seed: int) -> None:
    rng = np.random.default_rng([axes, seed])
    kernel = ints(rng, 1, 4, axes)
    inputs = {
        "X": floats(rng, 2, 3, *ints(rng, 3, 6, axes)),
        "W": floats(rng, 3, 4, *kernel),
        "B": floats(rng, 4),
    }
    agree(
        "ConvTranspose",
        inputs,
        constants=("W",),
        kernel_shape=kernel,
        strides=ints(rng, 2, 4, axes),
        pads=[0] * (2 * axes),
        output_padding=ints(rng, 0, 2, axes),
    )


@pytest.mark.parametrize(
    "coordinates", ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"]
)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_resize(mode: str, coordinates: str) -> None:
    rng = np.random.default_rng(7)
    for sizes in ([1, 2, 9, 4], [1, 2, 3, 11], [1, 2, 1, 6]):
        inputs: dict[str, Array | None] = {
            "X": floats(rng, 1, 2, 5, 6),
            "roi": None,
            "scales": None,
            "sizes": np.array(sizes),
        }
        if coordinates == "tf_crop_and_resize":
            inputs["roi"] = np.array([0, 0, 0.125, 0.21875, 1, 1, 0.84375, 1.1875], np.float32)
        agree(
            "Resize", inputs, mode=mode, coordinate_transformation_mode=coordinates, extrapolation_value=5.0
        )


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_grid_sample(mode: str, padding: str, align: int) -> None:
    rng = np.random.default_rng(3)
    inputs = {"X": floats(rng, 2, 2, 4, 5), "grid": rng.uniform(-1.5, 1.5, (2, 3, 4, 2)).astype(np.float32)}
    agree("GridSample", inputs, opset=20, mode=mode, padding_mode=padding, align_corners=align)


def test_maximum_pool_with_indices_undone_by_unpool() -> None:
    x = np.random.default_rng(0).permutation(64).astype(np.float32).reshape(1, 1, 8, 8)
    window = {"kernel_shape": [2, 2], "strides": [2, 2]}
    pooled = walle_rt.load(one_node("MaxPool", {"X": x}, 2, **window)).session(threads=1).run({"X": x})
    inputs = {"X": pooled["y0"], "I": pooled["y1"]}
    undone = walle_rt.load(one_node("MaxUnpool", inputs, **window)).session(threads=1).run(inputs)["y0"]
    assert np.array_equal(np.sort(undone[undone != 0]), np.sort(pooled["y0"].ravel()))
    assert np.array_equal(undone[undone != 0], x[undone != 0])


def test_suppression_keeps_the_best_of_overlapping_boxes() -> None:
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11]]], np.float32)
    scores = np.array([[[0.5, 0.9, 0.4]]], np.float32)
    inputs: dict[str, Array | None] = {
        "boxes": boxes,
        "scores": scores,
        "limit": np.array([3]),
        "iou": np.array([0.5], np.float32),
    }
    constants = ("limit", "iou")
    session = walle_rt.load(one_node("NonMaxSuppression", inputs, 1, constants)).session(threads=1)
    assert session.run(feeds(inputs, constants))["y0"].tolist() == [[0, 0, 1], [0, 0, 2]]


@pytest.mark.parametrize(
    ("op", "inputs", "attributes"),
    [
        ("Conv", {"X": (1, 3, 8, 8), "W": (4, 2, 3, 3)}, {}),
        ("Conv", {"X": (1, 3, 8, 8), "W": (4, 3, 3, 3)}, {"strides": [0, 1]}),
        ("Conv", {"X": (1, 3, 2, 2), "W": (4, 3, 3, 3)}, {}),
        ("Conv", {"X": (1, 4, 8, 8), "W": (3, 2, 3, 3)}, {"group": 2}),
        ("ConvTranspose", {"X": (1, 3, 4, 4), "W": (3, 1, 2, 2)}, {"pads": [9, 9, 9, 9]}),
        ("MaxPool", {"X": (1, 3, 8, 8)}, {"kernel_shape": [2, 2], "pads": [3, 3, 3, 3]}),
        ("AveragePool", {"X": (1, 3, 8)}, {"kernel_shape": [2, 2]}),
        ("LRN", {"X": (1, 3, 8)}, {"size": 0}),
        ("GridSample", {"X": (1, 1, 4, 4), "grid": (1, 2, 2, 3)}, {"mode": "linear"}),
        ("GridSample", {"X": (1, 1, 4, 4), "grid": (1, 2, 2, 2)}, {"mode": "wavy"}),
    ],
)
def test_wrong_layers_are_errors(
    op: str, inputs: dict[str, tuple[int, ...]], attributes: dict[str, Any]
) -> None:
    given = {name: np.zeros(shape, np.float32) for name, shape in inputs.items()}
    with pytest.raises(walle_rt.Error) as caught:
        walle_rt.load(one_node(op, given, opset=20, **attributes)).session(threads=1).run(given)
    assert op in str(caught.value)
