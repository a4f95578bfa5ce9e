"""One recording over the threads of a device: what a firing goes through, and counters as tracks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from device_tasks import Folder, Open
from waits import PATIENCE_S

import walle_rt


def test_a_recording_follows_an_event_to_its_commit(tmp_path: Path, opened: Open, folder: Folder) -> None:
    device = opened()
    device.install(folder())
    file = tmp_path / "trace.json"
    with walle_rt.trace(file) as told:
        for price in range(5):
            device.record("buy", contents={"price": price})
        assert device.wait(PATIENCE_S)
        device.close()
    events: list[dict[str, Any]] = json.loads(file.read_text())["traceEvents"]
    spans = [e for e in events if e["ph"] == "X"]
    names = {e["name"] for e in spans}
    assert {"append", "match", "execute", "commit"} <= names
    # Matching is part of appending, on the thread that records.
    for match in (e for e in spans if e["name"] == "match"):
        assert any(
            a["name"] == "append"
            and a["tid"] == match["tid"]
            and a["ts"] <= match["ts"]
            and match["ts"] + match["dur"] <= a["ts"] + a["dur"]
            for a in spans
        )
    tracks: dict[str, list[int]] = {}
    # The file goes thread by thread.
    for e in sorted(events, key=lambda e: float(e.get("ts", 0))):
        if e["ph"] == "C":
            tracks.setdefault(e["name"], []).append(e["args"]["value"])
    executed = len([e for e in spans if e["name"] == "execute"])
    assert tracks["firings"][-1] == executed
    assert max(tracks["events"]) >= 5
    assert tracks["queue of shop"][-1] == 0 and max(tracks["queue of shop"]) >= 1
    begins = [e for e in events if e["ph"] == "b" and e["name"] == "queue wait"]
    ends = {e["id"]: e["ts"] for e in events if e["ph"] == "e" and e["name"] == "queue wait"}
    assert len(begins) == executed
    assert all(ends[e["id"]] >= e["ts"] for e in begins)
    assert told.dropped == 0


def test_failures_are_a_track(tmp_path: Path, opened: Open, folder: Folder) -> None:
    device = opened()
    device.install(folder("def main(event):\n    raise ValueError('no')\n"))
    file = tmp_path / "trace.json"
    with walle_rt.trace(file):
        device.record("buy", contents={"price": 1})
        assert device.wait(PATIENCE_S)
    counters = [e for e in json.loads(file.read_text())["traceEvents"] if e["ph"] == "C"]
    assert [e["args"]["value"] for e in counters if e["name"] == "failures"] == [1]
