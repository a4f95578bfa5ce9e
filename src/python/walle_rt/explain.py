"""What a session's plans say: where every operator runs, how, at what cost, and where its result lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import _core
from .html import explanation_html


@dataclass(frozen=True)
class ExplainRow:
    """One step of one plan: where it runs, how, at what cost, and what it was chosen over.

    A step that moves a value between two memories has the op "copy".
    """

    plan: int  # plans are numbered in the order of the rows: one per part of a graph and set of shapes
    graph: str
    node: str  # the node of the graph this step came from
    op: str
    backend: str
    algorithm: str
    parameters: dict[str, int]
    output: str  # dtype and shape of the result
    memory: str  # that the result lies in: "host", or a backend's own
    storage: str  # where in it: "arena", "output", "input", "constant" or "nowhere"
    offset: int  # bytes, into the arena or into the value whose bytes it shares
    workspace_bytes: int  # scratch memory, in the arena
    flops: float
    bytes: float  # operands read and written once; of a copy, the bytes moved
    predicted_ms: float
    measured_runs: int  # runs under ``Session.profile``
    measured_ms: float  # mean of those runs; 0 without any
    losers: list[tuple[str, float]]  # the other algorithms and their predicted ms

    @property
    def ms(self) -> float:
        """Measured where it was, else predicted."""
        return self.measured_ms if self.measured_runs else self.predicted_ms


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
    program: str  # text of every lowered part, rasters included

    @classmethod
    def of(cls, native: _core._Plans) -> Explanation:
        """From what the native core says."""
        return cls(
            rows=[ExplainRow(**row) for row in native["rows"]],
            plans=native["plans"],
            arena_bytes=native["arena_bytes"],
            arenas=native["arenas"],
            activation_bytes=native["activation_bytes"],
            aliases=native["aliases"],
            predicted_ms=native["predicted_ms"],
            program=native["program"],
        )

    @property
    def measured_ms(self) -> float:
        """Mean time of all measured steps together; 0 before ``Session.profile``."""
        return sum(r.measured_ms for r in self.rows)

    def by_algorithm(self) -> list[tuple[str, float]]:
        """Algorithm and milliseconds (measured, else predicted), the costliest first."""
        times: dict[str, float] = {}
        for row in self.rows:
            times[row.algorithm] = times.get(row.algorithm, 0.0) + row.ms
        return sorted(times.items(), key=lambda item: -item[1])

    def text(self, *, losers: bool = False) -> str:
        """Lay out a table for people; with ``losers`` also what each step was chosen over."""
        total = sum(r.ms for r in self.rows) or 1.0
        many = len({r.backend for r in self.rows}) > 1
        lines = [_head(many)]
        plan = 1
        for row in self.rows:
            if self.plans > 1 and (row.plan != plan or row is self.rows[0]):
                plan = row.plan
                lines.append(f"-- plan {plan}, graph '{row.graph}'")
            lines.append(_line(row, total, many))
            if losers:
                lines += [f"{'':<14}over {name} ({ms * 1e3:.1f} us)" for name, ms in row.losers]
        return "\n".join([*lines, *self.summary()])

    def summary(self) -> list[str]:
        """Three lines: steps and memory, work and time, time by algorithm."""
        flops, moved = sum(r.flops for r in self.rows), sum(r.bytes for r in self.rows if r.op != "copy")
        measured = f", measured {self.measured_ms:.3f} ms" if any(r.measured_runs for r in self.rows) else ""
        total = sum(r.ms for r in self.rows) or 1.0
        shares = ", ".join(f"{name} {ms / total:.0%}" for name, ms in self.by_algorithm()[:5])
        return [
            f"{len(self.rows)} steps on {', '.join(sorted({r.backend for r in self.rows})) or 'nothing'},"
            f" {self.aliases} aliases (no copy); arena {self.arena_bytes / 1e6:.2f} MB for"
            f" {self.activation_bytes / 1e6:.2f} MB of activations",
            f"{flops / 1e6:.1f} MFLOP, {moved / 1e6:.1f} MB read and written;"
            f" predicted {self.predicted_ms:.3f} ms{measured}",
            f"time by algorithm: {shares or 'none'}",
            *self._copies(),
        ]

    def _copies(self) -> list[str]:
        copies = [r for r in self.rows if r.op == "copy"]
        if len(self.arenas) < 2:
            return []
        arenas = ", ".join(f"{name} {size / 1e6:.2f} MB" for name, size in self.arenas.items())
        moved, ms = sum(r.bytes for r in copies), sum(r.predicted_ms for r in copies)
        said = f"{len(copies)} copies between memories: {moved / 1e6:.2f} MB, predicted {ms:.3f} ms"
        return [f"{said}; arenas: {arenas}"]

    def __str__(self) -> str:
        """The table."""
        return self.text()

    def _repr_html_(self) -> str:
        """For notebooks."""
        return explanation_html(self)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "measured_ms": self.measured_ms, "rows": [vars(r) for r in self.rows]}


def _head(many: bool) -> str:
    return (
        f"{'op':<13} {'on ' if many else ''}{'algorithm':<35} {'result':<24} {'at':<14} {'MFLOP':>7} "
        f"{'kB':>7} "
        f"{'predicted':>9} {'measured':>9} {'GFLOP/s':>7} {'GB/s':>5} {'share':>6}  node"
    )


def _line(row: ExplainRow, total_ms: float, many: bool) -> str:
    parameters = ",".join(f"{k}={v}" for k, v in row.parameters.items())
    algorithm = row.algorithm + (f"({parameters})" if parameters else "")
    place = f"{row.storage}+{row.offset}" if row.storage == "arena" or row.offset else row.storage
    measured = f"{row.measured_ms * 1e3:.1f}us" if row.measured_runs else "-"
    seconds = row.ms / 1e3 or 1e-12
    speed = f"{row.flops / seconds / 1e9:.1f}" if row.flops else "-"
    return (
        f"{row.op:<13} {f'{row.backend} ' if many else ''}{algorithm:<35} {row.output:<24} {place:<14} "
        f"{row.flops / 1e6:>7.2f} {row.bytes / 1e3:>7.1f} {row.predicted_ms * 1e3:>7.1f}us {measured:>9} "
        f"{speed:>7} "
        f"{row.bytes / seconds / 1e9:>5.1f} {row.ms / total_ms:>6.1%}  {row.node}"
    )
