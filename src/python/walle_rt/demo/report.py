"""What the demo prints: headings, lines, and progress that a log file can bear."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ..explain import Explanation

T = TypeVar("T")


def heading(text: str) -> None:
    """A new part of the demo."""
    print(f"\n== {text}")


def line(text: str = "") -> None:
    """One line of it."""
    print(f"   {text}" if text else "")


def progress(items: Iterable[T], total: int, what: str) -> Iterator[T]:
    """Pass the items on; redraw one line in a terminal, print a line at each quarter elsewhere."""
    live = sys.stdout.isatty()
    for done, item in enumerate(items, 1):
        yield item
        if live:
            bar = "#" * (30 * done // total)
            print(f"\r   {what} [{bar:30s}] {done}/{total}", end="\n" if done == total else "", flush=True)
        elif done == total or 4 * done // total != 4 * (done - 1) // total:
            print(f"   {what} {done}/{total}", flush=True)


@dataclass
class Stopwatch:
    """Collects the time of repeated runs."""

    seconds: list[float] = field(default_factory=list)

    def __enter__(self) -> None:
        """Start."""
        self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        """Stop and keep."""
        self.seconds.append(time.perf_counter() - self._start)

    def __str__(self) -> str:
        """Median and minimum in milliseconds."""
        ordered = sorted(self.seconds)
        if not ordered:
            return "no runs"
        median, minimum = ordered[len(ordered) // 2] * 1e3, ordered[0] * 1e3
        return (
            f"median {median:.2f} ms, minimum {minimum:.2f} ms, {len(ordered)} run{'s'[: len(ordered) > 1]}"
        )


def plan_summary(explanation: Explanation) -> None:
    """The costliest rows of a session's plans, and the time by algorithm and by name."""
    for entry in str(explanation).splitlines():
        line(entry[:160])
    line("all rows: print(session.explain())")
