"""Who runs what: counted from what devices tell, for full releases, too, now and over time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cloud.servers import Clock, LocalServer, opened_server
from cloud.test_releases import EVERYBODY, Fleet, act, publish, start
from sqlalchemy import func, select

from walle_rt.cli.release_text import release_lines
from walle_rt.cloud.model.tables import AdoptionPoint, Running
from walle_rt.cloud.service.adoption import KEPT_S, QUIET_S
from walle_rt.cloud.web.plots import lines, stairs


@pytest.fixture
def local(database: str | None, tmp_path: Path) -> Iterator[LocalServer]:
    with opened_server(tmp_path, database, clock=Clock()) as made:
        made.done("POST", "/scenarios", json={"name": "shop"})
        publish(made, "1.0.0")
        publish(made, "1.1.0")
        yield made


def adoption(local: LocalServer, release: str) -> Any:
    return local.done("GET", f"/releases/{release}")["adoption"]


def count(local: LocalServer, table: Any) -> int:
    with local.state.database.reading() as session:
        return int(session.scalar(select(func.count()).select_from(table)) or 0)


def test_devices_are_counted_by_the_version_that_they_told_last(local: LocalServer) -> None:
    first = start(local, "1.0.0", EVERYBODY)
    act(local, first, "full")
    fleet = Fleet(local, 5)
    assert adoption(local, first) == {}
    for device in fleet.devices:  # of a full release, for which nobody claims
        fleet.send(device, first, "ok", version="1.0.0")
    assert adoption(local, first) == {"1.0.0": 5}
    second = start(local, "1.1.0", EVERYBODY)
    for device in fleet.devices[:3]:
        fleet.send(device, second, "claim", version="1.1.0")
        assert adoption(local, second).get("1.0.0", 0) >= 2, "a claim is no version that runs"
        fleet.send(device, second, "ok", version="1.1.0")
    assert adoption(local, first) == adoption(local, second) == {"1.1.0": 3, "1.0.0": 2}
    for _ in range(20):
        fleet.send(fleet.devices[0], second, "ok", version="1.1.0")
    assert adoption(local, second) == {"1.1.0": 3, "1.0.0": 2}, "once, however often it says so"
    fleet.send(fleet.devices[1], second, "rolled_back", version="1.1.0")
    assert adoption(local, second) == {"1.0.0": 2, "1.1.0": 2}
    fleet.send(fleet.devices[1], first, "ok", version="1.0.0")
    assert adoption(local, second) == {"1.0.0": 3, "1.1.0": 2}
    assert count(local, Running) == 5, "one row a device and task, whatever was released"
    local.reopen()
    assert adoption(local, second) == {"1.0.0": 3, "1.1.0": 2}


def test_removed_and_quiet_devices_are_not_counted(local: LocalServer) -> None:
    release = start(local, "1.0.0", EVERYBODY)
    act(local, release, "full")
    fleet = Fleet(local, 3)
    for device in fleet.devices:
        fleet.send(device, release, "ok", version="1.0.0")
    local.done("DELETE", f"/devices/{fleet.devices[0].id}")
    assert adoption(local, release) == {"1.0.0": 2}
    local.clock.forward(QUIET_S - 86_400)
    local.admin = local.operator("later", admin=True)
    assert adoption(local, release) == {"1.0.0": 2}, "they had nothing to tell"
    device = fleet.devices[1]
    body = ('{"csr": "' + device.request().replace("\n", "\\n") + '"}').encode()
    proof = device.proof("POST", "/v1/enrol", body, local.clock())
    assert local.ask("POST", "/v1/enrol", content=body, headers=proof).status_code == 200
    local.state.turn()
    seen = local.done("GET", f"/devices/{device.id}")["seen"]
    assert seen == pytest.approx(local.clock(), abs=2), "whatever it asks, it is seen by"
    local.clock.forward(2 * 86_400)
    local.admin = local.operator("later-still", admin=True)
    assert adoption(local, release) == {"1.0.0": 1}, "the other one has been quiet for a month"


def test_points_over_time_are_drawn_by_the_hour_and_go(local: LocalServer) -> None:
    release = start(local, "1.0.0", EVERYBODY)
    act(local, release, "full")
    fleet = Fleet(local, 2)
    for device in fleet.devices:
        fleet.send(device, release, "ok", version="1.0.0")
        local.clock.forward(3600)
        local.state.turn()
        local.state.turn()
    points = local.state.releases.adoption_over_time(release)["1.0.0"]
    assert [devices for _, devices in points] == [1.0, 2.0, 2.0], "two hours, and now"
    assert count(local, AdoptionPoint) == 2
    local.clock.forward(KEPT_S + 2 * 3600)
    fleet.send(fleet.devices[0], release, "ok", version="1.0.0")
    local.state.turn()
    assert count(local, AdoptionPoint) == 1, "of now alone"


def test_steps_jump_and_do_not_slope() -> None:
    assert stairs([(0, 1.0), (10, 1.0), (20, 50.0)]) == [(0, 1.0), (10, 1.0), (20, 1.0), (20, 50.0)]
    drawn = lines({"share": [(0, 1.0), (60, 100.0)]}, "%", "share", 100.0, steps=True)
    [path] = re.findall(r'points="([^"]+)"', drawn)
    xs = [point.split(",")[0] for point in path.split()]
    assert len(xs) == 3 and xs[1] == xs[2]


def test_a_release_is_said_as_a_person_reads_it(local: LocalServer) -> None:
    release = start(local, "1.0.0", EVERYBODY)
    fleet = Fleet(local, 3)
    for device, status in zip(fleet.devices, ("ok", "ok", "limit"), strict=True):
        fleet.send(device, release, "claim")
        fleet.send(device, release, status, version="1.0.0", failures=int(status == "limit"))
    text = "\n".join(release_lines(local.done("GET", f"/releases/{release}")))
    assert f"release {release}: shop/rank 1.0.0 is gray" in text
    assert "open to 100 % of the devices" in text and "3 devices let in, 0 of at most 1000" in text
    assert "1 of 3 devices failed (33.3 %)" in text and "of what halts it" in text
    assert "3 devices told which version of rank they run:" in text
    assert re.search(r"1\.0\.0 +3 +100 %  <- this one", text)
    act(local, release, "halt", reason="looks odd")
    text = "\n".join(release_lines(local.done("GET", f"/releases/{release}")))
    assert "was halted: devices go back" in text and "because looks odd" in text and "let in" not in text
