"""Sums over the last minute, and who was there within it."""

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


class Lately:
    """Devices that were counted within the last minute: who asks a thousand times is one that asks."""

    MOST = 100_000  # beyond them nobody is counted any more until the first are forgotten

    def __init__(self) -> None:
        """Nobody."""
        self._at: dict[int, float] = {}  # in the order of these times

    def new(self, now_s: float, device: int) -> bool:
        """Whether this one is to be counted; it was then, for a minute."""
        while self._at and (first := next(iter(self._at.items())))[1] <= now_s - SECONDS:
            del self._at[first[0]]
        if device in self._at or len(self._at) >= self.MOST:
            return False
        self._at[device] = now_s
        return True
