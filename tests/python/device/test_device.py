"""A device from Python: events in, tasks run, rows and results out."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
from device_tasks import MAIN, Folder, Open
from waits import PATIENCE_S

from walle_rt import ArgumentError, ResourceError, TaskError
from walle_rt.device import Device, TaskResult
from walle_rt.stream import Catalog, ColumnType, Sensitivity
from walle_rt.task import Task


def buy(device: Device, price: int, name: str | None = None) -> int:
    return device.record("buy", contents={"price": price, "name": name})


def test_an_event_ends_in_a_row(opened: Open, folder: Folder) -> None:
    device = opened()
    assert device.install(folder()) == "shop"
    numbers = [buy(device, price, "odd" if price % 2 else None) for price in range(1, 11)]
    assert numbers == sorted(numbers)
    assert device.wait(PATIENCE_S)
    rows = list(device.results("shop"))
    assert [row["price"] for row in rows] == list(range(1, 11))
    assert rows[0]["name"] == "odd" and rows[1]["name"] is None
    assert (rows[5]["ratio"], rows[5]["big"], rows[5]["raw"]) == (1.5, True, b"x")
    assert [row["_number"] for row in rows] == list(range(1, 11)) and rows[0]["_ts"] > 10**15
    device.close()
    with opened() as again:
        assert len(again.results("shop", "sales")) == 10
        assert again.tables("shop") == ["sales"]


def test_columns_are_arrays(opened: Open, folder: Folder) -> None:
    device = opened()
    device.install(folder())
    for price in range(1, 6):
        buy(device, price, "n" if price != 3 else None)
    assert device.wait(PATIENCE_S)
    results = device.results("shop")
    assert results.types == {"price": "int", "name": "text", "ratio": "float", "big": "bool", "raw": "bytes"}
    columns = results.columns()
    assert columns["price"].dtype == np.int64 and columns["ratio"].dtype == np.float64
    assert columns["big"].dtype == bool and columns["name"].tolist() == ["n", "n", None, "n", "n"]
    assert columns["price"].__array_interface__["shape"] == (5,)
    rows = results.read(2, 3, ["price"])
    assert rows.numbers.tolist() == [2, 3, 4] and rows.column("price").tolist() == [2, 3, 4]
    assert results.last(2).column("price").tolist() == [4, 5]
    assert (rows[0]["price"], rows[-1]["price"], [r["price"] for r in rows[1:]]) == (2, 4, [3, 4])
    with pytest.raises(IndexError):
        rows[3]
    with pytest.raises(KeyError):
        rows.column("name")
    structured = results.to_numpy()
    assert structured["price"].tolist() == [1, 2, 3, 4, 5] and structured["_number"].dtype == np.uint64
    assert (results.newest, results.removed) == (5, 0)
    with pytest.raises(ArgumentError, match="colour"):
        results.read(columns=["colour"])


def test_missing_numbers_are_masked(opened: Open, folder: Folder) -> None:
    pd = pytest.importorskip("pandas")
    source = """
def main(event):
    price = event["fields"]["price"]
    return {"price": price} if price % 2 else {"big": True}
