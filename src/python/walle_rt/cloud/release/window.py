"""Sums over the last minute."""

from __future__ import annotations

from collections import deque

SECONDS = 60


class Window:
    """Counts of two things over the last minute, to the second; as large as a minute has seconds."""

    def __init__(self) -> None:
        """Empty."""
        self._seconds: deque[tuple[int, list[int]]] = deque()
        self._sums = [0, 0]

    def add(self, now_s: float, first: int, second: int = 0) -> None:
        """So many more, now; a clock that went back counts as the newest second."""
        second_now = int(now_s)
        if not self._seconds or self._seconds[-1][0] < second_now:
            self._seconds.append((second_now, [0, 0]))
        for i, more in enumerate((first, second)):
            self._seconds[-1][1][i] += more
            self._sums[i] += more
        self._forget(second_now)

    def sums(self, now_s: float) -> tuple[int, int]:
        """Of the last 60 seconds, this one included."""
        self._forget(int(now_s))
        return self._sums[0], self._sums[1]

    def _forget(self, second_now: int) -> None:
        while self._seconds and self._seconds[0][0] <= second_now - SECONDS:
            for i, count in enumerate(self._seconds.popleft()[1]):
                self._sums[i] -= count
