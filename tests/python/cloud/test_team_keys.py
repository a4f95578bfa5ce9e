"""A scenario whose key stays with its team: what the server takes, and what it cannot do."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cloud.servers import LocalServer, opened_server
from cloud.test_releases import packed
from tuf.api.metadata import Metadata, TargetFile
from tuf.ngclient import Updater

from walle_rt.cloud.trust import KeyFolder, Scheme, first_role, next_role
from walle_rt.errors import ArgumentError

DAYS = 90


class Team:
    """Its key, and a server that has the scenario."""

    def __init__(self, local: LocalServer, folder: Path, scheme: Scheme = Scheme.ED25519) -> None:
        self.local, self.keys = local, KeyFolder(folder)
        self.first = first_role(self.keys, scheme, self.now(), DAYS)

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.local.clock(), UTC)

    def add(self) -> None:
        self.local.done("POST", "/scenarios", json={"name": "shop", "team": self.first})

    def signed(self, version: str, manifest: bytes) -> str:
        told = self.local.done("GET", "/scenarios/shop/role")
        assert told["keyids"] == [self.first["keyid"]] and not told["held"]
        path = f"shop/rank/rank-{version}.walp"
        given = (told["role"], path, manifest, [self.keys], told["keyids"])
        return next_role(*given, self.now(), DAYS, told["named"])

    def upload(self, version: str) -> bytes:
        manifest, blobs = packed(version)
        for digest, content in blobs.items():
            where = f"/api/v1/scenarios/shop/blobs/{digest}"
            assert self.local.ask("PUT", where, self.local.admin, content=content).is_success
        return manifest

    def send(self, version: str, manifest: bytes, role: str) -> Any:
        given = {"manifest": base64.b64encode(manifest).decode(), "role": role}
        where = f"/api/v1/scenarios/shop/tasks/rank/versions/{version}/signed"
        return self.local.ask("PUT", where, self.local.admin, json=given)

    def publish(self, version: str) -> Any:
        manifest = self.upload(version)
        return self.send(version, manifest, self.signed(version, manifest))

    def listed(self) -> list[str]:
        role = json.loads(self.local.done("GET", "/scenarios/shop/role")["role"])
        return sorted(path.rpartition("-")[2].removesuffix(".walp") for path in role["signed"]["targets"])


@pytest.fixture
def team(database: str | None, tmp_path: Path) -> Iterator[Team]:
    with opened_server(tmp_path, database) as local:
        made = Team(local, tmp_path / "team")
        made.add()
        yield made


def test_a_version_that_its_team_has_signed_is_one_that_devices_believe(team: Team, tmp_path: Path) -> None:
    assert not (team.local.state.settings.folder / "keys" / "scenarios" / "shop").exists()
    for at in range(4):
        assert team.publish(f"1.{at}.0").status_code == 200
    assert team.listed() == ["1.1.0", "1.2.0", "1.3.0"], "the last three"
    assert team.publish("1.3.0").status_code == 200, "the same again renews the signature"
    role = json.loads(team.local.done("GET", "/scenarios/shop/role")["role"])
    assert role["signed"]["version"] == 6
    repository = team.local.state.settings.folder / "repository"

    class Files:
        def download_bytes(self, url: str, most: int) -> bytes:
            file = repository / url.removeprefix("x:/")
            if not file.is_file():
                from tuf.api.exceptions import DownloadHTTPError

                raise DownloadHTTPError("none", 404)
            return file.read_bytes()

        def download_file(self, url: str, most: int) -> Any:
            import io
            from contextlib import nullcontext

            return nullcontext(io.BytesIO(self.download_bytes(url, most)))

    (tmp_path / "client").mkdir()
    client = Updater(
        str(tmp_path / "client"), "x:/metadata/", str(tmp_path / "client"), "x:/targets/", Files(),  # type: ignore[arg-type]
        bootstrap=(repository / "metadata" / "1.root.json").read_bytes(),
    )  # fmt: skip
    client.refresh()
    found = client.get_targetinfo("shop/rank/rank-1.3.0.walp")
    assert found is not None
    assert Path(client.download_target(found)).read_bytes() == packed("1.3.0")[0]


def test_the_server_cannot_publish_what_the_team_has_not_signed(team: Team) -> None:
    manifest = team.upload("1.0.0")
    where = "/api/v1/scenarios/shop/tasks/rank/versions/1.0.0"
    refused = team.local.ask("PUT", where, team.local.admin, content=manifest)
    assert refused.status_code == 400 and "at least 1" in refused.json()["expected"]
    assert team.listed() == []
    assert team.publish("1.0.0").status_code == 200


Spoil = Callable[[Any, Team], None]


def _swap(metadata: Any, path: str, content: bytes) -> None:
    target = TargetFile.from_data(path, content, ["sha256"])
    target.unrecognized_fields["custom"] = {"n": 9}
    metadata.signed.targets[path] = target


SPOILS: dict[str, tuple[str, Spoil]] = {
    "version skipped": ("version 4", lambda m, t: setattr(m.signed, "version", 4)),
    "version again": ("version 2", lambda m, t: setattr(m.signed, "version", 2)),
    "too long": ("90 days at most", lambda m, t: setattr(m.signed, "expires", t.now() + timedelta(days=92))),
    "over": ("90 days at most", lambda m, t: setattr(m.signed, "expires", t.now() - timedelta(seconds=1))),
    "another scenario": ("TASK/TASK-VERSION", lambda m, t: _swap(m, "maps/rank/rank-9.0.0.walp", b"x")),
    "a director": ("TASK/TASK-VERSION", lambda m, t: _swap(m, "director/plan.wale", b"x")),
    "a path": ("TASK/TASK-VERSION", lambda m, t: _swap(m, "shop/../rank-1.0.0.walp", b"x")),
    "not sent": ("the version that is published", lambda m, t: _swap(m, "shop/rank/rank-9.0.0.walp", b"x")),
    "old bytes": ("a version of its own", lambda m, t: _swap(m, "shop/rank/rank-1.0.0.walp", b"x")),
    "other digest": ("that of the manifest", lambda m, t: _swap(m, "shop/rank/rank-1.1.0.walp", b"x")),
    "fields": ("a list of versions", lambda m, t: m.signed.unrecognized_fields.update(more=1)),
    "place": (
        "a place among",
        lambda m, t: m.signed.targets["shop/rank/rank-1.1.0.walp"].unrecognized_fields.update(custom=1),
    ),
}


@pytest.mark.parametrize("name", SPOILS)
def test_roles_that_are_refused_though_signed(name: str, tmp_path: Path) -> None:
    expected, spoil = SPOILS[name]
    with opened_server(tmp_path) as local:
        team = Team(local, tmp_path / "team")
        team.add()
        assert team.publish("1.0.0").status_code == 200
        manifest = team.upload("1.1.0")
        good = team.signed("1.1.0", manifest)
        metadata: Any = Metadata.from_bytes(good.encode())
        spoil(metadata, team)
        metadata.signatures.clear()
        metadata.sign(team.keys.signer(team.first["keyid"]))
        before = sorted((local.state.settings.folder / "repository").rglob("*"))
        refused = team.send("1.1.0", manifest, metadata.to_bytes().decode())
        assert refused.status_code == 400, refused.text
        assert expected in refused.json()["expected"] + refused.json()["given"], refused.text
        assert sorted((local.state.settings.folder / "repository").rglob("*")) == before
        assert team.send("1.1.0", manifest, good).status_code == 200


def test_roles_that_somebody_else_has_signed_are_refused(team: Team, tmp_path: Path) -> None:
    manifest = team.upload("1.0.0")
    good = team.signed("1.0.0", manifest)
    other = KeyFolder(tmp_path / "other")
    stranger = other.create(Scheme.ED25519).public_key.keyid
    metadata: Any = Metadata.from_bytes(good.encode())
    metadata.signatures.clear()
    unsigned = metadata.to_bytes().decode()
    metadata.sign(other.signer(stranger))
    parts = json.loads(good)
    parts["signed"]["version"] += 0
    parts["signed"]["targets"]["shop/rank/rank-1.0.0.walp"]["length"] += 1
    for role in (unsigned, metadata.to_bytes().decode(), json.dumps(parts), "", "{}", "[" * 5000, good[:-9]):
        assert team.send("1.0.0", manifest, role).status_code == 400
    given = {"manifest": "@@", "role": good}
    where = "/api/v1/scenarios/shop/tasks/rank/versions/1.0.0/signed"
    assert team.local.ask("PUT", where, team.local.admin, json=given).status_code == 400
    assert team.listed() == [] and team.send("1.0.0", manifest, good).status_code == 200
    with pytest.raises(ArgumentError, match="no key of the scenario"):
        told = team.local.done("GET", "/scenarios/shop/role")
        next_role(told["role"], "shop/rank/rank-2.0.0.walp", b"", [other], told["keyids"], team.now(), DAYS)


@pytest.mark.parametrize("scheme", list(Scheme))
def test_keys_of_every_kind_and_none_else(scheme: Scheme, tmp_path: Path) -> None:
    with opened_server(tmp_path) as local:
        team = Team(local, tmp_path / "team", scheme)
        wrong: list[dict[str, Any]] = []
        for change in (
            {"keyid": "0" * 64},
            {"key": {}},
            {"key": {**team.first["key"], "scheme": "rsa-pkcs1v15-sha256"}},
            {"role": "{}"},
            {"role": Team(local, tmp_path / "another", scheme).first["role"]},
        ):
            wrong.append({**copy.deepcopy(team.first), **change})
        for given in wrong:
            reply = local.ask("POST", "/api/v1/scenarios", local.admin, json={"name": "shop", "team": given})
            assert reply.status_code == 400, reply.text
        team.add()
        assert team.publish("1.0.0").status_code == 200 and team.listed() == ["1.0.0"]


def test_the_servers_own_scenarios_are_signed_anew_in_time(tmp_path: Path) -> None:
    with opened_server(tmp_path) as local:
        local.done("POST", "/scenarios", json={"name": "shop"})
        for days, anew in ((59, False), (2, True)):
            before = local.state.repository.expires("shop")
            local.clock.forward(days * 86400)
            local.state.turn()
            assert (local.state.repository.expires("shop") > before) == anew
