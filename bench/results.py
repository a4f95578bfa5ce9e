"""Where the figures of one bench run are kept until the tables and the report at its end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from walle_rt.bench.bars import Bar, bar_table
from walle_rt.bench.compare import Comparison
from walle_rt.bench.curves import Point


@dataclass
class Results:
    """All that the report shows."""

    comparisons: list[Comparison] = field(default_factory=list)
    curves: list[Point] = field(default_factory=list)
    operators: list[dict[str, Any]] = field(default_factory=list)
    sessions: list[dict[str, Any]] = field(default_factory=list)
    two_threads: list[dict[str, Any]] = field(default_factory=list)  # ms: 1, 2 threads quiet; 1, 2 busy
    startup: list[dict[str, Any]] = field(default_factory=list)
    roof: dict[str, float] = field(default_factory=dict)
    sections: list[tuple[str, list[str]]] = field(default_factory=list)  # title and lines of further tables
    bars: dict[tuple[str, str], list[Bar]] = field(default_factory=dict)  # by file name and title
    tables: dict[tuple[str, str], list[dict[str, Any]]] = field(
        default_factory=dict
    )  # likewise, for JSON alone
    announced: str = ""

    def bar(self, file: str, title: str, bar: Bar) -> None:
        """Keep one line of a table."""
        self.bars.setdefault((file, title), []).append(bar)
        print(*("", *bar_table([bar])), sep="\n")

    @property
    def empty(self) -> bool:
        """Whether nothing was measured that a table or plot shows."""
        return not (self.comparisons or self.curves or self.operators or self.sections or self.bars)

    def as_dict(self) -> dict[str, Any]:
        """For the report."""
        return {
            "models": [r.as_dict() for r in self.comparisons],
            "curves": [p.as_dict() for p in self.curves],
            "operators": self.operators,
            "sessions": self.sessions,
            "two_threads": self.two_threads,
            "startup": self.startup,
            "roof": self.roof,
        }


RESULTS = pytest.StashKey[Results]()
