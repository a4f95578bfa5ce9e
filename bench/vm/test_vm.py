"""The VM's costs, each beside its bar: pytest bench/vm -s, on an idle machine."""

from __future__ import annotations

import platform
import statistics
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from walle_rt import _core
from walle_rt.vm import VM, Isolate, Pool, TaskBundle

MICRO = """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def calls():
    return fib(21)
def loops():
    s = 0
    for i in range(200000):
        s += i % 7
    return s
def floats():
    x = 0.5
    for _ in range(100000):
        x = 3.9 * x * (1 - x)
    return x
def dicts():
    d = {}
    for i in range(60000):
        d[i % 1000] = d.get(i % 1000, 0) + i
    return len(d)
def strings():
    return len(''.join([str(i) + ',' for i in range(40000)]).split(','))
def lists():
    return sum(sorted([(i * 7919) % 10007 for i in range(40000)]))
class P:
    def __init__(self, x): self.x = x
    def step(self): self.x += 1
    def get(self): return self.x
def objects():
    p = P(0)
    for _ in range(60000):
        p.step()
        p.get()
    return p.x
"""
NAMES = ["calls", "loops", "floats", "dicts", "strings", "lists", "objects"]
SPIN = "def work(n):\n    s = 0\n    for i in range(n):\n        s += i * i % 7\n    return s\n"
HOST: dict[str, Any] = {}
exec(MICRO, HOST)
exec(SPIN, HOST)


@pytest.fixture(scope="module")
def vm() -> VM:
    if not VM.available():
        pytest.skip("no VM library")
    return VM()


def isolate_of(vm: VM, source: str) -> Isolate:
    isolate = Isolate(vm)
    isolate.load(TaskBundle.from_source({"main": source}, vm))
    return isolate


def best(run: Callable[[], Any], rounds: int = 7) -> float:
    """Seconds of the fastest of some rounds."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return min(times)


def test_create(benchmark: Any, vm: VM) -> None:
    def setup() -> None:
        _core.vm.drain()  # type: ignore[attr-defined,unused-ignore]

    kept: list[Isolate] = []
    benchmark.pedantic(lambda: kept.append(Isolate(vm)), setup=setup, rounds=100, warmup_rounds=10)
    benchmark.extra_info["bytes"] = kept[-1].stats().heap_bytes


def test_memory_of_a_bare_isolate(vm: VM) -> None:
    from pathlib import Path

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    warm = [Isolate(vm) for _ in range(4)]
    before = resident()
    kept = [Isolate(vm) for _ in range(50)]
    each = (resident() - before) / 50 / 1e6
    print(f"\nbare isolate: {each:.3f} MB resident (bar 0.6); {kept[0].stats().heap_bytes / 1e6:.3f} MB counted")
    assert len(warm) == 4


def test_hand_off(benchmark: Any, vm: VM) -> None:
    pool = Pool(vm, size=8)
    kept: list[Isolate] = []

    def setup() -> None:
        kept.clear()
        pool.wait_until_full()

    benchmark.pedantic(lambda: kept.append(pool.take()), setup=setup, rounds=200)


def test_warm_call(benchmark: Any, vm: VM) -> None:
    isolate = isolate_of(vm, "def f(x):\n    return x\n")
    native, module = isolate._native, "main"
    benchmark(native.call, module, "f", 1)


def test_native_call(vm: VM) -> None:
    source = (
        "from walle import time\nfrom time import perf_counter\n"
        "def f(n):\n    g = time.monotonic\n    a = perf_counter()\n"
        "    for _ in range(n): pass\n    b = perf_counter()\n    for _ in range(n): g()\n    c = perf_counter()\n"
        "    return (c - b - (b - a)) / n * 1e9\n"
    )
    isolate = isolate_of(vm, source)
    nanoseconds = min(isolate.call("f", 200_000) for _ in range(7))
    print(f"\nhost call walle.time.monotonic: {nanoseconds:.1f} ns (the clock itself included)")


def test_two_isolates_on_two_cores(vm: VM) -> None:
    n = 1_500_000
    isolates = [isolate_of(vm, SPIN) for _ in range(2)]

    def together(bodies: list[Callable[[], Any]]) -> float:
        threads = [threading.Thread(target=body) for body in bodies]
        started = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.perf_counter() - started

    def scaling(bodies: list[Callable[[], Any]]) -> float:
        ratios = []
        for _ in range(5):
            one = best(bodies[0], 1)
            ratios.append(2 * one / together(bodies))
        return statistics.median(ratios)

    own = scaling([lambda i=i: i.call("work", n) for i in isolates])
    gil = scaling([lambda: HOST["work"](n // 4)] * 2)
    print(f"\ntwo threads against one: isolates {own:.2f}x, host threads under the GIL {gil:.2f}x")


@pytest.mark.parametrize("name", NAMES)
def test_micro_program(vm: VM, name: str) -> None:
    isolate = isolate_of(vm, MICRO)
    inside = best(lambda: isolate.call(name))
    host = best(HOST[name])
    version = platform.python_version()
    times = f"VM {inside * 1e3:.2f} ms, CPython {version} {host * 1e3:.2f} ms"
    print(f"\n{name}: {times}, {host / inside:.2f}x (bar 0.9)")
