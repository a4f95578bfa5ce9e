"""Releases over HTTP: from a published version to what devices are told, reported, halted and rolled back."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cloud.servers import Clock, Desk, Device, opened_desk

from walle_rt import _core
from walle_rt.cloud.release import Plan, Report, pack_reports
from walle_rt.task._package import FileKind, Package, PackageFile

POLICY = """
[ramp]
from = 0.5
to = 1.0
seconds = 60
report_seconds = 30
control = 0.25
"""


@pytest.fixture
def desk(database: str | None, tmp_path: Path) -> Iterator[Desk]:
    with opened_desk(tmp_path, database) as made:
        made.done("POST", "/scenarios", json={"name": "shop"})
        yield made


def packed(version: str, task: str = "rank", text: str = "code") -> tuple[bytes, dict[str, bytes]]:
    """The manifest of a package and its files by digest."""
    contents = {
        _core.package.CODE: f"{text} of {task} {version}".encode(),
        _core.package.MANIFEST: b"manifest",
    }
    blobs = {hashlib.sha256(content).hexdigest(): content for content in contents.values()}
    kinds = (FileKind.CODE, FileKind.POLICY)
    files = [
        PackageFile(name, digest, len(content), kind)
        for name, (digest, content), kind in zip(contents, blobs.items(), kinds, strict=True)
    ]
    return Package("shop", task, version, "0" * 64, files=files).to_bytes(), blobs


def publish(desk: Desk, version: str, task: str = "rank", token: str | None = None) -> bytes:
    manifest, blobs = packed(version, task)
    for digest, content in blobs.items():
        where = f"/api/v1/scenarios/shop/blobs/{digest}"
        assert desk.ask("PUT", where, token or desk.admin, content=content).is_success
    told = desk.done("PUT", f"/scenarios/shop/tasks/{task}/versions/{version}", token, content=manifest)
    assert told["sha256"] == hashlib.sha256(manifest).hexdigest()
    return manifest


def start(desk: Desk, version: str, policy: str = POLICY) -> str:
    given = {"task": "rank", "version": version, "policy": policy}
    made = desk.done("POST", "/scenarios/shop/releases", json=given)
    desk.state.turn()
    return str(made["id"])


def act(desk: Desk, release: str, what: str, **more: Any) -> Any:
    told = desk.done("POST", f"/releases/{release}/{what}", json=more)
    desk.state.turn()
    return told


def plan(desk: Desk) -> Any:
    """The plan that is signed and out."""
    epoch = desk.done("GET", "/epoch")
    targets = desk.state.settings.folder / "repository" / "targets" / "director"
    content = (targets / f"{epoch['sha256']}.plan.wale").read_bytes()
    served = desk.ask("GET", f"/v1/tuf/targets/director/{epoch['sha256']}.plan.wale")
    assert served.content == content and hashlib.sha256(content).hexdigest() == epoch["sha256"]
    made = Plan(content)
    assert made.epoch == epoch["epoch"]
    return made


def test_a_version_means_the_same_bytes_for_ever(desk: Desk) -> None:
    manifest = publish(desk, "1.0.0")
    assert publish(desk, "1.0.0") == manifest
    [row] = desk.done("GET", "/scenarios/shop/tasks/rank/versions")
    assert row["version"] == "1.0.0" and row["path"] == "shop/rank/rank-1.0.0.walp"
    where = "/api/v1/scenarios/shop/tasks/rank/versions/1.0.0"
    other, blobs = packed("1.0.0", text="other code")
    assert desk.ask("PUT", where, desk.admin, content=other).status_code == 409  # files that are not there
    for digest, content in blobs.items():
        desk.ask("PUT", f"/api/v1/scenarios/shop/blobs/{digest}", desk.admin, content=content)
    refused = desk.ask("PUT", where, desk.admin, content=other)
    assert refused.status_code == 400 and "other bytes" in refused.json()["given"]
    assert desk.ask("PUT", where, desk.admin, content=packed("1.0.0", "other")[0]).status_code == 400
    for content in (b"", b"WALP", manifest[:-1], manifest + b"x", random.Random(3).randbytes(400)):
        assert desk.ask("PUT", where, desk.admin, content=content).status_code == 400
    assert [task["newest"] for task in desk.done("GET", "/scenarios/shop/tasks")] == ["1.0.0"]


def test_a_release_from_start_to_full(desk: Desk) -> None:
    publish(desk, "1.0.0")
    release = start(desk, "1.0.0")
    assert plan(desk).epoch == 1
    told = desk.done("GET", f"/releases/{release}")
    assert told["state"] == "gray" and told["progress"]["share"] == pytest.approx(0.5, abs=0.02)
    desk.clock.forward(30)
    assert desk.done("GET", f"/releases/{release}")["progress"]["share"] == pytest.approx(0.75, abs=0.02)
    assert act(desk, release, "pause", reason="lunch")["state"] == "paused"
    assert desk.done("GET", f"/releases/{release}")["reason"] == "lunch"
    assert act(desk, release, "resume")["state"] == "gray"
    assert act(desk, release, "full")["state"] == "full"
    assert plan(desk).epoch == 4
    wrong = desk.ask("POST", f"/api/v1/releases/{release}/resume", desk.admin, json={})
    assert wrong.status_code == 400 and "paused" in wrong.json()["expected"]
    acts = [row["act"] for row in desk.done("GET", "/audit")["entries"]]
    assert acts[:5] == ["release.full", "release.resume", "release.pause", "release.start", "release.draft"]
    assert desk.done("GET", "/audit")["broken"] is None


def test_releases_that_are_refused(desk: Desk) -> None:
    publish(desk, "1.0.0")
    publish(desk, "1.1.0")

    def refused(version: str, policy: str = "") -> str:
        given = {"task": "rank", "version": version, "policy": policy}
        reply = desk.ask("POST", "/api/v1/scenarios/shop/releases", desk.admin, json=given)
        assert reply.status_code == 400, reply.text
        return str(reply.json()["given"])

    assert "9.9.9" in refused("9.9.9")
    assert "rampp" in refused("1.0.0", "[rampp]\nfrom = 1")
    assert "TOML" in refused("1.0.0", "[ramp") or True
    refused("1.0.0", "[ramp]\nfrom = 2")
    refused("1.0.0", '[release]\npolicy = "os = linux"')
    refused("1.0.0", '[release]\nversion = "1.1.0"')
    refused("1.0.0", "release = 3")
    refused("1.0.0", "[ramp]\nseconds = 1979-05-27")
    assert desk.done("GET", "/scenarios/shop/releases") == []
    start(desk, "1.0.0")
    assert "is gray" in refused("1.1.0")
    assert len(desk.done("GET", "/scenarios/shop/releases")) == 1
    assert desk.ask("GET", "/api/v1/releases/rank-99", desk.admin).status_code == 404


class Fleet:
    """Enrolled devices that claim and report."""

    def __init__(self, desk: Desk, count: int) -> None:
        self.desk = desk
        self.devices = [desk.device() for _ in range(count)]
        self.seq = {device.id: 0 for device in self.devices}

    def send(self, device: Device, release: str, status: str, seq: int | None = None, **more: Any) -> Any:
        if seq is None:
            self.seq[device.id] += 1
            seq = self.seq[device.id]
        pseudonym = _core.policy.device_pseudonym(device.id)
        report = Report(pseudonym, release, "shop", "rank", "1.1.0", status=status, seq=seq, epoch=1, **more)
        body = pack_reports([report])
        proof = device.proof("POST", "/v1/reports", body, self.desk.clock())
        return self.desk.ask("POST", "/v1/reports", content=body, headers=proof)


EVERYBODY = (
    "[ramp]\nfrom = 1.0\nseconds = 0\nreport_seconds = 30\ncontrol = 0.0\n[guard]\noutstanding = 1000\n"
)


def test_reports_are_counted_once(desk: Desk) -> None:
    publish(desk, "1.1.0")
    release, fleet = start(desk, "1.1.0", EVERYBODY), Fleet(desk, 3)
    ann, bob, _ = fleet.devices
    assert fleet.send(ann, release, "claim").status_code == 200
    assert fleet.send(ann, release, "claim").status_code == 200  # asking again is harmless
    first = fleet.send(ann, release, "ok", firings=3)
    assert first.status_code == 200 and first.json()["taken"] == 1
    assert fleet.send(ann, release, "ok", seq=fleet.seq[ann.id]).json()["taken"] == 0  # its answer was lost
    fleet.send(bob, release, "claim")
    more = {"phase": "execute", "error_type": "ValueError"}
    assert fleet.send(bob, release, "phase_error", failures=1, **more).json()["taken"] == 1
    told = desk.done("GET", f"/releases/{release}")
    assert told["reports"] == {"treated": {"claim": 3, "ok": 1, "phase_error": 1}}
    assert (told["progress"]["good"], told["progress"]["bad"], told["progress"]["outstanding"]) == (1, 1, 0)
    [failure] = desk.done("GET", f"/releases/{release}/failures")
    assert (failure["phase"], failure["error"]) == ("execute", "ValueError")
    minutes = desk.done("GET", f"/releases/{release}/minutes")
    assert sum(row["count"] for row in minutes) == 5
    assert fleet.send(ann, "rank-77", "ok").json()["taken"] == 0


def test_reports_that_are_refused(desk: Desk) -> None:
    publish(desk, "1.1.0")
    release, fleet = start(desk, "1.1.0", EVERYBODY), Fleet(desk, 2)
    ann, bob = fleet.devices
    body = pack_reports([Report(_core.policy.device_pseudonym(bob.id), release, "shop", "rank", seq=1)])
    others = desk.ask(
        "POST", "/v1/reports", content=body, headers=ann.proof("POST", "/v1/reports", body, desk.clock())
    )
    assert others.status_code == 400 and "another device" in others.json()["given"]
    assert desk.ask("POST", "/v1/reports", content=body).status_code == 401
    for content in (b"", b"x" * 50, body[:-1], body + b"x"):
        proof = bob.proof("POST", "/v1/reports", content, desk.clock())
        assert desk.ask("POST", "/v1/reports", content=content, headers=proof).status_code == 400
    large = b"x" * (256 * 1024 + 1)
    proof = bob.proof("POST", "/v1/reports", large, desk.clock())
    assert desk.ask("POST", "/v1/reports", content=large, headers=proof).status_code == 413


def test_a_failing_release_is_halted_and_survives_a_restart(database: str | None, tmp_path: Path) -> None:
    clock = Clock()
    with opened_desk(tmp_path, database, clock=clock) as desk:
        desk.done("POST", "/scenarios", json={"name": "shop"})
        publish(desk, "1.0.0")
        act(desk, start(desk, "1.0.0", EVERYBODY), "full")
        publish(desk, "1.1.0")
        release, fleet = start(desk, "1.1.0", EVERYBODY), Fleet(desk, 12)
        for device in fleet.devices[:4]:
            assert fleet.send(device, release, "claim").status_code == 200
            fleet.send(device, release, "install_error", phase="verify", error_type="ModelError")
        for device in fleet.devices[4:]:
            assert fleet.send(device, release, "claim").status_code == 200
        told = desk.done("GET", f"/releases/{release}")
        assert told["state"] == "gray" and told["progress"]["outstanding"] == 8
        before = told["progress"]["evidence"]
        desk.reopen()  # the eight that were let in are still waited for
        told = desk.done("GET", f"/releases/{release}")
        assert told["progress"]["outstanding"] == 8 and told["progress"]["evidence"] == before
        desk.clock.forward(31)
        desk.state.turn()
        told = desk.done("GET", f"/releases/{release}")
        assert told["state"] == "halted" and told["progress"]["missing"] > 0 and "failures" in told["reason"]
        assert fleet.send(fleet.devices[0], release, "claim").status_code == 429
        assert desk.done("GET", "/audit")["entries"][0]["who"] == "guard"
        epoch = desk.done("GET", "/epoch")["epoch"]
        made = act(desk, release, "rollback", reason="broken")
        assert made["version"] == "1.0.0" and made["state"] == "full" and made["replaces"] == release
        assert desk.done("GET", f"/releases/{release}")["state"] == "rolled_back"
        assert plan(desk).epoch == epoch + 1
        assert desk.done("GET", "/audit")["broken"] is None


def test_a_release_that_was_good_is_full_by_its_policy(desk: Desk) -> None:
    publish(desk, "1.1.0")
    release = start(desk, "1.1.0", EVERYBODY.replace("[guard]", "full_after = 60\n[guard]"))
    fleet, epoch = Fleet(desk, 1), plan(desk).epoch
    fleet.send(fleet.devices[0], release, "claim")
    fleet.send(fleet.devices[0], release, "ok")
    desk.clock.forward(59)
    desk.reopen()
    desk.state.turn()
    assert desk.done("GET", f"/releases/{release}")["state"] == "gray"
    desk.clock.forward(2)
    desk.state.turn()
    assert desk.done("GET", f"/releases/{release}")["state"] == "full"
    assert plan(desk).epoch == epoch + 1
    entry = desk.done("GET", "/audit")["entries"][0]
    assert (entry["who"], entry["act"], entry["subject"]) == ("policy", "release.full", release)
    assert desk.done("GET", "/epoch")["reason"] == "policy" and desk.done("GET", "/audit")["broken"] is None


def test_a_kill_and_its_end(desk: Desk) -> None:
    publish(desk, "1.0.0")
    release = start(desk, "1.0.0", EVERYBODY)
    told = []
    desk.state.releases._announce = lambda epoch, urgent: told.append((epoch, urgent))
    assert act(desk, release, "kill", reason="now")["progress"]["killed"]
    assert told == [(2, True)]
    assert not act(desk, release, "revive")["progress"]["killed"]
    assert told == [(2, True), (3, False)]


def test_a_plan_that_was_not_signed_is_signed_at_the_next_start(desk: Desk) -> None:
    publish(desk, "1.0.0")
    given = {"task": "rank", "version": "1.0.0", "policy": POLICY}
    desk.done("POST", "/scenarios/shop/releases", json=given)  # and the process dies before the loop turns
    assert desk.done("GET", "/epoch")["epoch"] == 0
    desk.reopen()
    desk.state.turn()
    assert plan(desk).epoch == 1


def test_a_write_that_fails_changes_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(desk, "1.0.0")
    release = start(desk, "1.0.0")

    def full_disk(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(type(desk.state.releases), "_new_epoch", full_disk)
        reply = desk.ask("POST", f"/api/v1/releases/{release}/pause", desk.admin, json={})
        assert reply.status_code == 500 and "No space" not in reply.text
    assert desk.done("GET", f"/releases/{release}")["state"] == "gray"
    assert act(desk, release, "pause")["state"] == "paused"
    assert plan(desk).epoch == 2


def test_signatures_are_made_anew_in_time(desk: Desk) -> None:
    before = desk.state.repository.expires("timestamp")
    assert not desk.state.sign_again_if_due()
    desk.clock.forward(9 * 3600)
    desk.state.turn()
    assert desk.state.repository.expires("timestamp") > before


def test_replies_tell_devices_to_come(desk: Desk) -> None:
    header = _core.policy.profile_header(
        app="shop", app_version="1.2.3", os="linux", os_version="12.0", device="x", op_set="", vm="",
        device_id="d-1", ram_mb=4096,
    )  # fmt: skip

    def told(given: str) -> str | None:
        return desk.ask("GET", "/v1/device", headers={"X-Walle": given}).headers.get("x-walle-up")

    assert told(header) is None  # nothing was released
    publish(desk, "1.0.0")
    start(desk, "1.0.0", EVERYBODY.replace("1.0\n", "1.0\n"))
    assert told(header) == "1"
    assert desk.ask("GET", "/v1/device").headers.get("x-walle-up") is None
    for damaged in ("x", header[:-1], header + "A", "!" * 48):
        assert told(damaged) is None
    assert (
        desk.ask("GET", "/v1/tuf/metadata/timestamp.json", headers={"X-Walle": header}).headers["x-walle-up"]
        == "1"
    )
