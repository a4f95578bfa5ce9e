"""Signed files that no client asks for any more go; what one in the middle of a refresh asks for stays."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from cloud.repositories import World

from walle_rt._core import policy
from walle_rt.cloud.trust import obsolete
from walle_rt.cloud.trust.metadata_folder import TOP

KEPT = 5


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    monkeypatch.setattr(obsolete, "KEPT", KEPT)
    made = World(tmp_path)
    made.opened().add_scenario("shop", made.team)
    return made


def versions(world: World, role: str) -> list[int]:
    return sorted(int(file.name.split(".")[0]) for file in (world.path / "metadata").glob(f"*.{role}.json"))


def named(world: World, number: int) -> dict[str, str]:
    """The director's targets by path, as a version of its file has them."""
    text = (world.path / "metadata" / f"{number}.director.json").read_text()
    return {
        path: target["hashes"]["sha256"] for path, target in json.loads(text)["signed"]["targets"].items()
    }


def director_files(world: World) -> set[str]:
    return {file.name for file in (world.path / "targets" / "director").iterdir()}


def test_the_newest_versions_stay_with_all_that_they_name(world: World) -> None:
    repository = world.opened()
    for epoch in range(1, 30):
        repository.direct_plan(policy.write_plan(epoch, [], []))
        repository.direct_broker(f"mqtts://{'one' if epoch % 2 else 'other'}.example:1")
        repository.publish("shop", "rank", f"1.{epoch}.0", str(epoch).encode())
        if epoch % 10 == 0:
            repository.renew(TOP)
    for role in ("director", "shop", "snapshot", "targets"):
        kept = versions(world, role)
        newest = repository._load(role).signed.version
        assert kept == list(range(max(1, newest - KEPT), newest + 1)), role
    assert versions(world, "root") == [1, 2, 3], "devices follow root by root"
    needed = {
        f"{digest}.{path.rpartition('/')[2]}"
        for number in versions(world, "director")
        for path, digest in named(world, number).items()
    }
    assert needed <= director_files(world) and len(director_files(world)) <= len(needed) + 2
    shelf = world.path / "targets" / "shop" / "rank"
    assert len(list(shelf.iterdir())) == 29, "what was published is never removed"
    # Every snapshot that stays names files that are there.
    for number in versions(world, "snapshot"):
        text = (world.path / "metadata" / f"{number}.snapshot.json").read_text()
        for file, meta in json.loads(text)["signed"]["meta"].items():
            assert (world.path / "metadata" / f"{meta['version']}.{file}").exists(), (number, file)


def test_the_same_plan_signed_for_months_stays(world: World) -> None:
    repository = world.opened()
    repository.direct_plan(policy.write_plan(1, [], []))
    plans = {name for name in director_files(world) if name.endswith("plan.wale")}
    for _ in range(3 * KEPT):
        repository.sign_again()
    assert {name for name in director_files(world) if name.endswith("plan.wale")} == plans


def test_what_a_death_or_an_error_left_goes_with_the_next_change(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = world.opened()

    def fails(*given: object) -> None:
        raise OSError("no right to remove anything")

    monkeypatch.setattr("walle_rt.cloud.trust.signing.drop_obsolete", fails)
    for _ in range(3 * KEPT):
        repository.sign_again()
    assert len(versions(world, "director")) == 3 * KEPT + 1, "a signature is in force all the same"
    monkeypatch.undo()
    monkeypatch.setattr(obsolete, "KEPT", KEPT)
    repository.sign_again()
    assert len(versions(world, "director")) == KEPT + 1
