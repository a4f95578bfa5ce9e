"""The table of stages: minutes from marks, what grew, what is new."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import stages


def test_minutes_are_from_one_mark_to_the_next() -> None:
    taken = stages.minutes(["60.0\tbuild", "180.0\tC++ tests", "240.0\tbuild"], 300.0)
    assert taken == {"build": 3.0, "C++ tests": 1.0}


def test_a_stage_that_grew_by_a_fifth_is_told() -> None:
    lines = stages.table({"build": 1.25, "docs": 1.19, "new": 9.0}, {"build": 1.0, "docs": 1.0})
    assert [line for line in lines if line.startswith("grown")] == ["grown: build: 1.2 min, usually 1.0"]
    assert lines[3].split() == ["new", "9.0", "-"]


def test_seconds_are_noise() -> None:
    assert not any("grown" in line for line in stages.table({"floors": 0.2}, {"floors": 0.05}))
