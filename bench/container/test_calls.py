"""What asking a task costs: pytest bench/container/test_calls.py -s.

A warm call of an empty function, and fifty candidates ranked by a DIN model beside the model alone, in turns.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import walle_rt
from walle_rt.bench import zoo
from walle_rt.device import Device
from walle_rt.vm import VM

pytestmark = pytest.mark.skipif(not VM.available(), reason="no VM libraries")

CALL_BAR_US, MODEL_BAR = 15, 1.1
ROUNDS, CALLS = 20, 500

TOML = """
task = {name = "asked", version = "1.0.0"}
triggers = {seen = "tap"}
entry = {main = "main"}
capabilities.host_calls = ["walle.engine"]
events.tap.fields = {item = "int"}
call.empty = {}
call.rank = {arguments = ["map"], returns = "map", wall_ms = 60000}
"""
CODE = """
import walle
held = []
def main(event):
    return None
def empty():
    return None
def rank(inputs):
    if not held:
        held.append(walle.engine.load("din.walle"))
    return held[0].run(inputs)
"""


def least_us(body: Callable[[], object], calls: int) -> float:
    begin = time.perf_counter()
    for _ in range(calls):
        body()
    return (time.perf_counter() - begin) / calls * 1e6


def test_calls(tmp_path: Path) -> None:
    model = zoo.build("din_b64")
    task = tmp_path / "asked"
    task.mkdir()
    (task / "task.toml").write_text(TOML)
    (task / "main.py").write_text(CODE)
    walle_rt.load(model).save(task / "din.walle")
    feeds = zoo.feeds(model)
    session = walle_rt.load(model).session(threads=1)
    with Device(tmp_path / "device") as device:
        device.install(task)
        empty, asked, alone = [], [], []
        answer = device.call("asked", "rank", feeds)
        for name, want in session.run(feeds).items():
            np.testing.assert_array_equal(answer[name], want)
        for _ in range(ROUNDS):
            empty.append(least_us(lambda: device.call("asked", "empty"), CALLS))
            asked.append(least_us(lambda: device.call("asked", "rank", feeds), 10))
            alone.append(least_us(lambda: session.run(feeds), 10))
    ratio = min(asked) / min(alone)
    print(f"\na warm call of an empty function  {min(empty):8.1f} us  (bar {CALL_BAR_US})")
    print(f"  median of rounds                {statistics.median(empty):8.1f} us")
    print(f"DIN of 64 candidates, asked       {min(asked):8.1f} us")
    print(f"  the model alone                 {min(alone):8.1f} us, ratio {ratio:.2f} (bar {MODEL_BAR})")
