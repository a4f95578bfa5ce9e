"""What the VM benches run, inside isolates and on the host, and how they time it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from walle_rt.vm import VM, Isolate, TaskBundle

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
MICRO_NAMES = ["calls", "loops", "floats", "dicts", "strings", "lists", "objects"]
SPIN = "def work(n):\n    s = 0\n    for i in range(n):\n        s += i * i % 7\n    return s\n"


def on_host(source: str) -> dict[str, Any]:
    """The program's names, in the host's own Python."""
    scope: dict[str, Any] = {}
    exec(source, scope)
    return scope


def isolate_of(vm: VM, source: str) -> Isolate:
    """An isolate with `source` as its main module; the compiler is always that of the full flavour."""
    isolate = Isolate(vm)
    isolate.load(TaskBundle(TaskBundle.from_source({"main": source}).data, vm))
    return isolate


def seconds(run: Callable[[], Any]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def best(run: Callable[[], Any], rounds: int = 7) -> float:
    """Seconds of the fastest of some rounds."""
    return min(seconds(run) for _ in range(rounds))
