"""Log, catalogue and the triggers of all tasks as one durable object."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Literal

from .. import _core
from ..errors import ArgumentError
from ._catalog import Catalog, Value
from ._firing import NumberedFiring
from ._log import Event, _whole
from ._times import Time, micros
from ._triggers import _DEFAULT_KEYS, Trigger, TriggerStats
from ._zones import offset_changes

_NativeProcessor = _core.stream.Processor


class WhenFull(enum.IntEnum):
    """What becomes of a firing that finds its task's queue full; it has a number and is counted all the same.

    COALESCE folds it into the newest waiting one of its trigger, and where there is none the oldest goes.
    """

    COALESCE = 0
    DROP_OLDEST = 1
    DROP_NEW = 2


class Past(enum.IntEnum):
    """What a new trigger makes of the events that are recorded already.

    IGNORED: its matches start behind its adding. WARMED: they may start in the past, and what they completed
    there does not fire. DELIVERED: that fires too, once, in the order of the past.
    """

    IGNORED = 0
    WARMED = 1
    DELIVERED = 2


@dataclass(frozen=True)
class TaskFiring(NumberedFiring):
    """One call of a task that waits. ``installed``: the task still has a trigger of this name."""

    installed: bool


@dataclass(frozen=True)
class TaskStats:
    """A task's queue and triggers.

    All firings up to number ``settled`` are done, ``newest`` is the highest number given; ``dropped`` and
    ``coalesced`` count since the task was installed first.
    """

    task: str
    queue: int
    when_full: WhenFull
    newest: int
    settled: int
    waiting: int
    in_flight: int
    dropped: int
    coalesced: int
    triggers: dict[str, Trigger]
    trigger_stats: dict[str, TriggerStats]


@dataclass(frozen=True)
class ProcessorReport:
    """What opening found.

    ``replayed`` events behind the last checkpoint were matched again and gave ``firings``; ``missed`` more
    are gone from the log. ``mended``: one of the state's two copies was damaged or missing. ``lost``: both
    were; tasks have to be installed again, until ``acknowledge_loss``.
    """

    replayed: int
    firings: int
    missed: int
    mended: bool
    lost: bool


class Processor:
    """A log and the triggers of tasks over it: what is recorded is matched, and firings wait for their task.

    Everything survives a killed process: the events, and with them every firing. A firing is handed out
    until it is settled, under the same number each time. Whoever does something with it that must happen once
    writes the number down together with what was done, and says the numbers at the next open (``settled``).

    Thread-safe. A child of ``os.fork`` cannot use its parent's processor.

    Args:
        directory: where log and state lie; created when it is missing.
        catalog: what may be recorded, as for ``EventLog``.
        settled: {task: number} up to which firings are done, by the caller's own durable record; tasks that
            are not named are as the last checkpoint says.
        journal_bytes: as for ``EventLog``; so are ``quota_bytes``, ``max_age_s``, ``sync_events``,
            ``sync_s``, ``maintenance``, ``recorded_times`` and ``key``.
        quota_bytes: what segments may take before the oldest are removed.
        max_age_s: age in seconds at which segments are removed.
        sync_events: recorded events after which a sync is due.
        sync_s: seconds after which a sync is due.
        maintenance: "host": you call ``maintain``; "thread": a native thread syncs and compacts the log, and
            you call ``maintain`` for checkpoints.
        recorded_times: times given are those of a recording.
        key: 32 bytes with which log and state are sealed.
        utc_offset_s: seconds that local time is ahead of UTC, for ``daily`` and ``during``.
        zone: instead, an IANA time zone.
        keys: how many values each ``by(field)`` scope keeps, or {field: number}.
        page_instances: how many page instances ``scope page`` keeps.
        key_bytes: what all keys together may come to take.
        checkpoint_events: ``maintain`` makes a checkpoint after so many events.

    Raises:
        ArgumentError: the catalogue contradicts the stored one, or a number is out of bounds.
        ResourceError: another process writes here, or the disk is full or read-only.
    """

    def __init__(
        self,
        directory: str | PathLike[str],
        catalog: Catalog | None = None,
        *,
        settled: Mapping[str, int] | None = None,
        journal_bytes: int = 4 << 20,
        quota_bytes: int = 64 << 20,
        max_age_s: float = 30 * 86400.0,
        sync_events: int = 128,
        sync_s: float = 1.0,
        maintenance: Literal["host", "thread"] = "host",
        recorded_times: bool = False,
        key: bytes | None = None,
        utc_offset_s: float = 0.0,
        zone: str | None = None,
        keys: int | Mapping[str, int] = _DEFAULT_KEYS,
        page_instances: int = 256,
        key_bytes: int = 64 << 20,
        checkpoint_events: int = 32768,
    ) -> None:
        """Open or create log and state."""
        if maintenance not in ("host", "thread"):
            raise ArgumentError.of(
                f"maintenance {maintenance!r}", '"host" or "thread"', "Processor", "choose one of the two"
            )
        self._open: _NativeProcessor | None = _NativeProcessor.open(
            fspath(directory),
            (catalog or Catalog())._core,
            settled=dict(settled or {}),
            journal_bytes=journal_bytes,
            quota_bytes=quota_bytes,
            max_age_s=max_age_s,
            sync_events=sync_events,
            sync_s=sync_s,
            maintenance_thread=maintenance == "thread",
            recorded_times=recorded_times,
            key=b"" if key is None else _whole(key),
            utc_offset_s=utc_offset_s,
            keys=keys if isinstance(keys, int) else _DEFAULT_KEYS,
            keys_of=[] if isinstance(keys, int) else list(keys.items()),
            page_instances=page_instances,
            key_bytes=key_bytes,
            offset_changes=offset_changes(zone) if zone else [],
            checkpoint_events=checkpoint_events,
        )

    @property
    def _core(self) -> _NativeProcessor:
        if self._open is None:
            raise ArgumentError.of("a closed processor", "an open one", "Processor", "open it again")
        return self._open

    def record(
        self,
        event: str,
        page: str = "",
        contents: Mapping[str, Value] | None = None,
        *,
        ts: Time | None = None,
        durable: bool = False,
    ) -> int:
        """Record and match one event; returns its sequence number.

        Args:
            event: a declared name.
            page: a declared page; "" for none.
            contents: values of declared fields; text of at most 16,384 bytes.
            ts: microseconds since 1970 or a datetime; default: now.
            durable: return when the event survives a power loss.

        Raises:
            ArgumentError: an unknown name, a wrong type, or a time over a day ahead of the clock or before
                2000.
            ResourceError: the disk is full, or this is a child of ``os.fork``.
        """
        given = None if contents is None else dict(contents)
        when = None if ts is None else micros(ts, "Processor")
        return self._core.record(event, page, given, when, durable)

    def set_state(self, state: str, on: bool, *, ts: Time | None = None) -> int:
        """Record that a declared state is on or off from now; returns the event's sequence number."""
        when = None if ts is None else micros(ts, "Processor")
        return self._core.set_state(state, on, when)

    def advance(self, ts: Time | None = None) -> None:
        """Let time pass without an event, up to ``ts`` (default: now): what is due fires.

        Where something is due, a ``timer`` event is recorded, so that a replay fires the same in the same
        order.

        Raises:
            ArgumentError: a time over a day ahead of the clock.
        """
        self._core.advance(None if ts is None else micros(ts, "Processor"))

    @property
    def next_deadline(self) -> int | None:
        """The earliest time (microseconds) at which ``advance`` has something to do; None: nothing waits."""
        return self._core.next_deadline()

    def install(
        self,
        task: str,
        triggers: Mapping[str, Trigger | str],
        *,
        queue: int = 256,
        when_full: WhenFull = WhenFull.COALESCE,
        past: Past = Past.IGNORED,
    ) -> None:
        """Put a task in, or replace the one of its name, between two events; durable when it returns.

        Triggers that keep name and text go on with what they have under way, firings that wait stay, and
        numbers go on. After an error everything is as before.

        Args:
            task: its name, at most 256 bytes.
            triggers: {name: condition}, at most 256.
            queue: firings that wait at most, up to 65,536.
            when_full: what becomes of a firing that finds the queue full.
            past: what triggers that are new, or have another text, make of the events recorded already.

        Raises:
            ArgumentError: a bad name or number, or a trigger that is none or cannot fire.
            ResourceError: more tasks, triggers or keys than fit, or the disk is full.
        """
        texts = [(name, t.text if isinstance(t, Trigger) else t) for name, t in triggers.items()]
        self._core.install(task, texts, queue, int(when_full), int(past))

    def remove(self, task: str) -> None:
        """Remove a task with what waits; ArgumentError when there is none of this name."""
        self._core.remove(task)

    @property
    def tasks(self) -> list[str]:
        """Names of the installed tasks."""
        return self._core.tasks()

    def stats(self, task: str) -> TaskStats:
        """A task's queue and counters; ArgumentError when there is none of this name."""
        found = self._core.stats(task)
        triggers = found.pop("triggers")
        return TaskStats(
            **{**found, "when_full": WhenFull(found["when_full"])},
            triggers={name: Trigger(text) for name, text, *_ in triggers},
            trigger_stats={name: TriggerStats(*counters) for name, _, *counters in triggers},
        )

    def take(self, task: str) -> TaskFiring | None:
        """The next firing that waits, in flight until it is settled.

        None: none waits, there is no such task, or as many as its queue holds are in flight.
        """
        found = self._core.take(task)
        return None if found is None else TaskFiring(*found)

    def settle(self, task: str, number: int) -> None:
        """All firings of the task up to ``number`` are done, whether or not they were taken."""
        self._core.settle(task, number)

    def checkpoint(self) -> None:
        """Make the whole state durable: events behind it are what the next open matches again."""
        self._core.checkpoint()

    def maintain(self) -> None:
        """Sync and compact the log when due, and make a checkpoint when enough events have come."""
        self._core.maintain()

    def read(self, from_seq: int = 0, limit: int = -1) -> Iterator[Event]:
        """Events with seq >= from_seq, oldest first, at most ``limit`` of them (-1: all)."""
        for e in self._core.read(from_seq, limit):
            yield Event(*e)

    @property
    def last_seq(self) -> int:
        """Sequence number of the newest event (0: none)."""
        return self._core.last_seq()

    @property
    def catalog(self) -> Catalog:
        """A copy of the catalogue the log works with."""
        out = Catalog.__new__(Catalog)
        out._core = self._core.catalog()
        return out

    @property
    def report(self) -> ProcessorReport:
        """What opening found."""
        return ProcessorReport(**self._core.report())

    def acknowledge_loss(self) -> None:
        """Forget ``report.lost``, durably; ArgumentError when nothing was lost."""
        self._core.acknowledge_loss()

    @property
    def memory_bytes(self) -> int:
        """Bytes of matcher and queues."""
        return self._core.memory_bytes()

    def close(self) -> None:
        """Release log and state; using them afterwards raises ArgumentError."""
        self._open = None

    def __enter__(self) -> Processor:
        """Return self."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close it."""
        self.close()
