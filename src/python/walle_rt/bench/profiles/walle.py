"""walle_rt's own profile: Session.profile and Session.explain."""

from __future__ import annotations

from pathlib import Path

import walle_rt

from ..peers import Feeds
from . import Nodes, Row

_MOVES = ("raster", "copy")


def profile(model: Path, nodes: Nodes, feeds: Feeds, cache: Path, runs: int) -> list[Row]:
    """Rows of the plans, and one for what is between and around the steps."""
    session = walle_rt.load(str(model)).session(backend="cpu", threads=1, precision="float32")
    session.run(feeds)
    least: list[float] = []
    around = float("inf")
    for _ in range(runs):  # each a profile of its own, which has means alone
        with session.profile():
            session.run(feeds)
        explained = session.explain()
        times = [explained.time_of(row) for row in explained.rows]
        least = [min(pair) for pair in zip(least or times, times, strict=True)]
        around = min(around, explained.unaccounted_ms)
    rows = []
    for row, ms in zip(explained.rows, least, strict=True):
        found = nodes.find(row.node)
        rows.append(
            Row(
                nodes=(found,) if found else (),
                kind=row.op,
                ms=ms,
                moves=row.op in _MOVES,
                algorithm=row.algorithm,
                output=row.output,
                parameters=row.parameters,
                flops=row.flops,
                bytes=row.bytes,
                workspace_bytes=row.workspace_bytes,
            )
        )
    rows.append(Row((), "call", around))
    return [row for row in rows if row.ms > 0]
