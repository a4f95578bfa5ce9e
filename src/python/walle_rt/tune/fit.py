"""Coefficients from measurements, and how good they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..explain import ExplainChoice
from .measure import Measured
from .nnls import nnls

# In the order of backends::Quantity; launches have one price for all kernels, and the host makes none.
PRICED = ("flop", "l1_bytes", "l2_bytes", "l3_bytes", "memory_bytes", "tiles", "tails", "calls")
# With fewer samples a kernel keeps what it had: eight coefficients would go through every one of them.
LEAST_SAMPLES = 4
# Whoever is off by more than this is measured wrongly or is another kernel; it pulls no harder than that.
_MOST_WEIGHT = 0.25

Key = tuple[str, str]  # kernel, instruction set


@dataclass(frozen=True)
class Row:
    """Nanoseconds per unit of each of ``PRICED``, and how well they fit."""

    ns: tuple[float, ...]
    samples: int
    median_error: float  # of predicted / measured - 1, absolute


@dataclass(frozen=True)
class Fit:
    """Rows by kernel and instruction set."""

    rows: dict[Key, Row]

    def predicted_ms(self, choice: ExplainChoice) -> float | None:
        """By these rows; None for a kernel that has none."""
        row = self.rows.get((choice.kernel, choice.isa))
        if row is None:
            return None
        shared = sum(ns * choice.features[q] for q, ns in zip(PRICED, row.ns, strict=True) if q != "calls")
        return (shared / choice.threads + row.ns[-1] * choice.features["calls"]) / 1e6


@dataclass(frozen=True)
class Quality:
    """Regret: the time of what the model takes over the time of the best; and errors of predictions."""

    choices: int  # nodes with more than one measured choice
    median_regret: float
    worst_regret: float
    mean_regret: float
    worst: str  # the shape of the worst, what was taken and what was best
    median_ratio: float  # predicted / measured of what is taken
    low_ratio: float  # the 5th and the 95th of a hundred
    high_ratio: float


def fit(measured: Iterable[Measured]) -> Fit:
    """Least squares of relative errors, coefficients not negative, outliers weighed down."""
    samples: dict[Key, list[tuple[list[float], float]]] = {}
    for m in measured:
        for choice, ms in zip(m.choices, m.ms, strict=True):
            if ms <= 0:
                continue
            amounts = [choice.features[q] / (1 if q == "calls" else choice.threads) for q in PRICED]
            samples.setdefault((choice.kernel, choice.isa), []).append((amounts, ms * 1e6))
    rows = {}
    for key, found in sorted(samples.items()):
        if len(found) >= LEAST_SAMPLES:
            a, b = np.array([f[0] for f in found]), np.array([f[1] for f in found])
            rows[key] = _row(a, b)
    return Fit(rows)


def _row(a: np.ndarray, b: np.ndarray) -> Row:
    relative = a / b[:, None]
    weight = np.ones(len(b))
    for _ in range(4):  # Huber's weights settle within a few rounds
        x = nnls(relative * weight[:, None], weight)
        error = np.abs(relative @ x - 1)
        weight = np.sqrt(np.minimum(1.0, _MOST_WEIGHT / np.maximum(error, 1e-9)))
    return Row(tuple(float(v) for v in x), len(b), float(np.median(np.abs(relative @ x - 1))))


def quality(measured: Iterable[Measured], model: Fit | None = None) -> Quality:
    """How good ``model`` chooses and predicts; without one, the table that predicted the measured plans."""
    regrets: list[tuple[float, str]] = []
    ratios: list[float] = []
    for m in measured:
        known = []
        for choice, ms in zip(m.choices, m.ms, strict=True):
            predicted = choice.predicted_ms if model is None else model.predicted_ms(choice)
            if ms > 0 and predicted is not None:
                known.append((predicted, ms, choice.algorithm))
        if not known:
            continue
        predicted, taken, name = min(known)
        best, best_name = min((ms, n) for _, ms, n in known)
        ratios.append(predicted / taken)
        if len(known) > 1:
            regrets.append((taken / best, f"{m.family} {m.text}: {name}, best {best_name}"))
    if not ratios:
        return Quality(0, 1.0, 1.0, 1.0, "", 1.0, 1.0, 1.0)
    low, middle, high = np.percentile(ratios, [5, 50, 95])
    values = np.array([r for r, _ in regrets] or [1.0])
    worst = max(regrets, default=(1.0, ""))
    return Quality(
        choices=len(regrets),
        median_regret=float(np.median(values)),
        worst_regret=worst[0],
        mean_regret=float(values.mean()),
        worst=worst[1],
        median_ratio=float(middle),
        low_ratio=float(low),
        high_ratio=float(high),
    )
