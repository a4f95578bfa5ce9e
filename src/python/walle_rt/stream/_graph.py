"""A chain of native stream operators over columnar batches: data that a task can carry, and at work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .. import _core
from ..errors import ArgumentError
from ..session import Session
from ._aggregate import Aggregate
from ._batch import Batch
from ._catalog import Catalog, Sensitivity
from ._log import EventLog


class Graph:
    """A chain of operators; each method adds one and returns the graph.

    Times are in seconds. A graph holds the state of its windows: feed one stream through one graph. What it
    gives depends on its rows and their order alone, never on how they were cut into batches. Methods
    raise ArgumentError for what no row could be right for (no aggregate, an unknown mechanism, a predicate
    that does not parse); a column that rows lack is an ArgumentError when they come.

    ``print(graph)`` shows its operators, one a line; ``len(graph)`` counts them. ``to_bytes`` is what a task
    carries: it runs without Python.
    """

    def __init__(self) -> None:
        """Start with no operator: rows pass unchanged."""
        self._native = _core.stream.Graph()
        self._keys: list[str] = []
        self._models: dict[str, Session] = {}

    @classmethod
    def from_bytes(
        cls, data: bytes, *, log: EventLog | None = None, models: Mapping[str, Session] | None = None
    ) -> Graph:
        """A new graph of ``to_bytes``, without rows yet.

        Args:
            data: what ``to_bytes`` gave; anybody may have made it.
            log: keeps the privacy accounts that noise spends from.
            models: a session for each model that the graph encodes with, by its name.

        Raises:
            ModelError: the bytes are damaged, of another version, or describe no graph.
            ResourceError: a model or the log is missing.
        """
        graph = cls()
        graph._models = dict(models or {})
        sessions = {name: session._native for name, session in graph._models.items()}
        graph._native = _core.stream.Graph.from_bytes(
            bytes(data), None if log is None else log._core, sessions
        )
        return graph

    def to_bytes(self) -> bytes:
        """The operators as bytes with a checksum (docs/reference/formats/graph.md).

        Models and privacy accounts travel as names; rows, state, logs and seeds of noise do not.

        Raises:
            ArgumentError: the graph is larger than 1 MB.
        """
        return self._native.to_bytes()

    def __str__(self) -> str:
        """One line per operator."""
        return self._native.text()

    def __repr__(self) -> str:
        """How many operators."""
        return f"<Graph of {len(self)} operators>"

    def __len__(self) -> int:
        """Number of operators; the right side of a join counts as one with it."""
        return len(self._native)

    @property
    def fields(self) -> list[str]:
        """The contents that events must be read with for this graph: ``Batch.of_log(log, graph.fields)``."""
        return self._native.fields()

    def filter(self, predicate: str) -> Graph:
        """Keep rows for which a predicate of the trigger language holds."""
        self._native.add_filter(predicate)
        return self

    def map(self, out: str, left: str, op: str = "=", right: float | str = "") -> Graph:
        """Column out = left op right with op + - * /, ``right`` a number or a column; op "=" copies."""
        self._native.add_map(out, left, op, str(right))
        return self

    def select(self, *columns: str) -> Graph:
        """Keep only these columns."""
        self._native.add_select(list(columns))
        return self

    def dedupe(self, *keys: str, within_s: float = 0.0, max_keys: int = 65_536) -> Graph:
        """Keep the first row of each key, and one again after ``within_s`` (0: never again).

        Beyond ``max_keys`` the key not seen longest is forgotten and counted in ``evicted``: its next row
        passes.
        """
        self._native.add_dedupe(list(keys), round(within_s * 1e6), max_keys)
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
        self._native.add_window(
            kind,
            size_us=round(size_s * 1e6),
            slide_us=round(slide_s * 1e6),
            disorder_us=round(disorder_s * 1e6),
            lateness_us=round(lateness_s * 1e6),
            keys=self._keys,
            aggregates=list(aggregates),
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
        running = what if isinstance(what, Aggregate) else None
        if not isinstance(what, Aggregate) and what not in kinds:
            expected = "previous, first, since or an aggregate"
            raise ArgumentError.of(f"state '{what}'", expected, f"state '{out}'", "choose one of these")
        kind = kinds.index(what) if isinstance(what, str) else 3
        if isinstance(what, Aggregate):
            column = what.column
        self._native.add_state(
            kind, keys=self._keys, column=column, aggregate=running, out=out, max_keys=max_keys
        )
        return self

    def encode(self, out: str, session: Session, *columns: str, model: str = "") -> Graph:
        """Replace numbers and vectors by the vector ``out`` that a model makes of them.

        Encoding lowers no label.

        Args:
            out: name of the new column, a float32 array of shape [codes] per row.
            session: of a model with one float32 input [N, width] and a float32 output [N, codes].
            columns: numbers and vectors that are together ``width`` values.
            model: the model's name in ``to_bytes``, in a task the resource it is; "" numbers it: model1,
                model2 ...

        Raises:
            ArgumentError: another session has this name in the graph.
        """
        known = [name for name, other in self._models.items() if other is session]
        if not model:
            model = known[0] if known else f"model{len(self._models) + 1}"
        self._native.add_encode(list(columns), out, model, session._native)
        self._models[model] = session
        return self

    def ipv(
        self,
        out: str = "ipv",
        *,
        depth: str = "depth",
        item: str = "item",
        idle_s: float = 1800.0,
        disorder_s: float = 0.0,
    ) -> Graph:
        """One row per page instance: page_instance, window_start, window_end and its item page view feature.

        ``out`` is the vector of ``ipv_feature``, float32 [332]. Rows need page_instance, event, and the
        columns ``depth`` (of page_scroll) and ``item`` (of exposure and click). A page ends with its
        page_exit, after ``idle_s`` without a row, or with 65,536 rows; what comes later is counted in
        ``late``, rows outside any page in ``outside``.
        """
        idle, disorder = round(idle_s * 1e6), round(disorder_s * 1e6)
        self._native.add_ipv(depth, item, out, idle, disorder)
        return self

    def as_of_join(
        self, right: Graph, *keys: str, within_s: float = 0.0, second_input: bool = False
    ) -> Graph:
        """Give each row the columns of the newest row of ``right`` that is not younger.

        It does so when the stream ends. Columns that both sides have come as ``NAME_right``; rows without a
        partner stay. Both sides wait, at most 1,048,576 rows each.

        Args:
            right: computes its rows from what this graph is given; without a join of its own. Its operators
                are copied, and its rows are not.
            keys: columns of both that must be equal.
            within_s: how many seconds older the right row may be, inclusive; 0: any.
            second_input: ``right`` computes from the rows of ``push(rows, 1)`` instead.
        """
        self._native.add_join(right._native, list(keys), round(within_s * 1e6), second_input)
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
        self._native.add_noise(
            log._core,
            account,
            limit,
            kind=kinds.index(mechanism),
            column=column,
            low=low,
            high=high,
            epsilon=epsilon,
            delta=delta,
            resolution=resolution,
            seed=seed,
        )
        return self

    def push(self, batch: Batch, input: int = 0) -> Batch:
        """Feed rows in their order of arrival; returns what the last operator gives for them.

        ``input``: 1 for the right side of a join that has the second input.
        """
        return Batch._made(self._native.push(batch._native(), input))

    def finish(self) -> Batch:
        """End the stream: everything open closes, joins are made; returns the remaining rows."""
        return Batch._made(self._native.finish())

    def run(self, batch: Batch) -> Batch:
        """Feed a whole stream and end it."""
        return Batch._made(self._native.run(batch._native()))

    def outputs(
        self, given: Mapping[str, Sensitivity] | Catalog, second: Mapping[str, Sensitivity] | None = None
    ) -> Batch:
        """The columns, labels and paths that this graph would make of columns of these sensitivities.

        No row is needed: ``EgressGate.check`` says when a task is built whether its results could ever leave.

        Args:
            given: sensitivities by column, or the catalogue of the log whose ``fields`` the graph reads.
            second: of the second input.

        Raises:
            ArgumentError: the graph reads a column that is not there.
        """
        if isinstance(given, Catalog):
            first = _core.stream.labels_of_log(given._core, self.fields)
        else:
            first = {k: int(v) for k, v in given.items()}
        other = {k: int(v) for k, v in (second or {}).items()}
        return Batch._made(self._native.outputs(first, other))

    @property
    def late(self) -> int:
        """Rows that came after their window's lateness: counted, in no result."""
        return self._native.late()

    @property
    def outside(self) -> int:
        """Rows of page windows that belonged to no page: counted, in no result."""
        return self._native.outside()

    @property
    def evicted(self) -> int:
        """Keys whose state was given up for others'."""
        return self._native.evicted()
