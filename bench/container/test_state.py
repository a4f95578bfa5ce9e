"""What it costs to change one key of a large state: pytest bench/container/test_state.py -s."""

from __future__ import annotations

import statistics
import threading
import time
from pathlib import Path

import pytest

from walle_rt.device import Device
from walle_rt.vm import VM

pytestmark = pytest.mark.skipif(not VM.available("device"), reason="no VM libraries")

KEYS, VALUE = 1000, 1000  # 1 MB
BAR_US = 1000
TOML = """
task = {name = "keeper", version = "1.0.0"}
triggers = {fill = "fill", tapped = "tap"}
entry = {main = "main"}
limits = {state_bytes = "4M", heap_bytes = "64M", main = {wall_ms = 600000}}
capabilities = {host_calls = ["walle.kv"]}
events = {tap = {fields = {n = "int"}}, fill = {fields = {first = "int"}}}
"""
MAIN = """
import walle
def main(event):
    fields = event["fields"]
    if event["trigger"] == "tapped":
        walle.kv.put("key%d" % fields["n"], "y" * {value})
        return
    for n in range(fields["first"], fields["first"] + 100):
        walle.kv.put("key%d" % n, "x" * {value})
"""


def test_one_key_of_a_megabyte(tmp_path: Path) -> None:
    """From record() to the result of a firing that changes one key: most of it is the commit."""
    folder = tmp_path / "keeper"
    folder.mkdir()
    (folder / "task.toml").write_text(TOML)
    (folder / "main.py").write_text(MAIN.replace("{value}", str(VALUE)))
    done = threading.Semaphore(0)
    with Device(tmp_path / "device") as device:
        device.install(folder)
        for first in range(0, KEYS, 100):
            device.record("fill", contents={"first": first})
        assert device.wait(600)
        device.on_result(lambda result: done.release())
        took = []
        for n in range(300):
            begin = time.perf_counter()
            device.record("tap", contents={"n": n})
            assert done.acquire(timeout=60)
            took.append((time.perf_counter() - begin) * 1e6)
        assert device.task("keeper").failures == 0
    median = statistics.median(took)
    print(f"\none key of 1 MB, set and committed: p50 {median:.0f} us (goal {BAR_US} us, idle)")
    print(f"p99 {statistics.quantiles(took, n=100)[98]:.0f} us")
