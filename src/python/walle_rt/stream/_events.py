"""The event model: what may be recorded, and the durable log of what was."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

from .. import _core

Value = int | float | bool | str | None


class FieldType(enum.IntEnum):
    """Type of a field's values: 64-bit integer, 64-bit float, boolean or text of at most 16,384 bytes."""

    INT = 0
    FLOAT = 1
    BOOL = 2
    TEXT = 3


class Sensitivity(enum.IntEnum):
    """How much a field says about a person."""

    OPEN = 0
    PERSONAL = 1
    SECRET = 2


class EventKind(enum.IntEnum):
    """What an event means to sessions and pages;
    the first seven are declared in every catalogue under their names.
    """

    PAGE_ENTER = 0
    PAGE_SCROLL = 1
    EXPOSURE = 2
    CLICK = 3
    PAGE_EXIT = 4
    APP_STATE = 5
    TIMER = 6
    CUSTOM = 7


@dataclass(frozen=True)
class Event:
    """One recorded event.

    ``ts`` is microseconds since 1970 and never below the previous event's; ``session`` and ``page_instance``
    are the sequence numbers of the session's first event and of the page's enter event (0: outside any page).
    """

    seq: int
    event: str
    page: str
    ts: int
    session: int
    page_instance: int
    flags: int
    contents: dict[str, int | float | bool | str]


class Catalog:
    """What a device may record. Only grows: names keep their ids."""

    def __init__(self) -> None:
        """Start with the seven built-in events, without fields."""
        self._core = _core.stream.Catalog()

    def declare(
        self,
        name: str,
        kind: EventKind = EventKind.CUSTOM,
        fields: Mapping[str, FieldType | tuple[FieldType, Sensitivity]] | None = None,
    ) -> Catalog:
        """Declare an event, or append fields to a declared one of the same kind; returns self.

        Raises ArgumentError for bad or repeated names and for a declaration that contradicts an earlier one.
        """
        columns = []
        for field, given in (fields or {}).items():
            kind_of, sensitivity = given if isinstance(given, tuple) else (given, Sensitivity.PERSONAL)
            columns.append((field, int(kind_of), int(sensitivity)))
        self._core.declare(name, int(kind), columns)
        return self

    def page(self, *names: str) -> Catalog:
        """Declare pages; returns self."""
        for name in names:
            self._core.page(name)
        return self

    def state(self, *names: str) -> Catalog:
        """Declare states that ``when`` clauses test (at most 64); returns self."""
        for name in names:
            self._core.state(name)
        return self

    @property
    def events(self) -> list[tuple[str, EventKind, list[tuple[str, str, str]]]]:
        """Declared events by id: (name, kind, [(field, type, sensitivity)])."""
        return [(name, EventKind(kind), list(fields)) for name, kind, fields in self._core.events()]

    @property
    def pages(self) -> list[str]:
        """Declared pages by id; id 0 is "no page"."""
        return list(self._core.pages())

    @property
    def states(self) -> list[str]:
        """Declared states by bit."""
        return list(self._core.states())

    def to_bytes(self) -> bytes:
        """The catalogue as schemas/event.fbs."""
        return bytes(self._core.serialize())

    @classmethod
    def from_bytes(cls, data: bytes) -> Catalog:
        """Read what to_bytes wrote; ModelError when it is damaged."""
        out = cls.__new__(cls)
        out._core = _core.stream.Catalog.parse(data)
        return out


@dataclass(frozen=True)
class LogReport:
    """What opening the log found, and what recording repaired since then."""

    first_seq: int
    last_seq: int
    lost: int
    damage_offset: int
    damaged_segments: int
    index_rebuilt: bool
    repaired_times: int
    unpaired_pages: int
    closed_inner: int
    overflowed_pages: int


class EventLog:
    """The device's durable event log in one directory.

    An appended event survives a killed process at once; it survives a power loss after the next sync, which
    ``maintain`` makes due after 128 events or one second. One process at a time; not for use from several
    threads.
    """

    def __init__(
        self,
        directory: str | PathLike[str],
        catalog: Catalog | None = None,
        *,
        journal_bytes: int = 4 << 20,
        quota_bytes: int = 64 << 20,
        max_age_s: float = 30 * 86400.0,
        sync_events: int = 128,
        sync_s: float = 1.0,
    ) -> None:
        """Open or create the log.

        A catalogue already stored there is extended by ``catalog``. Raises ResourceError when another process
        writes the log, the disk is full or read-only; damage is repaired and told by ``report``.
        """
        self._core = _core.stream.EventLog.open(
            fspath(directory),
            (catalog or Catalog())._core,
            journal_bytes,
            quota_bytes,
            max_age_s,
            sync_events,
            sync_s,
        )

    def append(
        self,
        event: str,
        page: str = "",
        contents: Mapping[str, Value] | None = None,
        *,
        ts: int | None = None,
    ) -> int:
        """Record one event; returns its sequence number.

        ``contents`` maps declared fields to values, ``ts`` is microseconds since 1970 (default: now). Raises
        ArgumentError for unknown names, wrong types, texts above 16,384 bytes, or a time over a day ahead of
        the clock.
        """
        return int(self._core.append(event, page, None if contents is None else dict(contents), ts, False))

    def set_state(self, state: str, on: bool, *, ts: int | None = None) -> int:
        """Record that a declared state is on or off from now; returns the event's sequence number."""
        return int(self._core.append("app_state", state, None, ts, on))

    def read(self, from_seq: int = 0, limit: int = -1) -> Iterator[Event]:
        """Events with seq >= from_seq, oldest first, at most ``limit`` of them (-1: all)."""
        for e in self._core.read(from_seq, limit):
            yield Event(**e)

    def maintain(self) -> None:
        """Sync when due, move a half-full journal into a segment, remove what quota and age say."""
        self._core.maintain()

    def compact(self) -> None:
        """Move everything in the journal into a columnar segment."""
        self._core.compact()

    def sync(self) -> None:
        """Make everything appended so far survive a power loss."""
        self._core.sync()

    def cursor(self, reader: str) -> int:
        """How far the named reader has come (0: never read)."""
        return int(self._core.cursor(reader))

    def set_cursor(self, reader: str, seq: int) -> None:
        """Remember durably that ``reader`` has handled every event up to ``seq``."""
        self._core.set_cursor(reader, seq)

    @property
    def last_seq(self) -> int:
        """Sequence number of the newest event (0: none)."""
        return int(self._core.last_seq())

    @property
    def segment_bytes(self) -> int:
        """Bytes of all columnar segments on the disk."""
        return int(self._core.segment_bytes())

    @property
    def catalog(self) -> Catalog:
        """A copy of the catalogue the log works with."""
        out = Catalog.__new__(Catalog)
        out._core = self._core.catalog()
        return out

    @property
    def report(self) -> LogReport:
        """What opening found and recording repaired."""
        found: dict[str, Any] = self._core.report()
        return LogReport(**found)

    def close(self) -> None:
        """Release the log; using it afterwards raises AttributeError."""
        del self._core

    def __enter__(self) -> EventLog:
        """Return self."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close the log."""
        self.close()
