"""Device.call: an app asks a task - its state, its types, its limits, its place between firings."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from waits import PATIENCE_S

import walle_rt
from walle_rt.device import Device
from walle_rt.task import CallSpec, PhaseLimits, Task, TaskSpec, check

CODE = """
import walle

seen = []

def main(event):
    seen.append(event["fields"]["item"])
    while event["fields"]["item"] == 99:  # until its limit
        pass
    return None

def known():
    return list(seen)

def double(x):
    return x * 2

def rank(items, weight):
    return {"order": sorted(items), "weight": weight}

def same(t):
    return t

def wrong():
    return "text"

def fails(why):
    raise ValueError(why)

def forever():
    while True:
        pass

def note(item):
    walle.results.append("notes", {"item": item})
    return None

def silent_note(item):
    walle.results.append("notes", {"item": item})

def greedy():
    return [0] * 100_000_000
"""
TOML = """
[task]
name = "asked"
version = "1.0.0"
breaker = 3
[triggers]
clicked = "click"
[entry]
main = "main"
[limits.main]
wall_ms = 600
[capabilities]
host_calls = ["walle.results"]
[results.notes]
columns = {item = "int"}
[events.click]
fields = {item = "int"}
[call.known]
returns = "list"
[call.double]
arguments = ["float"]
returns = "float"
[call.rank]
arguments = ["list", "any"]
returns = "map"
[call.same]
arguments = ["tensor"]
returns = "tensor"
[call.wrong]
returns = "int"
[call.fails]
arguments = ["text"]
[call.forever]
wall_ms = 100
[call.note]
arguments = ["int"]
returns = "none"
keep = true
[call.silent_note]
arguments = ["int"]
[call.greedy]
"""


def folder(tmp_path: Path, code: str = CODE, toml: str = TOML) -> Path:
    home = tmp_path / "asked"
    home.mkdir(exist_ok=True)
    (home / "main.py").write_text(code)
    (home / "task.toml").write_text(toml)
    return home


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Device]:
    with Device(tmp_path / "device") as made:
        made.install(folder(tmp_path))
        yield made


def test_a_function_answers_from_the_tasks_own_state(device: Device) -> None:
    assert device.call("asked", "known") == []
    for item in (1, 2):
        device.record("click", contents={"item": item})
    assert device.wait(PATIENCE_S)
    assert device.call("asked", "known") == [1, 2]
    info = device.task("asked")
    assert (info.calls, info.call_failures, info.firings) == (2, 0, 2)


def test_values_cross_both_ways(device: Device) -> None:
    assert device.call("asked", "double", 1.5) == 3.0
    assert device.call("asked", "rank", [3, 1, 2], {"a": [None, True]}) == {
        "order": [1, 2, 3],
        "weight": {"a": [None, True]},
    }
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(device.call("asked", "same", x), x)


@pytest.mark.parametrize(
    ("function", "arguments", "said"),
    [
        ("double", (), "0 arguments"),
        ("double", (1.0, 2.0), "2 arguments"),
        ("double", ("1",), "argument 0 of type text"),
        ("rank", ([1],), "1 arguments"),
        ("same", ([1.0],), "argument 0 of type list"),
        ("duble", (1.0,), "did you mean 'double'"),
        ("main", (1,), "names in [call]"),
    ],
)
def test_what_is_not_declared_is_refused(
    device: Device, function: str, arguments: tuple[Any, ...], said: str
) -> None:
    with pytest.raises(walle_rt.ArgumentError) as error:
        device.call("asked", function, *arguments)
    assert said in str(error.value)
    assert device.task("asked").call_failures == 0


def test_integers_are_floats_as_well(device: Device) -> None:
    assert device.call("asked", "double", 2) == 4


def test_a_task_that_is_not_there(device: Device) -> None:
    with pytest.raises(walle_rt.ArgumentError, match="did you mean 'asked'"):
        device.call("askd", "known")


def test_errors_name_the_line_and_count_for_the_breaker(device: Device) -> None:
    for _ in range(2):
        with pytest.raises(walle_rt.TaskError, match=r"ValueError: why.*main\.py"):
            device.call("asked", "fails", "why")
    assert device.call("asked", "double", 1.0) == 2.0  # not in a row any more
    for _ in range(3):
        with pytest.raises(walle_rt.TaskError):
            device.call("asked", "fails", "why")
    with pytest.raises(walle_rt.TaskError, match="set aside"):
        device.call("asked", "double", 1.0)
    assert device.task("asked").status == "set aside"


def test_an_answer_of_another_type_is_the_tasks_fault(device: Device) -> None:
    with pytest.raises(walle_rt.TaskError, match="is no int"):
        device.call("asked", "wrong")


def test_limits_hold_and_the_task_goes_on(device: Device) -> None:
    with pytest.raises(walle_rt.DeadlineError, match="100 ms"):
        device.call("asked", "forever")
    for _ in range(5):  # the caller's own time is no failure of the task
        with pytest.raises(TimeoutError):
            device.call("asked", "forever", timeout_s=0.02)
    with pytest.raises(walle_rt.TaskError, match="heap"):
        device.call("asked", "greedy")
    info = device.task("asked")
    assert (info.status, info.call_failures, info.failures_in_row) == ("idle", 7, 2)
    assert device.call("asked", "double", 1.0) == 2.0


def test_rows_stay_where_the_task_says_so(device: Device) -> None:
    device.call("asked", "note", 7)
    assert [row["item"] for row in device.results("asked")] == [7]
    with pytest.raises(walle_rt.TaskError, match="keep = true"):
        device.call("asked", "silent_note", 8)
    device.record("click", contents={"item": 1})
    assert device.wait(PATIENCE_S)
    assert [row["item"] for row in device.results("asked")] == [7]


def test_a_call_waits_for_the_firing_under_way(device: Device) -> None:
    device.call("asked", "known")  # hot
    device.record("click", contents={"item": 99})
    while device.task("asked").status != "running":
        time.sleep(0.001)
    with pytest.raises(walle_rt.DeadlineError, match="waited"):
        device.call("asked", "known", timeout_s=0.02)
    assert device.call("asked", "known") == []  # a fresh isolate: the firing was stopped at its limit


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_timeout_is_above_nothing(device: Device, timeout: float) -> None:
    with pytest.raises(walle_rt.ArgumentError, match="above 0"):
        device.call("asked", "known", timeout_s=timeout)


def test_calls_and_firings_take_turns(device: Device) -> None:
    """Threads that ask without pause do not keep firings from running, nor each other."""
    done = threading.Event()
    counts = [0, 0]

    def ask(place: int) -> None:
        while not done.is_set():
            device.call("asked", "double", 1.0)
            counts[place] += 1

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(2)]
    for thread in threads:
        thread.start()
    for item in range(200):
        device.record("click", contents={"item": item % 50})
    settled = device.wait(PATIENCE_S) or device.task("asked").firings == 200
    deadline = time.monotonic() + PATIENCE_S
    while device.task("asked").firings < 200 and time.monotonic() < deadline:
        time.sleep(0.01)
    done.set()
    for thread in threads:
        thread.join()
    assert settled or device.task("asked").firings == 200
    assert min(counts) > 0


def test_not_from_the_devices_own_callback(device: Device) -> None:
    told: list[str] = []

    def on_result(result: Any) -> None:
        try:
            device.call("asked", "known")
        except walle_rt.ArgumentError as error:
            told.append(str(error))

    device.on_result(on_result)
    device.record("click", contents={"item": 1})
    assert device.wait(PATIENCE_S)
    assert len(told) == 1 and "callback" in told[0]


@pytest.mark.timeout(60)
def test_not_from_a_line_of_the_very_call(tmp_path: Path) -> None:
    """Lines are told on the caller's thread, which has the turn that a second call would wait for."""
    code = CODE.replace("    return list(seen)\n", "    print('asked')\n    return list(seen)\n")
    told: list[str] = []

    def log(task: str, level: int, line: str) -> None:
        try:
            device.call("asked", "double", 1.0)
        except walle_rt.ArgumentError as error:
            told.append(str(error))

    with Device(tmp_path / "device", log=log) as device:
        device.install(folder(tmp_path, code))
        assert device.call("asked", "known") == []
    assert len(told) == 1 and "callback" in told[0]


