"""A process that is killed while a task runs: counted by the next one, set aside at the task's breaker."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from device_tasks import Folder, Open
from waits import PATIENCE_S, until

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

MAIN_RUNS = 2  # in bits 32 to 39 of a word of marks.walm

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


def is_marked(device: Path) -> bool:
    """Whether a word of marks.walm says that main runs: it is marked behind the task's status."""
    words = np.frombuffer((device / "marks.walm").read_bytes(), "<u8")
    return bool(((words >> 32 & 0xFF) == MAIN_RUNS).any())


def killed(*args: str) -> str:
    """The line of a process that is killed behind it."""
    process = subprocess.Popen(
        [sys.executable, "-c", VICTIM, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        until(lambda: line.startswith("set aside") or is_marked(Path(args[0])), "nothing is marked at work")
    finally:
        process.kill()
        _, errors = process.communicate()
    assert line, errors
    return line


def test_ends_in_a_row_are_failures_of_the_breaker(tmp_path: Path, folder: Folder, opened: Open) -> None:
    path = folder(STUCK, more="breaker = 3", wall_ms=600_000)
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
    assert device.wait(PATIENCE_S)
    task = device.task("shop")
    assert (task.status, task.deaths, task.firings, task.failures) == ("idle", 0, 2, 0)


def test_a_firing_that_ends_clears_the_count(tmp_path: Path, folder: Folder, opened: Open) -> None:
    path = folder(STUCK, wall_ms=6000)  # the victim is killed before that
    where = str(tmp_path / "device")
    assert killed(where, str(path)) == "running 0"
    device = opened()
    assert device.task("shop").deaths == 1
    assert device.wait(PATIENCE_S)
    task = device.task("shop")
    assert (task.deaths, task.failures) == (0, 1)
