"""Interleaved timing: rounds go through all runs in turn, so that a slow minute hits everybody.

Rounds during which the machine did other work are thrown away and counted, and made up for by further ones up
to a limit. On a machine that is never quiet all rounds count, and the result says so (``disturbed``).

Before each slot the process comes to rest: threads of an engine may spin for work behind its run
(onnxruntime's for about 50 ms, those of GNU's OpenMP for 6) and would take the next one's second processor.
ResNet-50 on two threads of a Zen 3 took 60 ms right behind ncnn and 49 after a pause.
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
FEWEST_CALLS = 3  # in a slot, however long: the first one behind a pause wakes threads and refills caches
SETTLE_STEP = 0.004  # seconds; a spinning thread uses all of them, one that is parked none
SETTLE_SHARE = 0.25  # of a step, used by the process itself: at rest below it
SETTLE_LIMIT = 0.3  # seconds; an engine that never parks is measured against as it is
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
    settled: Callable[[], object] | None = None,
) -> Rounds:
    """Time every run in every round until so many were quiet, or ``most`` (default: twice as many).

    Each run is called once before; the order turns by one each round. ``settled`` waits between slots.
    """
    names = list(runs)
    wait = settle if settled is None else settled
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
                wait()
                found.slots[name].append(_slot(runs[name], slot_seconds))
            found.quiet.append(load.between(before, snapshot()).quiet)
    finally:
        gc.enable()
    return found


def settle(
    limit: float = SETTLE_LIMIT,
    *,
    used: Callable[[], float] = time.process_time,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Wait until the threads of this process rest; whether they did within ``limit`` seconds.

    ``used`` gives the processor seconds of the process.
    """
    for _ in range(max(1, round(limit / SETTLE_STEP))):
        before = used()
        sleep(SETTLE_STEP)
        if used() - before < SETTLE_SHARE * SETTLE_STEP:
            return True
    return False


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
        if stop >= end and len(times) >= FEWEST_CALLS:
            return Slot(min(times), statistics.median(times), len(times))
