"""Why an older version runs, or none: what devices say of what was taken back from them, and their pages."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from cloud import followers
from cloud.fleet import wish
from cloud.followers import Follower
from cloud.memory_store import MemoryStore
from cloud.servers import LocalServer, opened_server
from cloud.test_releases import Fleet, act
from cloud.test_retained import needs_vm, start
from commands import run_walle

from walle_rt import _core
from walle_rt.cloud.release import LIVE, Controller, Package, Plan, Why
from walle_rt.cloud.release.acts import ALLOWED
from walle_rt.cloud.release.taken_back import KEPT
from walle_rt.device._cloud import taken_back_in
from walle_rt.link._why import WORDS


def test_reasons_are_one_closed_list() -> None:
    assert list(Why) == _core.policy.TAKEN_BACK == list(WORDS)


# State of the release, what is done then, why the device that had it has it no more; "": it has it still.
CASES = [
    ("gray", "pause", ""),
    ("gray", "full", ""),
    ("paused", "resume", ""),
    ("paused", "full", ""),
    ("gray", "halt", "halted"),
    ("paused", "halt", "halted"),
    ("gray", "guard", "guard"),
    ("gray", "rollback", "rolled_back"),
    ("paused", "rollback", "rolled_back"),
    ("full", "rollback", "rolled_back"),
    ("halted", "rollback", "rolled_back"),
    ("gray", "kill", "killed"),
    ("paused", "kill", "killed"),
    ("full", "kill", "killed"),
]


def test_the_cases_are_every_act_in_every_state() -> None:
    told = {(act, state) for state, act, _ in CASES if act not in ("guard", "kill")}
    allowed = {(act, str(state)) for act, states in ALLOWED.items() for state in states}
    assert told == {each for each in allowed if each[0] != "start" and each[1] != "draft"}
    assert {state for state, act, _ in CASES if act == "kill"} == {str(state) for state in LIVE}


class World:
    """A server whose task has a version that is full, a device that gets each other one, and one that never
    comes in time."""

    def __init__(self, local: LocalServer, had: Follower, never: Follower) -> None:
        self.local, self.had, self.never = local, had, never

    def page(self, device: Follower) -> dict[str, Any]:
        """What its page says of the task."""
        self.local.state.turn()
        (task,) = self.local.done("GET", f"/devices/{device.device.cloud.device}")["tasks"]
        return dict(task)

    def do(self, what: str, release: str) -> str:
        """An act, or what the guard does; returns the release to look at."""
        if what == "guard":
            fleet = Fleet(self.local, 12)
            for device in fleet.devices:
                fleet.send(device, release, "claim")
                fleet.send(device, release, "phase_error", phase="main", error_type="KeyError")
            self.local.state.turn()
            return release
        return str(act(self.local, release, what, reason="odd")["id"])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("taken-back")
    with opened_server(folder) as local:
        local.done("POST", "/scenarios", json={"name": "shop"})
        for version in ("1.0.0", "1.1.0"):
            followers.publish(local, followers.packed(folder / "tasks", version))
        act(local, start(local, "1.0.0"), "full")
        with followers.followers(local, folder / "devices", 2) as devices:
            yield World(local, *devices)


def said(device: Follower) -> list[tuple[str, ...]]:
    """What the device says, while it is connected and by its folder."""
    state = device.device.cloud
    assert state.taken_back == taken_back_in(device.device.path)
    return [(each.task, each.version, each.release, each.why) for each in state.taken_back]


@needs_vm
@pytest.mark.parametrize(("state", "what", "why"), CASES)
def test_a_device_says_why(world: World, state: str, what: str, why: str) -> None:
    release = start(world.local, "1.1.0")
    assert world.had.pulled() == "1.1.0"
    assert said(world.had) == [], "a release of the same content is behind what was taken back before"
    world.local.state.turn()
    if state != "gray":
        world.do({"paused": "pause", "full": "full", "halted": "halt"}[state], release)
    now = world.do(what, release)
    expected = {"": "1.1.0", "killed": "nothing"}.get(why, "1.0.0")
    assert world.had.pulled() == expected
    where = release if why else ""
    assert said(world.had) == ([("rank", "1.1.0", where, why)] if why else [])
    page = world.page(world.had)
    assert page["version"] == ("" if why == "killed" else expected)
    told = (page["taken_back"], page["why"], page["release"])
    assert told == ("1.1.0" if why else "", why, "" if why == "killed" else where)
    if why not in ("", "killed"):
        assert world.never.pulled() == "1.0.0" and said(world.never) == []
    # As it was before: one full release of the first version.
    if why == "killed":
        world.do("revive", now)
        assert world.had.pulled() == "1.1.0" and said(world.had) == []
    if not why or why == "killed":
        world.do("rollback", now)
        assert world.had.pulled() == "1.0.0"


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalServer]:
    with opened_server(tmp_path) as made:
        made.done("POST", "/scenarios", json={"name": "shop"})
        yield made


@needs_vm
def test_a_device_says_that_a_version_failed_there(local: LocalServer, tmp_path: Path) -> None:
    broken = followers.packed(tmp_path / "tasks", "1.1.0", main="def main(event):\n    return 1 / 0\n")
    for made in (followers.packed(tmp_path / "tasks", "1.0.0"), broken):
        followers.publish(local, made)
    act(local, start(local, "1.0.0"), "full")
    with followers.followers(local, tmp_path / "devices", 1) as (one,):
        assert one.pulled() == "1.0.0"
        one.device.record("see", contents={"n": 1})
        one.device.wait()
        release = start(local, "1.1.0")
        assert one.pulled() == "1.0.0 1.1.0 was turned down"
        assert said(one) == [("rank", "1.1.0", release, "refused")]
        deadline = time.monotonic() + 20
        while one.device.cloud.pending_reports and time.monotonic() < deadline:
            time.sleep(0.01)
        page = World(local, one, one).page(one)
        assert (page["version"], page["taken_back"], page["why"]) == ("1.0.0", "1.1.0", "refused")
        path, cookie = f"/devices/{one.device.cloud.device}", {"Cookie": f"walle={local.admin}"}
        text = local.ask("GET", path, headers=cookie).text
        assert WORDS["refused"] in text
        folder = one.device.path
        one.device.close()
        status = run_walle("device", "status", folder, "--json").json
        assert status["taken_back"] == [asdict(each) for each in taken_back_in(folder)]
        shown = run_walle("device", "status", folder).stdout
        assert f"rank 1.1.0 was taken back: {WORDS['refused']} ({release})" in shown


def test_a_plan_tells_what_nothing_newer_has_succeeded() -> None:
    store = MemoryStore()
    controller = Controller(store)

    def package(version: str) -> Package:
        return Package("shop", "rank", version, hashlib.sha256(version.encode()).hexdigest(), 1000)

    def release(version: str, *acts: str) -> str:
        made = controller.draft(wish(version), package(version), "ada", 0)
        controller.start(made.id, "ada", 0)
        for what in acts:
            getattr(controller, what)(made.id, "ada", 0)
        return made.id

    def told() -> list[tuple[str, str]]:
        plan = Plan(controller.plan())
        return [(each[0], list(Why)[each[4]]) for each in plan.taken_back]

    release("1.0.0", "full")
    halted = [release(f"1.{n}.0", "halt") for n in range(1, 7)]
    newest = list(reversed(halted))[:KEPT]
    assert told() == [(each, "halted") for each in newest]
    draft = controller.draft(wish("1.9.0"), package("1.9.0"), "ada", 0)
    controller.halt(draft.id, "ada", 0)
    assert told() == [(each, "halted") for each in newest], "a draft was on no device"
    again = release("1.6.0")
    assert told() == [(each, "halted") for each in newest[1:]] + [(halted[1], "halted")], (
        "its content is back"
    )
    controller.full(again, "ada", 0)
    assert told() == [], "a newer release is full"
    controller.roll_back(again, "ada", 0)
    assert told()[0] == (again, "rolled_back") and len(told()) == KEPT
    assert controller.why_taken_back("shop", "rank", "1.6.0") == ("rolled_back", again)
    controller.kill("shop", "rank", "ada", 0)
    assert controller.why_taken_back("shop", "rank", "1.0.0") == ("killed", "")
    assert controller.why_taken_back("shop", "other", "1.0.0") == ("", "")
    reopened = Controller(store)
    assert reopened.plan() == controller.plan()
