"""walle.params: typed, checked where it is set, durable, and never another one within a firing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from device_tasks import Open
from waits import PATIENCE_S

from walle_rt.device import Device, TaskResult
from walle_rt.errors import ArgumentError
from walle_rt.task import ParamSpec, Task, TaskSpec, check

TOML = """
task = {name = "gate", version = "VERSION"}
triggers = {seen = "shot"}
entry = {main = "main"}
params.threshold = {type = "float", default = 0.5, min = 0, max = 1.0}
params.mode = {type = "text", default = "calm", one_of = ["calm", "eager"]}
params.count = {type = "int", default = 3}
params.on = {type = "bool", default = true}
results.gate.columns = {threshold = "float", mode = "text", count = "int", on = "bool"}
call.now = {arguments = [], returns = "float"}
"""
MAIN = """
import walle

def main(event):
    return dict(walle.params.items())

def now():
    return walle.params["threshold"]
"""
DEFAULTS = {"threshold": 0.5, "mode": "calm", "count": 3, "on": True}
Make = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Make:
    made = 0

    def make(source: str = MAIN, toml: str = TOML, version: str = "1.0.0") -> Path:
        nonlocal made
        made += 1
        path = tmp_path / f"t{made}"
        path.mkdir()
        text = toml.replace("VERSION", version) + "events.shot.fields = {n = 'int'}\n"
        (path / "task.toml").write_text(text)
        (path / "main.py").write_text(source)
        return path

    return make


def ran_with(device: Device) -> dict[str, Any]:
    device.record("shot")
    assert device.wait(PATIENCE_S)
    row = device.results("gate").last()[0]
    return {name: row[name] for name in DEFAULTS}


def test_defaults_hold_until_they_are_set_and_again_behind_none(opened: Open, folder: Make) -> None:
    device = opened()
    told: list[TaskResult] = []
    device.install(folder())
    device.on_result(told.append)
    assert ran_with(device) == DEFAULTS == device.task("gate").params
    device.set_params("gate", {"threshold": 1, "mode": "eager"})
    assert ran_with(device) == DEFAULTS | {"threshold": 1.0, "mode": "eager"} == device.task("gate").params
    assert device.call("gate", "now") == 1.0
    device.set_params("gate", {"threshold": None, "on": False, "count": -(1 << 62)})
    now = DEFAULTS | {"mode": "eager", "on": False, "count": -(1 << 62)}
    assert ran_with(device) == now
    assert [result.params for result in told] == [
        DEFAULTS,
        DEFAULTS | {"threshold": 1.0, "mode": "eager"},
        now,
    ]


def test_it_is_a_read_only_mapping(opened: Open, folder: Make) -> None:
    source = """
import walle

def main(event):
    params = walle.params
    assert params["count"] == 3 and params.get("count") == 3 and params.get("none", 4) == 4
    assert len(params) == 4 and "mode" in params and "none" not in params
    assert list(params) == list(params.keys()) == ["threshold", "mode", "count", "on"]
    assert list(params.values()) == [0.5, "calm", 3, True] and "calm" in repr(params)
    copy = dict(params.items())
    copy["count"] = 9
    assert params["count"] == 3
    name = "none"
    try:
        params[name]
    except KeyError:
        copy["count"] += 1
    try:
        params["count"] = 4
    except TypeError:
        return copy

def now():
    return 0.0
