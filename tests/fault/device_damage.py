"""Damage every file of a device, one at a time: what is gone is told, nothing comes twice unseen.

    python -m tests.fault.device_damage --cases 1500
    python -m tests.fault.device_damage --every-bit --cases 0

A device with a task that stores a row for every event, sends a feature for every fifth and counts in
walle.kv is left as a killed process leaves it: closed once, and with what came after. One file of a copy is
flipped, zeroed, cut or deleted; then it is opened twice, recording an event each time. Of every case is
asked: are rows, records and the count what they were, is whatever is missing or comes again told by
``losses()`` at both opens and gone once acknowledged, is a number given out twice. ``--every-bit`` flips each
bit of the frames in every journal, or each N-th. Cases run in child processes, so that a crash is one case's
and is counted.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.fault.stream_damage import KINDS, damage, in_batches, in_child

from walle_rt.device import Device
from walle_rt.errors import Error
from walle_rt.stream import Graph

SETTLED, EVENTS, EVERY = 40, 70, 5
BEGAN, SECOND = 1_700_000_000_000_000, 1_000_000
CASES_PER_CHILD = 25
MANIFEST = """
task = {name = "count", version = "1.0.0"}
triggers = {each = "tap"}
entry = {main = "main"}
capabilities.host_calls = ["walle.kv", "walle.stream"]
call.counted = {returns = "int"}
results.taps.columns = {n = "int", number = "int"}
events.tap.fields = {n = "int"}
catalog.pages = ["home"]
[egress.seen]
fields = {n = {type = "int", highest = "personal"}}
bytes_per_day = "1M"
sends_per_day = 1000
"""
SOURCE = f"""
import walle

def main(event):
    walle.kv.put("count", walle.kv.get("count", 0) + 1)
    n = event["fields"]["n"]
    if n % {EVERY} == 0:
        walle.stream.send("seen", walle.stream.run("seen.graph", event))
    return {{"n": n, "number": event["number"]}}

def counted():
    return walle.kv.get("count", 0)
