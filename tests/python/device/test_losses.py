"""What a device has lost is told by the device, whichever file had it, until it is acknowledged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import run_walle
from device_tasks import MAIN, Folder, Open
from waits import PATIENCE_S

from walle_rt import TaskError
from walle_rt.device import Device

KEEPS = "import walle\n" + MAIN.replace("    fields", "    walle.kv.put('x', 1)\n    fields", 1)
# Files of two copies, and what is said to be lost without both.
FILES = {
    "outbox/outbox.wals": "sends",
    "tasks.wals": "tasks",
    "processor.wals": "triggers",
    "commits.wals": "settled",
    "tables/tables.wals": "rows",
    "log/state.wals": "accounts",
    "egress/egress.wals": "budgets",
}


@pytest.fixture
def used(opened: Open, folder: Folder, tmp_path: Path) -> Path:
    """The folder of a device that has run a task and was closed."""
    device = opened()
    device.install(folder(KEEPS))
    for price in range(4):
        device.record("buy", contents={"price": price})
    assert device.wait(PATIENCE_S)
    device.close()
    return tmp_path / "device"


def spoil(file: Path) -> None:
    data = bytearray(file.read_bytes())
    for at in range(len(data) // 2, len(data)):
        data[at] ^= 0x55
    file.write_bytes(data)


def told(path: Path) -> list[str]:
    with Device(path) as device:
        return [loss.what for loss in device.losses()]


def test_whatever_is_there_is_in_the_table() -> None:
    page = (Path(__file__).parents[3] / "docs/concepts/losses.md").read_text()
    assert all(f"| `{what}` |" in page for what in {*FILES.values(), "events", "commits", "kv"})


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("how", ["damaged", "removed"])
def test_both_copies(used: Path, file: str, how: str) -> None:
    copies = [used / file, used / f"{file}.mirror"]
    for copy in copies:
        spoil(copy) if how == "damaged" else copy.unlink()
    assert told(used) == told(used) == [FILES[file]]
    shown = run_walle("device", "status", used, "--acknowledge").stdout
    assert f"lost: {FILES[file]}" in shown or f" {FILES[file]}" in shown
    left = told(used)
    if FILES[file] == "accounts":
        with Device(used) as device:
            device.acknowledge_losses(spent={})
        left = told(used)
    assert left == []


@pytest.mark.parametrize("file", FILES)
def test_one_copy_costs_nothing(used: Path, file: str) -> None:
    spoil(used / file)
    assert told(used) == []


def test_a_list_of_tasks_that_is_lost_keeps_what_it_named(used: Path, folder: Folder) -> None:
    for copy in (used / "tasks.wals", used / "tasks.wals.mirror"):
        spoil(copy)
    bundles = sorted(p.name for p in (used / "tasks").iterdir())
    assert bundles and told(used) == ["tasks"]
    assert sorted(p.name for p in (used / "tasks").iterdir()) == bundles
    with Device(used) as device:
        assert device.tasks() == {}
        device.install(folder(KEEPS))
        assert [loss.what for loss in device.losses()] == ["tasks"]
        device.acknowledge_losses()
        assert device.losses() == [] and list(device.tasks()) == ["shop"]
    assert told(used) == []


def test_the_state_of_a_task(used: Path) -> None:
    spoil(used / "kv" / "shop")
    assert told(used) == []  # one of two copies
    spoil(used / "kv" / "shop.mirror")
    with Device(used) as device:
        device.record("buy", contents={"price": 8})
        assert device.wait(PATIENCE_S)
        (loss,) = device.losses()
        assert (loss.what, loss.name) == ("kv", "shop")
    assert told(used) == ["kv"]
    with Device(used) as device:
        device.acknowledge_losses()
        assert device.losses() == []
    assert told(used) == []


def test_a_state_that_was_removed(used: Path) -> None:
    for price in (8, 9):  # the second time as the first
        for copy in ("shop", "shop.mirror"):
            (used / "kv" / copy).unlink()
        with Device(used) as device:
            device.record("buy", contents={"price": price})
            assert device.wait(PATIENCE_S)
            (loss,) = device.losses()
            assert (loss.what, loss.name) == ("kv", "shop") and "removed" in loss.cause
            device.acknowledge_losses()
            assert device.losses() == []
        assert told(used) == []


def test_events(used: Path, tmp_path: Path) -> None:
    (used / "log" / "journal.walj").unlink()
    with Device(used) as device:
        assert {loss.what for loss in device.losses()} == {"events"}
        newest = device.stats().last_event
        device.acknowledge_losses()
        assert device.losses() == [] and device.record("buy", contents={"price": 1}) > max(newest, 4)


def test_commits(used: Path, tmp_path: Path) -> None:
    shutil.copy(used / "commits.walj", tmp_path / "before")
    with Device(used) as device:
        device.record("buy", contents={"price": 5})
        assert device.wait(PATIENCE_S)
    (used / "commits.walj").unlink()
    with Device(used) as device:
        lost = {loss.what for loss in device.losses()}
        assert "commits" in lost or not lost, lost
        device.acknowledge_losses()
        assert device.losses() == []


def test_keys_that_gave_way_are_counted_and_can_be_kept(opened: Open, folder: Folder) -> None:
    device = opened(recorded=True)
    for name, keep in (("few", " keep 4"), ("many", " keep 5000")):
        task = folder(name=name)
        text = (task / "task.toml").read_text()
        by = "price" if keep == " keep 4" else "price, name"
        text = text.replace('bought = "buy"', f'bought = "buy ~ buy scope by({by}){keep}"')
        (task / "task.toml").write_text(text)
        device.install(task)
    t0 = 1_700_000_000_000_000
    for i in range(4500):
        device.record("buy", contents={"price": i, "name": "x"}, ts=t0 + i)
    for i in range(4500):
        device.record("buy", contents={"price": i, "name": "x"}, ts=t0 + 5000 + i)
    assert device.wait(PATIENCE_S)
    tasks = device.tasks()
    (few,), (many,) = tasks["few"].triggers, tasks["many"].triggers
    assert (many.fired, many.evicted) == (4500, 0)
    assert few.fired == 0 and few.evicted == 9000 - 4096, "a number below the device's own changes nothing"
    with pytest.raises(TaskError, match="keep"):
        device.install(_with_keep(folder, "0"))


def _with_keep(folder: Folder, keep: str) -> Path:
    task = folder(name="none")
    text = (task / "task.toml").read_text()
    (task / "task.toml").write_text(text.replace('"buy"', f'"buy scope by(price) keep {keep}"', 1))
    return task
