"""Whether the machine has two cores to give: the work of a bench, in two processes at once."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# For a ratio with a bar. On a shared machine one of two busy cores took 1.5 times the processor time in most
# rounds, for threads and processes alike. 50 rounds gave 1.41x to 1.93x; 150 gave 1.92x to 2.00x, or nothing
# near it for processes either.
ROUNDS = 150
Body = Callable[[], Any]


def _loop(pipe: Any, source: str) -> None:
    scope: dict[str, Any] = {}
    exec(source, scope)
    pipe.send(None)
    while (n := pipe.recv()) is not None:
        pipe.send(scope["work"](n))


@contextmanager
def processes(count: int, source: str, n: int) -> Iterator[tuple[list[Body], float]]:
    """Bodies that run ``work(n)`` of `source` in a process each, and the seconds that one takes to start."""
    context = multiprocessing.get_context("spawn")
    pipes, started, running = [], [], []
    for _ in range(count):
        begin = time.perf_counter()
        ours, theirs = context.Pipe()
        process = context.Process(target=_loop, args=(theirs, source))
        process.start()
        ours.recv()
        started.append(time.perf_counter() - begin)
        pipes.append(ours)
        running.append(process)
    yield [lambda p=pipe: (p.send(n), p.recv()) for pipe in pipes], min(started)
    for pipe, process in zip(pipes, running, strict=True):
        pipe.send(None)
        process.join()


@contextmanager
def pair(source: str, n: int) -> Iterator[tuple[Body, Body]]:
    """The work once in one process, and once in each of two at the same time."""
    with processes(2, source, n) as (bodies, _):
        pipes = [body.__defaults__[0] for body in bodies]  # type: ignore[attr-defined]

        def both() -> None:
            for pipe in pipes:
                pipe.send(n)
            for pipe in pipes:
                pipe.recv()

        yield bodies[0], both
