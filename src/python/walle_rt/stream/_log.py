"""The durable log of what a device recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, NamedTuple

from .. import _core
from ..errors import ArgumentError
from ..table import Rows
from ._catalog import Catalog, Sensitivity, Value
from ._query import EventQuery, asked

_NativeLog = _core.stream.EventLog


def _whole(key: bytes) -> bytes:
    """A key that is one: the core takes an empty one for none."""
    if not key:
        raise ArgumentError.of(
            "a key of 0 bytes", "32 bytes, or None", "EventLog", "draw it with os.urandom(32)"
        )
    return bytes(key)


# Events that a read holds at a time: 2 MB.
_CHUNK = 4096


class Event(NamedTuple):
    """One recorded event.

    ``ts`` is microseconds since 1970 and never below the previous event's; ``own_ts`` is what the device's
    clock said, which differs for late events and after the clock was set back. ``session`` and
    ``page_instance`` are the sequence numbers of the session's first event and of the page's enter event (0:
    outside any page).
    """

    seq: int
    event: str
    page: str
    ts: int
    session: int
    page_instance: int
    flags: int
    contents: dict[str, int | float | bool | str]
    own_ts: int


@dataclass(frozen=True)
class Loss:
    """Events that are gone, reported at every open until ``EventLog.acknowledge``.

    ``kind`` is ``journal`` (damaged, emptied or removed), ``damaged_segment``, ``missing_segment``, ``quota``
    or ``age`` (removed before ``reader`` had come so far) or ``manifest`` (the record of losses was lost
    itself). ``events`` lie between ``first_seq`` and ``last_seq``; where ``exact`` is false they are a bound.
    """

    kind: str
    first_seq: int
    last_seq: int
    events: int
    exact: bool
    noticed_ts: int
    reader: str
    cause: str


@dataclass(frozen=True)
class LogReport:
    """What opening the log found, and what recording repaired since then.

    ``lost``: events of all ``losses`` that nobody has acknowledged, but for those of readers; ``erased``:
    events that ``erase`` has removed since the log began. ``repaired_times``: events whose time is not their
    own, because they were late (``late_events``) or the clock had been set back; ``rebased_clocks``: how
    often time went on after that. ``mended_copies``: files of which one of two copies was damaged or missing,
    and the other one served. ``state_lost``: what accounts have spent and where readers are is gone; see
    ``acknowledge_state_loss``.
    """

    first_seq: int
    last_seq: int
    lost: int
    losses: tuple[Loss, ...]
    damage_offset: int
    damaged_segments: int
    mended_copies: int
    state_lost: bool
    erased: int
    repaired_times: int
    late_events: int
    rebased_clocks: int
    unpaired_pages: int
    closed_inner: int
    overflowed_pages: int


def is_event_log(directory: str | PathLike[str]) -> bool:
    """Whether a folder holds an event log; opening another one would begin a log in it."""
    return any((Path(directory) / name).is_file() for name in ("catalog.walc", "catalog.walc.mirror"))


class EventLog:
    """A durable event log, which nothing syncs unless you call ``maintain`` or say ``maintenance="thread"``.

    An appended event survives a killed process at once; it survives a power loss after the next sync, which
    ``maintain`` makes due after ``sync_events`` events or ``sync_s`` seconds, or at once with
    ``append(..., durable=True)``. One process writes at a time, and any number read (``read_only``); not for
    use from several threads. A child of ``os.fork`` cannot use its parent's log.

    Args:
        directory: where the log lies; created when it is missing.
        catalog: what may be recorded. One that is stored there is extended by it: further events and fields
            are added, labels become the higher of both, and what an older program does not know stays.
        journal_bytes: size of the journal, which ``maintain`` moves into a segment when half of it is full.
        quota_bytes: what segments may take before the oldest are removed.
        max_age_s: age in seconds at which segments are removed.
        sync_events: appended events after which a sync is due.
        sync_s: seconds after which a sync is due.
        maintenance: "host": you call ``maintain``; "thread": a native thread of the log does.
        read_only: read what is there, beside a writer or on a disk that is full or read-only, and change
            nothing. Each ``read`` sees what has been written by then. The log must exist, and its own
            catalogue is used.
        recorded_times: times given are those of a recording, and the device's clock does not say which events
            are late.
        key: 32 bytes with which everything that the log writes down of its events is sealed
            (XChaCha20-Poly1305; a log that began with AES-256-GCM keeps it and needs OpenSSL's libcrypto).
            A log keeps the choice it began with. Whoever loses the key has lost the log.

    Raises:
        ArgumentError: the catalogue contradicts the stored one, or a size is out of bounds.
        ResourceError: another process writes the log, or the disk is full or read-only. Damage is no error:
            it is repaired and told by ``report``.
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
        maintenance: Literal["host", "thread"] = "host",
        read_only: bool = False,
        recorded_times: bool = False,
        key: bytes | None = None,
    ) -> None:
        """Open or create the log."""
        if maintenance not in ("host", "thread"):
            raise ArgumentError.of(
                f"maintenance {maintenance!r}", '"host" or "thread"', "EventLog", "choose one of the two"
            )
        self._open: _NativeLog | None = _NativeLog.open(
            fspath(directory),
            (catalog or Catalog())._core,
            journal_bytes=journal_bytes,
            quota_bytes=quota_bytes,
            max_age_s=max_age_s,
            sync_events=sync_events,
            sync_s=sync_s,
            read_only=read_only,
            maintenance_thread=maintenance == "thread",
            recorded_times=recorded_times,
            key=b"" if key is None else _whole(key),
        )

    @classmethod
    def open(cls, directory: str | PathLike[str], catalog: Catalog | None = None, **options: Any) -> EventLog:
        """The same as ``EventLog(directory, catalog, **options)``."""
        return cls(directory, catalog, **options)

    @property
    def _core(self) -> _NativeLog:
        if self._open is None:
            raise ArgumentError.of("a closed event log", "an open one", "EventLog", "open it again")
        return self._open

    def append(
        self,
        event: str,
        page: str = "",
        contents: Mapping[str, Value] | None = None,
        *,
        ts: int | None = None,
        durable: bool = False,
    ) -> int:
        """Record one event.

        Args:
            event: a declared name.
            page: a declared page; "" for none.
            contents: values of declared fields; text of at most 16,384 bytes.
            ts: microseconds since 1970; default: now.
            durable: return when the event, and everything before it, survives a power loss: one small write
                to the disk.

        Returns:
            Its sequence number.

        Raises:
            ArgumentError: an unknown name, a wrong type, a text too long, or a time over a day ahead of the
                clock or before 2000, which would be seconds or milliseconds.
            ResourceError: the disk is full, or this is a child of ``os.fork``.
        """
        given = None if contents is None else dict(contents)
        return self._core.append(event, page, given, ts, durable)

    def set_state(self, state: str, on: bool, *, ts: int | None = None) -> int:
        """Record that a declared state is on or off from now; returns the event's sequence number."""
        return self._core.append("app_state", state, None, ts, False, on=on)

    def read(self, from_seq: int = 0, limit: int = -1, *, where: EventQuery | None = None) -> Iterator[Event]:
        """Events with seq >= from_seq, oldest first, at most ``limit`` of them (-1: all).

        ``where``: only those of a match, a session, a page instance or a time range. Some thousand events
        are in memory at a time; those that are recorded meanwhile are not among them.
        """
        native = self._core
        first, last, *others = asked(from_seq, where)
        while limit != 0:
            wanted = _CHUNK if limit < 0 else min(limit, _CHUNK)
            given = native.read((first, last, *others), wanted)  # type: ignore[arg-type]
            if last is None:  # behind the first look, which a log that only reads takes anew
                last = native.last_seq()
            yield from map(Event._make, given)
            if len(given) < wanted:
                return
            first = given[-1][0] + 1
            limit -= len(given) if limit > 0 else 0

    def read_rows(
        self,
        fields: Sequence[str] = (),
        from_seq: int = 0,
        *,
        where: EventQuery | None = None,
        rows: int = 65_536,
    ) -> Iterator[Rows]:
        """The same events as columns, at most ``rows`` of them at a time.

        ``numbers`` of each piece are sequence numbers; its columns are event, page, session, page_instance
        and the named contents, absent in events without them. One piece is in memory at a time, and a
        segment is decoded once: 5 times as fast as ``read``.

        Raises:
            ArgumentError: a field that no event declares, or fewer than one row at a time.
        """
        if rows < 1:
            raise ArgumentError.of(f"rows={rows}", "at least 1", "EventLog.read_rows", "leave it out")
        native = self._core
        first, last, *others = asked(from_seq, where)
        while True:
            piece = Rows(*native.read_rows(list(fields), (first, last, *others), rows))  # type: ignore[arg-type]
            if last is None:
                last = native.last_seq()
            if len(piece):
                yield piece
            if len(piece) < rows:
                return
            first = int(piece.numbers[-1]) + 1

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
        """How far the named reader has come (0: never read).

        Raises:
            ResourceError: its place was lost; set it, or acknowledge the loss.
        """
        return self._core.cursor(reader)

    def set_cursor(self, reader: str, seq: int) -> None:
        """Remember durably that ``reader`` has handled every event up to ``seq``, the newest at most.

        Two copies are written and synced, which takes milliseconds: set it once for many events.
        """
        self._core.set_cursor(reader, seq)

    def lower(self, event: str, field: str, to: Sensitivity) -> None:
        """Lower the label of a field for events that are recorded from now on; those there keep theirs.

        Declare the lower label in the program's catalogue as well, which would raise it again at the next
        open.

        Raises:
            ArgumentError: an unknown event or field, or a label above the present one.
        """
        self._core.lower(event, field, int(to))

    def acknowledge_state_loss(self, spent: Mapping[str, float] | None = None) -> None:
        """Go on after both copies of the log's state were lost (``report.state_lost``).

        Until then nothing can be spent from privacy accounts, and places of readers are errors.

        Args:
            spent: epsilon that each account is known to have spent; accounts not named start at 0.

        Raises:
            ArgumentError: nothing was lost, or an amount is negative.
        """
        self._core.acknowledge_state_loss(dict(spent or {}))

    def acknowledge(self, losses: Sequence[Loss]) -> None:
        """Stop reporting these losses (of ``report.losses``); those noticed since then stay."""
        self._core.acknowledge([astuple(loss) for loss in losses])

    def erase(
        self,
        *,
        event: str | None = None,
        page: str | None = None,
        field: str | None = None,
        value: Value | None = None,
    ) -> int:
        """Remove events for good and durably, from segments and journal; returns how many.

        Everything that is named must hold. One person's events: ``erase(field="user", value="ann")``; a
        page's: ``erase(page="health")``; all that carry a field: ``erase(field="address")``. Their sequence
        numbers are not given out again. Copies that ``record`` made, features that have left and blocks of
        the disk that the file system has freed are beyond it.

        Raises:
            ArgumentError: a name that is not declared, nothing named, or a value without its field.
        """
        return self._core.erase(event, page, field, value)

    @property
    def last_seq(self) -> int:
        """Sequence number of the newest event (0: none)."""
        return self._core.last_seq()

    @property
    def segment_bytes(self) -> int:
        """Bytes of all columnar segments on the disk."""
        return self._core.segment_bytes()

    @property
    def catalog(self) -> Catalog:
        """A copy of the catalogue the log works with."""
        out = Catalog.__new__(Catalog)
        out._core = self._core.catalog()
        return out

    @property
    def report(self) -> LogReport:
        """What opening found and recording repaired."""
        losses = tuple(Loss(*row) for row in self._core.losses())
        lost = sum(loss.events for loss in losses if not loss.reader)
        return LogReport(**self._core.report(), lost=lost, losses=losses)

    def close(self) -> None:
        """Release the log; using it afterwards raises ArgumentError."""
        self._open = None

    def __enter__(self) -> EventLog:
        """Return self."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close the log."""
        self.close()
