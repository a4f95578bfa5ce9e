"""A task tried on recorded events, on a device of its own that is gone afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Error, TaskError
from ..stream import Catalog, unpack_batch
from ..vm import TaskBundle
from ._events import Line
from ._folder import Task

if TYPE_CHECKING:
    from ..device import TaskInfo, TaskResult

LONGEST_S = 600.0


@dataclass(frozen=True)
class Sent:
    """A feature that would leave the device: to which stream, and its rows as the receiver reads them."""

    stream: str
    seq: int
    feature: str
    bytes: int
    columns: dict[str, list[Any]]


@dataclass
class Trial:
    """What a task made of some events.

    Attributes:
        events: how many were recorded.
        firings: of the task, in order; each with its times and its error.
        heap_bytes: of its isolate, at most, as it was at the ends of firings.
        tables: rows by result table.
        sent: what would leave the device, in order.
        log: (level, line) of the task.
        info: of the task, at the end.
    """

    events: int = 0
    firings: list[TaskResult] = field(default_factory=list)
    heap_bytes: int = 0
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    log: list[tuple[int, str]] = field(default_factory=list)
    info: TaskInfo | None = None


def try_task(
    task: Task,
    events: Iterable[Line],
    catalog: Catalog | None = None,
    *,
    facts: Collection[str] | None = None,
    consents: Collection[str] | None = None,
    after_us: int = 0,
    timeout_s: float = 30.0,
) -> Trial:
    """Feed a task with events, one after the other: every firing has ended before the next event comes.

    Args:
        task: a folder.
        events: what is recorded.
        catalog: what may be recorded beside what the task declares.
        facts: that hold on the device; None: all that the task requires.
        consents: that the user has given; None: all that the task's features ask for.
        after_us: time that passes behind the last event: for absences, and what is due every so often.
        timeout_s: for one event's firings.

    Raises:
        ArgumentError: an event that nobody declares, with its place.
        TaskError: a firing takes longer than ``timeout_s``.
        BackendError: the VM library is missing.
    """
    from ..device import Device

    bundle: TaskBundle = task.compile(sources=True)
    name, out, last = task.spec.name, Trial(), 0
    with (
        tempfile.TemporaryDirectory(prefix="walle-task-", ignore_cleanup_errors=True) as scratch,
        Device(
            Path(scratch) / "device",
            catalog,
            workers=1,
            background=False,
            recorded=True,
            log=lambda _, level, line: out.log.append((level, line)),
        ) as device,
    ):
        device.set_consents(*(_asked(task) if consents is None else consents))
        device.set_facts(**dict.fromkeys(task.spec.requires if facts is None else facts, True))
        device.install(bundle)
        device.on_result(out.firings.append)
        for line in events:
            _record(device, line)
            out.events, last, before = out.events + 1, max(last, line.ts), len(out.firings)
            _wait(device, timeout_s, line.place)
            if len(out.firings) != before:
                out.heap_bytes = max(out.heap_bytes, device.task(name).heap_bytes)
        if after_us and out.events:
            device.advance(last + after_us)
            _wait(device, timeout_s, "the time behind the last event")
        out.info = device.task(name)
        out.heap_bytes = max(out.heap_bytes, out.info.heap_bytes)
        out.tables = {
            table: [_plain(row) for row in device.results(name, table)] for table in task.spec.results
        }
        for stream in sorted(device.outbox()):
            for record in device.read_outbox(stream):
                columns = {key: list(values) for key, values in unpack_batch(record.data).columns.items()}
                out.sent.append(Sent(stream, record.seq, record.feature, len(record.data), columns))
    return out


def _asked(task: Task) -> list[str]:
    return sorted({policy.consent for policy in task.spec.egress.values() if policy.consent})


def _record(device: Any, line: Line) -> None:
    try:
        device.record(line.event, line.page, line.contents, ts=line.ts, on=line.on)
    except Error as error:
        where = f"{line.place}, {error.where}" if error.where else line.place
        raise type(error).of(error.given, error.expected, where, error.next_step) from None


def _wait(device: Any, timeout_s: float, place: str) -> None:
    if not device.wait(timeout_s):
        raise TaskError.of(
            f"a firing that did not end within {timeout_s:g} s",
            "firings that end",
            place,
            "lower the limits of the task, or raise --timeout",
        )


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row without the device's own columns."""
    return {key: value for key, value in row.items() if not key.startswith("_")}
