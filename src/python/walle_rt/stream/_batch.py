"""Rows in columns, with what is known of their sensitivity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from ._catalog import Catalog, Sensitivity
from ._log import Event

Columns = dict[str, list[Any]]
Labels = dict[str, tuple[int, str]]


@dataclass
class Batch:
    """Rows in event time.

    Attributes:
        columns: ``columns["ts"]`` in microseconds, every other column with as many values: int, float, bool,
            str, None (absent) or a vector, which is a float32 array of shape [n].
        labels: sensitivities of columns; personal where none is said.
        paths: how operators made columns.
        support: the number of events behind each row; empty: one each.
    """

    columns: Columns
    labels: dict[str, Sensitivity] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    support: list[int] = field(default_factory=list)

    @classmethod
    def of_events(
        cls, events: Iterable[Event], fields: Sequence[str], catalog: Catalog | None = None
    ) -> Batch:
        """Events as rows of event, page, session, page_instance and the named contents.

        With a catalogue, columns carry the highest sensitivity declared for their fields.
        """
        events = list(events)
        columns: Columns = {
            "ts": [e.ts for e in events],
            "event": [e.event for e in events],
            "page": [e.page for e in events],
        }
        columns["session"] = [e.session for e in events]
        columns["page_instance"] = [e.page_instance for e in events]
        for name in fields:
            columns[name] = [e.contents.get(name) for e in events]
        labels: dict[str, Sensitivity] = {}
        for _, _, declared in catalog.events if catalog else []:
            for name, _, label in declared:
                if name in fields:
                    labels[name] = max(labels.get(name, Sensitivity.OPEN), Sensitivity[label.upper()])
        return cls(columns, labels)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.columns.get("ts", []))

    def rows(self) -> list[tuple[Any, ...]]:
        """Rows as tuples (ts, then the columns in order)."""
        names = ["ts", *[n for n in self.columns if n != "ts"]]
        return list(zip(*[self.columns[n] for n in names], strict=True))

    def append(self, other: Batch) -> None:
        """Add the rows of ``other``, whose columns must be the same."""
        if (self.support or other.support) and len(other):
            self.support = self._support() + other._support()
        if not len(self):
            self.columns = {k: list(v) for k, v in other.columns.items()}
        elif len(other):
            for name, values in other.columns.items():
                self.columns[name].extend(values)
        self.labels |= other.labels
        self.paths |= other.paths

    def _support(self) -> list[int]:
        return self.support or [1] * len(self)

    def _labels(self) -> Labels:
        return {
            n: (int(self.labels.get(n, Sensitivity.PERSONAL)), self.paths.get(n, ""))
            for n in self.columns
            if n != "ts"
        }

    def _given(self) -> tuple[Columns, Labels, list[int]]:
        return self.columns, self._labels(), self.support

    @classmethod
    def _made(cls, made: tuple[Columns, Labels, list[int]]) -> Batch:
        columns, labels, support = made
        return cls(
            dict(columns),
            {k: Sensitivity(label) for k, (label, _) in labels.items()},
            {k: path for k, (_, path) in labels.items() if path},
            list(support),
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
    made: tuple[Columns, Labels, list[int]] = _core.stream.as_of_join(
        *left._given(), *right._given(), list(keys), round(within_s * 1e6)
    )
    return Batch._made(made)
