"""Times of single operators beside onnxruntime's, and whether they agree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from operator_cases import Array, Case

from walle_rt.bench.peers import Run, Unavailable, prepare
from walle_rt.bench.rounds import measure

SLOT_SECONDS = 0.01  # of some hundred cases each; the least of all calls counts
CLOSE = 1e-5  # of the range of a result of floats


@dataclass(frozen=True)
class Row:
    """A case: microseconds of the fastest call, nothing for a peer that has no such kernel."""

    name: str
    ours: float
    peer: float | None
    agrees: bool = True

    @property
    def ratio(self) -> float | None:
        return self.ours / self.peer if self.peer else None


def measured(case: Case, folder: Path, rounds: int, threads: int = 1) -> Row:
    """Both engines in turn on one file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "operator.onnx"
    path.write_bytes(case.model().SerializeToString())
    feeds = case.feeds()
    runs: dict[str, Run] = {"walle": prepare("walle", path, feeds, threads, folder)}
    try:
        runs["onnxruntime"] = prepare("onnxruntime", path, feeds, threads, folder)
    except Unavailable:
        raise
    except Exception as error:  # onnxruntime's own classes, which have no base but this
        if "NOT_IMPLEMENTED" not in str(error) and "INVALID_GRAPH" not in str(error):
            raise
    agrees = "onnxruntime" not in runs or _agree(runs["walle"](), runs["onnxruntime"]())
    found = measure(runs, rounds, slot_seconds=SLOT_SECONDS, most=rounds)
    peer = found.least_ms("onnxruntime") * 1e3 if "onnxruntime" in runs else None
    return Row(case.name, found.least_ms("walle") * 1e3, peer, agrees)


def _agree(ours: list[Array], theirs: list[Array]) -> bool:
    return all(map(_same, ours, theirs))


def _same(a: Array, b: Array) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    if a.size == 0:
        return True
    off = np.abs(a.astype(np.float64) - b)
    return bool(np.nanmax(off) <= CLOSE * max(1.0, float(np.nanmax(np.abs(b)))))
