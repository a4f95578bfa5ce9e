"""The control cohort's rate of failures: what fails everywhere is not the release's doing.

A rate that one device can raise is a way to blind the guard: who says that the control cohort fails excuses
every failure of the release. So a device has one report in the minute that the rate is of, and one whose
failure was counted is silent for half an hour: k devices that make failures up hold the test still for k
minutes of thirty at most, whatever they send. To leave the failures of one device in a hundred out, besides,
blamed 57 of 200 incidents of the whole app on the release in place of 3: control cohorts are small.
"""

from __future__ import annotations

from collections import deque

from .window import SECONDS

SILENT_S = 1800.0  # of a device whose failure was counted


class ControlRate:
    """Reports of the last minute, at most one of each device. Not kept over a restart: it is a minute old.

    Its memory is bounded by how many control devices report within half an hour.
    """

    def __init__(self) -> None:
        """Nobody has reported."""
        self._reports: deque[tuple[float, bool]] = deque()
        self._silent: dict[int, float] = {}  # device -> until when, in the order of these times
        self._lately: dict[int, float] = {}  # device -> when it reported, in the order of these times
        self._failures = 0

    def wait_s(self, now_s: float, device: int) -> float:
        """Seconds until this device may have a place again; 0: now."""
        self._forget(now_s)
        silent = self._silent.get(device, now_s) - now_s
        return max(silent, self._lately.get(device, now_s - SECONDS) + SECONDS - now_s, 0.0)

    def add(self, now_s: float, device: int, failed: bool) -> None:
        """A device that had a place has reported, or has not by its deadline."""
        self._forget(now_s)
        self._reports.append((now_s, failed))
        self._lately.pop(device, None)
        self._lately[device] = now_s
        self._failures += failed
        if failed:
            self._silent[device] = now_s + SILENT_S

    def rate(self, now_s: float) -> float:
        """Failures among the reports of the last minute; 0 without any."""
        self._forget(now_s)
        return self._failures / len(self._reports) if self._reports else 0.0

    def _forget(self, now_s: float) -> None:
        while self._reports and self._reports[0][0] <= now_s - SECONDS:
            self._failures -= self._reports.popleft()[1]
        for kept, over in ((self._silent, now_s), (self._lately, now_s - SECONDS)):
            while kept and (first := next(iter(kept.items())))[1] <= over:
                del kept[first[0]]
