"""The paper's three mixes through the runtime: pytest bench/container -k mixes -s.

Light, middle and heavy tasks are triggered as a user's clicks would. Own locks: a device with four workers,
an isolate per task. Shared lock: the same functions by hand, four threads of the host's Python and a queue.
Each class is relative to its time alone on the same side, so that the interpreters' own speeds do not count.
"""

from __future__ import annotations

import queue
import random
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from container_tasks import SPIN, bundle, device

from walle_rt.vm import VM

pytestmark = pytest.mark.skipif(not VM.available("device"), reason="no VM libraries")

# Turns of the loop; on the machine this was written on about 4, 40 and 160 ms.
CLASSES = {"light": 80_000, "middle": 800_000, "heavy": 3_200_000}
SHARES = {"light": 12, "middle": 4, "heavy": 1}
PAPER = {"light": 52, "middle": 144, "heavy": 26}
WORKERS = 4
LANES = 4
ROUNDS = 3

# From a class to the moments, in nanoseconds, at which its firings were due and ended.
Times = dict[str, list[float]]


def plan(seed: int) -> list[tuple[float, str]]:
    """(seconds from the start, class) of every event: LANES users, each with pauses as between clicks."""
    events = []
    for lane in range(LANES):
        rng = random.Random(seed + lane)
        mine = [name for name, count in SHARES.items() for _ in range(count)]
        rng.shuffle(mine)
        at = 0.0
        for name in mine:
            at += rng.random() * 0.06 * 4
            events.append((at, name))
    return sorted(events)


def feed(events: list[tuple[float, str]], record: Callable[[str], None]) -> None:
    start = time.perf_counter()
    for at, name in events:
        time.sleep(max(0.0, start + at - time.perf_counter()))
        record(name)


def on_device(folder: Path, events: list[tuple[float, str]]) -> Times:
    """Each class is LANES tasks, so that their firings may run beside each other."""
    tasks = [
        bundle(
            SPIN + f"def main(event):\n    work({turns})\n",
            name=f"{name}{lane}",
            trigger=f"tap[item == {list(CLASSES).index(name) * LANES + lane}]",
        )
        for name, turns in CLASSES.items()
        for lane in range(LANES)
    ]
    began: dict[str, list[int]] = {}
    with device(folder, *tasks, workers=WORKERS) as made:
        for item in range(len(CLASSES) * LANES):
            made.tap(item)
        made.wait_idle()
        warm = {task: len(ends) for task, ends in made.ends().items()}
        turn = dict.fromkeys(CLASSES, 0)

        def record(name: str) -> None:
            lane = turn[name] % LANES
            turn[name] += 1
            began.setdefault(f"{name}{lane}", []).append(made.tap(list(CLASSES).index(name) * LANES + lane))

        feed(events, record)
        made.wait_idle()
        ends = made.ends()
    out: Times = {name: [] for name in CLASSES}
    for task, starts in began.items():
        done = ends[task][warm[task] :]
        assert len(done) == len(starts)
        out[task[:-1]] += [(end - start) * 1e-9 for start, end in zip(starts, done, strict=True)]
    return out


def by_hand(events: list[tuple[float, str]]) -> Times:
    scope: dict[str, Callable[[int], int]] = {}
    exec(SPIN, scope)
    work = scope["work"]
    waiting: queue.SimpleQueue[tuple[float, str] | None] = queue.SimpleQueue()
    out: Times = {name: [] for name in CLASSES}

    def worker() -> None:
        while (job := waiting.get()) is not None:
            due, name = job
            work(CLASSES[name])
            out[name].append(time.perf_counter() - due)

    threads = [threading.Thread(target=worker) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    feed(events, lambda name: waiting.put((time.perf_counter(), name)))
    for _ in threads:
        waiting.put(None)
    for thread in threads:
        thread.join()
    return out


def alone(run: Callable[[list[tuple[float, str]]], Times]) -> dict[str, float]:
    """Least seconds of each class with nothing beside it."""
    events = [(0.5 * i, name) for i, name in enumerate(name for name in CLASSES for _ in range(3))]
    return {name: min(times) for name, times in run(events).items()}


def test_mixes(tmp_path: Path) -> None:
    """The sides take turns with the same events; the least mean of a class counts."""
    sides: dict[str, Callable[[list[tuple[float, str]]], Times]] = {
        "own": lambda events: on_device(tmp_path / str(time.perf_counter_ns()), events),
        "shared": by_hand,
    }
    base = {side: alone(run) for side, run in sides.items()}
    means: dict[tuple[str, str], list[float]] = {}
    for seed in range(ROUNDS):
        for side, run in sides.items():
            for name, times in run(plan(seed)).items():
                means.setdefault((side, name), []).append(statistics.mean(times))
    print(f"\n{WORKERS} workers, mean time of a firing relative to its time alone:")
    for name, paper in PAPER.items():
        own, shared = (min(means[side, name]) / base[side][name] for side in sides)
        print(
            f"  {name:6s} own locks, the device {own:.2f}x, shared lock, by hand {shared:.2f}x: "
            f"{(shared / own - 1) * 100:+.0f} % (paper, phones: +{paper} %)"
        )
        assert own > 0
