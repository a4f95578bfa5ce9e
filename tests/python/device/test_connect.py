"""A device that follows a server: enrolment, installs, probation, rollback, reports, whoever lies."""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from waits import PATIENCE_S, until

pytest.importorskip("tuf", reason="no package 'tuf' (the extra [cloud])")
pytest.importorskip("cryptography", reason="no package 'cryptography' (the extra [cloud])")

sys.path.insert(0, str(Path(__file__).parents[1] / "cloud"))

import asking
from device_tasks import MAIN, Folder, Open
from small_cloud import SmallCloud

from walle_rt import ArgumentError, NetworkError, _core
from walle_rt.device import Device
from walle_rt.task._package import FileKind, Package

CODE = "a-code-of-one-device"
BROKEN = "def main(event):\n    raise KeyError(event['fields']['name'])\n"


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[SmallCloud]:
    (tmp_path / "cloud").mkdir()
    made = SmallCloud(tmp_path / "cloud")
    yield made
    made.close()


def connect(device: Device, cloud: SmallCloud, **more: Any) -> None:
    given: dict[str, Any] = {
        "root": cloud.root, "app": "com.example.shop", "app_version": "1.0.0", "enrol_code": CODE,
        "transport": "python", "report_after_s": 0.2,
    }  # fmt: skip
    device.connect(cloud.url, **{**given, **more})


def buy(device: Device, price: int = 8) -> None:
    device.record("buy", contents={"price": price, "name": "pen"})
    assert device.wait(PATIENCE_S)


def test_what_the_server_alone_runs_with_is_not_fetched(
    opened: Open, cloud: SmallCloud, tmp_path: Path
) -> None:
    packed = asking.pack(tmp_path / "tasks")
    cloud.release(1, ("r1", cloud.publish(packed)))
    device = opened()
    connect(device, cloud)
    assert device.pull().tasks["asker"].version == "1.0.0"
    assert "asker" in device.tasks()
    asked = {path.rpartition("/")[2] for path in cloud.asked if path.startswith("/v1/blobs/")}
    files = Package.from_bytes(packed.whole).files
    assert asked == {f.sha256 for f in files if f.kind is not FileKind.CLOUD}
    assert len(asked) == len(files) - 2 and asked == {f.sha256 for f in packed.package.files}


@pytest.mark.parametrize("transport", ["python", "libcurl"])
def test_a_task_is_published_pulled_and_runs(
    opened: Open, folder: Folder, cloud: SmallCloud, transport: str
) -> None:
    if transport == "libcurl" and not _core.device.has_libcurl():
        pytest.skip("no libcurl.so.4")
    device = opened()
    cloud.release(1, ("r1", cloud.publish(folder())), gray=True)
    connect(device, cloud, transport=transport)
    state = device.pull()
    assert state.error == ""
    assert state.device == "d-1" and state.epoch == 1
    assert state.transport == {"python": "http.client", "libcurl": "libcurl"}[transport]
    assert state.tasks["shop"].version == "1.0.0" and state.tasks["shop"].release == "r1"
    buy(device)
    assert device.results("shop").last(1).column("price").tolist() == [8]
    until(lambda: cloud.told() == ["claim", "ok"])


def test_the_next_version_is_tried_on_what_was_recorded(
    opened: Open, folder: Folder, cloud: SmallCloud
) -> None:
    device = opened()
    first = cloud.publish(folder())
    cloud.release(1, ("r1", first))
    connect(device, cloud)
    device.pull()
    buy(device)
    broken = cloud.publish(folder(BROKEN, version="1.1.0"))
    cloud.release(2, ("r2", broken), ("r1", first), gray=True)
    state = device.pull()
    assert [(step.what, step.version) for step in state.steps] == [("turned_down", "1.1.0")]
    assert device.task("shop").version == "1.0.0"
    until(lambda: "phase_error" in cloud.told())
    report = cloud.reports[-1]
    assert (report.error_type, report.version, report.phase) == ("KeyError", "1.1.0", "main")
    # What the probation did is nobody's: one row, of the one firing.
    assert len(device.results("shop").last(9).column("price")) == 1
    assert not (device.path / "cloud" / "probation").exists()


