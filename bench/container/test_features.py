"""What features kept per key cost: pytest bench/container/test_features.py -s."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from walle_rt.device import Device
from walle_rt.vm import VM

pytestmark = pytest.mark.skipif(not VM.available("device"), reason="no VM libraries")

USERS, EACH = 1000, 100
ASKED = 50
BAR_US = 100
TOML = """
task = {name = "keeper", version = "1.0.0"}
triggers = {asked = "ask"}
entry = {main = "main"}
limits = {main = {wall_ms = 60000}}
capabilities = {host_calls = ["walle.time"]}
results.took = {columns = {us = "float"}, max_bytes = "16M"}
events.ask.fields = {n = "int"}
events.buy.fields = {user = "int", price = "float"}
"""
FEATURES = """
features.day = {event = "buy", by = ["user"], aggregate = "sum", value = "price", over = "1d"}
features.newest = {event = "buy", by = ["user"], aggregate = "mean", value = "price", over = 50}
features.most = {event = "buy", by = ["user"], aggregate = "max", value = "price", over = "1h"}
"""
MAIN = """
import walle
def main(event):
    keys = list(range(event["fields"]["n"], event["fields"]["n"] + {asked}))
    begin = walle.time.monotonic()
    walle.features.get("day", keys)
    return {"us": (walle.time.monotonic() - begin) * 1e6}
"""
IDLE = "def main(event):\n    pass\n"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Device]:
    with Device(tmp_path / "device") as device:
        yield device


def installed(device: Device, folder: Path, features: str, source: str) -> None:
    folder.mkdir()
    (folder / "task.toml").write_text(TOML + features)
    (folder / "main.py").write_text(source)
    device.install(folder)


def recorded(device: Device, count: int) -> float:
    """Microseconds an event."""
    begin = time.perf_counter()
    for n in range(count):
        device.record("buy", contents={"user": n % USERS, "price": n / 3})
    return (time.perf_counter() - begin) * 1e6 / count


def test_fifty_keys_in_one_call(opened: Device, tmp_path: Path) -> None:
    """A hundred events a key count; from the task, and from the application."""
    installed(opened, tmp_path / "keeper", FEATURES, MAIN.replace("{asked}", str(ASKED)))
    recorded(opened, USERS * EACH)
    begin = time.perf_counter()
    opened.features("keeper", "day", [0])
    first = (time.perf_counter() - begin) * 1e3
    for n in range(500):
        opened.record("ask", contents={"n": n})
    assert opened.wait(60) and opened.task("keeper").failures == 0
    took = [row["us"] for row in opened.results("keeper")]
    keys = list(range(ASKED))
    outside = []
    for _ in range(500):
        begin = time.perf_counter()
        opened.features("keeper", "day", keys)
        outside.append((time.perf_counter() - begin) * 1e6)
    assert sum(feature.reads for feature in opened.task("keeper").features) == 0
    median = statistics.median(took)
    print(f"\n{ASKED} keys of {EACH} events each, from a task: p50 {median:.1f} us (goal {BAR_US})")
    print(f"from the application: p50 {statistics.median(outside):.1f} us")
    print(f"the first question, which may read {USERS * EACH} events of the log: {first:.0f} ms")
    print(f"memory of the three: {sum(f.bytes for f in opened.task('keeper').features) >> 10} KB")


def test_an_event_that_three_features_count(opened: Device, tmp_path: Path) -> None:
    """record() of an event that fires nothing, beside one that three features count."""
    installed(opened, tmp_path / "without", "", IDLE)
    recorded(opened, 20_000)
    without = min(recorded(opened, 20_000) for _ in range(5))
    installed(opened, tmp_path / "with", FEATURES, IDLE)
    for name in ("day", "newest", "most"):
        opened.features("keeper", name, [1])
    recorded(opened, 20_000)
    counted = min(recorded(opened, 20_000) for _ in range(5))
    print(f"\nan event recorded from Python: {without:.2f} us; with three features: {counted:.2f} us")
    print(f"a feature: {(counted - without) / 3 * 1000:.0f} ns an event")
