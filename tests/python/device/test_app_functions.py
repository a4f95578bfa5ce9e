"""walle.app: what the application provides for its tasks, its types, its time, and its errors."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device_tasks import Open
from waits import PATIENCE_S

from walle_rt.device import Device, TaskResult
from walle_rt.errors import ArgumentError, CancelledError, DeadlineError, TaskError
from walle_rt.task import AppSpec, Task, TaskSpec, check

TOML = """
task = {name = "asks", version = "1.0.0", breaker = 100}
triggers = {seen = "view"}
entry = {preprocess = "before", execute = "during", postprocess = "after"}
limits.execute.wall_ms = 60000
app.price = {arguments = ["int"], returns = "float", wall_ms = 60000}
app.echo = {arguments = ["any"], returns = "any"}
app.slow = {arguments = [], returns = "none", wall_ms = 50}
app.quick = {wall_ms = 60000}
app.seldom = {returns = "int", per_firing = 2}
call.run = {arguments = ["text", "list"], returns = "any", wall_ms = 60000}
call.often = {arguments = ["int"], returns = "any", wall_ms = 60000}
call.brief = {arguments = [], returns = "any", wall_ms = 100}
results.asks.columns = {a = "float", b = "float", c = "float"}
events.view.fields = {n = "int"}
"""
MAIN = """
import walle

def before(event):
    return {"a": walle.app.price(1)}

def during(inputs):
    return inputs | {"b": walle.app.price(2)}

def after(outputs):
    return outputs | {"c": walle.app.price(3)}

def run(name, arguments):
    try:
        return getattr(walle.app, name)(*arguments)
    except Exception as error:
        return type(error).__name__ + ": " + str(error)

def often(times):
    for _ in range(times):
        walle.app.seldom()
    return run("seldom", [])

def brief():
    walle.app.quick()
