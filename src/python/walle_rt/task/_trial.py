"""A task tried on recorded events, on a device of its own that is gone afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError, Error, TaskError
from ..stream import Catalog, unpack_batch
from ..vm import Isolate, Limits, TaskBundle
from ._events import Line, in_order
from ._folder import Task
from ._question import question_of

if TYPE_CHECKING:
    from ..device import Device, TaskInfo, TaskResult

LONGEST_S = 600.0
MOST_DUE = 100_000  # times that fall due: 10 s


@dataclass(frozen=True)
class Sent:
    """A feature that would leave the device: to which stream, and its rows as the receiver reads them."""

    stream: str
    seq: int
    feature: str
    bytes: int
    columns: dict[str, list[Any]]


@dataclass(frozen=True)
class CloudAnswer:
    """What the task's half for the server made of a question: rows, or why there are none."""

    stream: str
    seq: int
    rows: list[dict[str, Any]]
    error: str = ""


@dataclass
class Trial:
    """What a task made of some events.

    Attributes:
        events: how many were recorded.
        firings: of the task, in order; each with its times and its error.
        heap_bytes: of its isolate, at most, as it was at the ends of firings.
        tables: rows by result table.
        sent: what would leave the device, in order.
        answers: of the task's cloud half, to each question, behind the last event.
        log: (level, line) of the task.
        lines_before: for each firing, how many lines of the log had come when it ended.
        info: of the task, at the end.
    """

    events: int = 0
    firings: list[TaskResult] = field(default_factory=list)
    heap_bytes: int = 0
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    answers: list[CloudAnswer] = field(default_factory=list)
    log: list[tuple[int, str]] = field(default_factory=list)
    lines_before: list[int] = field(default_factory=list)
    info: TaskInfo | None = None


def try_task(
    task: Task,
    events: Iterable[Line],
    catalog: Catalog | None = None,
    *,
    facts: Collection[str] | None = None,
    consents: Collection[str] | None = None,
    params: Mapping[str, bool | int | float | str] | None = None,
    app: Mapping[str, Callable[..., Any]] | None = None,
    after_us: int = 0,
    timeout_s: float = 30.0,
    zone: str = "UTC",
) -> Trial:
    """Feed a task with events, one after the other: every firing has ended before the next event comes.

    Time passes as on a device that is on all the while: what is due between two events, or behind the last,
    fires when it is due.

    Args:
        task: a folder.
        events: what is recorded.
        catalog: what may be recorded beside what the task declares.
        facts: that hold on the device; None: all that the task requires.
        consents: that the user has given; None: all that the task's features ask for.
        params: values of walle.params; what is not named has its default.
        app: functions that stand for the application's.
        after_us: time that passes behind the last event: for absences, and what is due every so often.
        timeout_s: for one event's firings.
        zone: of ``daily`` and ``during``.

    Raises:
        ArgumentError: an event that nobody declares, or whose time lies before the one in front of it, with
            its place; more that falls due than can be tried.
        TaskError: a firing takes longer than ``timeout_s``.
        BackendError: the VM library is missing.
    """
    from ..device import Device

    bundle: TaskBundle = task.compile(sources=True)
    name, out, last = task.spec.name, Trial(), 0
    questions: list[tuple[str, int, int, bytes]] = []
    with (
        tempfile.TemporaryDirectory(prefix="walle-task-", ignore_cleanup_errors=True) as scratch,
        Device(
            Path(scratch) / "device",
            catalog,
            workers=1,
            background=False,
            recorded=True,
            zone=zone,
            log=lambda _, level, line: out.log.append((level, line)),
        ) as device,
    ):
        device.set_consents(*(_asked(task) if consents is None else consents))
        device.set_facts(**dict.fromkeys(task.spec.requires if facts is None else facts, True))
        device.install(bundle)
        device.set_params(name, params or {})
        for function, given in (app or {}).items():
            device.provide(function, given)

        def tell(result: TaskResult) -> None:
            out.firings.append(result)
            out.lines_before.append(len(out.log))

        device.on_result(tell)
        clock = _Clock(device, timeout_s)
        for line in in_order(events):
            if out.events:
                clock.pass_to(line.ts, line.place)
            _record(device, line)
            out.events, last, before = out.events + 1, max(last, line.ts), len(out.firings)
            _wait(device, timeout_s, line.place)
            if len(out.firings) != before:
                out.heap_bytes = max(out.heap_bytes, device.task(name).heap_bytes)
        if after_us and out.events:
            clock.pass_to(last + after_us, "the time behind the last event")
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
                if task.spec.cloud is not None and record.feature == task.spec.cloud.question:
                    questions.append((stream, record.seq, record.ts, record.data))
    _answer(task, questions, out)
    return out


class _Clock:
    """Time that passes on a device: what is due fires when it is due, one after the other."""

    def __init__(self, device: Device, timeout_s: float) -> None:
        self._device, self._timeout_s, self._left = device, timeout_s, MOST_DUE

    def pass_to(self, end: int, place: str) -> None:
        """Up to ``end``, without it."""
        while (due := self._device._native.next_deadline()) is not None and due <= end:
            self._left -= 1
            if self._left < 0:
                raise ArgumentError.of(
                    f"more than {MOST_DUE} times at which something falls due",
                    "a shorter time, or rarer timers",
                    place,
                    "shorten the recording or --after",
                )
            self._device.advance(due)
            _wait(self._device, self._timeout_s, place)


def _answer(task: Task, questions: list[tuple[str, int, int, bytes]], out: Trial) -> None:
    """What the server's half makes of what was asked; its rows lie in its table as if they had come back."""
    half = task.spec.cloud
    if half is None or not questions:
        return
    limits = Limits(
        heap_bytes=half.heap_bytes,
        wall_ms=half.limits.wall_ms,
        cpu_ms=half.limits.cpu_ms,
        imports=sorted({*task.spec.imports, "walle"}),
        host_calls=task.spec.host_calls,
    )
    with Isolate(limits=limits, log=lambda level, line: out.log.append((level, line))) as isolate:
        isolate.load(task.cloud_bundle())
        for stream, seq, ts, data in questions:
            asked = question_of(task.spec.name, task.spec.version, seq, ts, data)
            try:
                value = isolate.call(half.function, asked, module=half.module)
            except Error as error:
                out.answers.append(CloudAnswer(stream, seq, [], str(error)))
                continue
            rows = [] if value is None else value if isinstance(value, list) else [value]
            out.answers.append(CloudAnswer(stream, seq, rows))
            out.tables.setdefault(half.answers, []).extend(rows) if half.answers else None


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
