"""From ranges to scales and zero points, and from numbers to codes, as QuantizeLinear defines them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..values import Array

BOUNDS: dict[str, tuple[int, int]] = {"uint8": (0, 255), "int8": (-128, 127)}
# Symmetric weights leave -128 out, so that a weight and its negative have codes of one size.
WEIGHT_BOUND = 127
# Below the least normal number a scale's reciprocal overflows. A scale of 1 serves: all codes are the
# zero point.
_TINY = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True)
class Scale:
    """Scale (float32, one or one per channel) and zero point of a value's codes."""

    scale: Array
    zero: Array
    axis: int | None = None

    @property
    def dtype(self) -> str:
        """Of the codes."""
        return str(self.zero.dtype)


def activation_scale(low: float, high: float, dtype: str) -> Scale:
    """The scale of an activation that lies between ``low`` and ``high``; zero always has a code of its own.

    Without it a padded border or a ReLU's zero would be off by up to half a step everywhere.
    """
    low, high = min(low, 0.0), max(high, 0.0)
    least, most = BOUNDS[dtype]
    scale = np.float32((high - low) / (most - least))
    if scale < _TINY:
        return Scale(np.asarray(1, np.float32), np.asarray(0 if low == high else least, dtype))
    zero = int(np.clip(np.rint(least - low / float(scale)), least, most))
    return Scale(np.asarray(scale), np.asarray(zero, dtype))


def weight_scale(weights: Array, axis: int | None) -> Scale:
    """The symmetric int8 scale of weights: one, or one per channel along ``axis``; 1 for zeros alone."""
    around = tuple(i for i in range(weights.ndim) if i != axis) if axis is not None else None
    largest = np.abs(weights).max(axis=around, initial=0).astype(np.float64)
    scale = np.asarray(largest / WEIGHT_BOUND, np.float32)
    scale = np.where(scale < _TINY, np.float32(1), scale)
    return Scale(scale, np.zeros(scale.shape, np.int8), axis)


def quantized(values: Array, by: Scale) -> Array:
    """Codes: divided by the scale, rounded half to even, shifted by the zero point, saturated."""
    scale, zero = along(by.scale, values.ndim, by.axis), along(by.zero, values.ndim, by.axis)
    info = np.iinfo(by.zero.dtype)
    codes = np.rint(values / scale) + zero.astype(np.float32)
    found: Array = np.clip(codes, info.min, info.max).astype(by.zero.dtype)
    return found


def dequantized(codes: Array, by: Scale) -> Array:
    """What codes stand for, float32."""
    scale, zero = along(by.scale, codes.ndim, by.axis), along(by.zero, codes.ndim, by.axis)
    return (codes.astype(np.int32) - zero.astype(np.int32)).astype(np.float32) * scale


def along(array: Array, rank: int, axis: int | None) -> Array:
    """One number per channel, shaped so that it broadcasts along ``axis``."""
    if axis is None or array.ndim == 0:
        return array
    shape = [1] * rank
    shape[axis] = array.size
    return array.reshape(shape)


def decibels(signal: float, noise: float) -> float:
    """Ten times the logarithm of the ratio of two powers; infinite without noise, and for silence both."""
    if noise == 0:
        return float("inf")
    return float(10 * np.log10(signal / noise)) if signal > 0 else float("-inf")
