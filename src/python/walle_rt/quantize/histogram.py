"""How often a value took which numbers: a histogram that grows, in memory that does not.

Its bins are powers of two wide and lie symmetrically around zero. A number beyond the last bin doubles their
width and adds up neighbours; what was counted stays exact, so that neither the order of the inputs nor how
they were put into batches changes the result. Zeros are counted apart: half of what a ReLU gives is
zero, which has a code of its own and no error, and would be a spike in a bin of small numbers.
"""

from __future__ import annotations

import math

import numpy as np

from ..values import Array

# On either side of zero. After a doubling at least half of them are in use: 8 bins per 8-bit code.
HALF = 4096


class Histogram:
    """Counts of finite numbers, with the least and the largest of them."""

    def __init__(self) -> None:
        """Nothing counted."""
        self.least = math.inf
        self.largest = -math.inf
        self.counts = np.zeros(2 * HALF, np.int64)
        self.zeros = 0
        self.bound = 0.0  # the bins cover -bound to bound; 0: only zeros so far

    def add(self, values: Array) -> None:
        """Count an array of finite float32 numbers."""
        if values.size == 0:
            return
        low, high = float(values.min()), float(values.max())
        self.least, self.largest = min(self.least, low), max(self.largest, high)
        zeros = values.size - int(np.count_nonzero(values))
        self.zeros += zeros
        if zeros == values.size:
            return
        self._cover(max(-low, high))
        scale = HALF / self.bound
        places = np.floor(values.ravel().astype(np.float64) * scale).astype(np.int32) + HALF
        # The bound itself belongs to the last bin.
        self.counts += np.bincount(np.minimum(places, 2 * HALF - 1), minlength=2 * HALF)
        self.counts[HALF] -= zeros

    def _cover(self, reach: float) -> None:
        wanted = math.ldexp(1.0, math.frexp(reach)[1])  # the power of two above
        self.bound = self.bound or wanted
        while self.bound < wanted:
            merged = self.counts.reshape(-1, 2).sum(1)
            self.counts = np.zeros(2 * HALF, np.int64)
            self.counts[HALF // 2 : HALF // 2 + HALF] = merged
            self.bound *= 2

    @property
    def total(self) -> int:
        """How many numbers were counted."""
        return int(self.counts.sum()) + self.zeros

    def filled(self) -> tuple[Array, Array]:
        """Middles of the bins that hold something, float64, and their counts, zeros left out.

        Middles lie within what was seen.
        """
        used = np.flatnonzero(self.counts)
        width = self.bound / HALF
        middles = (used - HALF + 0.5) * width
        return np.clip(middles, self.least, self.largest), self.counts[used]
