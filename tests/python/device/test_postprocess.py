"""postprocess(outputs, event): the event of its own firing, however much later it runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from device_tasks import Open
from waits import PATIENCE_S

from walle_rt.device import Device
from walle_rt.task import Task, TaskSpec, check

TOML = """
task = {name = "late", version = "1.0.0", requires = ["charging"]}
triggers = {seen = "tap scope by(item)"}
entry = {preprocess = "before", execute = "during", postprocess = "after"}
capabilities.imports = ["json"]
results.late.columns = {item = "int", got = "text", event = "text", before = "text"}
events.tap.fields = {item = "int"}
"""
MAIN = """
import json

def before(event):
    return {"before": json.dumps(event)}

def during(inputs):
    return inputs | {"got": "outputs"}

def after(outputs, event):
    event["fields"]["item"] += 0
    return outputs | {"event": json.dumps(event), "item": event["fields"]["item"]}
"""


def folder(path: Path, source: str = MAIN, toml: str = TOML) -> Path:
    path.mkdir()
    (path / "task.toml").write_text(toml)
    (path / "main.py").write_text(source)
    return path


def rows(device: Device) -> list[Any]:
    assert device.wait(PATIENCE_S)
    return list(device.results("late"))


def test_it_gets_what_preprocess_got(opened: Open, tmp_path: Path) -> None:
    device = opened()
    device.install(folder(tmp_path / "t"))
    device.set_facts(charging=True)
    for item in (7, 8):
        device.record("tap", contents={"item": item})
    made = rows(device)
    assert [(row["item"], row["got"]) for row in made] == [(7, "outputs"), (8, "outputs")]
    for row in made:
        assert json.loads(row["event"]) == json.loads(row["before"])
        assert json.loads(row["event"])["scope"] == {"item": row["item"]}


def test_it_gets_it_behind_the_facts_after_more_firings_and_without_its_isolate(
    opened: Open, tmp_path: Path
) -> None:
    device = opened()
    device.install(folder(tmp_path / "t"))
    for item in (7, 8, 9):
        device.record("tap", contents={"item": item})
    assert device.wait(PATIENCE_S) and device.task("late").parked == 3
    device.trim()
    device.set_facts(charging=True)
    made = rows(device)
    assert [row["item"] for row in made] == [7, 8, 9]
    assert all(json.loads(row["event"]) == json.loads(row["before"]) for row in made)


def test_it_gets_it_in_another_process_life(opened: Open, tmp_path: Path) -> None:
    device = opened()
    device.install(folder(tmp_path / "t"))
    for item in (7, 8):
        device.record("tap", contents={"item": item})
    assert device.wait(PATIENCE_S) and rows(device) == []
    device.close()
    device = opened()
    device.set_facts(charging=True)
    made = rows(device)
    assert [row["item"] for row in made] == [7, 8]
    assert all(json.loads(row["event"]) == json.loads(row["before"]) for row in made)


@pytest.mark.parametrize(
    ("header", "event"),
    [
        ("def after(outputs):", False),
        ("def after(outputs, *, scale=2):", False),
        ("def after(outputs, *rest):", False),
        ("def after(outputs, event, scale=2):", True),
        ("def after(outputs, event=None):", True),
        ("def after(outputs, event, /):", True),
        ("@staticmethod\ndef after(outputs, event):", True),
    ],
)
def test_its_def_says_whether_it_is_called_with_it(header: str, event: bool, tmp_path: Path) -> None:
    source = MAIN.partition("def after")[0] + f"{header}\n    return None\n"
    spec = Task(folder(tmp_path / "t", source)).spec
    assert spec.postprocess_event is event
    assert TaskSpec.from_manifest(spec.to_manifest()).postprocess_event is event


@pytest.mark.parametrize("header", ["def after(outputs, event, more):", "def after():"])
def test_another_count_is_refused_with_its_line(header: str, tmp_path: Path) -> None:
    source = MAIN.partition("def after")[0] + f"{header}\n    return None\n"
    (mistake,) = check(folder(tmp_path / "t", source))
    assert (mistake.file, mistake.line, mistake.error) == ("main.py", 10, True)
    assert "or of outputs and event" in str(mistake) and "def after(outputs, event):" in str(mistake)
