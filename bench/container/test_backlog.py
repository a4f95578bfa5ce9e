"""Events that a task finds in segments when its condition comes to hold, beside fresh ones, and sends into an
outbox that is full: pytest bench/container/test_backlog.py -s.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import pytest

from walle_rt.device import Device
from walle_rt.stream import Graph
from walle_rt.vm import VM

pytestmark = pytest.mark.skipif(not VM.available("device"), reason="no VM libraries")

EVENTS, OTHERS, ROUNDS, SENDS = 20_000, 200_000, 3, 3000
BACKLOG_BAR = 0.5  # times the rate of fresh events
FULL_BAR = 2.0  # times a send into an outbox with room
TOML = """
task = {name = "waits", version = "1.0.0", requires = ["charging"]}
triggers = {tapped = "tap"}
queue = {size = 30000}
entry = {main = "main"}
events = {tap = {fields = {n = "int", text = "text"}}, other = {fields = {n = "int", text = "text"}}}
"""
MAIN = "def main(event):\n    return None\n"
SENDS_TOML = """
task = {name = "sends", version = "1.0.0"}
triggers = {tapped = "tap"}
queue = {size = 30000}
entry = {main = "main"}
capabilities.host_calls = ["walle.stream"]
events = {tap = {fields = {n = "int", text = "text"}}}
egress.seen.fields.n = {type = "int", highest = "personal"}
egress.seen.fields.text = {type = "text", highest = "personal", max_size = 400}
egress.seen.bytes_per_day = "1G"
egress.seen.sends_per_day = 1000000
"""
SENDS_MAIN = """
import walle
def main(event):
    walle.stream.send("seen", walle.stream.run("seen.graph", event))
"""


def task(folder: Path, toml: str, source: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "task.toml").write_text(toml)
    (folder / "main.py").write_text(source)
    return folder


def record(device: Device, count: int, text: str = "x" * 100) -> None:
    for n in range(count):
        device.record("tap", contents={"n": n, "text": text})


def test_backlog(tmp_path: Path) -> None:
    """The firings alone: what waits has been recorded before the clock starts, for both."""
    ratios = []
    for n in range(ROUNDS):
        rates = {}
        for name, others in (("fresh", 0), ("backlog", OTHERS)):
            where = tmp_path / f"{name}{n}"
            with Device(where / "device") as device:
                device.install(task(where / "task", TOML, MAIN))
                record(device, EVENTS)
                for k in range(others):  # until the taps have left the journal for segments
                    device.record("other", contents={"n": k, "text": "x" * 100})
                start = time.perf_counter()
                device.set_facts(charging=True)
                assert device.wait(600)
                rates[name] = EVENTS / (time.perf_counter() - start)
                assert device.task("waits").firings == EVENTS
        print(f"\nfresh {rates['fresh']:,.0f} firings/s, out of segments {rates['backlog']:,.0f}")
        ratios.append(rates["backlog"] / rates["fresh"])
    ratio = statistics.median(ratios)
    print(f"backlog: {ratio:.2f}x of fresh (bar {BACKLOG_BAR})")
    assert ratio >= BACKLOG_BAR


def send_us(device: Device, count: int) -> float:
    start = time.perf_counter()
    record(device, count, "y" * 300)
    assert device.wait(600)
    return (time.perf_counter() - start) * 1e6 / count


def test_a_full_outbox(tmp_path: Path) -> None:
    """Each send removes the oldest record from then on."""
    folder = task(tmp_path / "sends", SENDS_TOML, SENDS_MAIN)
    (folder / "seen.graph").write_bytes(Graph().select("n", "text").to_bytes())
    with Device(tmp_path / "device") as device:
        device.install(folder)
        send_us(device, 500)
        room = send_us(device, 1000)
        while device.outbox()["seen"].dropped == 0:
            send_us(device, 1000)
        full = send_us(device, SENDS)
    print(f"\nsend with room {room:.0f} us, into a full outbox {full:.0f} us: {full / room:.2f}x")
    assert full <= FULL_BAR * room
