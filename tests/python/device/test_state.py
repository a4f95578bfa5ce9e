"""walle.kv on a device: what a firing changes is there exactly when the firing is done."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from waits import PATIENCE_S

from walle_rt import TaskError
from walle_rt.device import Device
from walle_rt.task import Task, check
from walle_rt.vm import VM, Isolate, TaskBundle, library_path

pytestmark = pytest.mark.skipif(not VM.available("device"), reason=f"no VM library at {library_path()}")

NOON, SECOND = 1_700_000_000_000_000, 1_000_000
TOML = """
task = {name = "keeper", version = "VERSION"MORE}
triggers = {did = "do"}
ENTRY
limits = {state_keys = 20, state_bytes = "8K"}
capabilities = {host_calls = ["walle.kv"]}
results.said.columns = {text = "text"}
events.do.fields = {code = "text"}
call.look = {arguments = ["text"], returns = "any"}
call.leave = {arguments = ["text", "any"]}
call.fail = {}
"""
MAIN = """
import walle
kv = walle.kv
def main(event):
    code = event["fields"]["code"]
    if code == "count":
        kv.put("n", kv.get("n", 0) + 1)
    elif code == "fail":
        kv.put("n", 100)
        kv.put("m", 1)
        raise ValueError("no")
    elif code == "brief":
        kv.put("brief", 1, ttl=10)
    elif code == "long":
        kv.put("brief", 2, 10.5)
    elif code == "many":
        for i in range(30):
            kv.put("k%d" % i, i)
    elif code == "large":
        kv.put("x", "x" * 9000)
    return {"text": repr(kv.items())}
def look(key):
    return [kv.get(key), kv.keys()]
def leave(key, value):
    kv.put(key, value)
def fail():
    kv.put("n", 200)
    raise ValueError("no")
def pre(event):
    kv.put("n", kv.get("n", 0) + 1)
def run(inputs):
    return {"text": str(kv.get("n"))}
"""
ALONE = """
from walle import kv
def put(ttl):
    kv.put("k", 1, ttl=ttl)
def keys(*range):
    return kv.keys(*range)
"""


def task(
    folder: Path, version: str = "1.0.0", entry: str = 'entry = {main = "main"}', more: str = ""
) -> Path:
    made = folder / "keeper"
    made.mkdir(exist_ok=True)
    text = TOML.replace("VERSION", version).replace("ENTRY", entry).replace("MORE", more)
    (made / "task.toml").write_text(text)
    (made / "main.py").write_text(MAIN)
    return made


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Device]:
    with Device(tmp_path / "device", recorded=True) as made:
        made.install(task(tmp_path))
        yield made


class Doing:
    def __init__(self, device: Device) -> None:
        self.device, self.ts = device, NOON

    def __call__(self, code: str, after_s: float = 0) -> str:
        """What the firing's state was at its end; "" where it failed."""
        before = self.device.task("keeper").failures
        self.ts += int(after_s * SECOND)
        self.device.record("do", contents={"code": code}, ts=self.ts)
        assert self.device.wait(PATIENCE_S)
        if self.device.task("keeper").failures > before:
            return ""
        return str(list(self.device.results("keeper"))[-1]["text"])


def test_a_failed_firing_changes_nothing(device: Device) -> None:
    do = Doing(device)
    assert do("count") == "{'n': 1}"
    assert do("fail") == "" and do("count") == "{'n': 2}"
    assert do("large") == "" and "8192" in device.task("keeper").error
    assert do("many") == "" and "state_keys" in device.task("keeper").error
    assert do("count") == "{'n': 3}"


def test_a_call_leaves_all_or_nothing(device: Device) -> None:
    device.call("keeper", "leave", "n", 5)
    with pytest.raises(TaskError, match="no"):
        device.call("keeper", "fail")
    assert device.call("keeper", "look", "n") == [5, ["n"]]


def test_it_outlives_the_device_and_the_version(device: Device, tmp_path: Path) -> None:
    do = Doing(device)
    do("count")
    device.install(task(tmp_path, "1.0.1"))
    assert do("count") == "{'n': 2}"
    device.remove("keeper")
    device.close()
    with Device(tmp_path / "device", recorded=True) as again:
        again.install(task(tmp_path))
        assert again.call("keeper", "look", "n") == [2, ["n"]]


def test_time_is_the_devices(device: Device) -> None:
    do = Doing(device)
    assert do("brief") == "{'brief': 1}"
    assert do("look", 9.999) == "{'brief': 1}" and do("look", 0.001) == "{}"
    assert do("long") == "{'brief': 2}" and do("look", 10.4) == "{'brief': 2}" and do("look", 0.1) == "{}"


def test_phases_that_wait_keep_what_they_changed(tmp_path: Path) -> None:
    entry = 'entry = {preprocess = "pre", execute = "run"}'
    with Device(tmp_path / "device") as device:
        device.install(task(tmp_path, entry=entry, more=', requires = ["charging"]'))
        device.record("do", contents={"code": ""})
        while device.task("keeper").parked != 1:
            pass
        assert device.call("keeper", "look", "n") == [None, []], "nothing is committed yet"
        device.set_facts(charging=True)
        assert device.wait(PATIENCE_S)
        assert [row["text"] for row in device.results("keeper")] == ["1"]
        assert device.call("keeper", "look", "n") == [1, ["n"]]


def test_what_no_ttl_and_no_range_is(tmp_path: Path) -> None:
    with Isolate(state="") as isolate:
        isolate.load(TaskBundle.from_source({"main": ALONE}))
        wrong: list[tuple[str, tuple[Any, ...], str]] = [
            ("put", (0,), "a ttl of 0"),
            ("put", (-1.5,), "a ttl of -1.5"),
            ("put", (float("nan"),), "a ttl of nan"),
            ("put", ("1",), "argument 3"),
            ("keys", ("", 1), "argument 2"),
            ("keys", ("", None, -1), "limit -1"),
            ("keys", ("", None, 65_537), "limit 65537"),
        ]
        for name, args, says in wrong:
            with pytest.raises(TaskError, match=says):
                isolate.call(name, *args)
        isolate.call("put", 1e-6)
        assert isolate.call("keys") == []


@pytest.mark.parametrize("limit", ["state_keys = 1_048_577", 'state_bytes = "1025M"', "state_keys = -1"])
def test_limits_beyond_the_largest(tmp_path: Path, limit: str) -> None:
    made = task(tmp_path)
    text = (made / "task.toml").read_text().replace('state_keys = 20, state_bytes = "8K"', limit)
    (made / "task.toml").write_text(text)
    (told,) = [str(mistake) for mistake in check(made) if mistake.error]
    assert limit.split(" ")[0] in told and "line 5" in told


def test_the_limit_travels(tmp_path: Path) -> None:
    spec = Task(task(tmp_path)).spec
    assert spec.state_keys == 20 and type(spec).from_manifest(spec.to_manifest()).state_keys == 20
