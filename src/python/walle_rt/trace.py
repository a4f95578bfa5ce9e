"""Profiles as trace files for Perfetto (ui.perfetto.dev) and chrome://tracing."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .errors import ResourceError

# Name, operator, backend, algorithm, start and duration in microseconds,
# as the native session reports a step.
Step = tuple[str, str, str, str, float, float]

_HEAD: list[dict[str, Any]] = [
    {"name": "process_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": "walle_rt"}},
    {"name": "thread_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": "steps of the plan"}},
]


def write_trace(path: Path, steps: Iterable[Step]) -> None:
    """Write steps in Chrome's trace event format; ResourceError when the file cannot be written."""
    try:
        path.write_text(
            json.dumps({"traceEvents": _HEAD + [_event(*s) for s in _nested(steps)], "displayTimeUnit": "ms"})
        )
    except OSError as error:
        raise ResourceError.of(
            f"cannot write trace '{path}': {error.strerror or error}",
            "a writable path",
            "profile",
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
