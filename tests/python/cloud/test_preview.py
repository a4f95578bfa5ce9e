"""Whom an act changes is said before it is done, and is what happens then."""

from __future__ import annotations

import io
import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cloud.fleet import package, wish
from cloud.memory_store import MemoryStore
from cloud.servers import LocalServer, opened_server
from cloud.test_pages import post, visit
from cloud.test_releases import EVERYBODY, Fleet, act, publish, start

from walle_rt.cli.confirm import confirm
from walle_rt.cloud.release import Controller, Plan, Ramp
from walle_rt.cloud.release.acts import ALLOWED
from walle_rt.errors import ArgumentError, CancelledError
from walle_rt.link import device_header

AT_ONCE = Ramp(1.0, 1.0, 0, control_share=0.0)
SLOWLY = Ramp(0.1, 0.5, 3600, control_share=0.0)
POLICIES = ["", 'os == "linux"', 'os == "ios"', 'app_version >= "2.0.0"']
PROFILES = [(os, version) for os in ("linux", "ios", "android") for version in ("1.0.0", "2.0.0")]


def release(controller: Controller, version: str, policy: str = "", ramp: Ramp = AT_ONCE) -> str:
    made = controller.draft(wish(version, policy, ramp), package(version), "ada", 0)
    return controller.start(made.id, "ada", 0).id


def full(controller: Controller, version: str, policy: str = "") -> str:
    return controller.full(release(controller, version, policy), "ada", 0).id


def lines(controller: Controller, release_id: str, act: str, devices: dict[str, int]) -> list[str]:
    return controller.preview(release_id, act, 0, devices).lines()


def test_each_act_says_whom_it_changes() -> None:
    controller = Controller(MemoryStore())
    first = full(controller, "1.4.0")
    wished = wish("1.7.0", ramp=SLOWLY)
    start = controller.preview_start(wished, package("1.7.0"), 0, {"1.4.0": 97})
    slowly = ", up to 50 % of them, within 3600 s"
    assert start.lines() == [
        f"97 devices: 1.4.0 -> 1.7.0{slowly}",
        f"every device may get 1.7.0{slowly}",
    ]
    assert [each.id for each in controller.releases()] == [first], "nothing was done"
    second = release(controller, "1.7.0", ramp=SLOWLY)
    told = {"1.4.0": 97, "1.7.0": 3, "1.2.0": 1}
    assert lines(controller, second, "halt", told) == ["3 devices: 1.7.0 -> 1.4.0"]
    assert lines(controller, second, "pause", told) == ["no device changes"]
    assert lines(controller, second, "full", told)[0] == "97 devices: 1.4.0 -> 1.7.0"
    assert lines(controller, second, "kill", told) == [
        "3 devices: 1.7.0 -> nothing",
        "97 devices: 1.4.0 -> nothing",
        "1 device: 1.2.0 -> nothing",
    ]
    controller.full(second, "ada", 1)
    assert lines(controller, second, "rollback", {"1.7.0": 1}) == [
        "1 device: 1.7.0 -> 1.4.0",
        "every device may get 1.4.0",
    ]
    controller.kill("shop", "rank", "ada", 2)
    assert lines(controller, second, "revive", told) == ["every device may get 1.7.0"]


def test_only_the_newest_release_is_rolled_back() -> None:
    controller = Controller(MemoryStore())
    full(controller, "1.0.0")
    old = release(controller, "1.1.0")
    controller.halt(old, "ada", 1)
    full(controller, "1.2.0")
    newest = full(controller, "1.3.0")
    for tries in (controller.roll_back, lambda *given: controller.preview(given[0], "rollback", 1, {})):
        with pytest.raises(ArgumentError, match="the newest release of its task") as refused:
            tries(old, "ada", 1)
        assert newest in str(refused.value)
    assert not controller.allows(old, "rollback", 1) and controller.allows(newest, "rollback", 1)
    tried = release(controller, "1.4.0")
    controller.halt(tried, "ada", 1)  # out of the plan: the one before it is what devices go by
    assert controller.roll_back(newest, "ada", 2).package.version == "1.2.0"
    with pytest.raises(ArgumentError, match="the newest release of its task"):
        controller.roll_back(tried, "ada", 3)


def runs(controller: Controller, now: int) -> dict[tuple[str, str], str]:
    """The version that each profile runs."""
    plan = Plan(controller.plan())
    found = {}
    for os, version in PROFILES:
        header = device_header(app="a", app_version=version, device_id="d", ram_mb=0, os_name=os)
        chosen = [each[0] for each in plan.decide(header, now)[1] if each[0]]
        found[os, version] = controller.release(chosen[0]).package.version if chosen else "nothing"
    return found