"""


def folder(path: Path, toml: str = TOML, source: str = MAIN) -> Path:
    path.mkdir()
    (path / "task.toml").write_text(toml)
    (path / "main.py").write_text(source)
    return path


@pytest.fixture
def device(opened: Open, tmp_path: Path) -> Device:
    made = opened()
    made.install(folder(tmp_path / "t"))
    return made


def test_every_phase_may_ask(device: Device) -> None:
    device.provide("price", lambda item: item / 2)
    device.record("view")
    assert device.wait(PATIENCE_S)
    (row,) = device.results("asks")
    assert (row["a"], row["b"], row["c"]) == (0.5, 1.0, 1.5)


def test_values_cross_as_in_calls(device: Device) -> None:
    device.provide("echo", lambda value: value)
    for value in (None, True, 7, 0.5, "text", b"bytes", [1, [2]], {"a": {"b": None}}):
        assert device.call("asks", "run", "echo", [value]) == value
    array = np.arange(5, dtype=np.float32)
    assert np.array_equal(device.call("asks", "run", "echo", [array]), array)


def told(device: Device, name: str, *arguments: Any) -> str:
    answer = device.call("asks", "run", name, list(arguments))
    assert isinstance(answer, str)
    return answer


def test_what_does_not_fit_is_refused_by_name(device: Device) -> None:
    assert told(device, "price", 1).startswith("LookupError") and "not provide" in told(device, "price", 1)
    device.provide("prices", float)
    assert "did you mean 'prices'" in told(device, "price", 1)
    device.provide("price", lambda item: "dear")
    answer = told(device, "price", 1)
    assert "an answer of type text; expected float" in answer and "walle.app.price" in answer
    assert "argument 0 of type text" in told(device, "price", "1")
    assert "2 arguments" in told(device, "price", 1, 2) and "walle.app.price" in told(device, "price", 1, 2)
    assert told(device, "prise", 1).startswith("KeyError") and "mean 'price'" in told(device, "prise", 1)
    device.provide("price", None)
    device.provide("price", None)
    assert "does not provide" in told(device, "price", 1)


def test_what_cannot_be_provided_is_refused(device: Device, opened: Open) -> None:
    for name, function, says in (
        ("no name", float, "function 'no name'"),
        ("price", 7, "7 as 'price'"),
    ):
        with pytest.raises(ArgumentError, match=says):
            device.provide(name, function)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="no name"):
        Device(device.path.parent / "other", app={"no name": float})
    for number in range(256):
        device.provide(f"f{number}", float)
    with pytest.raises(ArgumentError, match="at most 256"):
        device.provide("price", float)
    device.provide("f0", None)
    device.provide("price", float)


class SilentError(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


def test_an_exception_arrives_with_type_and_text(device: Device) -> None:
    def price(item: int) -> float:
        raise (KeyError(f"no price of {item}"), SystemExit(3), SilentError())[item]

    device.provide("price", price)
    answer = told(device, "price", 0)
    assert answer.startswith("RuntimeError") and "KeyError: 'no price of 0'" in answer
    assert "walle.app.price" in answer
    assert "SystemExit: 3" in told(device, "price", 1)
    assert "whose text cannot be had" in told(device, "price", 2)
    device.provide("price", lambda item: object())
    assert told(device, "price", 0).startswith("RuntimeError: ") and "object" in told(device, "price", 0)
    device.record("view")
    assert device.wait(PATIENCE_S) and device.task("asks").failures == 1
    assert "walle.app.price" in device.task("asks").error


def test_the_task_stops_waiting_at_its_limit(device: Device) -> None:
    go = threading.Event()
    device.provide("slow", lambda: go.wait(PATIENCE_S) and None)
    begin = time.monotonic()
    answer = told(device, "slow")
    assert answer.startswith("TimeoutError") and "within 50 ms" in answer and "walle.app.slow" in answer
    device.provide("quick", lambda: go.wait(PATIENCE_S))
    with pytest.raises(DeadlineError, match="100 ms"):
        device.call("asks", "brief")
    assert time.monotonic() - begin < PATIENCE_S / 2
    go.set()


def test_a_firing_ends_at_its_own_limit_and_the_next_is_well(opened: Open, tmp_path: Path) -> None:
    go = threading.Event()
    device = opened()
    toml = TOML.replace("limits.execute.wall_ms = 60000", "limits.execute.wall_ms = 100")
    device.install(folder(tmp_path / "t", toml))
    device.provide("price", lambda item: float(item == 2 and go.wait(PATIENCE_S)))
    results: list[TaskResult] = []
    device.on_result(results.append)
    device.record("view")
    assert device.wait(PATIENCE_S)
    (result,) = results
    assert result.error is not None and (result.error.phase, result.error.limit) == ("execute", "wall")
    go.set()
    device.record("view")
    assert device.wait(PATIENCE_S) and results[1].error is None
    assert device.stats().lost_workers == 0


def test_so_many_may_be_forsaken(device: Device) -> None:
    go = threading.Event()
    device.provide("slow", lambda: go.wait(PATIENCE_S) and None)
    for _ in range(4):
        assert told(device, "slow").startswith("TimeoutError")
    answer = told(device, "slow")
    assert answer.startswith("OSError") and "4 calls under way" in answer
    device.provide("quick", lambda: None)
    assert device.call("asks", "run", "quick", []) is None
    go.set()
    end = time.monotonic() + PATIENCE_S
    while device.call("asks", "run", "slow", []) is not None:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_function_in_place_of_one_that_hangs_begins_anew(device: Device) -> None:
    go = threading.Event()
    device.provide("slow", lambda: go.wait(PATIENCE_S) and None)
    for _ in range(4):
        told(device, "slow")
    device.provide("slow", lambda: None)
    assert device.call("asks", "run", "slow", []) is None
    go.set()


def test_so_often_may_one_firing_ask(device: Device) -> None:
    asked: list[int] = []
    device.provide("seldom", lambda: asked.append(1) or len(asked))
    assert device.call("asks", "often", 1) == 2
    answer = device.call("asks", "often", 2)
    assert answer.startswith("OSError: call number 3 of one firing") and "walle.app.seldom" in answer
    assert len(asked) == 4


def test_phases_that_lie_apart_are_one_firing(opened: Open, tmp_path: Path) -> None:
    toml = TOML.replace("wall_ms = 60000}\napp.echo", "per_firing = 2}\napp.echo")
    toml = toml.replace("breaker = 100", 'requires = ["charging"]')
    device = opened()
    device.install(folder(tmp_path / "t", toml))
    device.provide("price", float)
    device.record("view")
    assert device.wait(PATIENCE_S) and device.task("asks").parked == 1
    device.set_facts(charging=True)
    assert device.wait(PATIENCE_S)
    assert "call number 3 of one firing" in device.task("asks").error


def test_what_waited_for_the_open_finds_what_it_is_given(opened: Open, tmp_path: Path) -> None:
    toml = TOML.replace("breaker = 100", 'requires = ["charging"]')
    device = opened()
    device.install(folder(tmp_path / "t", toml))
    device.record("view")
    device.close()
    again = opened(app={"price": float})
    again.set_facts(charging=True)
    assert again.wait(PATIENCE_S)
    assert [row["c"] for row in again.results("asks")] == [3.0]


def test_closing_ends_the_waiting(device: Device) -> None:
    inside, go, said = threading.Event(), threading.Event(), []

    def quick() -> None:
        inside.set()
        go.wait(PATIENCE_S)

    def ask() -> None:
        try:
            device.call("asks", "run", "quick", [])
        except (CancelledError, TaskError) as error:
            said.append(error)

    device.provide("quick", quick)
    asking = threading.Thread(target=ask)
    asking.start()
    assert inside.wait(PATIENCE_S)
    begin = time.monotonic()
    device.close()
    assert time.monotonic() - begin < PATIENCE_S / 2
    asking.join(PATIENCE_S)
    assert len(said) == 1
    go.set()


def test_a_closed_device_holds_no_function(device: Device) -> None:
    def price(item: int) -> float:
        return float(item)

    there = weakref.ref(price)
    device.provide("price", price)
    del price
    assert there() is not None
    device.close()
    assert there() is None
    with pytest.raises(ArgumentError, match="closed"):
        device.provide("price", float)


def test_what_would_wait_for_the_task_is_refused_in_it(device: Device, tmp_path: Path) -> None:
    refused: list[str] = []
    newer = folder(tmp_path / "newer", TOML.replace("1.0.0", "1.0.1"))

    def quick() -> None:
        asks: list[Callable[[], object]] = [
            lambda: device.call("asks", "brief"),
            lambda: device.wait(1),
            device.close,
        ]
        for ask in asks:
            with pytest.raises(ArgumentError) as error:
                ask()
            refused.append(str(error.value))
        device.record("view")
        device.provide("price", float)
        device.install(newer)
        list(device.results("asks"))

    device.provide("quick", quick)
    assert device.call("asks", "run", "quick", []) is None
    assert len(refused) == 3 and device.wait(PATIENCE_S)
    assert len(device.results("asks")) == 1 and device.task("asks").version == "1.0.1"


def test_a_task_may_be_removed_in_it(device: Device) -> None:
    device.provide("quick", lambda: device.remove("asks"))
    with contextlib.suppress(CancelledError, TaskError):
        device.call("asks", "run", "quick", [])
    assert device.tasks() == {}


ENDS = """
import sys
from walle_rt.device import Device

