"""What accuracy allows, and how far a faster way strays from float64."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from build_model import model
from onnx.helper import make_node

import walle_rt

RNG = np.random.default_rng(11)
CHANNELS = 64
WEIGHTS = RNG.standard_normal((48, CHANNELS, 3, 3), np.float32)


def convolution() -> onnx.ModelProto:
    node = make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    return model([node], {"x": [1, CHANNELS, "h", "w"]}, ["y"], {"w": WEIGHTS})


def exact(x: np.ndarray) -> np.ndarray:
    """The convolution in float64."""
    _, _, height, width = x.shape
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    total = np.zeros((1, WEIGHTS.shape[0], height, width))
    for i in range(3):
        for j in range(3):
            window = padded[:, :, i : i + height, j : j + width]
            total += np.einsum("mc,nchw->nmhw", WEIGHTS[:, :, i, j].astype(np.float64), window)
    return total


def deviation(accuracy: str, x: np.ndarray, debug: str = "") -> tuple[str, float]:
    """The algorithm and its error, root of the mean square."""
    session = walle_rt.load(convolution()).session(threads=1, accuracy=accuracy, debug=debug)
    got = session.run({"x": x})["y"]
    (algorithm,) = (row.algorithm for row in session.explain().rows if row.op == "Conv")
    return algorithm, float(np.sqrt(np.mean((got - exact(x)) ** 2)))


@pytest.mark.parametrize("size", [28, 56, 97])
def test_accuracy_bounds_the_error(size: int) -> None:
    x = RNG.standard_normal((1, CHANNELS, size, size), np.float32)
    strict, plain = deviation("strict", x)
    normal, near = deviation("normal", x)
    fast, far = deviation("fast", x)
    assert "winograd" not in strict
    assert "winograd" in normal
    assert "winograd" in fast
    assert near <= 4 * plain
    assert far <= 16 * plain


def test_seven_by_seven_takes_no_large_tiles() -> None:
    """They would be mostly border, and their weights many times as large."""
    x = RNG.standard_normal((1, CHANNELS, 7, 7), np.float32)
    assert "6x6" not in deviation("fast", x)[0]


def test_options_show_accuracy_and_refuse_others() -> None:
    loaded = walle_rt.load(convolution())
    assert loaded.session(threads=1).options["accuracy"] == "normal"
    assert loaded.session(threads=1, accuracy="strict").options["accuracy"] == "strict"
    with pytest.raises(walle_rt.ArgumentError, match="'strict', 'normal' or 'fast'"):
        loaded.session(threads=1, accuracy="exact")


def test_without_search_the_definition_computes() -> None:
    x = RNG.standard_normal((1, CHANNELS, 14, 14), np.float32)
    plain, error = deviation("normal", x, debug="search=off")
    assert plain == "conv_reference"
    assert error < 1e-5


def test_strict_leaves_products_as_they_are() -> None:
    """Otherwise the repeated half of the rows is multiplied once."""
    nodes = [
        make_node("Expand", ["one", "shape"], ["many"]),
        make_node("Concat", ["many", "x"], ["rows"], axis=-1),
        make_node("MatMul", ["rows", "w"], ["y"]),
    ]
    weights = {
        "shape": np.array([3, 20, 80], np.int64),
        "w": RNG.standard_normal((160, 24), np.float32),
    }
    loaded = walle_rt.load(model(nodes, {"one": [3, 1, 80], "x": [3, 20, 80]}, ["y"], weights))
    feeds = {
        "one": RNG.standard_normal((3, 1, 80), np.float32),
        "x": RNG.standard_normal((3, 20, 80), np.float32),
    }
    results, products = {}, {}
    for accuracy in ("strict", "normal"):
        session = loaded.session(threads=1, accuracy=accuracy)
        results[accuracy] = session.run(feeds)["y"]
        products[accuracy] = sum(row.op == "MatMul" for row in session.explain().rows)
    assert products == {"strict": 1, "normal": 2}
    np.testing.assert_allclose(results["normal"], results["strict"], rtol=0, atol=1e-4)
