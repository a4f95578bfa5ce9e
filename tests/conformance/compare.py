"""Equality of outputs as the ONNX backend suite defines it: same dtype and shape, rtol 1e-3, atol 1e-5."""

from __future__ import annotations

from typing import Any

import numpy as np

RTOL = 1e-3
ATOL = 1e-5


def difference(got: Any, want: Any, where: str) -> str | None:
    """Say what differs, or None where the two values are equal."""
    if want is None or got is None:
        same = want is None and got is None
        return None if same else f"{where}: got {type(got).__name__}, want {type(want).__name__}"
    if isinstance(want, list):
        return _list_difference(got, want, where)
    if isinstance(got, list):
        return f"{where}: got a sequence, want a tensor"
    return _array_difference(np.asarray(got), np.asarray(want), where)


def _list_difference(got: Any, want: list[Any], where: str) -> str | None:
    if not isinstance(got, list):
        return f"{where}: got {type(got).__name__}, want a sequence"
    if len(got) != len(want):
        return f"{where}: got {len(got)} elements, want {len(want)}"
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        found = difference(g, w, f"{where}[{i}]")
        if found:
            return found
    return None


def _array_difference(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any], where: str) -> str | None:
    if got.shape != want.shape:
        return f"{where}: got shape {got.shape}, want {want.shape}"
    if want.dtype.kind == "V":  # of ml_dtypes: every code is exact in float32
        if got.dtype != want.dtype:
            return f"{where}: got dtype {got.dtype}, want {want.dtype}"
        got, want = got.astype(np.float32), want.astype(np.float32)
    if not np.issubdtype(want.dtype, np.number):
        return (
            None
            if [str(v) for v in got.ravel()] == [_text(v) for v in want.ravel()]
            else f"{where}: other values"
        )
    if got.dtype != want.dtype:
        return f"{where}: got dtype {got.dtype}, want {want.dtype}"
    if np.allclose(got, want, rtol=RTOL, atol=ATOL, equal_nan=True):
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(got.astype(np.float64) - want.astype(np.float64))
    finite = gap[np.isfinite(gap)]
    worst = float(finite.max()) if finite.size else float("nan")
    bad = int(np.sum(~np.isclose(got, want, rtol=RTOL, atol=ATOL, equal_nan=True)))
    return f"{where}: {bad} of {got.size} elements differ, worst by {worst:.3g}"


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