def test_a_version_that_fails_later_gives_way(opened: Open, folder: Folder, cloud: SmallCloud) -> None:
    device = opened()
    first = cloud.publish(folder())
    cloud.release(1, ("r1", first))
    connect(device, cloud)
    device.pull()
    # Nothing is recorded yet: it can only be loaded.
    cloud.release(2, ("r2", cloud.publish(folder(BROKEN, version="1.1.0"))))
    device.pull()
    assert device.task("shop").version == "1.1.0"
    for _ in range(5):
        buy(device)
    until(lambda: device.task("shop").version == "1.0.0")
    until(lambda: "rolled_back" in cloud.told())
    assert cloud.told().count("rolled_back") == 1
    device.pull()
    assert device.task("shop").version == "1.0.0", "the release had its turn"
    buy(device)
    assert device.results("shop").last(1).column("price").tolist() == [8]


TUNED = """
def main(event):
    return {"price": int(10 * walle.params["rate"]), "name": walle.params["mode"]}
"""
PARAMS = """
[params.rate]
type = "float"
default = 0.5
max = 9.0
[params.mode]
type = "text"
default = "calm"
"""


def test_a_release_sets_parameters(opened: Open, folder: Folder, cloud: SmallCloud) -> None:
    device = opened()
    packed = cloud.publish(folder("import walle\n" + TUNED, more=PARAMS))

    def row() -> tuple[int, str]:
        buy(device)
        last = device.results("shop").last(1)
        return last.column("price")[0], last.column("name")[0]

    cloud.release(1, ("r1", packed))
    connect(device, cloud)
    device.pull()
    assert row() == (5, "calm")
    cloud.release(2, ("r2", packed), ("r1", packed), gray=True, params={"rate": 2, "mode": "eager"})
    assert [(step.what, step.version) for step in device.pull().steps] == [("activated", "1.0.0")]
    assert row() == (20, "eager")
    until(lambda: cloud.told()[-2:] == ["claim", "ok"])
    device.set_params("shop", {"mode": "mine"})
    assert row() == (20, "mine"), "the app goes before the release"
    # What the version does not let in is turned down, told, and changes nothing.
    cloud.release(3, ("r3", packed), ("r2", packed), gray=True, params={"rate": 10})
    assert [step.what for step in device.pull().steps] == ["turned_down"]
    assert row() == (20, "mine")
    until(lambda: "install_error" in cloud.told())
    device.set_params("shop", {"mode": None})
    cloud.release(4, ("r1", packed))
    device.pull()
    assert row() == (5, "calm")


def test_a_kill_order_removes_the_task(opened: Open, folder: Folder, cloud: SmallCloud) -> None:
    device = opened()
    packed = cloud.publish(folder())
    cloud.release(1, ("r1", packed))
    connect(device, cloud)
    device.pull()
    cloud.release(2, ("r1", packed), kills=("shop",))
    assert [step.what for step in device.pull().steps] == ["removed"]
    assert device.tasks() == {}


def test_a_reply_of_the_app_makes_it_pull(opened: Open, folder: Folder, cloud: SmallCloud) -> None:
    device = opened()
    cloud.release(1, ("r1", cloud.publish(folder())))
    assert device.request_headers == {} and device.cloud is None
    device.saw({"X-Walle-Up": "7"})
    connect(device, cloud)
    device.pull()
    header = device.request_headers["X-Walle"]
    assert len(header) == 48
    cloud.release(2, ("r2", cloud.publish(folder(version="1.1.0"))))
    device.saw({"content-type": "text/plain"})
    device.saw([("x-walle-up", "nonsense")])
    device.saw([("x-walle-up", "2")])
    until(lambda: device.task("shop").version == "1.1.0")
    until(lambda: device.request_headers["X-Walle"] != header)


