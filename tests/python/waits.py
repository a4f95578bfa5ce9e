"""How long a test waits for what is to happen: as long as a slow machine with more work than cores may take.

A wait ends when what it waits for holds, so that a long one costs nothing where the test passes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

# Less than pytest gives a whole test (300 s), so that the wait is what is told.
PATIENCE_S = 120.0

T = TypeVar("T")


def until(holds: Callable[[], T | None], what: str = "it does not happen", within_s: float = PATIENCE_S) -> T:
    """What a call gives as soon as that is something; a failure that says ``what`` where it stays nothing."""
    end = time.monotonic() + within_s
    while not (found := holds()):
        assert time.monotonic() < end, f"{what}, for {within_s:.0f} s"
        time.sleep(0.01)
    return found
