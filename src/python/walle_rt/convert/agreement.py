"""Whether results of two evaluators agree."""

from __future__ import annotations

from typing import Any

import numpy as np

# The relative bound of ONNX's own backend tests. A tenth of it holds for the range of the whole tensor too,
# because elements near zero carry the rounding errors of the large ones they were computed from.
RTOL = 1e-3
ATOL = 1e-5  # what remains where the range is zero


def _pairs(got: Any, want: Any) -> list[tuple[Any, Any]] | None:
    if isinstance(want, list) or isinstance(got, list):
        if not (isinstance(want, list) and isinstance(got, list)) or len(want) != len(got):
            return None
        return list(zip(got, want, strict=True))
    return [(got, want)]


def worst_gap(got: Any, want: Any) -> float:
    """The largest absolute difference of finite numbers, divided by the range of what is wanted."""
    worst = 0.0
    for g, w in _pairs(got, want) or []:
        if g is None or w is None or np.shape(g) != np.shape(w) or not np.size(w):
            continue
        a, b = np.asarray(g, np.float64), np.asarray(w, np.float64)
        spread = float(np.ptp(b[np.isfinite(b)])) if np.isfinite(b).any() else 0.0
        gap = np.abs(a - b)[np.isfinite(a) & np.isfinite(b)]
        worst = max(worst, float(gap.max()) / (spread or 1.0) if gap.size else 0.0)
    return worst


def difference(got: Any, want: Any) -> str | None:
    """What is wrong with a result, or None when it agrees."""
    pairs = _pairs(got, want)
    if pairs is None:
        return "sequences of other lengths"
    for g, w in pairs:
        if (g is None) != (w is None):
            return "present on one side only"
        if g is None:
            continue
        a, b = np.asarray(g), np.asarray(w)
        if a.shape != b.shape:
            return f"shape {a.shape} instead of {b.shape}"
        if a.dtype != b.dtype:
            return f"dtype {a.dtype} instead of {b.dtype}"
        spread = float(np.ptp(b[np.isfinite(b)])) if b.dtype.kind == "f" and np.isfinite(b).any() else 0.0
        if not np.allclose(a, b, rtol=RTOL, atol=max(ATOL, RTOL * spread * 0.1), equal_nan=True):
            return f"up to {worst_gap(a, b):.2g} of the range"
    return None
