"""The durable log of what a device recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path

from .. import _core
from ._catalog import Catalog, Sensitivity, Value


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


@dataclass(frozen=True)
class LogReport:
    """What opening the log found, and what recording repaired since then.

    ``mended_copies``: files of which one of two copies was damaged or missing, and the other one served.
    ``state_lost``: what accounts have spent and where readers are is gone; see ``acknowledge_state_loss``.
    """

    first_seq: int
    last_seq: int
    lost: int
    damage_offset: int
    damaged_segments: int
    index_rebuilt: bool
    mended_copies: int
    state_lost: bool
    repaired_times: int
    unpaired_pages: int
    closed_inner: int
    overflowed_pages: int


def is_event_log(directory: str | PathLike[str]) -> bool:
    """Whether a folder holds an event log; opening another one would begin a log in it."""
    return any((Path(directory) / name).is_file() for name in ("catalog.walc", "catalog.walc.twin"))


class EventLog:
    """The device's durable event log in one directory.

    An appended event survives a killed process at once; it survives a power loss after the next sync, which
    ``maintain`` makes due after ``sync_events`` events or ``sync_s`` seconds. One process at a time; not for
    use from several threads.

    Args:
        directory: where the log lies; created when it is missing.
        catalog: what may be recorded. One that is stored there is extended by it: further events and fields are
            added, labels become the higher of both, and what an older program does not know stays.
        journal_bytes: size of the journal, which ``maintain`` moves into a segment when half of it is full.
        quota_bytes: what segments may take before the oldest are removed.
        max_age_s: age in seconds at which segments are removed.
        sync_events: appended events after which a sync is due.
        sync_s: seconds after which a sync is due.

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
    ) -> None:
        """Open or create the log."""
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
        """Record one event.

        Args:
            event: a declared name.
            page: a declared page; "" for none.
            contents: values of declared fields; text of at most 16,384 bytes.
            ts: microseconds since 1970; default: now.

        Returns:
            Its sequence number.

        Raises:
            ArgumentError: an unknown name, a wrong type, a text too long, or a time over a day ahead of the
                clock.
            ResourceError: the disk is full.
        """
        return self._core.append(event, page, None if contents is None else dict(contents), ts, False)

    def set_state(self, state: str, on: bool, *, ts: int | None = None) -> int:
        """Record that a declared state is on or off from now; returns the event's sequence number."""
        return self._core.append("app_state", state, None, ts, on)

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
        """How far the named reader has come (0: never read).

        Raises:
            ResourceError: its place was lost; set it, or acknowledge the loss.
        """
        return self._core.cursor(reader)

    def set_cursor(self, reader: str, seq: int) -> None:
        """Remember that ``reader`` has handled every event up to ``seq``: on the disk, twice, when it returns."""
        self._core.set_cursor(reader, seq)

    def lower(self, event: str, field: str, to: Sensitivity) -> None:
        """Lower the label of a field for events that are recorded from now on; those there keep theirs.

        Declare the lower label in the program's catalogue as well, which would raise it again at the next open.

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
        return LogReport(**self._core.report())

    def close(self) -> None:
        """Release the log; using it afterwards raises AttributeError."""
        del self._core

    def __enter__(self) -> EventLog:
        """Return self."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close the log."""
        self.close()