"""
WRONGS = (
    "contents",  # an event, a row or a record that is not what was written
    "unreported",  # something is missing, and no loss tells of it at the first open or the second
    "again",  # a firing has run again, and no loss tells why
    "numbers",  # a number given out twice
    "acknowledged",  # a loss that comes back
    "unopened",  # a device that one damaged file keeps from opening
    "crash",
)
# What may be missing or run again for the loss of what.
RUN_AGAIN = {"commits", "settled", "triggers", "tasks", "events"}


def build(folder: Path) -> None:
    """The device that is damaged, as a killed process leaves it."""
    task = folder / "count"
    task.mkdir()
    (task / "task.toml").write_text(MANIFEST)
    (task / "main.py").write_text(SOURCE)
    (task / "seen.graph").write_bytes(Graph().select("n").to_bytes())
    with open_device(folder) as device:
        device.install(task)
        record(device, range(1, SETTLED + 1))
    device = open_device(folder)
    record(device, range(SETTLED + 1, EVENTS + 1))
    os._exit(0)


def record(device: Device, numbers: range) -> None:
    for n in numbers:
        device.record("tap", "home", {"n": n}, ts=BEGAN + n * SECOND)
    assert device.wait(60)


@dataclass
class Left:
    """What the undamaged device holds."""

    rows: dict[int, int]
    records: dict[int, bytes]


def rows_of(device: Device) -> dict[int, int]:
    """Row number: n."""
    return {row["_number"]: row["n"] for row in device.results("count")}


def records_of(device: Device) -> dict[int, bytes]:
    return {record.seq: record.data for stream in device.outbox() for record in device.read_outbox(stream)}


def open_device(folder: Path) -> Device:
    return Device(folder / "device", background=False, recorded=True, workers=1, ready=0)


def look_whole(folder: Path, out: Path) -> None:
    with open_device(folder) as device:
        assert device.losses() == [] and device.wait(60)
        rows, records = rows_of(device), records_of(device)
    assert sorted(rows.values()) == list(range(1, EVENTS + 1)) and len(records) == EVENTS // EVERY
    out.write_text(json.dumps([rows, {seq: data.hex() for seq, data in records.items()}]))


class Case:
    """What one damaged device turns out to be."""

    def __init__(self, folder: Path, left: Left) -> None:
        self.folder, self.left = folder, left
        self.wrong: set[str] = set()
        self.rows, self.records = dict(left.rows), dict(left.records)
        self.told: set[str] = set()
        self.recorded: set[int] = set()
        self.opens = 0

    def run(self) -> set[str]:
        for _ in range(2):
            self.opens += 1
            try:
                with open_device(self.folder) as device:
                    self.look(device)
            except Error as error:
                self.wrong.add("unopened")
                self.told.add(str(error))
                return self.wrong
        self.acknowledged()
        return self.wrong

    def look(self, device: Device) -> None:
        assert device.wait(60)
        self.causes: list[tuple[set[str], str]] = []
        self.look_at_rows(rows_of(device))
        self.look_at_records(records_of(device))
        task = device.tasks().get("count")
        if task is None:
            self.need({"tasks"})
        elif task.status != "broken":  # which says so itself, and what waits for it stays
            self.look_at_state(device)
            self.go_on(device)
        # What lies in files that nobody had to read at the open is told once they are.
        told = {loss.what for loss in device.losses()}
        if not self.told <= told:
            self.wrong.add("unreported")
        self.told |= told
        self.wrong |= {wrong for causes, wrong in self.causes if not told & causes}

    def need(self, causes: set[str], wrong: str = "unreported") -> None:
        self.causes.append((causes, wrong))

    def look_at_rows(self, rows: dict[int, int]) -> None:
        if any(self.rows.get(number, n) != n for number, n in rows.items()):
            self.wrong.add("numbers")
        if set(rows.values()) - set(range(1, EVENTS + 1)) - self.recorded:
            self.wrong.add("contents")
        counts = Counter(rows.values())
        if any(n not in counts for n in self.rows.values()):
            self.need({"rows", "commits", "tasks", "events"})
        if any(count > 1 for count in counts.values()):
            self.need(RUN_AGAIN, "again")
        self.rows.update(rows)

    def look_at_records(self, records: dict[int, bytes]) -> None:
        if any(self.records.get(seq, data) != data for seq, data in records.items()):
            self.wrong.add("numbers")
        if any(seq not in records for seq in self.records):
            self.need({"sends", "commits"})
        self.records.update(records)

    def look_at_state(self, device: Device) -> None:
        try:
            counted = device.call("count", "counted")
        except Error:
            self.need({"kv"})
            return
        least = EVENTS + len(self.recorded)
        if counted < least:
            self.need({"kv", "commits", "tasks", "events"})
        if counted > least:
            self.need(RUN_AGAIN, "again")

    def go_on(self, device: Device) -> None:
        before = max(self.rows, default=0)
        n = EVENTS + self.opens * EVERY + 1  # without a send: after a loss nothing leaves that day
        device.record("tap", "home", {"n": n}, ts=BEGAN + n * SECOND)
        self.recorded.add(n)
        assert device.wait(60)
        rows = rows_of(device)
        if n not in [got for number, got in rows.items() if number > before]:
            self.wrong.add("unreported")
        self.look_at_rows(rows)
        self.look_at_records(records_of(device))

    def acknowledged(self) -> None:
        with open_device(self.folder) as device:
            device.acknowledge_losses(spent={})
        with open_device(self.folder) as device:
            if device.losses():
                self.wrong.add("acknowledged")


# File, kind, and of single bits which one.
Damage = tuple[int, str, str, int]


def files(device: Path) -> list[str]:
    return sorted(str(p.relative_to(device)) for p in device.rglob("*") if p.is_file())


def plan(device: Path, cases: int) -> Iterator[Damage]:
    """Every file meets every kind in turn."""
    names = files(device)
    for n in range(cases):
        yield n, names[n % len(names)], KINDS[n // len(names) % len(KINDS)], -1


def used(data: bytes) -> int:
    """How much of a ring of frames is written: behind it are zeros."""
    return len(data.rstrip(b"\0"))


def plan_bits(device: Path, stride: int) -> Iterator[Damage]:
    """Every ``stride``-th bit of the frames in each journal."""
    n = 0
    for name in files(device):
        if name.endswith(".walj"):
            for bit in range(0, 8 * used((device / name).read_bytes()), stride):
                yield n, name, "bit", bit
                n += 1


def hurt(path: Path, kind: str, bit: int, rng: random.Random) -> str:
    if kind != "bit":
        return damage(path, kind, rng)
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)
    return f"bit {bit}"


def run_cases(batch: list[Damage], results: Path, seed: int, whole: Path, left: Left, scratch: Path) -> None:
    with results.open("a") as out:
        for n, name, kind, bit in batch:
            copy = scratch / f"case{n}"
            shutil.copytree(whole, copy)
            how = hurt(copy / "device" / name, kind, bit, random.Random(seed * 1_000_003 + n))
            case = Case(copy, left)
            wrong = sorted(case.run())
            shutil.rmtree(copy)
            line: dict[str, Any] = {"case": n, "file": name, "how": how, "told": sorted(case.told)}
            print(json.dumps({**line, "wrong": wrong}), file=out, flush=True)


def run(
    cases: int = 1500, seed: int = 0, stride: int = 0, say: Callable[[str], None] = lambda _: None
) -> tuple[int, Counter[str]]:
    """How many cases there were, and how many of them went wrong in each way."""
    found: Counter[str] = Counter(dict.fromkeys(WRONGS, 0))
    # In memory: nothing here is about the disk, whose syncs would take nine tenths of the time.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="walle-damage-", dir=memory) as scratch:
        folder = Path(scratch)
        whole, seen = folder / "whole", folder / "seen"
        whole.mkdir()
        assert in_child(partial(build, whole)) == 0, "the device could not be built"
        shutil.copytree(whole, folder / "looked")
        assert in_child(partial(look_whole, folder / "looked", seen)) == 0, (
            "the device lost something unharmed"
        )
        rows, records = json.loads(seen.read_text())
        left = Left(
            {int(k): v for k, v in rows.items()}, {int(k): bytes.fromhex(v) for k, v in records.items()}
        )
        waiting = [*plan(whole / "device", cases), *(plan_bits(whole / "device", stride) if stride else ())]
        count = len(waiting)
        work = partial(run_cases, seed=seed, whole=whole, left=left, scratch=folder)
        in_batches(waiting, CASES_PER_CHILD, work, folder / "results", found, say)
    return count, found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every-bit", type=int, nargs="?", const=1, default=0, metavar="STRIDE")
    given = parser.parse_args()
    count, found = run(given.cases, given.seed, given.every_bit, print)
    print(f"{count} damaged devices: " + ", ".join(f"{name} {number}" for name, number in found.items()))
    sys.exit(1 if any(found.values()) else 0)


if __name__ == "__main__":
    main()
