"""The costs of isolates, each beside its bar: pytest bench/vm -s, on an idle machine."""

from __future__ import annotations

import statistics
import subprocess
import sys
import threading
import time
from typing import Any

from vm_programs import isolate_of

from walle_rt import _core
from walle_rt.vm import VM, Isolate, LimitExceeded
from walle_rt.vm.pool import Pool


def say(name: str, times: list[float], *, p50: float | None = None, p99: float | None = None) -> None:
    """Print p50 and p99 in microseconds; fail above a bar, in microseconds."""
    ordered = sorted(times)
    measured = [
        ("p50", statistics.median(ordered) * 1e6, p50),
        ("p99", ordered[int(len(ordered) * 0.99)] * 1e6, p99),
    ]
    print(
        f"\n{name}:",
        ", ".join(f"{m} {t:.1f} us" + (f" (bar {bar:.0f})" if bar else "") for m, t, bar in measured),
    )
    assert all(bar is None or took <= bar for _, took, bar in measured)


def test_create(benchmark: Any, vm: VM) -> None:
    """Bar 1 ms. Ended isolates are gone before the next one is made, as in a pool that keeps its size."""
    kept: list[Isolate] = []
    times: list[float] = []

    def setup() -> None:
        kept.clear()
        _core.vm.drain()

    def create() -> None:
        started = time.perf_counter()
        kept.append(Isolate(vm))
        times.append(time.perf_counter() - started)

    benchmark.pedantic(create, setup=setup, rounds=300, warmup_rounds=10)
    say(f"create, {vm.flavour}", times[10:], p50=1000)


def test_memory_of_a_bare_isolate(vm: VM) -> None:
    """In a process of its own: memory that other benches left behind would hide what an isolate takes."""
    program = (
        "from pathlib import Path\nfrom walle_rt.vm import VM, Isolate\n"
        "def resident(): return int(Path('/proc/self/statm').read_text().split()[1]) * 4096\n"
        f"vm = VM({vm.flavour!r})\nkept = [Isolate(vm) for _ in range(4)]\nbefore = resident()\n"
        "kept += [Isolate(vm) for _ in range(50)]\nprint((resident() - before) / 50 / 1e6)\n"
    )
    each = float(
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    )
    print(f"\nbare isolate, {vm.flavour}: {each:.3f} MB resident (bar 0.6)")
    assert each <= 0.6


def test_hand_off(vm: VM) -> None:
    """take(): a warm isolate for whoever asks, while the pool refills in the background;
    then its first call.
    """
    pool = Pool(vm, size=8)
    taking, giving, first = [], [], []
    for number in range(400):
        if number % 4 == 0:
            pool.wait_until_full()
        at = [time.perf_counter()]
        isolate = pool.take()
        at.append(time.perf_counter())
        if number % 40 == 0:
            isolate.call("loads", "1", module="json")
        at.append(time.perf_counter())
        isolate.close()
        at.append(time.perf_counter())
        taking.append(at[1] - at[0])
        giving.append(at[3] - at[2])
        first += [at[2] - at[1]] if number % 40 == 0 else []
    assert pool.stats().cold == 0
    say(f"hand-off: take, {vm.flavour}", taking, p50=10)
    say("give back", giving)
    say("first call, with the import of json", first)


def test_warm_call(benchmark: Any, vm: VM) -> None:
    """Bar 0.5 us; one argument in, one result out, through the binding."""
    isolate = isolate_of(vm, "def f(x):\n    return x\n")
    native = isolate._native
    benchmark(native.call, "f", 1)
    n = 20_000
    rounds = []
    for _ in range(15):
        started = time.perf_counter()
        for _ in range(n):
            native.call("f", 1)
        middle = time.perf_counter()
        for _ in range(n):
            isolate.call("f", 1)
        rounds.append(((middle - started) / n * 1e6, (time.perf_counter() - middle) / n * 1e6))
    binding, public = (statistics.median(times) for times in zip(*rounds, strict=True))
    print(f"\nwarm call, {vm.flavour}: {binding:.3f} us (bar 0.5), as Isolate.call {public:.3f} us")
    assert public <= 0.5


def test_native_call(vm: VM) -> None:
    """A host call that does nothing but return a number, less the empty loop around it."""
    source = (
        "from walle import time\nfrom time import perf_counter\n"
        "def f(n, name):\n    g = getattr(time, name)\n    a = perf_counter()\n"
        "    for _ in range(n): pass\n    b = perf_counter()\n    for _ in range(n): g()\n"
        "    c = perf_counter()\n"
        "    return [(c - b) / n * 1e9, (b - a) / n * 1e9]\n"
    )
    isolate = isolate_of(vm, source)

    def least(name: str) -> float:
        """The fastest loop less the fastest empty one; the least difference has a disturbed empty loop."""
        full, empty = zip(*(isolate.call("f", 5_000, name) for _ in range(300)), strict=True)
        return float(min(full) - min(empty))

    plain, clock = least("resolution"), least("monotonic")
    print(
        f"\nhost call, {vm.flavour}: {plain:.1f} ns (bar 20); "
        f"with the clock read of monotonic() {clock:.1f} ns"
    )
    assert plain <= 20


def test_cancel(vm: VM) -> None:
    """Bar 1 ms at p99: from cancel() to the end of a call that catches everything;
    the canceller sleeps in between.
    """
    spin = "def spin():\n  while True:\n    try:\n      while True: pass\n    except BaseException: pass\n"
    isolate = isolate_of(vm, spin)
    latencies = []
    for _ in range(500):
        at = [0.0]

        def stop(at: list[float] = at, before: int = isolate.stats().calls) -> None:
            while isolate.stats().calls == before:  # a cancel before the call would be lost
                time.sleep(0.0001)
            time.sleep(0.001)
            at[0] = time.perf_counter()
            isolate.cancel()

        thread = threading.Thread(target=stop)
        thread.start()
        try:
            isolate.call("spin")
        except LimitExceeded:
            latencies.append(time.perf_counter() - at[0])
        thread.join()
    assert len(latencies) == 500
    say(f"cancel, {vm.flavour}", latencies, p99=1000)
