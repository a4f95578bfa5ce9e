"""Interleaved rounds: which count, and the figures that are made of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from walle_rt.bench.load import Snapshot
from walle_rt.bench.rounds import FEWEST_CALLS, SETTLE_STEP, Rounds, Slot, interleave, measure, settle


def watch(pattern: str) -> Callable[[], Snapshot]:
    """Snapshots whose rounds are quiet (q) or loaded (l), the last one for ever."""

    def moments() -> Iterator[Snapshot]:
        machine, i = 0.0, 0
        while True:
            yield Snapshot(0.0, machine, 0.0, 0)
            machine += 1.0 if pattern[min(i, len(pattern) - 1)] == "l" else 0.0
            yield Snapshot(1.0, machine, 0.0, 0)
            i += 1

    source = moments()
    return lambda: next(source)


def test_loaded_rounds_are_made_up_for_and_counted() -> None:
    found = measure({"a": lambda: None}, 3, slot_seconds=0, snapshot=watch("qlqlq"))
    assert found.quiet == [True, False, True, False, True]
    assert (found.thrown, found.disturbed, len(found.kept("a"))) == (2, False, 3)


def test_there_is_an_end_to_it() -> None:
    found = measure({"a": lambda: None}, 4, slot_seconds=0, snapshot=watch("qql"), most=7)
    assert len(found.quiet) == 7 and found.thrown == 5
    assert not found.disturbed and len(found.kept("a")) == 2  # two quiet rounds are enough
    found = measure({"a": lambda: None}, 4, slot_seconds=0, snapshot=watch("ql"))
    assert len(found.quiet) == 8  # twice as many by default
    assert found.disturbed and len(found.kept("a")) == 8


def test_one_round_that_was_asked_for_is_enough_where_it_is_quiet() -> None:
    assert not measure({"a": lambda: None}, 1, slot_seconds=0, snapshot=watch("q")).disturbed
    assert measure({"a": lambda: None}, 1, slot_seconds=0, snapshot=watch("l")).disturbed


def test_the_order_turns() -> None:
    called: list[str] = []
    runs = {name: (lambda n=name: called.append(n)) for name in "abc"}
    measure(runs, 3, slot_seconds=0, snapshot=watch("q"))
    order = "abc" + "abc" + "bca" + "cab"  # once before all rounds, then slots
    assert "".join(called) == order[:3] + "".join(name * FEWEST_CALLS for name in order[3:])


def test_slots_begin_at_rest() -> None:
    moments: list[str] = []
    runs = {"a": lambda: moments.append("a"), "b": lambda: moments.append("b")}
    measure(runs, 1, slot_seconds=0, snapshot=watch("q"), settled=lambda: moments.append("."))
    assert "".join(moments) == "ab" + "." + "a" * FEWEST_CALLS + "." + "b" * FEWEST_CALLS


def test_settling_waits_for_threads_that_spin() -> None:
    used, slept = [0.0], []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        used[0] += seconds if len(slept) <= 5 else 0.0

    assert settle(used=lambda: used[0], sleep=sleep)
    assert len(slept) == 6  # five steps with a spinning thread, and the one that saw none
    assert not settle(0.1, used=lambda: time.perf_counter(), sleep=time.sleep)  # one that never parks


def test_settling_sees_the_threads_of_this_process() -> None:
    stop = threading.Event()

    def spin() -> None:
        while not stop.is_set():
            pass

    thread = threading.Thread(target=spin)
    thread.start()
    try:
        assert not settle(10 * SETTLE_STEP)
    finally:
        stop.set()
        thread.join()
    assert settle()


def test_figures() -> None:
    slots = [Slot(0.002, 0.004, 5), Slot(0.001, 0.1, 5), Slot(0.003, 0.006, 5), Slot(0.0025, 0.005, 5)]
    found = Rounds({"a": slots}, [True, False, True, True])
    assert found.least_ms("a") == pytest.approx(2.0)  # not the loaded round's 1 ms
    assert found.median_ms("a") == pytest.approx(5.0)
    assert found.rounds_ms("a") == pytest.approx([4.0, 6.0, 5.0])


def test_interleave_gives_milliseconds() -> None:
    found = interleave({"a": lambda: None, "b": lambda: sum(range(20_000))}, 2)
    assert 0 < found["a"] < found["b"]
