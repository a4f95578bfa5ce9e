"""Recordings of what all threads did."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from build_model import model
from onnx.helper import make_node

import walle_rt
from walle_rt import _core
from walle_rt.results import ResultStore


def events(path: Path, phase: str = "X") -> list[dict[str, Any]]:
    """Events of one phase of a trace file."""
    return [e for e in json.loads(path.read_text())["traceEvents"] if e["ph"] == phase]


def test_one_file_shows_runs_steps_and_commits_over_threads(tmp_path: Path) -> None:
    node = make_node("Relu", ["x"], ["y"], name="positive")
    session = walle_rt.load(model([node], {"x": [2, 3]}, ["y"])).session()
    with ResultStore(tmp_path / "rows") as store:
        store.declare("t", {"n": "int"})

        def work() -> None:
            session.run({"x": np.ones((2, 3), np.float32)})
            store.append("t", {"n": 1})

        with walle_rt.trace(tmp_path / "trace.json") as told:
            threads = [threading.Thread(target=work) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            store.checkpoint()
    spans = events(tmp_path / "trace.json")
    names = [e["name"] for e in spans]
    assert names.count("session.run") == names.count("commit") == 3
    assert names.count("Relu positive") == 3
    assert "table.write" in names
    assert told.events == len(spans) and told.threads == 4 and told.dropped == 0
    runs = {e["tid"]: e for e in spans if e["name"] == "session.run"}
    assert len(runs) == 3
    for step in (e for e in spans if e["name"] == "Relu positive"):
        run = runs[step["tid"]]
        assert run["ts"] <= step["ts"] and step["ts"] + step["dur"] <= run["ts"] + run["dur"]
    threads_named = [e for e in events(tmp_path / "trace.json", "M") if e["name"] == "thread_name"]
    assert len(threads_named) == 4
    (write,) = (e for e in spans if e["name"] == "table.write")
    assert write["args"] == {"value": 3}


def test_full_buffers_are_counted(tmp_path: Path) -> None:
    with walle_rt.trace(tmp_path / "trace.json", events_per_thread=5) as told:
        for _ in range(8):
            _core.trace_span("mine", _core.trace_clock())
    assert (told.events, told.dropped) == (5, 3)
    assert json.loads((tmp_path / "trace.json").read_text())["otherData"] == {"dropped": "3"}


def test_one_recording_at_a_time_and_an_error_in_the_block_ends_it(tmp_path: Path) -> None:
    second = walle_rt.trace(tmp_path / "no.json")
    with pytest.raises(KeyError), walle_rt.trace(tmp_path / "first.json"):
        with pytest.raises(walle_rt.ArgumentError, match="one at a time"), second:
            pass
        raise KeyError
    assert events(tmp_path / "first.json") == []
    assert not (tmp_path / "no.json").exists()
    with walle_rt.trace(tmp_path / "second.json"):
        pass
    nowhere = walle_rt.trace(tmp_path / "a" / "b")
    with pytest.raises(walle_rt.ResourceError, match="cannot write trace"), nowhere:
        pass
    with pytest.raises(walle_rt.ArgumentError), walle_rt.trace(tmp_path / "x", events_per_thread=0):
        pass


def test_off_nothing_is_kept() -> None:
    assert _core.trace_clock() == 0
    _core.trace_span("never", 5)
