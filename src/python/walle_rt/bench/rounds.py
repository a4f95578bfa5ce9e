"""Interleaved timing: rounds go through all runs in turn, so that a slow minute hits everybody.

Rounds during which the machine did other work are thrown away and counted, and made up for by further ones up
to a limit. On a machine that is never quiet all rounds count, and the result says so (``disturbed``).
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import load

SLOT_SECONDS = 0.04  # one run's share of a round: long enough to warm caches up again after the others
FEWEST = 2  # quiet rounds that a figure needs
MOST_TIMES = 2  # rounds at most, in multiples of those asked for

Run = Callable[[], Any]


@dataclass(frozen=True)
class Slot:
    """The calls of one run in one round, in seconds."""

    least: float
    median: float
    calls: int


@dataclass
class Rounds:
    """What was measured: per name one slot per round, and which rounds had the machine for themselves."""

    slots: dict[str, list[Slot]]
    quiet: list[bool] = field(default_factory=list)

    @property
    def thrown(self) -> int:
        """Rounds with other load, whether or not they had to be used."""
        return self.quiet.count(False)

    @property
    def disturbed(self) -> bool:
        """Whether so few rounds were quiet that all of them count."""
        return self.quiet.count(True) < min(FEWEST, len(self.quiet))

    def kept(self, name: str) -> list[Slot]:
        """The slots that count."""
        if self.disturbed:
            return self.slots[name]
        return [slot for slot, quiet in zip(self.slots[name], self.quiet, strict=True) if quiet]

    def least_ms(self, name: str) -> float:
        """The fastest call: the figure that other work can only raise."""
        return min(slot.least for slot in self.kept(name)) * 1e3

    def median_ms(self, name: str) -> float:
        """The median over rounds of the median call."""
        return statistics.median(slot.median for slot in self.kept(name)) * 1e3

    def rounds_ms(self, name: str) -> list[float]:
        """The median call of every round that counts: what a box plot shows."""
        return [slot.median * 1e3 for slot in self.kept(name)]


def measure(
    runs: Mapping[str, Run],
    rounds: int,
    *,
    slot_seconds: float = SLOT_SECONDS,
    most: int | None = None,
    snapshot: Callable[[], load.Snapshot] = load.snapshot,
) -> Rounds:
    """Time every run in every round until so many were quiet, or ``most`` (default: twice as many).

    Each run is called once before; the order turns by one each round.
    """
    names = list(runs)
    found = Rounds({name: [] for name in names})
    for run in runs.values():
        run()
    limit = max(rounds, MOST_TIMES * rounds if most is None else most)
    gc.disable()
    try:
        while found.quiet.count(True) < rounds and len(found.quiet) < limit:
            shift = len(found.quiet) % len(names)
            before = snapshot()
            for name in names[shift:] + names[:shift]:
                found.slots[name].append(_slot(runs[name], slot_seconds))
            found.quiet.append(load.between(before, snapshot()).quiet)
    finally:
        gc.enable()
    return found


def interleave(runs: Mapping[str, Run], rounds: int) -> dict[str, float]:
    """Minimum milliseconds per run over the rounds that count."""
    found = measure(runs, rounds)
    return {name: found.least_ms(name) for name in runs}


def _slot(run: Run, seconds: float) -> Slot:
    times: list[float] = []
    end = time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        run()
        stop = time.perf_counter()
        times.append(stop - start)
        if stop >= end:
            return Slot(min(times), statistics.median(times), len(times))