"""
    device = opened()
    device.install(folder(source))
    for price in (1, 2, 3):
        buy(device, price)
    assert device.wait(PATIENCE_S)
    rows = device.results("shop").read()
    column = rows.column("price")
    assert isinstance(column, np.ma.MaskedArray) and column.tolist() == [1, None, 3]
    assert rows.present("price").tolist() == [True, False, True]
    frame = rows.to_pandas()
    assert frame.index.tolist() == [1, 2, 3] and frame["price"].isna().tolist() == [False, True, False]
    assert frame["price"].dtype == pd.Int64Dtype() and str(frame["_ts"].dtype).startswith("datetime64")


def test_every_firing_tells_what_it_came_to(opened: Open, folder: Folder) -> None:
    source = "def main(event):\n    return {'price': 10 // event['fields']['price']}\n"
    device = opened()
    device.install(folder(source))
    told: list[TaskResult] = []
    leave = device.on_result(told.append)
    for price in (5, 0, 2):
        buy(device, price)
    assert device.wait(PATIENCE_S)
    assert [result.number for result in told] == [1, 2, 3]
    assert [result.ok for result in told] == [True, False, True]
    assert told[0].value == {"price": 2} and told[0].trigger == "bought" and told[0].rows == 1
    error = told[1].error
    assert error is not None and told[1].value is None
    assert (error.type, error.line, error.file, error.phase) == ("ZeroDivisionError", 2, "main.py", "main")
    assert "event['fields']['price']" in error.source and "shop" in error.text
    leave()
    buy(device, 1)
    assert device.wait(PATIENCE_S) and len(told) == 3
    info = device.task("shop")
    assert (info.firings, info.failures, info.failures_in_row, info.status) == (4, 1, 0, "idle")
    assert info.triggers[0].name == "bought" and info.triggers[0].fired == 4
    assert device.stats().firings == 4 and device.stats().failures == 1


def test_a_callback_may_record_and_read(opened: Open, folder: Folder) -> None:
    device = opened()
    device.install(folder())
    seen: list[int] = []

    def on_result(result: TaskResult) -> None:
        seen.append(len(device.results("shop")))
        if result.value["price"] < 5:
            buy(device, result.value["price"] + 1)

    device.on_result(on_result)
    buy(device, 1)
    assert device.wait(PATIENCE_S)
    assert seen == [1, 2, 3, 4, 5]


def test_what_a_callback_raises_is_told_to_nobody_else(
    opened: Open, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooked: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: hooked.append(told.exc_value))
    device = opened()
    device.install(folder())
    device.on_result(lambda result: 1 // 0)
    buy(device, 1)
    assert device.wait(PATIENCE_S)
    assert [type(each) for each in hooked] == [ZeroDivisionError]
    assert len(device.results("shop")) == 1


def test_a_task_comes_as_folder_file_bytes_or_bundle(opened: Open, folder: Folder, tmp_path: Path) -> None:
    device = opened()
    bundle = Task(folder(version="2.0.0")).compile()
    bundle.save(tmp_path / "shop.wtask")
    for given, version in (
        (folder(), "1.0.0"),
        (tmp_path / "shop.wtask", "2.0.0"),
        (Task(folder(version="3.0.0")).compile().data, "3.0.0"),
        (bundle, "2.0.0"),
    ):
        assert device.install(given) == "shop"
        assert device.task("shop").version == version
    assert list(device.tasks()) == ["shop"]
    device.remove("shop")
    assert device.tasks() == {}
    with pytest.raises(ArgumentError, match="shop"):
        device.remove("shop")


def test_what_cannot_be_installed(opened: Open, folder: Folder, tmp_path: Path) -> None:
    device = opened()
    with pytest.raises(ResourceError):
        device.install(tmp_path / "absent.wtask")
    with pytest.raises(TaskError):
        device.install(b"no bundle")
    wrong = folder(more="colour = 1")
    with pytest.raises(TaskError, match=r"task\.toml"):
        device.install(wrong)
    (tmp_path / "short.wtask").write_bytes(Task(folder()).compile().data[:-40])
    with pytest.raises(TaskError):
        device.install(tmp_path / "short.wtask")
    assert device.tasks() == {}


def test_events_that_are_not_declared(opened: Open, folder: Folder) -> None:
    device = opened(catalog=Catalog().declare("view", fields={"item": ColumnType.INT}))
    with pytest.raises(ArgumentError, match="buy"):
        buy(device, 1)
    device.declare("buy", fields={"price": (ColumnType.INT, Sensitivity.OPEN)})
    assert device.record("buy", contents={"price": 1}) > 0
    with pytest.raises(ArgumentError, match="colour"):
        device.record("buy", contents={"colour": 1})
    with pytest.raises(ArgumentError, match="home"):
        device.record("click", "home")
    device.declare_page("home")
    device.declare_state("wifi")
    device.record("click", "home")
    device.record("app_state", "wifi", on=False)
    assert {"view", "buy"} <= {name for name, _, _ in device.catalog.events}
    device.install(folder())  # declares another field of buy
    buy(device, 2, "x")


def test_facts(opened: Open, folder: Folder) -> None:
    device = opened()
    device.install(folder(more='requires = ["charging"]'))
    buy(device, 1)
    assert device.wait(PATIENCE_S)
    assert device.task("shop").status == "waiting" and device.task("shop").missing_facts == ("charging",)
    device.set_facts(charging=True, unmetered=False)
    assert device.facts == {"charging": True, "unmetered": False}
    assert device.wait(PATIENCE_S) and len(device.results("shop")) == 1


def test_tables_that_are_not_there(opened: Open, folder: Folder) -> None:
    device = opened()
    with pytest.raises(ArgumentError, match="shop"):
        device.results("shop")
    device.install(folder())
    with pytest.raises(ArgumentError, match="sales"):
        device.results("shop", "sale")


def test_a_closed_device_says_so(opened: Open) -> None:
    device = opened()
    device.close()
    device.close()
    assert device.closed and "closed" in repr(device)
    for call in (device.stats, device.tasks, device.wait, device.outbox, lambda: device.record("click")):
        with pytest.raises(ArgumentError, match="closed device"):
            call()


def test_one_device_a_folder(opened: Open) -> None:
    device = opened()
    with pytest.raises(ResourceError):
        Device(device.path)


@pytest.mark.parametrize(
    "options", [{"workers": 0}, {"workers": 65}, {"ready": -1}, {"key": b""}, {"key": b"short"}]
)
def test_options_out_of_bounds(opened: Open, options: dict[str, object]) -> None:
    with pytest.raises(ArgumentError):
        opened(**options)


def test_lines_of_tasks(opened: Open, folder: Folder) -> None:
    lines: list[tuple[str, int, str]] = []
    device = opened(log=lambda task, level, line: lines.append((task, level, line)))
    device.install(folder("import walle\ndef main(event):\n    print('a')\n    walle.log.warning('b')\n"))
    buy(device, 1)
    assert device.wait(PATIENCE_S)
    assert lines == [("shop", 1, "a"), ("shop", 2, "b")]


def test_a_sealed_folder_keeps_its_key(opened: Open, folder: Folder, tmp_path: Path) -> None:
    key = bytes(range(32))
    with opened(key=key) as device:
        device.install(folder())
        buy(device, 1, "a name that is nowhere to be read")
        assert device.wait(PATIENCE_S)
    for file in (tmp_path / "device").rglob("*"):
        assert file.is_dir() or b"nowhere to be read" not in file.read_bytes(), file
    with opened(key=key) as again:
        assert again.results("shop").last()[0]["name"] == "a name that is nowhere to be read"


def test_many_threads_record_and_read(opened: Open, folder: Folder) -> None:
    device = opened(workers=2)
    for name in ("one", "two"):
        device.install(folder(name=name, more=""))
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for price in range(20):
                buy(device, 100 * number + price)
                if price % 5 == 0:
                    device.tasks()
                    len(device.results("one"))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    device.install(folder(MAIN + "\n# again", name="one", version="1.0.1"))
    for thread in threads:
        thread.join()
    assert not failures and device.wait(PATIENCE_S)
    expected = sorted(100 * number + price for number in range(4) for price in range(20))
    for name in ("one", "two"):
        info = device.task(name)
        rows = len(device.results(name))
        assert rows + info.coalesced + info.dropped == 80
        if rows == 80:
            assert sorted(device.results(name).columns()["price"].tolist()) == expected


def test_a_device_that_nobody_closes(tmp_path: Path, opened: Open, folder: Folder) -> None:
    """It ends with Python, and what it has is there afterwards; a dropped one gives its folder back."""
    script = f"""
