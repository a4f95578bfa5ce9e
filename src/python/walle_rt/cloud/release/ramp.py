"""Ramp and guard: how a gray release grows, and what makes it stop."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..._core import policy as native
from ...errors import ArgumentError


def _check(holds: bool, given: str, expected: str, where: str) -> None:
    if not holds:
        raise ArgumentError.of(given, expected, where, "see docs/reference/release-policy.md")


@dataclass(frozen=True)
class Ramp:
    """A share of devices that grows along a straight line.

    Attributes:
        start_share, end_share: of all devices the policy suits, 0 to 1; never shrinking.
        seconds: from one to the other; 0 is at once.
        per_minute: devices let in at most, over any minute and for each cohort.
        control_share: share that keeps what it has and reports like the treated; never more than those.
        report_seconds: a device that was let in and has not reported within so long counts as a failure.
        full_after: seconds behind the ramp's end after which the release is full by itself, unless it was
            halted; -1: an operator says so. Needs an ``end_share`` of 1: the rest would come in at once.
    """

    start_share: float = 0.01
    end_share: float = 1.0
    seconds: int = 3600
    per_minute: int = 100_000
    control_share: float = 0.1
    report_seconds: int = 600
    full_after: int = -1

    def __post_init__(self) -> None:
        """Refuse what no device could follow."""
        shares = f"a ramp from {self.start_share} to {self.end_share}"
        _check(0 <= self.start_share <= self.end_share <= 1, shares, "0 <= from <= to <= 1", "ramp")
        _check(0 <= self.control_share <= 1, f"{self.control_share}", "0 to 1", "ramp.control")
        _check(0 <= self.seconds < 2**31, f"{self.seconds} s", "0 to 2^31 - 1", "ramp.seconds")
        _check(self.per_minute >= 1, f"{self.per_minute}", "at least 1", "ramp.per_minute")
        _check(
            1 <= self.report_seconds < 2**31, f"{self.report_seconds} s", "at least 1", "ramp.report_seconds"
        )
        after, ends = self.full_after, self.end_share == 1
        known = after == -1 or 0 <= after < 2**31
        _check(known, f"{after} s", "0 or more; -1 or nothing: an operator does", "ramp.full_after")
        _check(after == -1 or ends, f"a ramp to {self.end_share}", "one to 1", "ramp.full_after")

    def share(self, elapsed_s: float) -> float:
        """The share let in so many seconds after the start: 0 before it, ``start_share`` at it."""
        if elapsed_s < 0:
            return 0.0
        if elapsed_s >= self.seconds:
            return self.end_share
        return self.start_share + (self.end_share - self.start_share) * elapsed_s / self.seconds

    def resumed(self, share: float) -> Ramp:
        """The rest of it from ``share`` on, as steep as before."""
        whole = self.end_share - self.start_share
        left = round(self.seconds * (self.end_share - share) / whole) if whole else 0
        return replace(self, start_share=min(share, self.end_share), seconds=left)


@dataclass(frozen=True)
class Guard:
    """When a gray release is halted by itself (docs/concepts/release.md).

    Attributes:
        good_rate: failures among reports that are no reason to worry, of 1; the control cohort's rate of the
            last minute takes its place where that is higher.
        bad_rate: failures that a release must not have.
        false_alarm, missed: how often the test may be wrong each way.
        outstanding: devices that may be without a report at any time...
        outstanding_share: ...or this share of the good reports so far, if that is more.
    """

    good_rate: float = 0.002
    bad_rate: float = 0.01
    false_alarm: float = 1e-4
    missed: float = 0.1
    outstanding: int = 50
    outstanding_share: float = 0.1

    def __post_init__(self) -> None:
        """Refuse what no test can keep."""
        rates = f"rates {self.good_rate} and {self.bad_rate}"
        _check(0 < self.good_rate < self.bad_rate < 1, rates, "0 < good_rate < bad_rate < 1", "guard")
        errors = f"errors {self.false_alarm} and {self.missed}"
        _check(0 < self.false_alarm < 0.5 and 0 < self.missed < 0.5, errors, "each within 0 and 0.5", "guard")
        _check(self.outstanding >= 1, f"{self.outstanding}", "at least 1", "guard.outstanding")
        _check(
            0 <= self.outstanding_share <= 1, f"{self.outstanding_share}", "0 to 1", "guard.outstanding_share"
        )


def fixed(share: float) -> int:
    """A share as plans say it, in 2^-32."""
    return min(round(share * native.WHOLE), int(native.WHOLE))
