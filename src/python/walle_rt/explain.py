"""What a session's plans say: where every operator runs, how, at what cost, and where its result lies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import _core, explain_text
from .html import explanation_html
from .name_groups import by_prefix


@dataclass(frozen=True)
class ExplainChoice:
    """One way to run a step, taken or not, and the work its time is predicted from."""

    backend: str
    algorithm: str
    kernel: str  # the row of the table of costs, with ``isa``
    isa: str  # instruction set; empty for kernels that are compiled once
    features: dict[str, float]  # quantity -> amount: flop, bytes by level, tiles, tails, calls, launches
    threads: int  # that share the work
    predicted_ms: float
    measured_ms: float  # by a tuned search; 0: not measured
    taken: bool


@dataclass(frozen=True)
class ExplainRow:
    """One step of one plan: where it runs, how, at what cost, and what it was chosen over.

    A step that moves a value between two memories has the op "copy". What is done outside plans has the
    backend "host" and plan 0: nodes that the executor runs itself (If, Loop, sequences, strings ...), each
    without the steps of its bodies, which have rows of their own; making plans (op "plan"), making their
    kernels ready and packing weights, which is what a first run takes beside the plan (op "pack"), fitting a
    plan for a class of shapes to a new one (op "fit"); and plans that made room for others (op "dropped").
    """

    plan: int  # plans are numbered in the order of the rows: one per part of a graph and set of shapes
    graph: str
    node: str  # the node of the graph this step came from
    op: str
    backend: str
    algorithm: str
    parameters: dict[str, int]
    # dtype that it multiplies in: "bfloat16" or "float16" only as ``precision`` asks, "int8" where a model of
    # float32 allows it (accuracy_level 4 of MatMulNBits); "" of copies
    arithmetic: str
    weights: (
        str  # dtype that its constant weights lie in: "float16" or "bfloat16" of a model that stores them so
    )
    output: str  # dtype that the result is kept in ("bfloat16": see ``memory``), and its shape
    memory: str  # that the result lies in: "host", or a backend's own
    storage: str  # where in it: "arena", "output", "input", "constant" or "nowhere"
    offset: int  # bytes, into the arena or into the value whose bytes it shares
    workspace_bytes: int  # scratch memory, in the arena
    flops: float
    bytes: float  # operands read and written once; of a copy, the bytes moved
    predicted_ms: float
    measured_runs: int  # runs of this step under ``Session.profile``
    measured_ms: float  # mean of those runs; 0 without any
    losers: list[tuple[str, float]]  # the other algorithms and their predicted ms
    choices: list[ExplainChoice]  # the one taken first, then the losers; none for copies and the executor
    per_run: float = 0.0  # runs of this step in one profiled run of the session: more than 1 in a loop

    @property
    def ms(self) -> float:
        """In one run of the session: measured where it was, else predicted."""
        return self.measured_ms * self.per_run if self.measured_runs else self.predicted_ms


def _off(row: ExplainRow) -> float:
    return abs(row.predicted_ms - row.measured_ms) * row.per_run


def _row(native: _core._Step, runs: int) -> ExplainRow:
    choices = [ExplainChoice(**choice) for choice in native["choices"]]
    per_run = native["measured_runs"] / max(runs, 1)
    return ExplainRow(**{**native, "choices": choices, "per_run": per_run})  # type: ignore[arg-type]


@dataclass(frozen=True)
class Explanation:
    """The plans a session has made so far; one exists after the first run with the shapes in question."""

    rows: list[ExplainRow]
    plans: int
    arena_bytes: int  # of the largest plan, all memories together
    arenas: dict[str, int]  # per memory, of the plan that needs most there
    activation_bytes: int  # sum of all intermediate values, before they share memory
    aliases: int  # movements that became another view of the same bytes
    predicted_ms: float
    search_ms: float  # that making these plans took, without preparing their kernels
    costs: str  # name of the table of costs that predicts
    # How many plans came from the "cache", or were searched for: "search", none was asked for; "kept", the
    # cache has it now; "not_kept", it cannot be written; "mended", what it had was damaged or stale.
    plan_sources: dict[str, int]
    # Of a session with ``weights_cache``, how many blocks of packed weights were mapped from the "cache", or
    # packed: "kept", the cache has it now; "not_kept", too small for it, or it cannot be written; "mended",
    # its file was damaged.
    weight_sources: dict[str, int]
    profiled_runs: int  # of the session, under ``Session.profile``
    wall_ms: float  # mean of those, from the moment the session was free
    program: str  # text of every lowered part, rasters included
    top: int | None = None  # rows that the text shows, the costliest; None: all, in the order they run

    @classmethod
    def of(cls, native: _core._Plans, top: int | None = None) -> Explanation:
        """From what the native core says."""
        runs = native["profiled_runs"]
        return cls(
            rows=[_row(row, runs) for row in native["rows"]],
            plans=native["plans"],
            arena_bytes=native["arena_bytes"],
            arenas=native["arenas"],
            activation_bytes=native["activation_bytes"],
            aliases=native["aliases"],
            predicted_ms=native["predicted_ms"],
            search_ms=native["search_ms"],
            costs=native["costs"],
            plan_sources=native["plan_sources"],
            weight_sources=native["weight_sources"],
            profiled_runs=runs,
            wall_ms=native["wall_ms"],
            program=native["program"],
            top=top,
        )

    @property
    def measured_ms(self) -> float:
        """Time of all measured rows in one run of the session; 0 before ``Session.profile``."""
        return sum(r.ms for r in self.rows if r.measured_runs)

    @property
    def unaccounted_ms(self) -> float:
        """What a profiled run took beside its rows: checking inputs, results' memory, between steps."""
        return max(self.wall_ms - self.measured_ms, 0.0)

    @property
    def total_ms(self) -> float:
        """What the shares are of: a profiled run, else everything predicted."""
        return self.wall_ms if self.profiled_runs else sum(r.ms for r in self.rows)

    def time_of(self, row: ExplainRow) -> float:
        """Milliseconds of a row in one run of the session; after a profile 0 for what did not run in it."""
        return row.ms if row.measured_runs or not self.profiled_runs else 0.0

    def costliest(self, count: int) -> list[ExplainRow]:
        """The rows that take most of a run, the costliest first."""
        return sorted(self.rows, key=self.time_of, reverse=True)[:count]

    def mispredicted(self, count: int = 5) -> list[ExplainRow]:
        """Measured rows whose prediction is off by most milliseconds per run, the worst first."""
        rows = [r for r in self.rows if r.measured_runs and r.predicted_ms > 0]
        return sorted(rows, key=_off, reverse=True)[:count]

    def by_algorithm(self) -> list[tuple[str, float]]:
        """Algorithm and milliseconds (measured, else predicted), the costliest first."""
        return self._grouped(lambda row: row.algorithm)

    def by_name(self, depth: int | None = None) -> list[tuple[str, float]]:
        """First parts of the nodes' names and milliseconds, the costliest first.

        Args:
            depth: how many parts ("/block1/conv/Conv" has three); by default as many as it takes for no group
                to hold nearly everything.
        """
        return by_prefix([(row.node, self.time_of(row)) for row in self.rows], depth)

    def _grouped(self, key: Callable[[ExplainRow], str]) -> list[tuple[str, float]]:
        times: dict[str, float] = {}
        for row in self.rows:
            times[key(row)] = times.get(key(row), 0.0) + self.time_of(row)
        return sorted(times.items(), key=lambda item: -item[1])

    def text(self, *, losers: bool = False, top: int | None = None) -> str:
        """Lay out a summary and a table for people; with ``losers`` also what each step was chosen over.

        Args:
            losers: also list the algorithms that were not chosen.
            top: only this many rows, the costliest, then the time by algorithm and by name; 0 for no rows;
                by default what ``Session.explain`` was asked for.
        """
        top = self.top if top is None else top
        return explain_text.table(self, losers) if top is None else explain_text.best(self, top, losers)

    def summary(self) -> list[str]:
        """Steps and memory, work, time by algorithm, the table of costs, what it mispredicts most."""
        return explain_text.summary(self)

    def __repr__(self) -> str:
        """Counts and times; ``print`` shows the table."""
        how, ms = ("measured", self.measured_ms) if self.profiled_runs else ("predicted", self.predicted_ms)
        return f"Explanation({len(self.rows)} rows, {self.plans} plans, {how} {ms:.3f} ms)"

    def __str__(self) -> str:
        """The table."""
        return self.text()

    def _repr_html_(self) -> str:
        """For notebooks."""
        return explanation_html(self)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        shown = self.rows if self.top is None else self.costliest(self.top)
        return {
            **vars(self),
            "measured_ms": self.measured_ms,
            "unaccounted_ms": self.unaccounted_ms,
            "by_algorithm": self.by_algorithm(),
            "by_name": self.by_name(),
            "rows": [
                vars(r) | {"ms": self.time_of(r), "choices": [vars(c) for c in r.choices]} for r in shown
            ],
        }