"""
    device = opened()
    device.install(folder(source))
    assert ran_with(device) == DEFAULTS | {"count": 10}, device.task("gate").error


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"treshold": 0.1}, "did you mean 'threshold'"),
        ({"threshold": 1.5}, "at most 1"),
        ({"threshold": -1}, "at least 0"),
        ({"threshold": float("nan")}, "float"),
        ({"threshold": "0.5"}, "float, at least"),
        ({"threshold": True}, "float"),
        ({"mode": "loud"}, "one of 'calm', 'eager'"),
        ({"count": 1.0}, "int"),
        ({"count": True}, "int"),
        ({"on": 1}, "bool"),
        ({"on": []}, "bool"),
        ({"count": 4, "mode": 5}, "text"),
    ],
)
def test_what_is_not_declared_is_refused_and_nothing_is_set(
    opened: Open, folder: Make, params: dict[str, Any], says: str
) -> None:
    device = opened()
    device.install(folder())
    with pytest.raises(ArgumentError, match=says):
        device.set_params("gate", params)
    assert device.task("gate").params == DEFAULTS and ran_with(device) == DEFAULTS


def test_no_such_task(opened: Open) -> None:
    with pytest.raises(ArgumentError, match="task 'gate'"):
        opened().set_params("gate", {})


def test_they_outlive_restarts_and_versions_that_declare_them_alike(opened: Open, folder: Make) -> None:
    device = opened()
    device.install(folder())
    device.set_params("gate", {"threshold": 0.75, "mode": "eager", "count": 5})
    device.close()
    device = opened()
    assert ran_with(device) == DEFAULTS | {"threshold": 0.75, "mode": "eager", "count": 5}
    other = TOML.replace("max = 1.0", "max = 0.7").replace('count = {type = "int", default = 3}', "")
    other = other.replace("params.\n", "params.count = {type = 'text', default = 'x'}\n")
    device.install(folder(toml=other.replace('count = "int"', 'count = "int"'), source=MAIN, version="2.0.0"))
    assert device.task("gate").params == {"threshold": 0.5, "mode": "eager", "count": "x", "on": True}
    device.install(folder(version="3.0.0"))
    assert device.task("gate").params == DEFAULTS | {"mode": "eager"}
    device.remove("gate")
    device.install(folder())
    assert device.task("gate").params == DEFAULTS


def test_a_firing_keeps_what_it_began_with(opened: Open, folder: Make) -> None:
    source = """
import walle

def before(event):
    return {"before": walle.params["count"]}

def during(inputs):
    return inputs | {"during": walle.params["count"]}

def after(outputs):
    return {"count": outputs["before"] * 10000 + outputs["during"] * 100 + walle.params["count"]}
"""
    phases = '{preprocess = "before", execute = "during", postprocess = "after"}'
    toml = TOML.replace('{main = "main"}', phases).replace('"VERSION"', '"VERSION", requires = ["idle"]')
    device = opened()
    device.install(folder(source, toml.replace('call.now = {arguments = [], returns = "float"}\n', "")))
    device.record("shot")
    assert device.wait(PATIENCE_S) and device.task("gate").parked == 1
    device.set_params("gate", {"count": 7})
    device.record("shot")
    assert device.wait(PATIENCE_S) and device.task("gate").parked == 2
    device.set_facts(idle=True)
    assert device.wait(PATIENCE_S)
    assert [row["count"] for row in device.results("gate")] == [30303, 70707]


def test_they_are_part_of_the_task(folder: Make) -> None:
    spec = Task(folder()).spec
    assert spec.params["threshold"] == ParamSpec("float", 0.5, 0.0, 1.0)
    assert spec.params["mode"].one_of == ("calm", "eager") and spec.host_calls == ["walle.params"]
    assert TaskSpec.from_manifest(spec.to_manifest()).params == spec.params


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("default = 3", 'default = "3"', "of a int"),
        (", default = 3", "", "without 'default'"),
        ('{type = "int", default = 3}', "{default = 3}", "without 'type'"),
        ("default = 0.5", "default = 1.5", "within min, max and one_of"),
        ('default = "calm"', 'default = "loud"', "within min, max and one_of"),
        ("default = true", "default = true, min = true", "min = True"),
        ('type = "bool"', 'type = "boole"', "did you mean 'bool'"),
        ("max = 1.0", "maximum = 1.0", "did you mean 'max'"),
    ],
)
def test_declarations_that_mean_nothing_are_mistakes(folder: Make, right: str, wrong: str, says: str) -> None:
    assert right in TOML
    found = [m for m in check(folder(toml=TOML.replace(right, wrong))) if m.error and m.file == "task.toml"]
    assert any(says in str(m) for m in found), found


def test_names_that_the_code_reads_are_compared(folder: Make) -> None:
    source = MAIN.replace('params["threshold"]', 'params["treshold"]')
    (mistake,) = check(folder(source))
    assert (mistake.file, mistake.line, mistake.error) == ("main.py", 8, True)
    assert "did you mean 'threshold'?" in str(mistake)
    toml = TOML.partition("params.")[0] + "results.gate.columns = {count = 'int'}\n"
    (mistake,) = check(folder('import walle\n\ndef main(event):\n    walle.params.get("n")\n', toml))
    assert "add [params.n]" in str(mistake) and mistake.line == 4
