"""walle_rt itself."""

from __future__ import annotations

from pathlib import Path

import walle_rt

from ..builder import Array
from . import Feeds, Run

SETTINGS = "backend cpu, precision float32, plan by the cost model"


def prepare(model: Path, feeds: Feeds, threads: int, cache: Path) -> Run:
    """Load the ONNX file and open a float32 session."""
    session = walle_rt.load(str(model)).session(backend="cpu", threads=threads, precision="float32")

    def run() -> list[Array]:
        return list(session.run(feeds).values())

    return run
