"""Native stream operators over columnar batches, as a chain that gives the same result however the rows are batched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from ..errors import ArgumentError, compose
from ._events import Event, Sensitivity

Columns = dict[str, list[Any]]


@dataclass
class Batch:
    """Rows in event time: ``columns["ts"]`` in microseconds, every other column with as many values (None: absent)."""

    columns: Columns
    labels: dict[str, Sensitivity] = field(default_factory=dict)

    @classmethod
    def of_events(cls, events: Sequence[Event], fields: Sequence[str]) -> Batch:
        """Events as rows of event, page, session, page_instance and the named contents."""
        columns: Columns = {
            "ts": [e.ts for e in events],
            "event": [e.event for e in events],
            "page": [e.page for e in events],
        }
        columns["session"] = [e.session for e in events]
        columns["page_instance"] = [e.page_instance for e in events]
        for name in fields:
            columns[name] = [e.contents.get(name) for e in events]
        return cls(columns)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.columns.get("ts", []))

    def rows(self) -> list[tuple[Any, ...]]:
        """Rows as tuples (ts, then the columns in order)."""
        names = ["ts", *[n for n in self.columns if n != "ts"]]
        return list(zip(*[self.columns[n] for n in names], strict=True))

    def append(self, other: Batch) -> None:
        """Add the rows of ``other``, whose columns must be the same."""
        if not len(self):
            self.columns = {k: list(v) for k, v in other.columns.items()}
        elif len(other):
            for name, values in other.columns.items():
                self.columns[name].extend(values)
        self.labels |= other.labels

    def _given(self) -> tuple[Columns, dict[str, int]]:
        return self.columns, {k: int(v) for k, v in self.labels.items()}

    @classmethod
    def _made(cls, pair: tuple[Columns, dict[str, int]]) -> Batch:
        columns, labels = pair
        return cls(dict(columns), {k: Sensitivity(v) for k, v in labels.items()})


def aggregate(
    function: str, column: str = "", out: str = "", *, k: int = 10, low: float = 0.0, high: float = 1.0
) -> tuple[str, str, str, int, float, float]:
    """An aggregate of a window: count, sum, mean, min, max, var (of the population), distinct (approximate, 3.3 %).

    Further: top_k (``k`` entries as "value:count,...") and histogram (``k`` bins from ``low`` to ``high``). ``out``
    names the result (default: function_column).
    """
    return function, column, out or (f"{function}_{column}" if column else function), k, low, high


class Graph:
    """A chain of operators; each method adds one and returns the graph.

    Times are in seconds. A graph holds the state of its windows: feed one stream through one graph.
    """

    def __init__(self) -> None:
        """Start with no operator: rows pass unchanged."""
        self._operators: list[Any] = []
        self._keys: list[str] = []

    def filter(self, predicate: str) -> Graph:
        """Keep rows for which a predicate of the trigger language holds."""
        self._operators.append(_core.stream.make_filter(predicate))
        return self

    def map(self, out: str, left: str, op: str = "=", right: float | str = "") -> Graph:
        """Column out = left op right with op + - * /, ``right`` a number or a column; op "=" copies."""
        self._operators.append(_core.stream.make_map(out, left, op, str(right)))
        return self

    def select(self, *columns: str) -> Graph:
        """Keep only these columns."""
        self._operators.append(_core.stream.make_select(list(columns)))
        return self

    def dedupe(self, *keys: str, within_s: float = 0.0) -> Graph:
        """Keep the first row of each key, and one again after ``within_s`` (0: never again)."""
        self._operators.append(_core.stream.make_dedupe(list(keys), round(within_s * 1e6)))
        return self

    def key_by(self, *columns: str) -> Graph:
        """Keys of the windows that follow."""
        self._keys = list(columns)
        return self

    def _window(
        self, kind: int, size_s: float, slide_s: float, disorder_s: float, lateness_s: float, aggregates: Sequence[Any]
    ) -> Graph:
        if not aggregates:
            raise ArgumentError(
                compose("a window without aggregates", "at least one", "window", 'add aggregate("count")')
            )
        times = [round(t * 1e6) for t in (size_s, slide_s, disorder_s, lateness_s)]
        self._operators.append(_core.stream.make_window(kind, *times, self._keys, list(aggregates)))
        return self

    def tumbling(self, size_s: float, *aggregates: Any, disorder_s: float = 0.0, lateness_s: float = 0.0) -> Graph:
        """Windows side by side from 1970 on, rows: keys, window_start, window_end, revision, aggregates."""
        return self._window(0, size_s, 0.0, disorder_s, lateness_s, aggregates)

    def sliding(
        self, size_s: float, slide_s: float, *aggregates: Any, disorder_s: float = 0.0, lateness_s: float = 0.0
    ) -> Graph:
        """A window of ``size_s`` every ``slide_s``."""
        return self._window(1, size_s, slide_s, disorder_s, lateness_s, aggregates)

    def session(self, gap_s: float, *aggregates: Any, disorder_s: float = 0.0, lateness_s: float = 0.0) -> Graph:
        """Windows that end when no row of their key comes for ``gap_s``."""
        return self._window(2, gap_s, 0.0, disorder_s, lateness_s, aggregates)

    def page(self, *aggregates: Any) -> Graph:
        """One window per page instance: rows need the column page_instance; closes when the stream ends."""
        keys, self._keys = self._keys, [*self._keys, "page_instance"]
        self._window(2, 366 * 86400.0, 0.0, 0.0, 0.0, aggregates)
        self._keys = keys
        return self

    def push(self, batch: Batch) -> Batch:
        """Feed rows in their order of arrival; returns what the last operator gives for them."""
        return self._from(0, batch)

    def finish(self) -> Batch:
        """End the stream: everything open closes; returns the remaining rows."""
        out = Batch({})
        for i, operator in enumerate(self._operators):
            out.append(self._from(i + 1, Batch._made(operator.finish())))
        return out

    def run(self, batch: Batch) -> Batch:
        """Feed a whole stream and end it."""
        out = self.push(batch)
        out.append(self.finish())
        return out

    @property
    def late(self) -> int:
        """Rows that came after their window's lateness: counted, in no result."""
        return sum(int(o.late()) for o in self._operators)

    def _from(self, first: int, batch: Batch) -> Batch:
        for operator in self._operators[first:]:
            if not len(batch):
                return Batch({})
            batch = Batch._made(operator.push(*batch._given()))
        return batch


def as_of_join(left: Batch, right: Batch, *keys: str, within_s: float = 0.0) -> Batch:
    """Each left row with the newest right row of equal keys, not younger, at most ``within_s`` older (0: any)."""
    made: tuple[Columns, dict[str, int]] = _core.stream.as_of_join(
        *left._given(), *right._given(), list(keys), round(within_s * 1e6)
    )
    return Batch._made(made)
