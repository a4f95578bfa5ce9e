"""Sessions at once, and processes that start."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import onnx
import pytest

from walle_rt.bench import startup, zoo
from walle_rt.bench.peers import Unavailable
from walle_rt.bench.sessions import Throughput, session_table, together


def test_calls_that_ended_in_time_are_counted() -> None:
    done, took = together([lambda: time.sleep(0.005), lambda: time.sleep(0.02)], 0.3)
    assert 0.29 < took < 1
    assert done[0] > done[1] >= 1
    assert done[0] <= took / 0.005


def test_a_call_that_never_ends_in_time_counts_nothing() -> None:
    first = threading.Event()

    def slow() -> None:
        if first.is_set():
            time.sleep(0.3)
        first.set()

    done, _ = together([slow], 0.05)
    assert done == [0]


def test_a_failure_is_raised_and_nobody_waits() -> None:
    def fails() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        together([fails, lambda: time.sleep(0.001)], 0.05)


def test_fairness() -> None:
    assert Throughput("e", 1, (10, 5), 2.0).fairness == 0.5
    assert Throughput("e", 1, (10, 5), 2.0).per_second == 7.5
    assert Throughput("e", 1, (0, 0), 1.0).fairness == 0.0
    lines = session_table([Throughput("e", 1, (10,), 1.0), Throughput("e", 1, (4, 4), 1.0)])
    assert "e x1" in lines[0]
    assert lines[2].split() == ["1", "10.0", "100%", "100%"]
    assert lines[3].split() == ["2", "8.0", "80%", "100%"]


def test_a_process_starts(tmp_path: Path) -> None:
    model = zoo.build("voice_rnn")
    file, inputs = tmp_path / "m.onnx", tmp_path / "x.npz"
    onnx.save(model, str(file))
    np.savez(inputs, **zoo.feeds(model))  # type: ignore[arg-type]
    seconds, peak = startup.once("walle (.onnx)", file, inputs, "speech")
    assert 0.01 < seconds < 60 and peak > 10**7
    with pytest.raises(Unavailable, match="no result"):
        startup.once("walle (.onnx)", tmp_path / "absent.onnx", inputs, "speech")


def test_tables_say_why_there_is_no_figure() -> None:
    found = [
        startup.Start("m", "walle", 0.125, 50_000_000),
        startup.Start("m", "MNN", 0.0, 0, "no result: x"),
    ]
    lines = startup.start_table(found)
    assert lines[1].split() == ["m", "walle", "0.125", "50.0"]
    assert lines[2].split() == ["m", "MNN", "no", "result:", "x"]