def test_close_stops_a_call_under_way(tmp_path: Path) -> None:
    toml = TOML.replace("[call.forever]\nwall_ms = 100", "[call.forever]\nwall_ms = 600000")
    device = Device(tmp_path / "device", grace_ms=50)
    device.install(folder(tmp_path, toml=toml))
    ended: list[Exception] = []

    def ask() -> None:
        try:
            device.call("asked", "forever")
        except walle_rt.Error as error:
            ended.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    while device.task("asked").status != "running":
        time.sleep(0.001)
    device.close()
    thread.join(PATIENCE_S)
    assert [type(error) for error in ended] == [walle_rt.CancelledError]
    with pytest.raises(walle_rt.Error):
        device.call("asked", "known")
    with Device(tmp_path / "device") as again:  # the folder is free, and the task is there
        assert again.call("asked", "double", 2.0) == 4.0


def test_a_new_version_answers_from_then_on(device: Device, tmp_path: Path) -> None:
    device.install(folder(tmp_path, CODE.replace("x * 2", "x * 3"), TOML.replace("1.0.0", "1.0.1")))
    assert device.call("asked", "double", 1.0) == 3.0


def test_task_toml_says_what_may_be_asked(tmp_path: Path) -> None:
    spec = Task(folder(tmp_path)).spec
    assert spec.calls["rank"] == CallSpec(("list", "any"), "map")
    assert spec.calls["forever"].limits == PhaseLimits(100)
    assert spec.calls["note"].keep
    assert TaskSpec.from_manifest(spec.to_manifest()).calls == spec.calls


def test_mistakes_of_calls_have_their_line(tmp_path: Path) -> None:
    toml = TOML.replace('[call.double]\narguments = ["float"]', '[call.double]\narguments = ["floot"]')
    toml = toml.replace("[call.known]", "[call.knwn]").replace('["list", "any"]', '["list"]')
    mistakes = list(map(str, check(folder(tmp_path, toml=toml))))
    told = " ".join(mistakes)
    assert any("call.double.arguments = ['floot']" in m and "float, text" in m for m in mistakes), told
    assert "did you mean 'known'" in told
    assert "rank() takes 2 arguments" in told
