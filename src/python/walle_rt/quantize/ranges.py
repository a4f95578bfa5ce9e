"""From what was seen of an activation to the range that its codes cover.

Four methods. ``minmax`` clips nothing. The others trade rare large numbers, which are clipped, for smaller
steps between all others: ``percentile`` by how rare they are; ``mse`` by the mean square error of the codes;
``entropy`` by the divergence of Kullback and Leibler between the distributions before and after (Migacz,
"8-bit inference with TensorRT", 2017; there for one threshold around zero, here for both ends of the range).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..values import Array
from .codes import Scale, activation_scale
from .histogram import Histogram

METHODS = ("minmax", "percentile", "entropy", "mse")
# Candidates are what was seen, clipped at a bound on either side of zero: this many bounds, in equal ratios
# down to this part of the largest number.
_SMALLEST, _STEPS = 1 / 16, 100
# Of the numbers, by "entropy". Numbers that repeat (borders, channels that are constant there) are spikes
# that any code blurs; to narrow them it would clip a tenth of a layer, and turned 12 of 83 answers of a
# person detector.
_MOST_CLIPPED = 1e-3

Range = tuple[float, float]


def range_of(seen: Histogram, method: str, percentile: float, dtype: str) -> Range:
    """The range by one of METHODS; (0, 0) when nothing was counted."""
    if seen.total == seen.zeros:  # nothing, or zeros alone
        return 0.0, 0.0
    if method == "percentile":
        return _percentile(seen, percentile)
    if method == "mse":
        return _best(seen, dtype, _square_error)
    if method == "entropy":
        return _best(seen, dtype, _divergence)
    return seen.least, seen.largest


def _percentile(seen: Histogram, percentile: float) -> Range:
    """As many numbers are left out below as above: half of the rest each."""
    middles, counts = seen.filled()
    below = int(np.searchsorted(middles, 0))
    middles, counts = np.insert(middles, below, 0.0), np.insert(counts, below, seen.zeros)
    rest = (1 - percentile / 100) / 2
    shares = np.cumsum(counts) / counts.sum()
    low = middles[np.searchsorted(shares, rest, side="right").clip(0, middles.size - 1)]
    high = middles[np.searchsorted(shares, 1 - rest, side="left").clip(0, middles.size - 1)]
    return float(low), float(high)


def _best(seen: Histogram, dtype: str, loss: Callable[[Array, Array, Scale], float]) -> Range:
    """The candidate of the least loss; of equal ones the widest, which clips least."""
    middles, counts = seen.filled()
    best, found = np.inf, (seen.least, seen.largest)
    for bound in max(-seen.least, seen.largest) * np.geomspace(1, _SMALLEST, _STEPS):
        low, high = max(seen.least, -float(bound)), min(seen.largest, float(bound))
        now = loss(middles, counts, activation_scale(low, high, dtype))
        if now < best:
            best, found = now, (low, high)
    return found


def _placed(middles: Array, by: Scale) -> Array:
    info = np.iinfo(by.zero.dtype)
    codes = np.rint(middles / float(by.scale)) + int(by.zero)
    placed: Array = np.clip(codes, info.min, info.max).astype(np.int64)
    return placed


def _square_error(middles: Array, counts: Array, by: Scale) -> float:
    back = (_placed(middles, by) - int(by.zero)) * float(by.scale)
    return float((counts * (middles - back) ** 2).sum())


def _divergence(middles: Array, counts: Array, by: Scale) -> float:
    """Of the clipped distribution from the one that the codes can tell apart.

    Reference: the counts inside the range, with what lies outside added to the bins at its ends. Against it:
    the counts inside alone, those of one code spread evenly over its bins. So both clipping, which moves
    mass to the ends, and coarse codes, which blur, cost something.
    """
    info = np.iinfo(by.zero.dtype)
    low, high = ((bound - int(by.zero)) * float(by.scale) for bound in (info.min, info.max))
    inside = np.flatnonzero((middles >= low) & (middles <= high))
    if inside.size == 0:
        return float("inf")
    within = counts[inside].astype(np.float64)
    if within.sum() < (1 - _MOST_CLIPPED) * counts.sum():
        return float("inf")
    reference = within.copy()
    reference[0] += counts[: inside[0]].sum()
    reference[-1] += counts[inside[-1] + 1 :].sum()
    codes = _placed(middles[inside], by) - info.min
    sums = np.bincount(codes, weights=within, minlength=256)
    bins = np.bincount(codes, minlength=256)
    spread = sums[codes] / bins[codes]
    p, q = reference / reference.sum(), spread / spread.sum()
    return float((p * np.log(p / q)).sum())
