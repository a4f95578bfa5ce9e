"""Measurements of the native core, for the benchmarks alone; built by CMake, never shipped."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

class Appender:
    """Appends the newest event of an event log again and again."""

    def __init__(self, directory: str, journal_bytes: int) -> None: ...
    def append(self, count: int) -> npt.NDArray[np.int64]:
        """Wall-clock nanoseconds of each append."""

class Matching:
    """A set of triggers that columns of events are matched against."""

    def __init__(self, catalog: bytes, triggers: Sequence[str]) -> None: ...
    def run(
        self,
        events: npt.NDArray[np.uint16],
        pages: npt.NDArray[np.uint16],
        ts: npt.NDArray[np.int64],
        values: npt.NDArray[np.int64],
    ) -> tuple[int, float]:
        """(firings, CPU seconds); ids are the catalogue's, ts in microseconds, values of the first field."""
    @property
    def memory_bytes(self) -> int: ...
    @property
    def nodes(self) -> int: ...

def ipv_ns(
    directory: str,
    page_instance: int,
    weights: npt.NDArray[np.float32],
    bias: npt.NDArray[np.float32],
    repeat: int,
) -> float:
    """Mean CPU nanoseconds of one feature and code."""

class ResultAppender:
    """Commits rows to a result table, one at a time."""

    def __init__(self, directory: str) -> None: ...
    def append(
        self, items: npt.NDArray[np.int64], scores: npt.NDArray[np.float64], labels: Sequence[str]
    ) -> npt.NDArray[np.int64]:
        """Wall-clock nanoseconds of each row."""
    def checkpoint(self) -> None: ...
    def bytes(self) -> int:
        """Of the table's segments."""

def trace_ns(count: int) -> tuple[float, float]:
    """CPU nanoseconds of one span of a trace that is off, and of the loop without it."""
