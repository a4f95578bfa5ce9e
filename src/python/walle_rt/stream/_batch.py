"""Rows in columns, with what is known of their sensitivity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from ._catalog import Catalog, Sensitivity
from ._log import Event, EventLog
from ._query import EventQuery, asked

_OUT_OF_TIME = 1  # flag of an event that stands at the time of another one
Columns = dict[str, list[Any]]
Labels = dict[str, tuple[int, str]]


@dataclass
class Batch:
    """Rows in event time.

    What a graph gives is known to the egress gate as that graph's work, and nothing else leaves the device.
    Rows that a program makes or changes are its own word: in a graph their columns count as personal at least
    and each row as one event, whatever ``labels`` and ``support`` say.

    Attributes:
        columns: ``columns["ts"]`` in microseconds, every other column with as many values of one type: int,
            float, bool, str, bytes, or a vector, which is a float32 array of shape [n]. None is absent; a
            float or an int among others makes floats or ints of them all.
        labels: sensitivities of columns; personal where none is said.
        paths: how operators made columns.
        support: the number of events behind each row; empty: one each.
    """

    columns: Columns
    labels: dict[str, Sensitivity] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    support: list[int] = field(default_factory=list)
    # What a graph or a log gave: the core compares it with the attributes above wherever rows are used, and
    # takes these for rows by hand when they differ.
    _rows: _core.stream.TracedBatch | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def of_log(
        cls,
        log: EventLog,
        fields: Sequence[str],
        from_seq: int = 0,
        limit: int = -1,
        *,
        where: EventQuery | None = None,
    ) -> Batch:
        """Events of a log as rows of event, page, session, page_instance and the named contents.

        Columns carry the labels of the log's catalogue, as they were for each event: what is declared open
        may leave, after a graph, as open.

        Args:
            log: what is read.
            fields: names of contents; absent in events without them.
            from_seq: the first event.
            limit: how many at most, the oldest ones; negative: all.
            where: only events of a match, a session, a page instance or a time range.

        Raises:
            ArgumentError: a field that no event declares.
        """
        rows = _core.stream.TracedBatch.of_log(log._core, list(fields), asked(from_seq, where), limit)
        return cls._made(rows)

    @classmethod
    def of_events(
        cls, events: Iterable[Event], fields: Sequence[str], catalog: Catalog | None = None
    ) -> Batch:
        """Events as rows of event, page, session, page_instance and the named contents.

        With a catalogue, columns carry the highest sensitivity declared for their fields. These are rows by
        hand, which a program may have made up; ``of_log`` gives a log's own.
        """
        events = list(events)
        oldest = min((e.seq for e in events), default=0)
        columns: Columns = {
            "ts": _row_times(events),
            "event": [e.event for e in events],
            "page": [e.page for e in events],
        }
        columns["session"] = [e.session for e in events]
        columns["page_instance"] = [e.page_instance for e in events]
        for name in fields:
            columns[name] = [e.contents.get(name) for e in events]
        labels: dict[str, Sensitivity] = {}
        if catalog is not None:
            declared = {name for _, _, columns in catalog.events for name, _, _ in columns}
            labels = {name: catalog.label_at(name, oldest) for name in fields if name in declared}
        return cls(columns, labels)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.columns.get("ts", []))

    def rows(self) -> list[tuple[Any, ...]]:
        """Rows as tuples (ts, then the columns in order)."""
        names = ["ts", *[n for n in self.columns if n != "ts"]]
        return list(zip(*[self.columns[n] for n in names], strict=True))

    def append(self, other: Batch) -> None:
        """Add the rows of ``other``, whose columns must be the same; a column's label becomes the higher one.

        Raises:
            ArgumentError: the columns differ.
        """
        rows = self._native().followed_by(other._native())
        joined = Batch._made(rows)
        if rows.by_hand():  # shown as they were given: in a graph they are personal at least all the same
            joined.labels = self.labels | other.labels
            for name in self.labels.keys() & other.labels.keys():
                joined.labels[name] = max(self.labels[name], other.labels[name])
            joined.support = self._support() + other._support() if self.support or other.support else []
            joined._rows = None
        vars(self).update(vars(joined))

    def _support(self) -> list[int]:
        return self.support or [1] * len(self)

    def _labels(self) -> Labels:
        return {
            n: (int(self.labels.get(n, Sensitivity.PERSONAL)), self.paths.get(n, ""))
            for n in self.columns
            if n != "ts"
        }

    def _native(self) -> _core.stream.TracedBatch:
        if self._rows is None:
            return _core.stream.TracedBatch.given(self.columns, self._labels())
        return self._rows.confirmed(self.columns, self._labels())

    @classmethod
    def _made(cls, rows: _core.stream.TracedBatch) -> Batch:
        columns, labels, support = rows.columns()
        out = cls(
            dict(columns) if columns.keys() != {"ts"} or columns["ts"] else {},
            {k: Sensitivity(label) for k, (label, _) in labels.items()},
            {k: path for k, (_, path) in labels.items() if path},
            list(support),
        )
        out._rows = rows
        return out


def _row_times(events: Sequence[Event]) -> list[int]:
    """When events happened, as stream/event/row_time.h has it: what came late stands at its own time."""
    times: list[int] = []
    shift = 0
    for e in events:
        if not e.flags & _OUT_OF_TIME:
            shift = e.ts - e.own_ts
        times.append(e.own_ts + shift)
    return times


def unpack_batch(data: bytes) -> Batch:
    """The rows of a feature that ``EgressGate.send`` returned as bytes.

    Labels do not travel: every column is personal.

    Raises:
        ModelError: the bytes are damaged.
    """
    columns, labels, support = _core.stream.unpack_batch(bytes(data))
    return Batch(
        dict(columns), {k: Sensitivity(label) for k, (label, _) in labels.items()}, {}, list(support)
    )


def as_of_join(left: Batch, right: Batch, *keys: str, within_s: float = 0.0) -> Batch:
    """Each left row with the newest right row of equal keys that is not younger.

    Args:
        left: rows in event time.
        right: rows in event time.
        keys: columns of both that must be equal.
        within_s: how many seconds older the right row may be; 0: any.

    Raises:
        ArgumentError: a key is missing.
    """
    rows = _core.stream.as_of_join(left._native(), right._native(), list(keys), round(within_s * 1e6))
    return Batch._made(rows)
