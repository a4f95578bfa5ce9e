"""Wald's sequential probability ratio test, begun anew whenever it is sure that all is well.

Wald, "Sequential Tests of Statistical Hypotheses" (1945). What differs: a release is watched for as long as
it grows, so the lower bound ends no test but restarts it - otherwise much good evidence would have to be
outweighed before a late failure is seen. CUSUM, which never lets the sum fall below 0, had three times the
false halts at the same delay.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from .ramp import Guard

# Nothing that fails in more than half of its reports needs a better estimate to be bad.
_WORST = 0.5


@dataclass
class Sprt:
    """The state of one test: the sum of logarithms of likelihood ratios."""

    guard: Guard
    sum: float = 0.0

    @property
    def upper(self) -> float:
        """Halt at or above."""
        return log((1 - self.guard.missed) / self.guard.false_alarm)

    @property
    def lower(self) -> float:
        """Begin anew at or below."""
        return log(self.guard.missed / (1 - self.guard.false_alarm))

    def add(self, failed: bool, control_rate: float) -> bool:
        """One more report; True: halt.

        The rate to compare with is the control cohort's where that is higher than ``good_rate``: what fails
        everywhere is not this release's doing.
        """
        good = min(max(self.guard.good_rate, control_rate), _WORST)
        bad = self.guard.bad_rate
        if good < bad:
            self.sum += log(bad / good) if failed else log((1 - bad) / (1 - good))
        if self.sum <= self.lower:
            self.sum = 0.0
        return self.sum >= self.upper
