"""Isolates beside the other ways to run Python tasks at the same time: pytest bench/vm/test_parallel.py -s.

Peers in the same run: host threads under the GIL, sub-interpreters of the host (which share the GIL before
Python 3.12), and processes. Mixes: light, middle and heavy tasks on four workers, own lock against shared
lock, as the paper reports them on phones (+52, +144 and +26 %).
"""

from __future__ import annotations

import importlib
import itertools
import platform
import random
import statistics
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from vm_programs import SPIN, best, isolate_of, on_host, seconds

from two_cores import ROUNDS, Body, processes
from walle_rt.vm import VM

HOST = on_host(SPIN)
ITERATIONS = 600_000


def together(bodies: list[Body]) -> float:
    threads = [threading.Thread(target=body) for body in bodies]

    def run() -> None:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return seconds(run)


def scaling(*pairs: list[Body], count: int = 25) -> list[float]:
    """Of each pair of bodies: the time of one after the other, over that of both together.

    All pairs take turns, and the least times count, because what else the machine does only adds to them.
    Each body is timed alone: the place of its memory makes one isolate some percent faster than the other.
    """
    rounds = [[[seconds(body) for body in pair] + [together(pair)] for pair in pairs] for _ in range(count)]
    ratios = []
    for times in zip(*rounds, strict=True):
        *alone, both = (min(column) for column in zip(*times, strict=True))
        ratios.append(sum(alone) / both)
    return ratios


def test_two_isolates_on_two_cores(vm: VM) -> None:
    """Two processes in the same rounds show whether the machine had two cores to give."""
    isolates = [isolate_of(vm, SPIN) for _ in range(2)]
    for isolate in isolates:
        isolate.call("work", 1000)
    with processes(2, SPIN, ITERATIONS) as (bodies, start):
        own, apart = scaling(
            [lambda i=isolate: i.call("work", ITERATIONS) for isolate in isolates], bodies, count=ROUNDS
        )
    print(
        f"\ntwo {vm.flavour} isolates against one: {own:.2f}x (bar 1.9); "
        f"two processes in the same rounds: {apart:.2f}x"
    )
    print(f"starting a process takes {start * 1e3:.0f} ms")
    if own < 1.9 and apart < 1.9:
        pytest.skip(f"two processes reached {apart:.2f}x, two isolates {own:.2f}x: no two cores were free")
    assert own >= 1.9


def test_host_threads() -> None:
    print(f"\ntwo host threads under the GIL: {scaling([lambda: HOST['work'](ITERATIONS)] * 2)[0]:.2f}x")


def test_host_sub_interpreters() -> None:
    try:
        interpreters: Any = importlib.import_module("_xxsubinterpreters")
    except ImportError:
        pytest.skip(f"CPython {platform.python_version()} has no _xxsubinterpreters")
    creating = statistics.median(seconds(interpreters.create) for _ in range(10))
    ids = [interpreters.create() for _ in range(2)]
    for number in ids:
        interpreters.run_string(number, SPIN)
    bodies = [lambda n=number: interpreters.run_string(n, f"work({ITERATIONS})") for number in ids]
    print(
        f"\ntwo host sub-interpreters: {scaling(bodies)[0]:.2f}x; creating one takes {creating * 1e3:.1f} ms"
    )


# Loop turns; on the machine this was written on about 4, 40 and 160 ms.
CLASSES = {"light": 80_000, "middle": 800_000, "heavy": 3_200_000}
PAPER = {"light": 52, "middle": 144, "heavy": 26}
WORKERS = 4
MIXES = 5


def mix(bodies: list[Callable[[int], Any]], seed: int) -> dict[str, list[float]]:
    """Every worker runs its own shuffled share, with pauses as between clicks; seconds per task, by class.

    A task's time starts when its pause ends, so that waiting for the lock counts: sleep() returns with the
    host's.
    """
    latencies: dict[str, list[float]] = {name: [] for name in CLASSES}

    def worker(body: Callable[[int], Any], rng: random.Random) -> None:
        tasks = ["light"] * 12 + ["middle"] * 4 + ["heavy"]
        rng.shuffle(tasks)
        for name in tasks:
            pause = rng.random() * 0.03
            due = time.perf_counter() + pause
            time.sleep(pause)
            body(CLASSES[name])
            latencies[name].append(time.perf_counter() - due)

    together([lambda b=body, i=i: worker(b, random.Random(seed + i)) for i, body in enumerate(bodies)])
    return latencies


def test_task_mixes(vm: VM) -> None:
    """Each class relative to its time alone, so that the interpreters' own speeds do not count.

    The locks take turns with the same shares and pauses, and the least mean of a class counts, as in
    `scaling`.
    """
    isolates = [isolate_of(vm, SPIN) for _ in range(WORKERS)]
    bodies: dict[str, list[Callable[[int], Any]]] = {
        "own": [lambda n, i=isolate: i.call("work", n) for isolate in isolates],
        "shared": [HOST["work"]] * WORKERS,
    }
    alone: dict[tuple[str, str], list[float]] = {}
    mixed: dict[tuple[str, str], list[float]] = {}
    for _, lock in itertools.product(range(MIXES), bodies):
        for name, times in mix(bodies[lock], 1).items():
            mixed.setdefault((lock, name), []).append(statistics.mean(times))
            alone.setdefault((lock, name), []).append(
                best(lambda n=CLASSES[name], b=bodies[lock][0]: b(n), 3)
            )
    print(f"\n{vm.flavour} VM, {WORKERS} workers, mean time of a task relative to running alone:")
    for name, paper in PAPER.items():
        own, shared = (min(mixed[lock, name]) / min(alone[lock, name]) for lock in bodies)
        print(
            f"  {name:6s} own lock {own:.2f}x, shared lock {shared:.2f}x: {(shared / own - 1) * 100:+.0f} %"
            f" (paper, phones: +{paper} %)"
        )
