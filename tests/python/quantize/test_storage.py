"""Weights in 16 bits: rounding, range, and the model around them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from build_model import model
from onnx.helper import make_node
from small_models import attention, texts, weights

import walle_rt
from walle_rt import quantize
from walle_rt.quantize.short_floats import from_bits, to_bits

NUMBERS = np.array(
    [0.0, -0.0, 1.0, 1.00390625, 1.01171875, 65504, 65519, 65520, 3e38, 1e-40, np.inf, -np.inf, np.nan],
    np.float32,
)


def test_bfloat16_is_rounded_half_to_even() -> None:
    rng = np.random.default_rng(0)
    many = rng.integers(0, 2**32, 100_000, np.uint32).view(np.float32)
    values = np.concatenate([NUMBERS, many[np.isfinite(many)]])
    with np.errstate(over="ignore"):
        want = values.astype(ml_dtypes.bfloat16)
    got = from_bits(to_bits(values, "bfloat16"), "bfloat16")
    np.testing.assert_array_equal(got, want.astype(np.float32))
    assert np.isnan(from_bits(to_bits(np.array([np.nan], np.float32), "bfloat16"), "bfloat16"))


@pytest.mark.parametrize(("dtype", "least"), [("bfloat16", 45), ("float16", 65)])
def test_half_the_bytes_and_the_same_results(dtype: str, least: float) -> None:
    ort = pytest.importorskip("onnxruntime")
    made = quantize.storage(attention(width=64), [{"ids": texts()}], dtype=dtype)
    onnx.checker.check_model(made.onnx, full_check=True)
    assert made.report.bytes < 0.65 * made.report.float_bytes and made.report.outputs[0].snr_db > least
    assert {layer.form for layer in made.report.layers} == {dtype}
    got = made.load().session(threads=1).run({"ids": texts()})["y"]
    want = ort.InferenceSession(made.onnx.SerializeToString()).run(None, {"ids": texts()})[0]
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_weights_beyond_float16_stay_in_float32() -> None:
    large = weights(np.random.default_rng(0), 40, 40)
    large[3, 3] = 70000
    given: dict[str, Any] = {"w": large, "v": weights(np.random.default_rng(1), 40, 40)}
    nodes = [
        make_node("MatMul", ["x", "w"], ["a"], name="large"),
        make_node("MatMul", ["a", "v"], ["y"], name="small"),
    ]
    made = model(nodes, {"x": ["n", 40]}, ["y"], given)
    layers = quantize.storage(made, dtype="float16").report.layers
    assert [layer.form for layer in layers] == ["float32", "float16"]
    assert layers[0].reason == "a weight of 7e+04 is beyond float16"
    assert [layer.form for layer in quantize.storage(made).report.layers] == ["bfloat16"] * 2
    assert [la.form for la in quantize.storage(made, leave_out=["small"]).report.layers] == [
        "bfloat16",
        "float32",
    ]
    with pytest.raises(walle_rt.ArgumentError, match="dtype='int8'"):
        quantize.storage(made, dtype="int8")
