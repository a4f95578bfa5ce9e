"""What devices say with each pull: counted without a report, and only where it is signed."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cloud import followers
from cloud.followers import InProcess
from cloud.servers import Clock, Device, LocalServer, opened_server
from cloud.test_adoption import adoption, count
from cloud.test_releases import EVERYBODY, Fleet, act, start
from cloud.test_retained import needs_vm

from walle_rt import _core
from walle_rt.cloud.model.tables import Running
from walle_rt.cloud.service.profiles import MOST, TOGETHER, Profiles
from walle_rt.link import HEADER, device_header


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalServer]:
    with opened_server(tmp_path, clock=Clock()) as made:
        made.done("POST", "/scenarios", json={"name": "shop"})
        for version in ("1.0.0", "1.1.0"):
            followers.publish(made, followers.packed(tmp_path / "tasks", version))
        yield made


class OnlyPulls(InProcess):
    """Nothing of what the device reports reaches the server."""

    def post(
        self, url: str, content_type: str, body: bytes, headers: list[tuple[str, str]],
        sink: Callable[[bytes], None],
    ) -> int:  # fmt: skip
        if url.endswith("/v1/enrol"):
            return super().post(url, content_type, body, headers, sink)
        return 503


@needs_vm
def test_devices_that_only_pull_are_counted(local: LocalServer, tmp_path: Path) -> None:
    first = start(local, "1.0.0", EVERYBODY)
    act(local, first, "full")
    with followers.followers(local, tmp_path / "devices", 2, OnlyPulls) as (one, two):

        def runs(*wanted: str) -> dict[str, int]:
            assert (one.pulled(), two.pulled()) == wanted
            local.state.turn()
            found: dict[str, int] = adoption(local, first)
            return found

        assert runs("1.0.0", "1.0.0") == {"1.0.0": 2}
        second = start(local, "1.1.0", EVERYBODY)
        act(local, second, "full")
        assert runs("1.1.0", "1.1.0") == {"1.1.0": 2}
        back = act(local, second, "rollback", reason="odd")
        assert runs("1.0.0", "1.0.0") == {"1.0.0": 2}
        act(local, back["id"], "kill", reason="at once")
        assert runs("nothing", "nothing") == {}
        act(local, back["id"], "revive")
        assert runs("1.0.0", "1.0.0") == {"1.0.0": 2}
        assert count(local, Running) == 2, "one row a device and task, whatever was released"
        # One that is heard of no more is not counted for ever.
        local.clock.forward(20 * 86_400)
        local.admin = local.operator("later", admin=True)
        local.state.turn()
        assert adoption(local, first) == {"1.0.0": 2}
        one.pulled()
        local.state.turn()
        local.clock.forward(20 * 86_400)
        local.admin = local.operator("later-still", admin=True)
        local.state.turn()
        assert adoption(local, first) == {"1.0.0": 1}


def header_of(local: LocalServer, device: Device, **more: Any) -> str:
    """Of a device that has carried out what it should."""
    plan = local.state.releases._out[1]
    given = {"app": "com.example.shop", "app_version": "1.0.0", "device_id": device.id}
    digest, _ = plan.decide(device_header(**given), int(local.clock()))
    return device_header(**given, **{"active": digest, "epoch": plan.epoch, **more})


def tell(local: LocalServer, device: Device, header: str, signed: str | None = None) -> int:
    said = (header if signed is None else signed).encode()
    proof = device.proof("GET", "/v1/device", said, local.clock())
    status = local.ask("GET", "/v1/device", headers={**proof, HEADER: header}).status_code
    local.state.turn()
    return status


def test_what_is_told_counts_where_it_is_signed_and_is_the_plans(local: LocalServer) -> None:
    release = start(local, "1.0.0", EVERYBODY)
    act(local, release, "full")
    local.state.turn()
    device, other = Fleet(local, 2).devices
    good = header_of(local, device)
    assert local.ask("GET", "/v1/device", headers={HEADER: good}).status_code == 204
    local.state.turn()
    assert adoption(local, release) == {}, "anybody can send a header"
    assert tell(local, device, good, signed="") == 401
    assert tell(local, device, good, signed=header_of(local, other)) == 401
    assert tell(local, device, header_of(local, device, active=7)) == 204
    assert tell(local, device, "no header at all") == 204
    assert adoption(local, release) == {}
    assert tell(local, device, good) == 204
    assert adoption(local, release) == {"1.0.0": 1}


def test_what_came_to_nothing_on_a_device_is_not_what_it_runs(local: LocalServer) -> None:
    first = start(local, "1.0.0", EVERYBODY)
    act(local, first, "full")
    fleet = Fleet(local, 1)
    (device,) = fleet.devices
    fleet.send(device, first, "ok", version="1.0.0")
    second = start(local, "1.1.0", EVERYBODY)
    act(local, second, "full")
    for status in ("install_error", "phase_error", "limit"):
        fleet.send(device, second, status, version="1.1.0")
        assert adoption(local, first) == {"1.0.0": 1}, "it was turned down before it ran"
    fleet.send(device, second, "phase_error", version="1.1.0", failures=1)
    assert adoption(local, first) == {"1.1.0": 1}, "it runs, and fails"
    fleet.send(device, second, "rolled_back", version="1.1.0", failures=5)
    assert adoption(local, first) == {}
    # What it turned down counts as carried out, and its header says that it does not run.
    fields = bytearray(base64.urlsafe_b64decode(header_of(local, device)))
    fields[1] = _core.policy.PARTLY
    assert tell(local, device, base64.urlsafe_b64encode(fields).decode()) == 204
    assert adoption(local, first) == {}


def test_profiles_are_bounded_and_the_newest_of_a_device_counts() -> None:
    profiles = Profiles()
    for at in range(MOST + 10):
        profiles.note(f"d-{at}", "old")
    profiles.note("d-10", "new")
    told: dict[str, str] = {}
    while some := profiles.take():
        assert len(some) <= TOGETHER
        told |= some
    assert len(told) == MOST and "d-9" not in told and told["d-10"] == "new"
