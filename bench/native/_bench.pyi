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

class Device:
    """A device that records taps: events `tap` with one field, `item`."""

    def __init__(self, directory: str, vm_library: str, workers: int) -> None: ...
    def install(self, bundle: bytes, /) -> None: ...
    def remove(self, task: str, /) -> None: ...
    def record(self, count: int, /) -> npt.NDArray[np.int64]:
        """Wall-clock nanoseconds of each record()."""
    def first_lines(self, count: int, gap_us: int, settle: bool = True) -> npt.NDArray[np.int64]:
        """Wall-clock nanoseconds from before record() to the first line that a task logs."""
    def drain(self, count: int, /) -> float:
        """Seconds from the first event to the last result."""
    def tap(self, item: int) -> int:
        """Record one event; the clock's nanoseconds before it."""
    def wait_idle(self) -> None: ...
    def ends(self) -> dict[str, list[int]]:
        """By task, the clock's nanoseconds when each result came."""
    def counts(self) -> dict[str, int]: ...
    def error(self) -> str:
        """The newest error of a task."""
    def execute_us(self) -> int:
        """Microseconds of all execute phases since the last call."""

def session_us(model: bytes, count: int) -> float:
    """Mean wall-clock microseconds of Session.run on zeros."""

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

def policy_ns(plan: bytes, headers: Sequence[str], now_s: int, rounds: int) -> float:
    """Mean CPU nanoseconds of one check of a header."""

def peak_gflops() -> float:
    """10^9 float32 operations per second of one core: multiply-adds in registers, the best of 40 rounds."""
