"""Which rounds count as quiet."""

from __future__ import annotations

import pytest

from walle_rt.bench import load
from walle_rt.bench.load import Load, Snapshot, between, busy_seconds

STAT = "cpu  100 20 30 4000 500 6 7 8 90 9\ncpu0 1 2 3 4 5 6 7 8 9 10\n"


def test_busy_is_all_but_idle_and_waiting_and_guests_are_counted_once() -> None:
    assert busy_seconds(STAT, 100) == pytest.approx((100 + 20 + 30 + 6 + 7 + 8) / 100)
    assert busy_seconds("intr 5\n", 100) is None
    assert busy_seconds("cpu 1 2\n", 100) is None  # an older kernel's, without what idles


def test_others_are_the_machine_without_this_process() -> None:
    first, last = Snapshot(10.0, 50.0, 4.0, 3), Snapshot(12.0, 53.0, 5.5, 8)
    assert between(first, last) == Load(2.0, 1.5, 5)
    # Ticks are coarse: less than nothing is nothing.
    assert between(Snapshot(0, 50, 4, 0), Snapshot(1, 50, 5, 0)).other == 0
    assert between(Snapshot(0, None, 4, 0), Snapshot(1, None, 5, 0)).other is None


@pytest.mark.parametrize(
    ("seconds", "other", "switches", "quiet"),
    [
        (1.0, load.OTHER_SHARE, 0, True),  # the limit itself is quiet
        (1.0, load.OTHER_SHARE + 0.01, 0, False),
        (0.01, load.OTHER_SECONDS, 0, True),  # three ticks are not seen in a short round
        (0.01, load.OTHER_SECONDS + 0.001, 0, False),
        (1.0, None, int(load.SWITCHES + load.SWITCHES_PER_SECOND), True),
        (1.0, None, int(load.SWITCHES + load.SWITCHES_PER_SECOND) + 1, False),
        (1.0, 0.0, 10_000, True),  # pools of engines that wait by spinning switch with one another
    ],
)
def test_limits(seconds: float, other: float | None, switches: int, quiet: bool) -> None:
    assert Load(seconds, other, switches).quiet is quiet


def test_a_busy_moment_of_this_process_is_its_own() -> None:
    before = load.snapshot()
    total = sum(range(2_000_000))
    found = between(before, load.snapshot())
    assert total and found.seconds > 0 and found.switches >= 0
    assert found.other is None or found.other >= 0


def test_unwatched_is_always_quiet() -> None:
    assert between(load.unwatched(), load.unwatched()).quiet
