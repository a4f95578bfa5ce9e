"""Native stream operators over columnar batches,
as a chain that gives the same result however the rows are batched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .. import _core
from ..errors import ArgumentError, compose
from ..session import Session
from ._events import Catalog, Event, EventLog, Sensitivity

Columns = dict[str, list[Any]]
Labels = dict[str, tuple[int, str]]


class Aggregate(NamedTuple):
    """What a window computes; made by ``aggregate``."""

    function: str
    column: str
    out: str
    k: int
    low: float
    high: float


@dataclass
class Batch:
    """Rows in event time: ``columns["ts"]`` in microseconds,
    every other column with as many values (None: absent).

    ``labels`` are the columns' sensitivities (default: personal), ``paths`` how operators made them, and
    ``support`` the number of events behind each row (empty: one each). A vector is a one-dimensional float32
    array per row.
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


def aggregate(
    function: str, column: str = "", out: str = "", *, k: int = 10, low: float = 0.0, high: float = 1.0
) -> Aggregate:
    """An aggregate of a window: count, sum, mean, min, max, var (of the population),
    distinct (approximate, 3.3 %).

    Further: top_k (``k`` entries as "value:count,...", of the first 4,096 values; "*" counts the rows of
    others) and histogram (``k`` bins from ``low`` to ``high``, outliers in the outer bins). ``out`` names the
    result (default: function_column).
    """
    return Aggregate(function, column, out or (f"{function}_{column}" if column else function), k, low, high)


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
        self,
        kind: int,
        size_s: float,
        slide_s: float,
        disorder_s: float,
        lateness_s: float,
        aggregates: Sequence[Aggregate],
    ) -> Graph:
        if not aggregates:
            raise ArgumentError(
                compose("a window without aggregates", "at least one", "window", 'add aggregate("count")')
            )
        times = [round(t * 1e6) for t in (size_s, slide_s, disorder_s, lateness_s)]
        self._operators.append(_core.stream.make_window(kind, *times, self._keys, list(aggregates)))
        return self

    def tumbling(
        self, size_s: float, *aggregates: Aggregate, disorder_s: float = 0.0, lateness_s: float = 0.0
    ) -> Graph:
        """Windows side by side from 1970 on, rows: keys, window_start, window_end, revision, aggregates."""
        return self._window(0, size_s, 0.0, disorder_s, lateness_s, aggregates)

    def sliding(
        self,
        size_s: float,
        slide_s: float,
        *aggregates: Aggregate,
        disorder_s: float = 0.0,
        lateness_s: float = 0.0,
    ) -> Graph:
        """A window of ``size_s`` every ``slide_s``."""
        return self._window(1, size_s, slide_s, disorder_s, lateness_s, aggregates)

    def session(
        self, gap_s: float, *aggregates: Aggregate, disorder_s: float = 0.0, lateness_s: float = 0.0
    ) -> Graph:
        """Windows that end when no row of their key comes for ``gap_s``."""
        return self._window(2, gap_s, 0.0, disorder_s, lateness_s, aggregates)

    def page(
        self, *aggregates: Aggregate, idle_s: float = 1800.0, disorder_s: float = 0.0, lateness_s: float = 0.0
    ) -> Graph:
        """One window per page instance, closed by its page_exit, or after ``idle_s`` without a row.

        Rows need the columns page_instance and event, as ``Batch.of_events`` makes them; rows outside any
        page are counted in ``outside``.
        """
        return self._window(3, idle_s, 0.0, disorder_s, lateness_s, aggregates)

    def reduce(self, *aggregates: Aggregate) -> Graph:
        """All rows of a key as one, given when the stream ends."""
        return self._window(4, 0.0, 0.0, 0.0, 0.0, aggregates)

    def state(self, out: str, what: str | Aggregate, column: str = "", *, max_keys: int = 4096) -> Graph:
        """Add the column ``out``: what the row's key remembers from its earlier rows.

        ``what``: "previous" or "first" value of ``column``; "since", the seconds since the key's previous
        row; or an aggregate over the key's rows up to this one. Keys are those of ``key_by``; beyond
        ``max_keys`` the least recently seen one is forgotten and counted in ``evicted``.
        """
        kinds = ("previous", "first", "since")
        running = what if isinstance(what, Aggregate) else aggregate("count")
        if not isinstance(what, Aggregate) and what not in kinds:
            expected = "previous, first, since or an aggregate"
            raise ArgumentError(compose(f"state '{what}'", expected, f"state '{out}'", "choose one of these"))
        kind = kinds.index(what) if isinstance(what, str) else 3
        if isinstance(what, Aggregate):
            column = what.column
        self._operators.append(_core.stream.make_state(kind, self._keys, column, running, out, max_keys))
        return self

    def encode(self, out: str, session: Session, *columns: str) -> Graph:
        """Replace numbers and vectors by the vector ``out`` that a model makes of them.

        ``session``: of a model with a float32 input [N, width] and output [N, codes]. Encoding lowers no
        label.
        """
        self._operators.append(_core.stream.make_encode(list(columns), out, session._native))
        return self

    def noise(
        self,
        column: str,
        low: float,
        high: float,
        *,
        log: EventLog,
        account: str,
        epsilon: float,
        limit: float,
        mechanism: str = "laplace",
        delta: float = 1e-6,
        resolution: float = 1e-3,
        seed: int | None = None,
    ) -> Graph:
        """Make a column locally differentially private and thereby open.

        Every row spends ``epsilon`` from the durable ``account`` in ``log``; TaskError when ``limit`` would
        be passed. ``mechanism``: "laplace" or "gaussian" on values clamped to [low, high], or "response" for
        whole categories low..high. Absent values count as ``low``. The log stays open as long as the graph
        lives.
        """
        kinds = ("laplace", "gaussian", "response")
        if mechanism not in kinds:
            expected = "laplace, gaussian or response"
            raise ArgumentError(
                compose(f"mechanism '{mechanism}'", expected, f"noise on '{column}'", "choose one")
            )
        self._operators.append(
            _core.stream.make_noise(
                log._core,
                account,
                limit,
                kinds.index(mechanism),
                column,
                low,
                high,
                epsilon,
                delta,
                resolution,
                seed,
            )
        )
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

    def outputs(self, given: Mapping[str, Sensitivity]) -> Batch:
        """Columns, labels and paths this graph would give for input columns of these sensitivities,
        without rows.

        Ask a new graph, before its first rows: ``EgressGate.check`` then says when a task is built whether
        its results could ever leave.
        """
        batch = Batch({"ts": [], **{name: [] for name in given}}, dict(given))
        for operator in self._operators:
            batch = Batch._made(operator.push(*batch._given()))
        return batch

    @property
    def late(self) -> int:
        """Rows that came after their window's lateness: counted, in no result."""
        return sum(int(o.late()) for o in self._operators)

    @property
    def outside(self) -> int:
        """Rows of page windows that belonged to no page: counted, in no result."""
        return sum(int(o.outside()) for o in self._operators)

    @property
    def evicted(self) -> int:
        """Keys whose state was given up for others'."""
        return sum(int(o.evicted()) for o in self._operators)

    def _from(self, first: int, batch: Batch) -> Batch:
        for operator in self._operators[first:]:
            if not len(batch):
                return Batch({})
            batch = Batch._made(operator.push(*batch._given()))
        return batch


def as_of_join(left: Batch, right: Batch, *keys: str, within_s: float = 0.0) -> Batch:
    """Each left row with the newest right row of equal keys, not younger,
    at most ``within_s`` older (0: any).
    """
    made: tuple[Columns, Labels, list[int]] = _core.stream.as_of_join(
        *left._given(), *right._given(), list(keys), round(within_s * 1e6)
    )
    return Batch._made(made)
