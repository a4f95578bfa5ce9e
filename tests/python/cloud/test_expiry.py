"""Nothing expires unannounced, and where the keys are at hand nothing expires."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import socket
import ssl
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cloud.repositories import World
from cloud.servers import LocalServer, opened_server
from cloud.test_pages import visit
from cloud.test_releases import EVERYBODY, act, publish, start
from cloud.test_team_keys import Team
from commands import run_walle
from tuf.api.metadata import Metadata, Root
from waits import PATIENCE_S, until

from walle_rt.cloud.service.expiry import AUTHORITY, Countdown, countdowns
from walle_rt.cloud.trust import (
    Expiry,
    Level,
    TaskRepository,
    first_role,
    renew_due,
    renewed_role,
    signatures,
)
from walle_rt.cloud.trust.keys import Scheme

DAY = 86_400.0
YEARS = 3
STEP_H = 23  # the timestamp counts for 24 hours
# Where nothing but the timestamp is to be made anew: it counts for three days here, behind the first month.
LONG_STEP_H, LONGER = 71, Expiry(timestamp=3)
# Days before an expiry in which something is to happen.
_BUSY = ((58, 64), (12, 18), (-1, 4))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # thousands of signatures; no power fails here


def days(world: World, count: int, hours: Callable[[], int]) -> Iterator[datetime]:
    """So many days, as a server's clock sees them."""
    end = world.clock.now + timedelta(days=count)
    while world.clock.now < end:
        world.clock.forward(hours=hours())
        yield world.clock.now


def look(world: World, repository: TaskRepository) -> list[Countdown]:
    """What a server does every minute."""
    renew_due(repository, signatures(repository))
    return countdowns(repository, world.clock.now + timedelta(days=1000), "server")


def test_with_the_keys_at_hand_nothing_stops_for_three_years(tmp_path: Path) -> None:
    world = World(tmp_path)
    repository = world.opened()
    repository.add_scenario("shop", world.team)
    repository.publish("shop", "rank", "1.0.0", b"x")
    for count, hours, expiry in ((30, STEP_H, None), (365 * YEARS - 30, LONG_STEP_H, LONGER)):
        world.expiry = expiry
        repository = world.opened()
        repository.renew(["timestamp"])
        for now in days(world, count, lambda hours=hours: hours):
            found = look(world, repository)
            good = all(each.level == Level.OK and each.expires > now.timestamp() for each in found)
            assert good, (now, found)
    roots: list[Any] = [
        Metadata[Root].from_file(str(world.path / "metadata" / f"{n}.root.json"))
        for n in range(1, 1 + len(list((world.path / "metadata").glob("*.root.json"))))
    ]
    assert 4 <= len(roots) <= 8, "devices follow root by root, 256 at a time"
    for before, after in itertools.pairwise(roots):
        before.signed.verify_delegate("root", after.signed_bytes, after.signatures)
        after.signed.verify_delegate("root", after.signed_bytes, after.signatures)
        assert after.signed.version == before.signed.version + 1


def test_without_them_everything_is_announced_60_days_before_and_the_owner_renews(tmp_path: Path) -> None:
    """root and targets by the offline keys, a scenario by its team; the server has neither."""
    world = World(tmp_path, expiry=LONGER)
    owner, server = world.opened(), world.opened(world.online)
    role = first_role(world.team, Scheme.ED25519, world.clock.now, 90)
    owner.add_team_scenario("maps", role["keyid"], role["key"], role["role"].encode())
    announced: dict[str, datetime] = {}
    renewed: dict[str, int] = {}
    found: list[Countdown] = []

    def hours() -> int:
        left = [each.days for each in found if each.role in ("root", "targets", "maps")]
        busy = any(low < day < high for day in left for low, high in _BUSY)
        return STEP_H if busy or not left else LONG_STEP_H

    for now in days(world, 365 * YEARS, hours):
        found = look(world, server)
        for each in found:
            assert each.expires > now.timestamp(), each
            if each.level == Level.OK:
                continue
            since = announced.setdefault(each.role, now)
            assert each.days > 0 and each.next_step and each.role in each.text(), each
            assert abs(60 - (each.days + (now - since) / timedelta(days=1))) < 1, "from 60 days on"
            assert (each.level == Level.URGENT) == (each.days <= 14), each
            if each.days < 2:  # they come late, as people do
                renew_as_owner(world, owner, server, each.role)
                renewed[each.role] = 1 + renewed.get(each.role, 0)
                del announced[each.role]
    assert renewed == {"root": 3, "targets": 3, "maps": 12}


