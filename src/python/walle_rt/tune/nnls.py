"""Non-negative least squares.

Lawson and Hanson, "Solving Least Squares Problems" (1974), chapter 23, on the normal equations' columns
scaled to one: quantities differ by ten orders of magnitude.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def nnls(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> Array:
    """The x >= 0 that makes ``|a x - b|`` least; ``a`` of shape (samples, columns), ``b`` of (samples,).

    A column of zeros gets the coefficient 0.
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    scale = np.linalg.norm(a, axis=0)
    used = scale > 0
    scaled = a[:, used] / scale[used]
    out = np.zeros(a.shape[1])
    out[used] = _solve(scaled, b) / scale[used]
    return out


def _solve(a: Array, b: Array) -> Array:
    columns = a.shape[1]
    x = np.zeros(columns)
    passive = np.zeros(columns, bool)
    tolerance = 1e-10 * max(float(np.linalg.norm(b)), 1e-300)
    for _ in range(10 * columns + 10):  # each round ends with a smaller residual: a bound, not a choice
        gradient = a.T @ (b - a @ x)
        gradient[passive] = -np.inf
        if columns == passive.sum() or gradient.max() <= tolerance:
            break
        passive[int(gradient.argmax())] = True
        x = _step(a, b, x, passive)
    return x


def _step(a: Array, b: Array, x: Array, passive: npt.NDArray[np.bool_]) -> Array:
    """Towards the unbounded solution of the passive columns, as far as all stay positive."""
    while passive.any():
        target = np.zeros_like(x)
        target[passive] = np.linalg.lstsq(a[:, passive], b, rcond=None)[0]
        if (target[passive] > 0).all():
            return target
        blocking = passive & (target <= 0)
        ratio = x[blocking] / np.maximum(x[blocking] - target[blocking], 1e-300)
        x = x + float(ratio.min()) * (target - x)
        passive &= x > 1e-14
        x = np.where(passive, x, 0.0)
    return np.zeros_like(x)
