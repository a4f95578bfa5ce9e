"""Local time of a device and of a task: named, the host's, changed while it runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run_walle
from device_tasks import Open
from waits import PATIENCE_S

from walle_rt import ArgumentError, _core
from walle_rt.device import Device
from walle_rt.task import Task, TaskSpec, check

MIDNIGHT = 1_700_006_400_000_000  # 2023-11-15 00:00 UTC
HOUR = 3_600_000_000
TOML = """
task = {name = "night", version = "1.0.0"}
triggers = {nightly = "daily 03:00", quiet = "tap during not 22:00-07:00"}
entry = {main = "main"}
results.hours.columns = {trigger = "text", hour = "int"}
events.tap.fields = {}
"""
MAIN = f"""
def main(event):
    return {{"trigger": event["trigger"], "hour": (event["ts"] - {MIDNIGHT}) // {HOUR}}}
"""


@pytest.fixture
def night(tmp_path: Path) -> Path:
    folder = tmp_path / "night"
    folder.mkdir()
    (folder / "task.toml").write_text(TOML)
    (folder / "main.py").write_text(MAIN)
    return folder


def hours(device: Device, trigger: str) -> list[int]:
    assert device.wait(PATIENCE_S)
    return [row["hour"] for row in device.results("night") if row["trigger"] == trigger]


def test_a_zone_is_the_devices(opened: Open, night: Path) -> None:
    device = opened(recorded=True, zone="Asia/Tokyo")  # UTC+9
    device.install(night)
    for hour in range(24):
        device.record("tap", ts=MIDNIGHT + hour * HOUR)
    assert hours(device, "nightly") == [18]
    assert hours(device, "quiet") == [*range(13), 22, 23]


def test_it_changes_while_the_device_runs(opened: Open, night: Path) -> None:
    device = opened(recorded=True, zone="UTC")
    device.install(night)
    device.record("tap", ts=MIDNIGHT)
    device.set_zone("Asia/Tokyo")
    device.advance(MIDNIGHT + 20 * HOUR)
    device.set_zone("America/New_York")  # UTC-5
    device.advance(MIDNIGHT + 34 * HOUR)
    assert hours(device, "nightly") == [18, 32]
    with pytest.raises(ArgumentError, match="Nowhere"):
        device.set_zone("Europe/Nowhere")


def test_without_one_it_is_the_hosts(tmp_path: Path, night: Path, opened: Open) -> None:
    opened().close()  # skips where there is no VM
    program = f"""
from walle_rt.device import Device
with Device({str(tmp_path / "hosts")!r}, recorded=True) as device:
    device.install({str(night)!r})
    device.record("tap", ts={MIDNIGHT})
    device.advance({MIDNIGHT + 30 * HOUR})
    device.wait()
    print([row["hour"] for row in device.results("night") if row["trigger"] == "nightly"])
"""
    told = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TZ": "JST-9"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == "[18]"


def test_commands_take_one(opened: Open, night: Path, tmp_path: Path) -> None:
    opened().close()
    events = tmp_path / "taps.jsonl"
    events.write_text(json.dumps({"event": "tap", "ts": MIDNIGHT}) + "\n")
    test = ("task", "test", night, "--events", events, "--after", "20h", "--json")
    told = run_walle(*test).json
    assert [row["hour"] for row in told["tables"]["hours"] if row["trigger"] == "nightly"] == [3]
    told = run_walle(*test, "--zone", "Asia/Tokyo").json
    assert [row["hour"] for row in told["tables"]["hours"] if row["trigger"] == "nightly"] == [18]


def in_zone(night: Path, zone: str) -> Path:
    text = TOML.replace('version = "1.0.0"', f'version = "1.0.0", zone = "{zone}"')
    (night / "task.toml").write_text(text)
    return night


def test_a_tasks_own_goes_before_the_devices(opened: Open, night: Path, tmp_path: Path) -> None:
    device = opened(recorded=True, zone="UTC")
    device.install(in_zone(night, "Asia/Tokyo"))
    device.record("tap", ts=MIDNIGHT)
    device.set_zone("America/New_York")
    for hour in range(1, 24):
        device.record("tap", ts=MIDNIGHT + hour * HOUR)
    assert hours(device, "nightly") == [18]
    assert hours(device, "quiet") == [*range(13), 22, 23]
    device.close()
    device = opened(recorded=True, zone="UTC")
    device.advance(MIDNIGHT + 43 * HOUR)
    assert hours(device, "nightly") == [18, 42]


def test_a_new_version_brings_another(opened: Open, night: Path) -> None:
    device = opened(recorded=True, zone="UTC")
    device.install(in_zone(night, "Asia/Tokyo"))
    device.record("tap", ts=MIDNIGHT)
    device.install(night.parent / night.name)  # the same again
    device.advance(MIDNIGHT + 19 * HOUR)
    (night / "task.toml").write_text(TOML.replace("1.0.0", "1.0.1"))
    device.install(night)
    device.advance(MIDNIGHT + 28 * HOUR)
    assert hours(device, "nightly") == [18, 27]


def test_task_test_goes_by_the_tasks_own(opened: Open, night: Path, tmp_path: Path) -> None:
    opened().close()
    events = tmp_path / "taps.jsonl"
    events.write_text(json.dumps({"event": "tap", "ts": MIDNIGHT}) + "\n")
    test = ("task", "test", in_zone(night, "Asia/Tokyo"), "--events", events, "--after", "20h", "--json")
    told = run_walle(*test, "--zone", "Europe/Berlin").json
    assert [row["hour"] for row in told["tables"]["hours"] if row["trigger"] == "nightly"] == [18]


def test_daylight_saving_is_in_the_bundle(night: Path) -> None:
    """A device needs no database of zones: the offsets travel."""
    spec = Task(in_zone(night, "Europe/Berlin")).spec
    given = _core.task.read_manifest(spec.to_manifest())
    name, offsets = given["zone"]
    assert name == "Europe/Berlin"
    assert (1_711_846_800_000_000, 2 * HOUR) in offsets  # 2024-03-31 01:00 UTC
    assert TaskSpec.from_manifest(spec.to_manifest()) == spec


@pytest.mark.parametrize(
    "zone", ["Europe/Nowhere", "", "../UTC", "/etc/localtime", "a" * 65, "Europe/\\u0000Berlin"]
)
def test_no_zone_is_told_with_its_line(night: Path, zone: str) -> None:
    (mistake,) = check(in_zone(night, zone))
    assert "task.toml, line 2" in str(mistake)
    assert "zone" in str(mistake)