def renew_as_owner(world: World, owner: TaskRepository, server: TaskRepository, role: str) -> None:
    if role != "maps":
        owner.renew([role])
        return
    text, keyids, held = server.role("maps")
    assert not held
    server.accept("maps", renewed_role(text, [world.team], keyids, world.clock.now, 90).encode(), {})


def test_what_expired_is_said_so(tmp_path: Path) -> None:
    world = World(tmp_path)
    server = world.opened(world.online)
    for days in (364, 1, 1):
        world.clock.forward(days=days)
        found = {each.role: each for each in look(world, server)}
    assert found["root"].level == found["targets"].level == Level.OVER
    assert "no device follows" in found["root"].text() and "walle keys renew" in found["root"].text()
    world.opened().renew(["root", "targets"])
    assert {each.level for each in look(world, server)} == {Level.OK}


def test_a_key_that_is_closed_is_not_at_hand(tmp_path: Path) -> None:
    from walle_rt.cloud.trust import KeyFolder

    offline, online = KeyFolder(tmp_path / "offline", b"words"), KeyFolder(tmp_path / "online")
    TaskRepository(tmp_path / "repository", []).create(offline=offline, online=online)
    there = TaskRepository(tmp_path / "repository", [KeyFolder(tmp_path / "offline"), online])
    assert not there.at_hand("root") and not there.at_hand("targets") and there.at_hand("timestamp")
    there.sign_again()


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalServer]:
    with opened_server(tmp_path) as made:
        made.done("POST", "/scenarios", json={"name": "shop"})
        yield made


def days_later(local: LocalServer, days: float) -> None:
    """The clock goes on, and somebody logs in again."""
    local.clock.forward(days * DAY)
    local.state.turn()
    local.admin = local.operator(f"boss-{int(local.clock())}", admin=True)


def healthy(local: LocalServer) -> Any:
    return local.ask("GET", "/healthz").json()


def test_the_director_is_renewed_however_often_versions_are_published(local: LocalServer) -> None:
    """Each signs a timestamp, so that one is never old."""
    for n in range(20):
        local.state.repository.publish("shop", "rank", f"1.0.{n}", b"%d" % n)
        local.clock.forward(10 * 3600)
        local.state.turn()
        for role in local.state.repository.roles():
            assert local.state.repository.expires(role) > local.state.utc(), role


