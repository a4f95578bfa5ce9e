"""Releases over HTTP: from a published version to what devices are told, reported, halted and rolled back."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cloud.servers import Clock, Device, LocalServer, opened_server

from walle_rt import _core
from walle_rt.cli.param_values import with_params
from walle_rt.cloud.release import Plan, Report, pack_reports, read_wish
from walle_rt.errors import ArgumentError
from walle_rt.task import ParamSpec, TaskSpec
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
def local(database: str | None, tmp_path: Path) -> Iterator[LocalServer]:
    with opened_server(tmp_path, database) as made:
        made.done("POST", "/scenarios", json={"name": "shop"})
        yield made


def packed(
    version: str, task: str = "rank", text: str = "code", spec: bytes = b"manifest"
) -> tuple[bytes, dict[str, bytes]]:
    """The manifest of a package and its files by digest; ``spec`` is what its task.toml came to."""
    contents = {
        _core.package.CODE: f"{text} of {task} {version}".encode(),
        _core.package.MANIFEST: spec,
    }
    blobs = {hashlib.sha256(content).hexdigest(): content for content in contents.values()}
    kinds = (FileKind.CODE, FileKind.POLICY)
    files = [
        PackageFile(name, digest, len(content), kind)
        for name, (digest, content), kind in zip(contents, blobs.items(), kinds, strict=True)
    ]
    return Package("shop", task, version, "0" * 64, files=files).to_bytes(), blobs


def publish(
    local: LocalServer,
    version: str,
    task: str = "rank",
    token: str | None = None,
    spec: bytes = b"manifest",
) -> bytes:
    manifest, blobs = packed(version, task, spec=spec)
    for digest, content in blobs.items():
        where = f"/api/v1/scenarios/shop/blobs/{digest}"
        assert local.ask("PUT", where, token or local.admin, content=content).is_success
    told = local.done("PUT", f"/scenarios/shop/tasks/{task}/versions/{version}", token, content=manifest)
    assert told["sha256"] == hashlib.sha256(manifest).hexdigest()
    return manifest


def start(local: LocalServer, version: str, policy: str = POLICY) -> str:
    given = {"task": "rank", "version": version, "policy": policy}
    made = local.done("POST", "/scenarios/shop/releases", json=given)
    local.state.turn()
    return str(made["id"])


def act(local: LocalServer, release: str, what: str, **more: Any) -> Any:
    told = local.done("POST", f"/releases/{release}/{what}", json=more)
    local.state.turn()
    return told


def plan(local: LocalServer) -> Any:
    """The plan that is signed and out."""
    epoch = local.done("GET", "/epoch")
    targets = local.state.settings.folder / "repository" / "targets" / "director"
    content = (targets / f"{epoch['sha256']}.plan.wale").read_bytes()
    served = local.ask("GET", f"/v1/tuf/targets/director/{epoch['sha256']}.plan.wale")
    assert served.content == content and hashlib.sha256(content).hexdigest() == epoch["sha256"]
    made = Plan(content)
    assert made.epoch == epoch["epoch"]
    return made


def test_a_version_means_the_same_bytes_for_ever(local: LocalServer) -> None:
    manifest = publish(local, "1.0.0")
    assert publish(local, "1.0.0") == manifest
    [row] = local.done("GET", "/scenarios/shop/tasks/rank/versions")
    assert row["version"] == "1.0.0" and row["path"] == "shop/rank/rank-1.0.0.walp"
    where = "/api/v1/scenarios/shop/tasks/rank/versions/1.0.0"
    other, blobs = packed("1.0.0", text="other code")
    assert local.ask("PUT", where, local.admin, content=other).status_code == 409  # files that are not there
    for digest, content in blobs.items():
        local.ask("PUT", f"/api/v1/scenarios/shop/blobs/{digest}", local.admin, content=content)
    refused = local.ask("PUT", where, local.admin, content=other)
    assert refused.status_code == 400 and "other bytes" in refused.json()["given"]
    assert local.ask("PUT", where, local.admin, content=packed("1.0.0", "other")[0]).status_code == 400
    for content in (b"", b"WALP", manifest[:-1], manifest + b"x", random.Random(3).randbytes(400)):
        assert local.ask("PUT", where, local.admin, content=content).status_code == 400
    assert [task["newest"] for task in local.done("GET", "/scenarios/shop/tasks")] == ["1.0.0"]


def test_a_release_from_start_to_full(local: LocalServer) -> None:
    publish(local, "1.0.0")
    release = start(local, "1.0.0")
    assert plan(local).epoch == 1
    told = local.done("GET", f"/releases/{release}")
    assert told["state"] == "gray" and told["progress"]["share"] == pytest.approx(0.5, abs=0.02)
    local.clock.forward(30)
    assert local.done("GET", f"/releases/{release}")["progress"]["share"] == pytest.approx(0.75, abs=0.02)
    assert act(local, release, "pause", reason="lunch")["state"] == "paused"
    assert local.done("GET", f"/releases/{release}")["reason"] == "lunch"
    assert act(local, release, "resume")["state"] == "gray"
    assert act(local, release, "full")["state"] == "full"
    assert plan(local).epoch == 4
    wrong = local.ask("POST", f"/api/v1/releases/{release}/resume", local.admin, json={})
    assert wrong.status_code == 400 and "paused" in wrong.json()["expected"]
    acts = [row["act"] for row in local.done("GET", "/audit")["entries"]]
    assert acts[:5] == ["release.full", "release.resume", "release.pause", "release.start", "release.draft"]
    assert local.done("GET", "/audit")["broken"] is None


def test_parameters_are_the_versions_and_travel_in_the_plan(local: LocalServer) -> None:
    declared = {"mode": ParamSpec("text", "calm", one_of=("calm", "eager")), "rate": ParamSpec("float", 0.5)}
    triggers = {"seen": "shot"}
    spec = TaskSpec(
        name="rank", version="1.0.0", triggers=triggers, main="main", params=declared
    ).to_manifest()
    publish(local, "1.0.0", spec=spec)

    def refused(policy: str) -> str:
        given = {"task": "rank", "version": "1.0.0", "policy": policy}
        reply = local.ask("POST", "/api/v1/scenarios/shop/releases", local.admin, json=given)
        assert reply.status_code == 400, reply.text
        return reply.text

    assert "did you mean 'mode'" in refused("params.mood = 'calm'")
    assert "one of 'calm', 'eager'" in refused("params.mode = 'wild'")
    assert "float" in refused("params.rate = true")
    assert "a bool, int, float or text" in refused("params.rate = [1]")
    assert "a table [params]" in refused("params = 3")
    plain = start(local, "1.0.0", "")
    act(local, plain, "full")
    tuned = start(local, "1.0.0", with_params("", ["mode=eager", "rate=2"]))
    assert local.done("GET", f"/releases/{tuned}")["params"] == {"mode": "eager", "rate": 2.0}
    newest = plan(local).releases[0]
    assert newest["params"] == _core.task.pack_params({"rate": 2.0, "mode": "eager"})
    act(local, tuned, "full")
    back = act(local, tuned, "rollback")["id"]
    assert local.done("GET", f"/releases/{back}")["params"] == {}, "what was full before"
    assert plan(local).releases[0]["params"] == b""
    told = [entry for entry in local.done("GET", "/audit")["entries"] if entry["subject"] == tuned]
    assert any('"mode": "eager"' in str(entry["detail"]) for entry in told)


ONE_VALUE: dict[str, bool | int | float | str] = {
    "true": True,
    "7": 7,
    "-0.5": -0.5,
    "inf": float("inf"),
    '"7"': "7",
    "calm": "calm",
    "": "",
    "[1]": "[1]",
    "café \U0001f600": "café \U0001f600",
    "1\n[ramp]\nfrom = 2": "1\n[ramp]\nfrom = 2",
    'say "x" \\': 'say "x" \\',
    "a=b": "a=b",
}


@pytest.mark.parametrize("given", ONE_VALUE)
def test_what_the_command_line_sets_is_one_value(given: str) -> None:
    value = ONE_VALUE[given]
    names = {"scenario": "shop", "task": "rank", "version": "1.0.0"}
    wish = read_wish(with_params("[ramp]\nfrom = 0.5\n", [f"mode={given}"]), names)
    assert wish.params == {"mode": value} and type(wish.params["mode"]) is type(value)
    assert wish.ramp.start_share == 0.5
    for wrong in (["mode"], ["=1"]):
        with pytest.raises(ArgumentError):
            read_wish(with_params("", wrong), names)
    with pytest.raises(ArgumentError, match="beside --param"):
        with_params("[params]\na = 1", ["mode=1"])


def test_releases_that_are_refused(local: LocalServer) -> None:
    publish(local, "1.0.0")
    publish(local, "1.1.0")

    def refused(version: str, policy: str = "") -> str:
        given = {"task": "rank", "version": version, "policy": policy}
        reply = local.ask("POST", "/api/v1/scenarios/shop/releases", local.admin, json=given)
        assert reply.status_code == 400, reply.text
        return str(reply.json()["given"])

    assert "9.9.9" in refused("9.9.9")
    assert "rampp" in refused("1.0.0", "[rampp]\nfrom = 1")
    assert "table declaration" in refused("1.0.0", "[ramp")
    refused("1.0.0", "[ramp]\nfrom = 2")
    refused("1.0.0", '[release]\npolicy = "os = linux"')
    refused("1.0.0", '[release]\nversion = "1.1.0"')
    refused("1.0.0", "release = 3")
    refused("1.0.0", "[ramp]\nseconds = 1979-05-27")
    assert local.done("GET", "/scenarios/shop/releases") == []
    start(local, "1.0.0")
    assert "is gray" in refused("1.1.0")
    assert len(local.done("GET", "/scenarios/shop/releases")) == 1
    assert local.ask("GET", "/api/v1/releases/rank-99", local.admin).status_code == 404


class Fleet:
    """Enrolled devices that claim and report."""

    def __init__(self, local: LocalServer, count: int) -> None:
        self.local = local
        self.devices = [local.device() for _ in range(count)]
        self.seq = {device.id: 0 for device in self.devices}

    def send(self, device: Device, release: str, status: str, seq: int | None = None, **more: Any) -> Any:
        if seq is None:
            self.seq[device.id] += 1
            seq = self.seq[device.id]
        pseudonym = _core.policy.device_pseudonym(device.id)
        more = {"version": "1.1.0", "epoch": 1, **more}
        report = Report(pseudonym, release, "shop", "rank", status=status, seq=seq, **more)
        body = pack_reports([report])
        proof = device.proof("POST", "/v1/reports", body, self.local.clock())
        return self.local.ask("POST", "/v1/reports", content=body, headers=proof)


EVERYBODY = (
    "[ramp]\nfrom = 1.0\nseconds = 0\nreport_seconds = 30\ncontrol = 0.0\n[guard]\noutstanding = 1000\n"
)


def test_reports_are_counted_once(local: LocalServer) -> None:
    publish(local, "1.1.0")
    release, fleet = start(local, "1.1.0", EVERYBODY), Fleet(local, 3)
    ann, bob, _ = fleet.devices
    assert fleet.send(ann, release, "claim").status_code == 200
    assert fleet.send(ann, release, "claim").status_code == 200  # asking again is harmless
    first = fleet.send(ann, release, "ok", firings=3)
    assert first.status_code == 200 and first.json()["taken"] == 1
    assert fleet.send(ann, release, "ok", seq=fleet.seq[ann.id]).json()["taken"] == 0  # its answer was lost
    fleet.send(bob, release, "claim")
    more = {"phase": "execute", "error_type": "ValueError"}
    assert fleet.send(bob, release, "phase_error", failures=1, **more).json()["taken"] == 1
    told = local.done("GET", f"/releases/{release}")
    assert told["reports"] == {"treated": {"claim": 2, "ok": 1, "phase_error": 1}}
    assert (told["progress"]["good"], told["progress"]["bad"], told["progress"]["outstanding"]) == (1, 1, 0)
    [failure] = local.done("GET", f"/releases/{release}/failures")
    assert (failure["phase"], failure["error"]) == ("execute", "ValueError")
    minutes = local.done("GET", f"/releases/{release}/minutes")
    assert sum(row["count"] for row in minutes) == 4
    assert fleet.send(ann, "rank-77", "ok").json()["taken"] == 0


def test_reports_that_are_refused(local: LocalServer) -> None:
    publish(local, "1.1.0")
    release, fleet = start(local, "1.1.0", EVERYBODY), Fleet(local, 2)
    ann, bob = fleet.devices
    body = pack_reports([Report(_core.policy.device_pseudonym(bob.id), release, "shop", "rank", seq=1)])
    others = local.ask(
        "POST", "/v1/reports", content=body, headers=ann.proof("POST", "/v1/reports", body, local.clock())
    )
    assert others.status_code == 400 and "another device" in others.json()["given"]
    assert local.ask("POST", "/v1/reports", content=body).status_code == 401
    for content in (b"", b"x" * 50, body[:-1], body + b"x"):
        proof = bob.proof("POST", "/v1/reports", content, local.clock())
        assert local.ask("POST", "/v1/reports", content=content, headers=proof).status_code == 400
    large = b"x" * (256 * 1024 + 1)
    proof = bob.proof("POST", "/v1/reports", large, local.clock())
    assert local.ask("POST", "/v1/reports", content=large, headers=proof).status_code == 413


def test_a_failing_release_is_halted_and_survives_a_restart(database: str | None, tmp_path: Path) -> None:
    clock = Clock()
    with opened_server(tmp_path, database, clock=clock) as local:
        local.done("POST", "/scenarios", json={"name": "shop"})
        publish(local, "1.0.0")
        act(local, start(local, "1.0.0", EVERYBODY), "full")
        publish(local, "1.1.0")
        release, fleet = start(local, "1.1.0", EVERYBODY), Fleet(local, 12)
        for device in fleet.devices[:4]:
            assert fleet.send(device, release, "claim").status_code == 200
            fleet.send(device, release, "install_error", phase="verify", error_type="ModelError")
        for device in fleet.devices[4:]:
            assert fleet.send(device, release, "claim").status_code == 200
        told = local.done("GET", f"/releases/{release}")
        assert told["state"] == "gray" and told["progress"]["outstanding"] == 8
        before = told["progress"]["evidence"]
        local.reopen()  # the eight that were let in are still waited for
        told = local.done("GET", f"/releases/{release}")
        assert told["progress"]["outstanding"] == 8 and told["progress"]["evidence"] == before
        local.clock.forward(31)
        local.state.turn()
        told = local.done("GET", f"/releases/{release}")
        assert told["state"] == "halted" and told["progress"]["missing"] > 0 and "failures" in told["reason"]
        assert fleet.send(fleet.devices[0], release, "claim").status_code == 429
        assert local.done("GET", "/audit")["entries"][0]["who"] == "guard"
        epoch = local.done("GET", "/epoch")["epoch"]
        made = act(local, release, "rollback", reason="broken")
        assert made["version"] == "1.0.0" and made["state"] == "full" and made["replaces"] == release
        assert local.done("GET", f"/releases/{release}")["state"] == "rolled_back"
        assert plan(local).epoch == epoch + 1
        assert local.done("GET", "/audit")["broken"] is None


def test_a_release_that_was_good_is_full_by_its_policy(local: LocalServer) -> None:
    publish(local, "1.1.0")
    release = start(local, "1.1.0", EVERYBODY.replace("[guard]", "full_after = 60\n[guard]"))
    fleet, epoch = Fleet(local, 1), plan(local).epoch
    fleet.send(fleet.devices[0], release, "claim")
    fleet.send(fleet.devices[0], release, "ok")
    local.clock.forward(59)
    local.reopen()
    local.state.turn()
    assert local.done("GET", f"/releases/{release}")["state"] == "gray"
    local.clock.forward(2)
    local.state.turn()
    assert local.done("GET", f"/releases/{release}")["state"] == "full"
    assert plan(local).epoch == epoch + 1
    entry = local.done("GET", "/audit")["entries"][0]
    assert (entry["who"], entry["act"], entry["subject"]) == ("policy", "release.full", release)
    assert local.done("GET", "/epoch")["reason"] == "policy" and local.done("GET", "/audit")["broken"] is None


def test_a_kill_and_its_end(local: LocalServer) -> None:
    publish(local, "1.0.0")
    release = start(local, "1.0.0", EVERYBODY)
    told = []
    local.state.releases._announce = lambda epoch, urgent: told.append((epoch, urgent))
    assert act(local, release, "kill", reason="now")["progress"]["killed"]
    assert told == [(2, True)]
    assert not act(local, release, "revive")["progress"]["killed"]
    assert told == [(2, True), (3, False)]


def test_a_plan_that_was_not_signed_is_signed_at_the_next_start(local: LocalServer) -> None:
    publish(local, "1.0.0")
    given = {"task": "rank", "version": "1.0.0", "policy": POLICY}
    local.done("POST", "/scenarios/shop/releases", json=given)  # and the process dies before the loop turns
    assert local.done("GET", "/epoch")["epoch"] == 0
    local.reopen()
    local.state.turn()
    assert plan(local).epoch == 1


def test_a_write_that_fails_changes_nothing(local: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(local, "1.0.0")
    release = start(local, "1.0.0")

    def full_disk(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(type(local.state.releases), "_new_epoch", full_disk)
        reply = local.ask("POST", f"/api/v1/releases/{release}/pause", local.admin, json={})
        assert reply.status_code == 500 and "No space" not in reply.text
    assert local.done("GET", f"/releases/{release}")["state"] == "gray"
    assert act(local, release, "pause")["state"] == "paused"
    assert plan(local).epoch == 2


def test_signatures_are_made_anew_in_time(local: LocalServer) -> None:
    before = local.state.repository.expires("timestamp")
    local.state.turn()
    assert local.state.repository.expires("timestamp") == before
    local.clock.forward(9 * 3600)
    local.state.turn()
    assert local.state.repository.expires("timestamp") > before


def test_replies_tell_devices_to_come(local: LocalServer) -> None:
    header = _core.policy.profile_header(
        app="shop", app_version="1.2.3", os="linux", os_version="12.0", device="x", op_set="", vm="",
        device_id="d-1", ram_mb=4096,
    )  # fmt: skip

    def told(given: str) -> str | None:
        return local.ask("GET", "/v1/device", headers={"X-Walle": given}).headers.get("x-walle-up")

    assert told(header) is None  # nothing was released
    publish(local, "1.0.0")
    start(local, "1.0.0", EVERYBODY.replace("1.0\n", "1.0\n"))
    assert told(header) == "1"
    assert local.ask("GET", "/v1/device").headers.get("x-walle-up") is None
    for damaged in ("x", header[:-1], header + "A", "!" * 48):
        assert told(damaged) is None
    assert (
        local.ask("GET", "/v1/tuf/metadata/timestamp.json", headers={"X-Walle": header}).headers["x-walle-up"]
        == "1"
    )
