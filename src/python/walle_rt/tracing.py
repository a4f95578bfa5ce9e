"""Profiles as trace files for Perfetto (ui.perfetto.dev) and chrome://tracing."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _core
from .errors import ArgumentError, ResourceError

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
    traced = Trace()
    started_us = time.time_ns() // 1000
    _core.start_trace(events_per_thread)
    try:
        yield traced
    finally:
        data, traced.events, traced.dropped, traced.threads = _core.stop_trace()
        # For join_traces: when, by the wall clock, the times in it begin.
        head = b'{"started_us":%d,' % started_us
        _write(target, head + data.removeprefix(b"{"))


# Spans whose value is the number of a record: what joins the traces of a device and its server.
_RECORD_SPANS = ("outbox", "tunnel send", "sink", "cloud phase execute", "answer sent", "answer")


def join_traces(
    path: str | os.PathLike[str],
    devices: Mapping[str, str | os.PathLike[str]],
    server: str | os.PathLike[str] | Mapping[str, Any],
) -> int:
    """Write one file for Perfetto from traces of devices and their server, with arrows along each record.

    Times are laid beside each other by each machine's wall clock. An arrow leads through the spans of a
    record on its device, from the outbox over the tunnel to its answer, and on the server, through sink and
    cloud phase.

    Args:
        path: the JSON file to write.
        devices: files that ``trace`` wrote, by the device's id at the server.
        server: what the server's ``/api/v1/cloud-phase/trace`` returned, or a file with it.

    Returns:
        How many records have spans on a device and on the server.

    Raises:
        ResourceError: a file cannot be read or written.
        ArgumentError: a trace that does not say when it was started.
    """
    read = {"server": _read(server), **{name: _read(given) for name, given in devices.items()}}
    first = min(content["started_us"] for content in read.values())
    events: list[dict[str, Any]] = []
    # Devices count their records alike: a number means something beside its device alone.
    along: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for pid, (name, content) in enumerate(read.items(), 1):
        events.append({"name": "process_name", "ph": "M", "pid": pid, "tid": 0, "args": {"name": name}})
        for event in content["traceEvents"]:
            if event.get("name") == "process_name":
                continue
            moved = {**event, "pid": pid}
            if "ts" in moved:
                moved["ts"] += content["started_us"] - first
            events.append(moved)
            args = moved.get("args", {})
            if moved["ph"] == "X" and moved["name"] in _RECORD_SPANS and "value" in args:
                along.setdefault((args.get("device", name), args["value"]), []).append(moved)
    joined = [spans for spans in along.values() if len({span["pid"] for span in spans}) > 1]
    for number, spans in enumerate(joined, 1):
        events += _arrow(number, sorted(spans, key=lambda span: float(span["ts"])))
    _write(Path(path), json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}).encode())
    return len(joined)


def _arrow(number: int, spans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    steps = ["s", *"t" * (len(spans) - 2), "f"]
    return [
        {"name": "record", "cat": "record", "ph": step, "id": number, "bp": "e"}
        | {key: span[key] for key in ("pid", "tid", "ts")}
        for step, span in zip(steps, spans, strict=True)
    ]


def _read(given: str | os.PathLike[str] | Mapping[str, Any]) -> Mapping[str, Any]:
    content: Any = given
    where = "a trace"
    if not isinstance(given, Mapping):
        where = f"trace '{os.fspath(given)}'"
        try:
            content = json.loads(Path(given).read_bytes())
        except (OSError, ValueError) as error:
            raise ResourceError.of(
                f"{where}, which cannot be read ({error})", "a trace's file", "join_traces", "check the path"
            ) from error
    started = content.get("started_us") if isinstance(content, Mapping) else None
    if not isinstance(started, int):
        raise ArgumentError.of(
            f"{where} without the time of its start", "one that walle_rt.trace wrote", "join_traces",
            "record it anew",
        )  # fmt: skip
    return dict(content)


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
