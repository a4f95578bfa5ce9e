"""Rates: how much somebody may send, as a token bucket for each of many, in bounded memory."""

from __future__ import annotations

import math


class Rates:
    """A bucket for each name: ``burst`` at once, ``per_s`` more with each second. Not synchronised.

    A bucket that is full again is not kept. Of more than ``MOST`` that are not, the one that was used least
    lately begins anew: whoever wants that needs as many names.
    """

    MOST = 100_000

    def __init__(self, burst: float, per_s: float) -> None:
        """All buckets are full."""
        self._burst, self._per_s = burst, per_s
        self._left: dict[str, tuple[float, float]] = {}  # name -> what is left, when; used last is last

    def allow(self, name: str, cost: float, now_s: float) -> int:
        """Take ``cost``; 0 where it was there, else the whole seconds after which it will be.

        What costs more than a whole bucket is let through by a full one, which is empty then.
        """
        left, then = self._left.pop(name, (self._burst, now_s))
        left = min(self._burst, left + max(now_s - then, 0.0) * self._per_s)
        need = min(cost, self._burst)
        taken = left >= need
        self._left[name] = (left - need if taken else left, now_s)
        self._forget(now_s)
        return 0 if taken else max(1, math.ceil((need - left) / self._per_s))

    def __len__(self) -> int:
        """Buckets that are kept."""
        return len(self._left)

    def _forget(self, now_s: float) -> None:
        """The first two that are full again, or too many: as many go as come."""
        for _ in range(2):
            name, (left, then) = next(iter(self._left.items()))
            full = left + (now_s - then) * self._per_s >= self._burst
            if len(self._left) <= 1 or not (full or len(self._left) > self.MOST):
                return
            del self._left[name]