def slow():
    while True:
        pass

device = Device(sys.argv[1], app={"slow": slow})
device.install(sys.argv[2])
print(device.call("asks", "run", "slow", []))
"""


def test_a_process_ends_while_one_goes_on(device: Device, tmp_path: Path) -> None:
    device.close()
    command = [sys.executable, "-c", ENDS, str(tmp_path / "device"), str(tmp_path / "t")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("TimeoutError")


def test_they_are_part_of_the_task(tmp_path: Path) -> None:
    spec = Task(folder(tmp_path / "t")).spec
    assert spec.app["price"] == AppSpec(("int",), "float", 60_000)
    assert spec.app["slow"].wall_ms == 50 and spec.app["seldom"].per_firing == 2
    assert spec.host_calls == ["walle.app"]
    assert TaskSpec.from_manifest(spec.to_manifest()).app == spec.app


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("price()", "walle.app.price with 0 arguments"),
        ("price(1, 2)", "walle.app.price with 2 arguments"),
        ("price(item=1)", "by position"),
        ("prices(1)", "did you mean 'price'?"),
    ],
)
def test_calls_are_compared_when_it_is_compiled(tmp_path: Path, call: str, says: str) -> None:
    path = folder(tmp_path / "t", source=MAIN.replace("price(2)", call))
    (mistake,) = check(path)
    assert (mistake.file, mistake.line, mistake.error) == ("main.py", 8, True) and says in str(mistake)
    assert check(folder(tmp_path / "u", source=MAIN.replace("price(2)", "price(*inputs)"))) == []
