"""No call of a device hangs, in a child of fork or in one of its own callbacks: what cannot be is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from device_tasks import MAIN, Folder, Open
from every_call import CALLS, RESULTS
from waits import PATIENCE_S

from walle_rt.device import Device, Results

# What would wait for the callback that calls it.
WAIT = {
    "pull",
    "disconnect",
    "close",
    "aclose",
    "wait",
    "await_idle",
    "__enter__, __exit__",
    "__aenter__, __aexit__",
}
# What says nothing about a device that is another process's.
QUIET = {
    "on_result", "cloud", "tunnel", "request_headers", "saw", "closed", "path", "__repr__", "watch",
    "__enter__, __exit__", "__aenter__, __aexit__",
}  # fmt: skip
# Wrong whoever asks.
WRONG = {
    "install_package": "TaskError",
    "connect": "ArgumentError",
    "remove": "ArgumentError",
    "call": "ArgumentError",
}
LOGS = "import walle\n" + MAIN.replace(
    "    fields", "    walle.log.info('x')\n    walle.kv.put('x', 1)\n    fields", 1
)


def program(*arguments: object) -> str:
    command = [sys.executable, str(Path(__file__).with_name("every_call.py")), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def shop(opened: Open, folder: Folder) -> Path:
    opened().close()  # skips where there is no VM
    sold = '[features.sold]\nevent = "buy"\nby = ["name"]\naggregate = "count"\nover = 3'
    return folder(LOGS, more=sold)


def public(of: type) -> set[str]:
    return {name for name in vars(of) if not name.startswith("_")}


def test_every_method_is_tried() -> None:
    assert public(Device) | {"path"} == {name for name in CALLS if "__" not in name}
    assert {f"Results.{name}" for name in public(Results)} <= set(RESULTS) | NOT_NATIVE


NOT_NATIVE = {"Results.task", "Results.table", "Results.to_numpy", "Results.to_pandas"}


def test_a_forked_child_is_refused(shop: Path, tmp_path: Path) -> None:
    told = json.loads(program("forked", tmp_path / "d", shop))
    assert told == {name: "ok" if name in QUIET else "ResourceError" for name in [*CALLS, *RESULTS]}


@pytest.mark.parametrize("how", ["with", "del", "exit"])
def test_a_forked_child_ends_and_the_parent_goes_on(how: str, shop: Path, tmp_path: Path) -> None:
    assert program(f"leaves-{how}", tmp_path / "d", shop) == "1\n"


@pytest.mark.parametrize("where", ["on_result", "log", "transport"])
def test_a_callback_is_answered_or_refused(where: str, shop: Path, tmp_path: Path) -> None:
    told = json.loads(program(where, tmp_path / "d", shop))
    waits = WAIT if where != "transport" else WAIT - {"wait", "await_idle"}
    expected = {name: "ArgumentError" if name in waits else "ok" for name in [*CALLS, *RESULTS]}
    assert told == {**expected, **WRONG}


def test_a_device_may_close_another_and_go_in_its_own_callback(
    opened: Open, folder: Folder, tmp_path: Path
) -> None:
    device = opened()
    device.install(folder())
    other = [Device(tmp_path / "other")]
    told: list[str] = []

    def callback(_: object) -> None:
        other[0].close()
        told.append("closed" if other.pop().closed else "open")

    device.on_result(callback)
    device.record("buy", contents={"price": 8})
    assert device.wait(PATIENCE_S) and told == ["closed"]
