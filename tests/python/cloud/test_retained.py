"""What a release can name stays authentic, however many versions are published meanwhile."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cloud import followers
from cloud.servers import LocalServer, opened_server
from cloud.test_releases import EVERYBODY, Fleet, act, publish
from cloud.test_team_keys import Team

from walle_rt.cloud.release import Controller, behind
from walle_rt.cloud.release.named import KEPT_FULL
from walle_rt.cloud.trust import retention

needs_vm = pytest.mark.skipif(not followers.HAS_VM, reason="no VM library")


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalServer]:
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # hundreds of versions; no power fails here
    with opened_server(tmp_path) as made:
        made.done("POST", "/scenarios", json={"name": "shop"})
        yield made


def start(local: LocalServer, version: str) -> str:
    given = {"task": "rank", "version": version, "policy": EVERYBODY}
    made = local.done("POST", "/scenarios/shop/releases", json=given)
    local.state.turn()
    return str(made["id"])


def listed(local: LocalServer) -> list[str]:
    role = json.loads(local.done("GET", "/scenarios/shop/role")["role"])
    return [path.rpartition("-")[2].removesuffix(".walp") for path in role["signed"]["targets"]]


def publish_newer(local: LocalServer, count: int, major: int) -> None:
    """Versions that nobody starts. Their manifests are no packages: no device is ever told of them."""
    for n in range(count):
        version = f"{major}.0.{n}"
        local.state.repository.publish("shop", "rank", version, version.encode())


@needs_vm
def test_halt_rollback_and_kill_reach_a_device_that_was_away(local: LocalServer, tmp_path: Path) -> None:
    """With 1, 4, 50 and 500 newer versions between what it runs and what it is told."""
    for version in ("1.0.0", "1.1.0"):
        followers.publish(local, followers.packed(tmp_path / "tasks", version))
    with followers.followers(local, tmp_path / "devices", 2) as (away, late):
        act(local, start(local, "1.0.0"), "full")
        for step, newer in enumerate((1, 3, 46, 450), 2):
            release = start(local, "1.1.0")
            assert away.pulled() == "1.1.0"
            publish_newer(local, newer, step)
            act(local, release, "halt", reason="odd")
            assert away.pulled() == "1.0.0"

            again = start(local, "1.1.0")
            act(local, again, "full")
            assert away.pulled() == "1.1.0"
            back = act(local, again, "rollback", reason="odd")
            assert back["version"] == "1.0.0" and away.pulled() == "1.0.0"

            act(local, back["id"], "kill", reason="at once")
            assert away.pulled() == "nothing"
            act(local, back["id"], "revive")
        assert late.pulled() == "1.0.0", "a device that never had it"
    assert len(listed(local)) <= retention.NEWEST + KEPT_FULL


@needs_vm
def test_the_guards_own_halt_reaches_a_device_behind_many_versions(
    local: LocalServer, tmp_path: Path
) -> None:
    for version in ("1.0.0", "1.1.0"):
        followers.publish(local, followers.packed(tmp_path / "tasks", version))
    with followers.followers(local, tmp_path / "devices", 1) as (away,):
        act(local, start(local, "1.0.0"), "full")
        release, fleet = start(local, "1.1.0"), Fleet(local, 12)
        assert away.pulled() == "1.1.0"
        publish_newer(local, 50, 2)
        for device in fleet.devices:
            fleet.send(device, release, "claim")
            fleet.send(device, release, "phase_error", phase="main", error_type="KeyError")
        local.state.turn()
        assert local.done("GET", f"/releases/{release}")["state"] == "halted"
        assert local.done("GET", "/audit")["entries"][0]["who"] == "guard"
        assert away.pulled() == "1.0.0"


@needs_vm
def test_a_version_that_dropped_out_is_listed_again_where_a_release_names_it(
    local: LocalServer, tmp_path: Path
) -> None:
    followers.publish(local, followers.packed(tmp_path / "tasks", "1.0.0"))
    publish_newer(local, 5, 2)
    assert "1.0.0" not in listed(local)
    start(local, "1.0.0")
    with followers.followers(local, tmp_path / "devices", 1) as (device,):
        assert device.pulled() == "1.0.0"
    assert listed(local).count("2.0.4") == 1, "it takes the place of no newer one"


def test_publishing_again_what_dropped_out_lists_it_again(local: LocalServer) -> None:
    publish(local, "1.0.0")
    publish_newer(local, 5, 2)
    publish(local, "1.0.0")
    assert sorted(listed(local)) == ["1.0.0", "2.0.3", "2.0.4"]


def unlisted(local: LocalServer) -> set[str]:
    """What a device may be told to run, and its scenario does not list."""
    controller: Controller = local.state.releases._controller
    plan = {release.package.version for release in controller.releases() if release.state in LIVE}
    newest = max(controller.releases(), key=lambda release: release.number, default=None)
    old = newest and behind(newest, controller.releases())
    return (plan | ({old.package.version} if old else set())) - set(listed(local))


LIVE = ("gray", "paused", "full")
_PLATFORMS = ["android", "ios", "linux"]


def do_something(local: LocalServer, rng: random.Random, n: int) -> None:
    """One act that is allowed now, or a version more."""
    controller: Controller = local.state.releases._controller
    live = [release for release in controller.releases() if release.state in LIVE]
    gray = [release for release in live if release.gray]
    newest = max(controller.releases(), key=lambda release: release.number, default=None)
    choice = rng.choice(["publish", "publish", "start", "full", "halt", "rollback"])
    if choice == "publish" or (choice == "start" and gray):
        publish(local, f"1.{n}.0")
    elif choice == "start":
        rows = local.done("GET", "/scenarios/shop/tasks/rank/versions")
        where = f"[release]\npolicy = 'os == \"{rng.choice(_PLATFORMS)}\"'\n"
        given = {"task": "rank", "version": rng.choice(rows)["version"]}
        text = EVERYBODY + (where if rng.random() < 0.5 else "")
        local.done("POST", "/scenarios/shop/releases", json={**given, "policy": text})
    elif choice in ("full", "halt") and gray:
        act(local, gray[0].id, choice, reason="by chance")
    elif choice == "rollback" and newest and newest.state != "rolled_back" and behind(newest, live):
        act(local, newest.id, "rollback", reason="by chance")
    local.state.turn()


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_done_what_can_be_named_is_listed(local: LocalServer, seed: int) -> None:
    rng = random.Random(seed)
    publish(local, "0.1.0")
    for n in range(40):
        do_something(local, rng, n)
        assert not unlisted(local), f"after {n}"
        files = local.state.settings.folder / "repository" / "targets" / "shop" / "rank"
        assert all(any(files.glob(f"*.rank-{version}.walp")) for version in listed(local))


def test_a_team_signs_what_can_be_named_along(tmp_path: Path) -> None:
    with opened_server(tmp_path) as local:
        team = Team(local, tmp_path / "team")
        team.add()
        assert team.publish("1.0.0").is_success
        act(local, start(local, "1.0.0"), "full")
        for n in range(5):
            assert team.publish(f"1.1.{n}").is_success
        assert team.listed() == ["1.0.0", "1.1.2", "1.1.3", "1.1.4"]

        def forgetful(manifest: bytes) -> Any:
            told = local.done("GET", "/scenarios/shop/role")
            team.local = _Forgets(local)  # type: ignore[assignment]
            role = team.signed("1.1.5", manifest)
            team.local = local
            assert told["named"] == ["shop/rank/rank-1.0.0.walp"]
            return team.send("1.1.5", manifest, role)

        refused = forgetful(team.upload("1.1.5"))
        assert refused.status_code == 400 and "rank-1.0.0" in refused.json()["given"]
        refused = local.ask(
            "POST", "/api/v1/scenarios/shop/releases", local.admin, json={"task": "rank", "version": "1.1.0"}
        )
        assert refused.status_code == 409 and "lists no more" in refused.json()["given"], refused.text
        assert "walle task publish" in refused.json()["next"]
        assert local.done("GET", "/scenarios/shop/releases")[0]["version"] == "1.0.0"
        assert team.publish("1.1.0").is_success, "publishing it again lists it"
        start(local, "1.1.0")


class _Forgets:
    """A server that does not say what it needs."""

    def __init__(self, local: LocalServer) -> None:
        self._local, self.clock = local, local.clock

    def done(self, *given: Any) -> Any:
        return {**self._local.done(*given), "named": []}


def test_what_the_director_of_a_folder_chooses_stays_listed(tmp_path: Path) -> None:
    from cloud.repositories import Device, World

    world = World(tmp_path)
    repository = world.opened()
    repository.add_scenario("shop", world.team)
    repository.publish("shop", "rank", "1.0.0", b"first")
    repository.direct("all", {"rank": "shop/rank/rank-1.0.0.walp"})
    for n in range(6):
        world.opened().publish("shop", "rank", f"2.0.{n}", b"%d" % n)
    assert Device(world.path, tmp_path / "device").read("shop/rank/rank-1.0.0.walp") == b"first"
    assert len(repository.versions("shop", "rank")) == 4
