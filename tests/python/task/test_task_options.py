"""Limits on the command line of ``walle task``."""

from __future__ import annotations

import pytest

from walle_rt import ArgumentError
from walle_rt.cli.task_options import parse_limits


def test_sizes_and_times() -> None:
    assert parse_limits(["heap=32M,wall=500", "cpu=100"]) == {
        "heap_bytes": 32 << 20,
        "wall_ms": 500,
        "cpu_ms": 100,
    }


@pytest.mark.parametrize(
    "pair",
    [
        "heap",
        "heap=",
        "heap=M",
        "heap=-1",
        "heap=1.5M",
        "wall=1k",
        "nobody=1",
        "wall=²",
        "wall=٣",
        "wall=" + "9" * 5000,
    ],
    ids=lambda pair: pair[:12],
)
def test_others_are_refused(pair: str) -> None:
    """Digits of other scripts, and more of them than Python reads, too."""
    with pytest.raises(ArgumentError, match="expected NAME=NUMBER"):
        parse_limits([pair])
