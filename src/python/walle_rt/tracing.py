"""Profiles as trace files for Perfetto (ui.perfetto.dev) and chrome://tracing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _core
from .errors import ResourceError

# Name, operator, backend, algorithm, start and duration in microseconds,
# as the native session reports a step.
Step = tuple[str, str, str, str, float, float]

_HEAD: list[dict[str, Any]] = [
    {"name": "process_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": "walle_rt"}},
    {"name": "thread_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": "steps of the plan"}},
]


@dataclass
class Trace:
    """What a recording holds; filled in when it ends.

    Attributes:
        events: spans and values of counters in the file.
        dropped: those for which a thread's buffer had no room.
        threads: how many threads have events.
    """

    events: int = 0
    dropped: int = 0
    threads: int = 0


@contextmanager
def trace(path: str | os.PathLike[str], *, events_per_thread: int = 65_536) -> Iterator[Trace]:
    """Record what all threads of the process do, into one file for Perfetto or chrome://tracing.

    The file shows spans by thread - an event's append and match, a task's phases, runs of models and each of
    their steps, commits, writes of result tables, egress -, waits in queues beside them, and counters as
    tracks: events, firings, failures, firings that wait for each task. A span is recorded when it ends: one
    that is still under way at the end of the block is not in the file. Nothing is written while it runs.

    Args:
        path: the JSON file to write; times in it are microseconds since the block was entered.
        events_per_thread: room for so many spans and counters of each thread, 32 bytes each and taken as it
            is used; what comes behind them is dropped and counted.

    Raises:
        ArgumentError: a recording is under way already, or there is room for no event.
        ResourceError: the file cannot be written.
    """
    target = Path(path)
    told = Trace()
    _core.start_trace(events_per_thread)
    try:
        yield told
    finally:
        data, told.events, told.dropped, told.threads = _core.stop_trace()
        _write(target, data)


def write_trace(path: Path, steps: Iterable[Step]) -> None:
    """Write steps in Chrome's trace event format; ResourceError when the file cannot be written."""
    text = json.dumps({"traceEvents": _HEAD + [_event(*s) for s in _nested(steps)], "displayTimeUnit": "ms"})
    _write(path, text.encode())


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise ResourceError.of(
            f"cannot write trace '{path}': {error.strerror or error}",
            "a writable path",
            "trace file",
            "check the folder and its permissions",
        ) from error


def _nested(steps: Iterable[Step]) -> list[Step]:
    """By time; what holds others (a run, a loop) before them, although it ended after them."""
    return sorted(steps, key=lambda step: (step[4], -step[5]))


def _event(name: str, op: str, backend: str, algorithm: str, start: float, duration: float) -> dict[str, Any]:
    return {
        "name": name,
        "cat": op,
        "ph": "X",
        "ts": start,
        "dur": duration,
        "pid": 1,
        "tid": 1,
        "args": {"op": op, "backend": backend, "algorithm": algorithm},
    }
