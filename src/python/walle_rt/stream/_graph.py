"""Native stream operators over columnar batches,
as a chain that gives the same result however the rows are batched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .. import _core
from ..errors import ArgumentError
from ..session import Session
from ._aggregate import Aggregate, aggregate
from ._batch import Batch
from ._catalog import Sensitivity
from ._log import EventLog


class Graph:
    """A chain of operators; each method adds one and returns the graph.

    Times are in seconds. A graph holds the state of its windows: feed one stream through one graph. Methods
    raise ArgumentError for what no row could be right for (no aggregate, an unknown mechanism, a predicate
    that does not parse); a column that rows lack is an ArgumentError when they come.
    """

    def __init__(self) -> None:
        """Start with no operator: rows pass unchanged."""
        self._operators: list[_core.stream.Operator] = []
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

    def dedupe(self, *keys: str, within_s: float = 0.0, max_keys: int = 65_536) -> Graph:
        """Keep the first row of each key, and one again after ``within_s`` (0: never again).

        Beyond ``max_keys`` the key not seen longest is forgotten and counted in ``evicted``: its next row
        passes.
        """
        self._operators.append(_core.stream.make_dedupe(list(keys), round(within_s * 1e6), max_keys))
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
            raise ArgumentError.of(
                "a window without aggregates", "at least one", "window", 'add aggregate("count")'
            )
        size, slide, disorder, lateness = (round(t * 1e6) for t in (size_s, slide_s, disorder_s, lateness_s))
        self._operators.append(
            _core.stream.make_window(kind, size, slide, disorder, lateness, self._keys, list(aggregates))
        )
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
            raise ArgumentError.of(f"state '{what}'", expected, f"state '{out}'", "choose one of these")
        kind = kinds.index(what) if isinstance(what, str) else 3
        if isinstance(what, Aggregate):
            column = what.column
        self._operators.append(_core.stream.make_state(kind, self._keys, column, running, out, max_keys))
        return self

    def encode(self, out: str, session: Session, *columns: str) -> Graph:
        """Replace numbers and vectors by the vector ``out`` that a model makes of them.

        Encoding lowers no label.

        Args:
            out: name of the new column, a float32 array of shape [codes] per row.
            session: of a model with one float32 input [N, width] and a float32 output [N, codes].
            columns: numbers and vectors that are together ``width`` values.
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

        Absent values count as ``low``. The log stays open as long as the graph lives.

        Args:
            column: what is made private.
            low: values below are raised to it.
            high: values above are lowered to it.
            log: keeps the account durably.
            account: name of what every row spends from.
            epsilon: what every row spends.
            limit: of the account; rows that would pass it are a TaskError when they come.
            mechanism: "laplace" or "gaussian" noise on numbers, or "response" for categories low..high.
            delta: of the Gaussian mechanism.
            resolution: results are multiples of it.
            seed: for tests; None draws from the system's randomness.
        """
        kinds = ("laplace", "gaussian", "response")
        if mechanism not in kinds:
            expected = "laplace, gaussian or response"
            raise ArgumentError.of(f"mechanism '{mechanism}'", expected, f"noise on '{column}'", "choose one")
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
        return Batch._made(self._through(0, batch._native()))

    def finish(self) -> Batch:
        """End the stream: everything open closes; returns the remaining rows."""
        return Batch._made(self._ended())

    def run(self, batch: Batch) -> Batch:
        """Feed a whole stream and end it."""
        return Batch._made(self._through(0, batch._native()).followed_by(self._ended()))

    def outputs(self, given: Mapping[str, Sensitivity]) -> Batch:
        """The columns, labels and paths that this graph would make of columns of these sensitivities.

        No row is needed. Ask a new graph, before its first rows: ``EgressGate.check`` then says when a task
        is built whether its results could ever leave.
        """
        rows = _core.stream.Rows.supposed({name: int(label) for name, label in given.items()})
        for operator in self._operators:
            rows = operator.push(rows)
        return Batch._made(rows)

    @property
    def late(self) -> int:
        """Rows that came after their window's lateness: counted, in no result."""
        return sum(o.late() for o in self._operators)

    @property
    def outside(self) -> int:
        """Rows of page windows that belonged to no page: counted, in no result."""
        return sum(o.outside() for o in self._operators)

    @property
    def evicted(self) -> int:
        """Keys whose state was given up for others'."""
        return sum(o.evicted() for o in self._operators)

    def _through(self, first: int, rows: _core.stream.Rows) -> _core.stream.Rows:
        for operator in self._operators[first:]:
            if not len(rows):
                return _core.stream.Rows()
            rows = operator.push(rows)
        return rows

    def _ended(self) -> _core.stream.Rows:
        out = _core.stream.Rows()
        for i, operator in enumerate(self._operators):
            out = out.followed_by(self._through(i + 1, operator.finish()))
        return out
