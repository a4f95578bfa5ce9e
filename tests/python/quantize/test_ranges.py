"""Histograms in bounded memory, and the ranges that each method finds in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from walle_rt.quantize.codes import activation_scale, dequantized, quantized, weight_scale
from walle_rt.quantize.histogram import HALF, Histogram
from walle_rt.quantize.ranges import METHODS, range_of

Array = np.ndarray[Any, Any]


def seen(*parts: Array) -> Histogram:
    found = Histogram()
    for part in parts:
        found.add(np.asarray(part, np.float32))
    return found


def normal(count: int = 100_000, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(count).astype(np.float32)


def test_counts_do_not_depend_on_the_order() -> None:
    values = np.concatenate([normal() * size for size in (1e-3, 1, 300)])
    one, other = seen(values), seen(*np.array_split(values[::-1], 7))
    np.testing.assert_array_equal(one.counts, other.counts)
    assert (one.bound, one.least, one.largest) == (other.bound, other.least, other.largest)
    assert one.total == values.size and one.counts.size == 2 * HALF


def test_bins_hold_what_lies_in_them() -> None:
    values = np.array([-1, -0.5, 0, 0, 1e-9, 0.25, 0.9999, 1], np.float32)
    found = seen(values)
    assert found.bound == 2 and found.zeros == 2 and found.total == 8
    edges = np.linspace(-2, 2, 2 * HALF + 1)
    want = np.histogram(values[values != 0], edges)[0]
    np.testing.assert_array_equal(found.counts, want)


def test_nothing_and_zeros_alone() -> None:
    for found in (Histogram(), seen(np.zeros(0)), seen(np.zeros(9))):
        for method in METHODS:
            assert range_of(found, method, 99, "uint8") == (0, 0)


@pytest.mark.parametrize("method", METHODS)
def test_constants_are_covered(method: str) -> None:
    for level in (3.0, -3.0):
        low, high = range_of(seen(np.full(50, level)), method, 99.99, "uint8")
        by = activation_scale(low, high, "uint8")
        assert dequantized(quantized(np.array([level], np.float32), by), by)[0] == pytest.approx(
            level, rel=0.02
        )


def test_percentiles_are_those_of_the_numbers() -> None:
    values = np.abs(normal())
    values[::2] = 0
    low, high = range_of(seen(values), "percentile", 99, "uint8")
    assert low == 0 and high == pytest.approx(np.percentile(values, 99.5), abs=2 * 8 / HALF)


def test_an_outlier_is_clipped_by_all_but_minmax() -> None:
    values = np.append(normal(), np.float32(60))
    assert range_of(seen(values), "minmax", 99, "uint8")[1] == 60
    # One number of a hundred thousand is worth much to a mean square, and little to the others.
    for method, bound in (("percentile", 4), ("mse", 58), ("entropy", 30)):
        assert range_of(seen(values), method, 99.9, "uint8")[1] < bound, method


def test_mse_finds_the_least_error_of_its_candidates() -> None:
    values = np.random.default_rng(1).laplace(size=100_000).astype(np.float32)

    def error(low: float, high: float) -> float:
        by = activation_scale(low, high, "uint8")
        return float(np.square(values - dequantized(quantized(values, by), by), dtype=np.float64).mean())

    found = error(*range_of(seen(values), "mse", 99, "uint8"))
    ends = float(values.min()), float(values.max())
    bounds = np.geomspace(1, 1 / 16, 100) * max(-ends[0], ends[1])
    tried = [error(max(ends[0], -bound), min(ends[1], bound)) for bound in bounds]
    assert found <= 1.01 * min(tried) < error(float(values.min()), float(values.max()))


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_codes_follow_quantize_linear(dtype: str) -> None:
    by = activation_scale(-1.0, 3.0, dtype)
    assert float(by.scale) == pytest.approx(4 / 255) and by.zero.dtype == dtype
    step, zero, info = float(by.scale), int(by.zero), np.iinfo(dtype)
    values = np.array([0, step, 2.5 * step, 3.5 * step, -0.5 * step, 99, -99], np.float32)
    want = [zero, zero + 1, zero + 2, zero + 4, zero, info.max, info.min]
    assert quantized(values, by).tolist() == want  # halves to even
    assert dequantized(quantized(values[:1], by), by)[0] == 0


def test_scales_of_weights_are_symmetric_and_never_zero() -> None:
    array = normal(60).reshape(3, 4, 5)
    array[1] = 0
    by = weight_scale(array, 0)
    codes = quantized(array, by)
    assert by.scale[1] == 1 and not codes[1].any() and not by.zero.any()
    assert np.abs(codes[[0, 2]]).reshape(2, -1).max(1).tolist() == [127, 127]
    assert (np.abs(dequantized(codes, by) - array) <= by.scale.reshape(3, 1, 1) * 0.5001).all()
    assert weight_scale(array, None).scale.shape == ()
