"""A process that is killed while a task runs: counted by the next one, set aside at the task's breaker."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from device_tasks import Folder, Open

# Its second buy never ends; the first comes from the process that installs it.
STUCK = """
def main(event):
    price = event["fields"]["price"]
    if price == 2:
        open_end = 0
        while True:
            open_end += 1
    return {"price": price, "name": "", "ratio": 0.0, "big": False, "raw": b""}
"""

# Opens the device, says when the task runs, and waits for its end.
VICTIM = """
import pathlib, sys, time
from walle_rt.device import Device
device = Device(sys.argv[1])
if len(sys.argv) > 2:
    device.install(pathlib.Path(sys.argv[2]))
    device.record("buy", contents={"price": 2, "name": "x"})
while device.task("shop").status != "running" and device.task("shop").status != "set aside":
    time.sleep(0.001)
print(device.task("shop").status, device.task("shop").deaths, flush=True)
time.sleep(600)
"""


def killed(*args: str) -> str:
    """The line of a process that is killed behind it."""
    process = subprocess.Popen(
        [sys.executable, "-c", VICTIM, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        # It is marked as running a moment after it is told to run.
        time.sleep(0.3)
    finally:
        process.kill()
        _, errors = process.communicate()
    assert line, errors
    return line


def test_ends_in_a_row_are_failures_of_the_breaker(tmp_path: Path, folder: Folder, opened: Open) -> None:
    path = folder(STUCK, more="breaker = 3")
    with (path / "task.toml").open("a") as file:
        file.write("[limits.main]\nwall_ms = 600000\n")
    where = str(tmp_path / "device")
    assert killed(where, str(path)) == "running 0"
    assert killed(where) == "running 1"
    assert killed(where) == "running 2"
    assert killed(where) == "set aside 3"
    device = opened()
    task = device.task("shop")
    assert task.status == "set aside" and task.deaths == 0
    assert "the process ended 3 times in a row while phase 'main' ran" in task.error
    # What comes meanwhile waits, and a version that ends runs it all.
    device.record("buy", contents={"price": 3, "name": "x"})
    device.install(folder(STUCK.replace("== 2", "== 4"), version="1.0.1"))
    assert device.wait(60)
    task = device.task("shop")
    assert (task.status, task.deaths, task.firings, task.failures) == ("idle", 0, 2, 0)


def test_a_firing_that_ends_clears_the_count(tmp_path: Path, folder: Folder, opened: Open) -> None:
    path = folder(STUCK)
    with (path / "task.toml").open("a") as file:
        file.write("[limits.main]\nwall_ms = 1500\n")
    where = str(tmp_path / "device")
    assert killed(where, str(path)) == "running 0"
    device = opened()
    assert device.task("shop").deaths == 1
    assert device.wait(60)
    task = device.task("shop")
    assert (task.deaths, task.failures) == (0, 1)
