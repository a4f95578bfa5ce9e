"""Devices whose clock is wrong: they are told, sign by the server's time, and nothing else goes by it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cloud.followers import HAS_VM, TASK, InProcess, packed, publish
from cloud.servers import Clock, LocalServer
from commands import run_walle

from walle_rt.cloud.service.enrolment import SKEW_S
from walle_rt.cloud.service.troubles import MOST, Troubles
from walle_rt.device import Device

pytestmark = pytest.mark.skipif(not HAS_VM, reason="no VM library")
DAY_S = 86_400


class Asked(InProcess):
    """Remembers what was asked for."""

    def __init__(self, local: LocalServer) -> None:
        super().__init__(local)
        self.paths: list[str] = []

    def _ask(self, method: str, url: str, *more: Any) -> int:
        self.paths.append(url.removeprefix("http://").partition("/")[2])
        return super()._ask(method, url, *more)


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalServer]:
    made = LocalServer(tmp_path / "server", Clock())
    made.done("POST", "/scenarios", json={"name": "shop"})
    publish(made, packed(tmp_path, "1.0.0"))
    yield made
    made.close()


def released(local: LocalServer, ahead_s: float) -> None:
    """By a server whose clock is so far ahead; its ramp has begun by the devices' clock, too."""
    local.clock.now += min(ahead_s, 0)
    local.state.repository.sign_again()
    given = {"task": TASK, "version": "1.0.0", "policy": "[ramp]\nfrom = 1.0\nto = 1.0\nseconds = 0\n"}
    local.done("POST", "/scenarios/shop/releases", json=given)
    local.state.turn()
    local.clock.now += max(ahead_s, 0)


def connected(local: LocalServer, folder: Path, url: str = "http://127.0.0.1:1") -> tuple[Device, Asked]:
    """A device that has enrolled."""
    code = local.done("POST", "/device-codes", json={})["codes"][0]
    root = (local.state.settings.folder / "repository" / "metadata" / "1.root.json").read_bytes()
    device, asked = Device(folder), Asked(local)
    device.connect(
        url, root=root, app="com.example.shop", app_version="1.0.0", enrol_code=code, transport=asked,
        report_after_s=0.05, broker="", plain_enrolment=True,
    )  # fmt: skip
    return device, asked


def enrolled_id(local: LocalServer) -> str:
    return str(local.done("GET", "/devices")[-1]["id"])


@pytest.mark.parametrize("ahead_s", [4000, -4000])
def test_a_device_signs_by_the_servers_clock(local: LocalServer, tmp_path: Path, ahead_s: int) -> None:
    released(local, ahead_s)
    device, asked = connected(local, tmp_path / "device")
    with device:
        state = device.pull()
        assert [step.what for step in state.steps] in (["activated"], ["kept"]), state
        assert device.tasks()[TASK].version == "1.0.0"
        assert asked.paths.count("v1/time") == 1, "once, and not for each request"
        side = "behind" if ahead_s > 0 else "ahead of"
        deadline = time.monotonic() + 20
        while f" s {side} its server's" not in device.cloud.trouble and time.monotonic() < deadline:
            time.sleep(0.05)
        assert f" s {side} its server's" in device.cloud.trouble
    told = local.done("GET", f"/devices/{enrolled_id(local)}")["trouble"]
    assert f"s {'behind' if ahead_s > 0 else 'ahead of'} the server's" in told["what"] and told["times"] >= 1
    status = run_walle("device", "status", str(tmp_path / "device"), folder=tmp_path)
    assert f" s {side} its server's" in status.stdout


def test_the_servers_clock_keeps_nothing_alive_that_is_expired(local: LocalServer, tmp_path: Path) -> None:
    """The device is three days ahead: by its clock the newest metadata is over, whatever the server says."""
    released(local, -3 * DAY_S)
    device, asked = connected(local, tmp_path / "device")
    with device:
        state = device.pull()
        assert "expired" in state.error and not device.tasks()
        assert "v1/time" not in asked.paths, "no signature was refused, so nobody asked"


def test_a_clock_is_learnt_from_nobody_on_the_way(local: LocalServer, tmp_path: Path) -> None:
    released(local, 4000)
    device, asked = connected(local, tmp_path / "device", "http://cloud.example")
    with device:
        state = device.pull()
        assert [step.what for step in state.steps] == ["later"] and "401" in state.steps[0].error
        assert "v1/time" not in asked.paths


def test_a_refusal_says_what_is_wrong_to_who_has_the_key_alone(local: LocalServer) -> None:
    local.clock.now = float(int(local.clock.now))  # signatures say whole seconds, and the difference is told
    device = local.device()
    body = ('{"csr": "' + device.request().replace("\n", "\\n") + '"}').encode()

    def told(seconds: float, by: Any = device) -> tuple[str, str]:
        headers = by.proof("POST", "/v1/enrol", body, local.clock() + seconds)
        reply = local.ask("POST", "/v1/enrol", content=body, headers=headers)
        assert reply.status_code == 401
        return reply.json()["given"], reply.json()["next"]

    given, next_step = told(-1234)
    assert given == "a signature by a clock that is 1234 s behind the server's" and "/v1/time" in next_step
    assert told(SKEW_S + 7)[0].endswith("307 s ahead of the server's")
    stranger = local.device()
    stranger.id = device.id
    assert told(-1234, stranger)[0] == "no proof of an enrolled device"
    assert local.done("GET", f"/devices/{device.id}")["trouble"]["times"] == 2
    local.clock.forward(3600)
    local.done("DELETE", f"/devices/{device.id}")
    assert told(0)[0] == "a device that was removed"
    status = local.done("GET", f"/devices/{device.id}")
    assert status["removed"] and status["trouble"]["what"] == "a device that was removed"
    assert local.ask("GET", "/v1/time").text == str(int(local.clock()))


def test_a_certificate_that_is_over_is_named(local: LocalServer) -> None:
    device = local.device()
    local.clock.forward(366 * DAY_S)
    local.admin = local.operator("later", admin=True)
    body = b"{}"
    headers = device.proof("POST", "/v1/reports", body, local.clock())
    reply = local.ask("POST", "/v1/reports", content=body, headers=headers)
    assert reply.status_code == 401 and "certificate that expired at" in reply.json()["given"]
    assert local.done("GET", f"/devices/{device.id}")["expired"]


def test_troubles_are_bounded() -> None:
    troubles = Troubles()
    for at in range(MOST + 10):
        troubles.note(f"d-{at}", "something", at)
    assert len(troubles) == MOST and troubles.of("d-9") is None and troubles.of("d-10") is not None
