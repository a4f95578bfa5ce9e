"""Unique of many elements against NumPy: every dtype, ties, zeros of both signs, NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from build_model import model
from onnx import TensorProto, helper

import walle_rt

DTYPES = ["float32", "float64", "float16", "int8", "uint8", "int16", "int32", "int64", "uint64"]


def found(x: np.ndarray[Any, Any], ordered: int) -> dict[str, np.ndarray[Any, Any]]:
    kind = int(helper.np_dtype_to_tensor_dtype(x.dtype))
    node = helper.make_node("Unique", ["x"], ["y", "first", "inverse", "counts"], sorted=ordered)
    outputs: Any = {"y": (kind, None)} | {
        n: (TensorProto.INT64, None) for n in ("first", "inverse", "counts")
    }
    return walle_rt.load(model([node], {"x": (kind, [None])}, outputs, {}, opset=21)).session().run({"x": x})


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [0, 1, 255, 256, 257, 5000])
@pytest.mark.parametrize("few", [True, False])
def test_elements_are_found_as_numpy_finds_them(dtype: str, count: int, few: bool) -> None:
    rng = np.random.default_rng(count)
    low, high = (-3, 4) if few else (-(2**63), 2**63 - 1)
    x = rng.integers(low, high, count)
    with np.errstate(all="ignore"):
        x = x.astype(dtype)
    if x.dtype.kind == "f" and count:
        x[::7] = rng.choice(np.asarray([np.nan, 0.0, -0.0, np.inf, -np.inf], dtype), x[::7].shape)
    want = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    got = found(x, 1)
    for name, values in zip(("y", "first", "inverse", "counts"), want, strict=True):
        np.testing.assert_array_equal(got[name], values.reshape(-1), name)


@pytest.mark.parametrize("count", [100, 3000])
def test_elements_by_appearance(count: int) -> None:
    x = np.random.default_rng(1).integers(0, 50, count)
    got = found(x, 0)
    assert (np.diff(got["first"]) > 0).all()
    np.testing.assert_array_equal(got["y"][got["inverse"]], x)
    np.testing.assert_array_equal(x[got["first"]], got["y"])
    np.testing.assert_array_equal(np.bincount(got["inverse"]), got["counts"])
