"""How far an engine's outputs are from float64."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .builder import Array

WRONG = 1e-2  # of the output's range: not rounding any more
SMALLEST_RANGE = 1e-3  # below it, absolute: the far tail of a sigmoid is nobody's result


def error(got: list[Array], want: list[Array]) -> float:
    """The largest difference over all outputs, in parts of that output's range.

    Layouts may differ by axes of one. Infinite where the number of outputs or values differs, where a value
    is not finite although the reference is, or the other way round.
    """
    if len(got) != len(want):
        return float("inf")
    worst = 0.0
    for g, w in zip(got, want, strict=True):
        if g.size != w.size:
            return float("inf")
        if w.size == 0:
            continue
        left, right = g.ravel().astype(np.float64), w.ravel().astype(np.float64)
        finite = np.isfinite(right)
        if not np.array_equal(np.isfinite(left), finite):
            return float("inf")
        if not finite.any():
            continue
        left, right = left[finite], right[finite]
        # One value, or all the same: its own size is the only scale there is.
        spread = max(float(np.ptp(right)) or float(np.abs(right).max()), SMALLEST_RANGE)
        worst = max(worst, float(np.abs(left - right).max()) / spread)
    return worst


def resolution(want: list[Array]) -> float:
    """What float32 cannot tell apart: half a unit in the last place of an output's largest value.

    In parts of that output's range; 1e-7 at least. Two probabilities near 0.5 have a small range, and then
    their last bit is more than a logit's.
    """
    least = 1e-7
    for w in want:
        values = np.asarray(w, np.float64).ravel()
        values = values[np.isfinite(values)]
        if values.size:
            largest = float(np.abs(values).max())
            least = max(least, largest * 2.0**-24 / max(float(np.ptp(values)) or largest, SMALLEST_RANGE))
    return least


def ratio(errors: Mapping[str, float], ours: str = "walle", least: float = 1e-7) -> float | None:
    """Our error over the smallest of the peers'; None without either.

    Errors below ``least``, what the outputs resolve, count as that: nobody rounds an output better, and a
    ratio to zero says nothing.
    """
    peers = [max(value, least) for engine, value in errors.items() if engine != ours]
    if ours not in errors or not peers:
        return None
    return max(errors[ours], least) / min(peers)