from walle_rt.device import Device
device = Device({str(tmp_path / "device")!r})
device.install({str(folder())!r})
device.on_result(lambda result: device.tasks())
for price in range(50):
    device.record("buy", contents={{"price": price}})
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    device = opened()
    assert device.wait(PATIENCE_S)
    info = device.task("shop")
    assert len(device.results("shop")) + info.coalesced + info.dropped == 50
    device.close()
    dropped = Device(device.path)
    gone = weakref.ref(dropped)
    del dropped
    gc.collect()
    assert gone() is None
    opened().close()


def test_a_firing_has_one_key_for_the_script_and_for_the_host(opened: Open, folder: Folder) -> None:
    told: list[TaskResult] = []
    device = opened()
    source = "def main(event):\n    return {'price': event['key']}\n"
    device.install(folder(source))
    device.on_result(told.append)
    for price in range(20):
        device.record("buy", contents={"price": price})
    assert device.wait(PATIENCE_S)
    keys = device.results("shop").columns()["price"].tolist()
    assert [result.key for result in told] == keys
    assert all(key >= 0 for key in keys) and len(set(keys)) == len(keys)


def test_a_script_lists_its_own_resources(opened: Open, folder: Folder) -> None:
    device = opened()
    source = "from walle import engine\ndef main(event):\n    return {'name': ','.join(engine.resources())}\n"
    task = folder(source)
    toml = (task / "task.toml").read_text().replace('"walle.kv"]', '"walle.kv", "walle.engine"]')
    (task / "task.toml").write_text(toml)
    (task / "words.txt").write_text("one two")
    device.install(task)
    device.record("buy", contents={"price": 1})
    assert device.wait(PATIENCE_S)
    assert device.task("shop").error == ""
    assert list(device.results("shop").columns()["name"]) == ["words.txt"]