def test_no_place_no_change(opened: Open, folder: Folder, cloud: SmallCloud) -> None:
    device = opened()
    cloud.wait_s = 1
    cloud.release(1, ("r1", cloud.publish(folder())), gray=True)
    connect(device, cloud)
    assert [step.what for step in device.pull().steps] == ["waits"]
    assert device.tasks() == {}
    cloud.wait_s = None
    assert [step.what for step in device.pull().steps] == ["activated"]


def test_what_was_changed_on_the_way_is_not_run(opened: Open, folder: Folder, cloud: SmallCloud) -> None:
    device = opened()
    packed = cloud.publish(folder())
    cloud.release(1, ("r1", packed))
    largest = max(packed.blobs, key=lambda digest: len(packed.blobs[digest]))

    def spoil(path: str, body: bytes) -> bytes:
        return body[:-1] + bytes([body[-1] ^ 1]) if path.endswith(largest) else body

    cloud.spoil = spoil
    connect(device, cloud)
    state = device.pull()
    assert "another digest" in state.error and device.tasks() == {}
    cloud.spoil = lambda path, body: body
    assert device.pull().error == ""
    assert device.task("shop").version == "1.0.0"


def test_who_a_device_is_lies_in_its_folder_for_its_user_alone(opened: Open, cloud: SmallCloud) -> None:
    device = opened()
    with pytest.raises(ArgumentError, match="one-time code"):
        connect(device, cloud, enrol_code=None)
    with pytest.raises(NetworkError, match="does not count"):
        connect(device, cloud, enrol_code="another-code")
    with pytest.raises(ArgumentError, match="code"):
        connect(device, cloud, enrol_code='a"b')
    with pytest.raises(ArgumentError, match="url"):
        device.connect("ftp://x", root=None, app="a", app_version="1", enrol_code=CODE)
    with pytest.raises(ArgumentError, match="transport"):
        connect(device, cloud, transport="pigeon")
    with pytest.raises(ArgumentError, match=r"root\.json"):
        connect(device, cloud, root="/nowhere/root.json")
    connect(device, cloud)
    with pytest.raises(ArgumentError, match="connected"):
        connect(device, cloud)
    files = list((device.path / "cloud").glob("*.*"))
    assert {file.name for file in files} >= {"device.key", "device.pem", "authority.pem", "identity.wals"}
    for file in files:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    device.close()
    # No code any more, and a root that came with the enrolment.
    again = opened()
    connect(again, cloud, enrol_code=None, root=None)
    assert again.cloud is not None and again.cloud.device == "d-1"


def test_a_server_that_is_not_there_stops_nobody(opened: Open, folder: Folder, cloud: SmallCloud) -> None:
    device = opened()
    cloud.release(1, ("r1", cloud.publish(folder())))
    connect(device, cloud)
    device.pull()
    cloud.close()
    device.close()
    device = opened()
    connect(device, cloud, enrol_code=None)
    state = device.pull()
    assert state.error != "" and device.task("shop").version == "1.0.0"
    buy(device)
    device.disconnect()
    assert device.cloud is None


def test_a_transport_of_the_apps_own(opened: Open, folder: Folder, cloud: SmallCloud) -> None:
    from walle_rt.device._transport import HttpTransport

    class Mine(HttpTransport):
        name = "the app's"

    class Rude(HttpTransport):
        name = "rude"

        def get(self, *given: Any) -> int:
            raise RuntimeError("no network today")

    device = opened()
    cloud.release(1, ("r1", cloud.publish(folder(MAIN))))
    connect(device, cloud, transport=Rude())
    assert "no network today" in device.pull().error
    device.disconnect()
    connect(device, cloud, enrol_code=None, transport=Mine())
    assert device.pull().transport == "the app's"
    assert device.task("shop").version == "1.0.0"