@pytest.mark.parametrize("seed", range(30))
def test_what_was_said_is_what_happens(seed: int) -> None:
    """By chance: every device that changes was told of."""
    rng = random.Random(seed)
    controller = Controller(MemoryStore())
    acts = [*sorted(set(ALLOWED) - {"start"}), "kill", "revive"]
    for n in range(40):
        before, ids = runs(controller, 10), [each.id for each in controller.releases()]
        chosen, what = rng.choice([*ids[-3:], ""]), rng.choice(acts)
        try:
            if not chosen:
                wished = wish(f"1.{n}.0", rng.choice(POLICIES), AT_ONCE)
                content = replace(package(wished.version), sha256=f"{n:064x}")
                said = controller.preview_start(wished, content, 0, {})
                made = controller.draft(wished, content, "ada", 0)
                controller.start(made.id, "ada", 0)
            else:
                said = controller.preview(chosen, what, 0, {})
                if what in ("kill", "revive"):
                    getattr(controller, what)("shop", "rank", "ada", 0)
                else:
                    getattr(controller, "roll_back" if what == "rollback" else what)(chosen, "ada", 0)
        except ArgumentError:
            assert runs(controller, 10) == before
            continue
        told = {(each.before, version) for each in said.changes for version in each.after.split(" or ")}
        new = {line.rpartition(" ")[2] for line in said.newcomers}
        for profile, version in runs(controller, 10).items():
            was = before[profile]
            if version != was:
                assert (was, version) in told or (version in new and was == "nothing"), (
                    n,
                    what,
                    was,
                    version,
                )


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalServer]:
    with opened_server(tmp_path) as made:
        made.done("POST", "/scenarios", json={"name": "shop"})
        yield made


def started(local: LocalServer) -> tuple[str, str, Fleet]:
    """1.0.0 for everybody, 1.1.0 that two of three devices run; the third has not told yet."""
    publish(local, "1.0.0")
    publish(local, "1.1.0")
    first = start(local, "1.0.0", EVERYBODY)
    act(local, first, "full", reason="good")
    second, fleet = start(local, "1.1.0", EVERYBODY), Fleet(local, 3)
    for device in fleet.devices[:2]:
        fleet.send(device, second, "claim")
        fleet.send(device, second, "ok")
    return first, second, fleet


def test_the_server_previews_and_an_act_is_of_what_was_seen(local: LocalServer) -> None:
    _, second, _ = started(local)
    seen = local.done("GET", f"/releases/{second}/halt/preview")
    assert seen["lines"] == ["2 devices: 1.1.0 -> 1.0.0"]
    given = {"task": "rank", "version": "1.0.0"}
    assert (
        "is gray"
        in local.ask("POST", "/api/v1/scenarios/shop/releases/preview", local.admin, json=given).json()[
            "given"
        ]
    )
    full = local.done("GET", f"/releases/{second}/full/preview")
    act(local, second, "pause", reason="lunch")
    stale = {"reason": "good", "epoch": full["epoch"]}
    refused = local.ask("POST", f"/api/v1/releases/{second}/full", local.admin, json=stale)
    assert refused.status_code == 409 and "preview" in refused.json()["given"]
    told = local.done("POST", f"/releases/{second}/halt", json={"reason": "odd", "epoch": seen["epoch"]})
    assert told["state"] == "halted", "what stops something waits for nothing"
    entry = local.done("GET", "/audit")["entries"][0]
    assert (entry["act"], entry["detail"]["reason"]) == ("release.halt", "odd")


def test_every_act_takes_a_reason_into_the_audit_log(local: LocalServer) -> None:
    first, second, _ = started(local)
    for what in ("pause", "resume", "full", "rollback", "kill", "revive"):
        act(local, second if what in ("pause", "resume", "full", "rollback") else first, what, reason=what)
        entry = local.done("GET", "/audit")["entries"][0]
        assert entry["detail"]["reason"] == what and entry["act"].removeprefix("release.")[:4] == what[:4]
    given = {"task": "rank", "version": "1.1.0", "reason": "once more"}
    local.done("POST", "/scenarios/shop/releases", json=given)
    assert local.done("GET", "/audit")["entries"][0]["detail"]["reason"] == "once more"


def test_the_dashboard_asks_and_wants_a_reason(local: LocalServer) -> None:
    _, second, _ = started(local)
    page = visit(local, f"/releases/{second}/halt", local.admin).text
    assert "2 devices: 1.1.0 -&gt; 1.0.0" in page and 'name="reason" required' in page
    for body in ("", "reason=+&epoch=3", "reason=odd", "reason=odd&epoch=x"):
        assert post(local, f"/releases/{second}/halt", local.admin, body).status_code == 400, body
    assert local.done("GET", f"/releases/{second}")["state"] == "gray"
    epoch = local.done("GET", f"/releases/{second}/halt/preview")["epoch"]
    assert (
        post(local, f"/releases/{second}/halt", local.admin, f"reason=odd&epoch={epoch}").status_code == 303
    )
    assert local.done("GET", f"/releases/{second}")["reason"] == "odd"
    looks = local.operator("looks", shop="viewer")
    assert visit(local, f"/releases/{second}/rollback", looks).status_code == 403


class _Somebody(io.StringIO):
    """Who sits before a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_command_asks_whoever_is_there(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(sys, "stdin", _Somebody("y\n"))
    confirm("walle release halt rank-1", ["3 devices: 1.7.0 -> 1.4.0"], False, True)
    monkeypatch.setattr(sys, "stdin", _Somebody("n\n"))
    with pytest.raises(CancelledError):
        confirm("walle release halt rank-1", ["3 devices: 1.7.0 -> 1.4.0"], False, True)
    told = capsys.readouterr()
    assert told.err.count("3 devices: 1.7.0 -> 1.4.0") == 2 and "walle release halt rank-1?" in told.err
    assert not told.out.strip(), "which is for the answer alone"