def test_a_server_says_what_expires_everywhere(
    local: LocalServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = local.state.settings.folder
    local.state.turn()
    assert healthy(local) == {"status": "ok", "signatures": "ok", "days": None}
    shutil.move(folder / "keys" / "offline", tmp_path / "offline")
    days_later(local, 304)
    assert healthy(local)["signatures"] == "ok", "61 days are left"
    days_later(local, 1)
    told = healthy(local)
    assert told["signatures"] == "soon" and told["days"] == pytest.approx(60, abs=0.1)
    assert "'root' counts for 60 days more" in caplog.text
    page = visit(local, "/", local.admin).text
    assert "&#39;targets&#39; counts for 60 days more" in page and "walle keys renew" in page
    text = local.ask("GET", "/metrics", local.admin).text
    assert re.search(r'walle_expiry_days\{role="root"\} (59\.9|60)', text) and f'role="{AUTHORITY}"' in text
    before = caplog.text.count("'root' counts")
    for _ in range(3):
        local.clock.forward(DAY / 4)
        local.state.turn()
    assert caplog.text.count("'root' counts") == before, "once a day"
    shutil.move(tmp_path / "offline", folder / "keys" / "offline")  # the operator brings them
    local.clock.forward(61)
    local.state.turn()
    assert healthy(local) == {"status": "ok", "signatures": "ok", "days": None}


def test_a_full_disk_stops_no_turn_and_is_told(local: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(local, "1.0.0")
    release = start(local, "1.0.0", EVERYBODY)
    with monkeypatch.context() as full:
        full.setattr(
            local.state.repository, "renew", lambda roles: (_ for _ in ()).throw(OSError(28, "full"))
        )
        days_later(local, 20 / 24)
        assert healthy(local)["signatures"] == "urgent"
        assert act(local, release, "pause")["state"] == "paused"
    local.clock.forward(61)
    local.state.turn()
    assert healthy(local)["signatures"] == "ok"


def test_a_team_renews_its_role_at_the_server(tmp_path: Path) -> None:
    with opened_server(tmp_path) as local:
        team = Team(local, tmp_path / "team")
        team.add()
        assert team.publish("1.0.0").is_success
        days_later(local, 80)
        assert healthy(local)["signatures"] == "urgent"
        told = local.done("GET", "/scenarios/shop/role")
        given = (told["role"], [team.keys], told["keyids"], team.now(), 90)
        made = renewed_role(*given)
        assert local.done("PUT", "/scenarios/shop/role", json={"role": made})["role"] == made
        assert local.done("GET", "/audit")["entries"][0]["act"] == "role.renew"
        assert (
            local.ask("PUT", "/api/v1/scenarios/shop/role", local.admin, json={"role": made}).status_code
            == 400
        )
        local.clock.forward(61)
        local.state.turn()
        assert healthy(local)["signatures"] == "ok" and team.listed() == ["1.0.0"]


def test_the_commands(tmp_path: Path) -> None:
    with opened_server(tmp_path) as local:
        folder = local.state.settings.folder
        done = run_walle("serve", "server", "--check", folder=tmp_path)
        assert "root" in done.stdout and "renewed by itself" in done.stdout
        shutil.move(folder / "keys" / "offline", tmp_path / "offline")
        fading = TaskRepository(
            folder / "repository", [local.state._keys("online"), local.state._keys("../../offline")],
            now=lambda: local.state.utc() - timedelta(days=320),
        )  # fmt: skip
        fading.renew(["root", "targets"])
        fading._now = local.state.utc  # type: ignore[method-assign]
        fading.sign_again()
        run_walle(
            "serve", "server", "--check", folder=tmp_path, code=5, says="walle keys renew server/repository"
        )
        rows = run_walle("serve", "server", "--check", "--json", folder=tmp_path, code=5).json["expires"]
        assert {row["role"]: row["level"] for row in rows if row["level"] != "ok"} == {
            "root": "soon", "targets": "soon"
        }  # fmt: skip
        keys = ("--keys", "offline", "--keys", "server/keys/online")
        done = run_walle("keys", "renew", "server/repository", *keys, "--json", folder=tmp_path)
        left = datetime.fromisoformat(done.json["expires"]["root"]) - local.state.utc()
        assert left > timedelta(days=364)
        run_walle("serve", "server", "--check", folder=tmp_path)
        run_walle("keys", "renew", "server/repository", code=3, says="no keys", folder=tmp_path)
        run_walle("serve", "nothing", "--check", code=5, says="walle keys init", folder=tmp_path)
    assert json.loads((folder / "repository" / "metadata" / "timestamp.json").read_text())


@pytest.mark.skipif(
    shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/usr/bin") is None,
    reason="no mosquitto (apt-get install mosquitto)",
)
def test_the_brokers_certificate_is_made_anew_while_it_runs(local: LocalServer) -> None:
    stops = local.state.start_beside()
    try:
        tunnel, authority = local.state.tunnel, local.state.authority.folder
        assert tunnel is not None

        def shown() -> bytes | None:
            """What the broker shows, and nobody here believes: its time is the clock's."""
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.load_cert_chain(authority / "sink.pem", authority / "sink.key")
            address = tunnel.address()
            with socket.create_connection((address["host"], address["port"]), PATIENCE_S) as plain:
                return context.wrap_socket(plain).getpeercert(True)

        first, sink = shown(), (authority / "sink.pem").read_bytes()
        local.clock.forward(200 * DAY)
        local.state.turn()
        assert shown() == first and (authority / "sink.pem").read_bytes() == sink
        local.clock.forward(50 * DAY)
        local.state.turn()
        assert (authority / "sink.pem").read_bytes() != sink, "which the sink reads at each connection"
        until(lambda: shown() != first)
    finally:
        for stop in stops:
            stop()
