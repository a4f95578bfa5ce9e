"""A digest is an address and no permission: who is served which bytes, over every route.

Two teams, each with a version that has a server's half, a file that was uploaded and is of no version, and
some content that both have for different uses. Whoever is not of a team must get the same answers for a
digest of it as for one that nobody has.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cloud.servers import Device, LocalServer, opened_server
from cloud.test_routes import body, routes

from walle_rt import _core
from walle_rt.task._package import FileKind, Package, PackageFile

NOWHERE = hashlib.sha256(b"what nobody has").hexdigest()
BOTH_CLOUD = b"planted: both teams keep this from devices"
MIXED = b"planted: the bank gives this to devices, the shop does not"
LFS = "application/vnd.git-lfs+json"


@dataclass
class Team:
    """What a team has published, by what it is."""

    scenario: str
    token: str
    package: Package
    whole: bytes
    public: dict[str, bytes] = field(default_factory=dict)
    private: dict[str, bytes] = field(default_factory=dict)


@dataclass
class World:
    local: LocalServer
    shop: Team
    bank: Team
    device: Device


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def team(local: LocalServer, scenario: str, given_to_devices: bytes, kept: list[bytes]) -> Team:
    """A scenario, somebody who publishes there, a version with two halves, a file beside it."""
    local.done("POST", "/scenarios", json={"name": scenario})
    token = local.operator(f"author-{scenario}", **{scenario: "author"})
    public = {
        _core.package.CODE: (f"code of {scenario}".encode(), FileKind.CODE),
        _core.package.MANIFEST: (b"manifest", FileKind.POLICY),
        "small.bin": (given_to_devices, FileKind.RESOURCE),
    }
    private = {
        _core.package.CLOUD_CODE: (f"planted: cloud.py of {scenario}".encode(), FileKind.CLOUD),
        **{f"large-{n}.bin": (content, FileKind.CLOUD) for n, content in enumerate(kept)},
    }
    named = sorted({**public, **private}.items(), key=lambda each: each[0].encode())
    files = [PackageFile(name, digest_of(data), len(data), kind) for name, (data, kind) in named]
    package = Package(scenario, "rank", "1.0.0", "0" * 64, files=files)
    made = Team(scenario, token, package, package.to_bytes())
    made.public = {digest_of(data): data for data, _ in public.values()}
    made.private = {digest_of(data): data for data, _ in private.values()}
    uploaded = f"planted: a file of git of {scenario}".encode()
    made.private[digest_of(uploaded)] = uploaded
    for digest, data in {**made.public, **made.private}.items():
        local.done("PUT", f"/scenarios/{scenario}/blobs/{digest}", token, content=data)
    local.done("PUT", f"/scenarios/{scenario}/tasks/rank/versions/1.0.0", token, content=made.whole)
    made.private[digest_of(made.whole)] = made.whole
    local.done("POST", f"/scenarios/{scenario}/releases", json={"task": "rank", "version": "1.0.0"})
    local.state.turn()
    return made


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened_server(tmp_path_factory.mktemp("access")) as local:
        bank = team(local, "bank", MIXED, [BOTH_CLOUD, b"planted: the bank's own"])
        shop = team(local, "shop", b"small", [BOTH_CLOUD, MIXED, b"planted: the shop's own"])
        yield World(local, shop, bank, local.device())


class Identity:
    """Somebody who is not of a team, and asks with what they have."""

    def __init__(self, name: str, token: str | None = None, device: Device | None = None) -> None:
        self.name, self.token, self.device = name, token, device

    def ask(self, local: LocalServer, method: str, path: str, **more: Any) -> tuple[int, str, bytes]:
        headers = dict(more.pop("headers", {}))
        if self.device is not None:
            headers |= self.device.proof(method, path, more.get("content", b""), local.clock())
        reply = local.ask(method, path, self.token, headers=headers, **more)
        return reply.status_code, reply.headers.get("etag", ""), reply.content


def strangers(world: World, of: str) -> list[Identity]:
    """Everybody but the team of a scenario and the administrators."""
    other = world.bank if of == "shop" else world.shop
    ci = world.local.done(
        "POST", "/tokens", other.token, json={"name": "ci", "scenario": other.scenario, "role": "viewer"}
    )
    return [
        Identity("anonymous"),
        Identity("device", device=world.device),
        Identity("other team", other.token),
        Identity("other team's program", ci["token"]),
        Identity("nobody's", world.local.operator(f"nobody-{of}")),
    ]


def everywhere(local: LocalServer) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every route of the document that no digest goes into, for both teams."""
    for scenario in ("shop", "bank"):
        known = {"scenario": scenario, "act": "pause", "version": "1.0.0", "task": "rank"}
        for method, path in routes(local):
            ends = path.endswith(("/logout", "/login", "/password")) or "/tokens/" in path
            if ends or "{digest}" in path or path.endswith("/missing"):
                continue
            values = known | {"number": "rank-1" if "/releases/" in path else "1"}
            yield method, path.format_map(values | {"name": "thing", "device": "d-1"}), body(method, path)
    for path in ("/", "/releases/rank-1", "/devices", "/log", "/style.css", "/login", "/v1/device"):
        yield "GET", path, {}


def requests(digest: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every request that a digest goes into."""
    for scenario in ("shop", "bank"):
        api = f"/api/v1/scenarios/{scenario}/blobs"
        yield "POST", f"{api}/missing", {"json": {"digests": [digest]}}
        yield "PUT", f"{api}/{digest}", {"content": b"not it"}
        git = f"/git/{scenario}.git"
        yield "GET", f"{git}/blobs/{digest}", {}
        yield "GET", f"{git}/blobs/{digest}", {"headers": {"Range": "bytes=0-3"}}
        yield "GET", f"{git}/blobs/{digest}", {"headers": {"If-None-Match": f'"{digest}"'}}
        yield "GET", f"{git}/info/refs?service=git-upload-pack", {}
        yield "GET", f"{git}/info/lfs/objects/{digest}", {}
        yield "PUT", f"{git}/info/lfs/objects/{digest}", {"content": b"not it"}
        for operation in ("download", "upload"):
            for size in (1, 29):
                given = {"operation": operation, "objects": [{"oid": digest, "size": size}]}
                headers = {"Accept": LFS, "Content-Type": LFS}
                yield "POST", f"{git}/info/lfs/objects/batch", {
                    "content": json.dumps(given).encode(), "headers": headers,
                }  # fmt: skip
        folder = f"/v1/tuf/targets/{scenario}/rank"
        yield "GET", f"{folder}/{digest}.rank-1.0.0.walp", {}
        yield "GET", f"{folder}/{digest}", {}
    for headers in ({}, {"Range": "bytes=0-3"}, {"If-None-Match": f'"{digest}"'}, {"X-Walle": "AAAA"}):
        yield "GET", f"/v1/blobs/{digest}", {"headers": headers}
        yield "HEAD", f"/v1/blobs/{digest}", {"headers": headers}
    for path in (f"/v1/blobs/teams/shop/06/{digest}", f"/v1/tuf/metadata/{digest}.json"):
        yield "GET", path, {}


def neutral(answer: tuple[int, str, bytes], digest: str) -> tuple[int, str, bytes]:
    """Without the digest that the question had: an error may say it again."""
    status, etag, content = answer
    for written in (digest, digest[:16], digest[-60:]):
        content = content.replace(written.encode(), b"DIGEST")
    return status, etag.replace(digest, "DIGEST"), re.sub(rb"\d+\.\d+", b"TIME", content)


@pytest.mark.parametrize("of", ["shop", "bank"])
def test_a_private_digest_is_as_one_that_nobody_has(world: World, of: str) -> None:
    """No bytes, no other status, no other word: nothing tells whether a file is there."""
    mine = world.shop if of == "shop" else world.bank
    other = world.bank if of == "shop" else world.shop
    theirs = {**other.public, **other.private}  # what they have uploaded themselves they may know of
    asked, identities = 0, strangers(world, of)
    for identity in identities:
        nothing = [
            neutral(identity.ask(world.local, method, path, **more), NOWHERE)
            for method, path, more in requests(NOWHERE)
        ]
        for digest, content in mine.private.items():
            if digest in theirs:
                continue
            for (method, path, more), expected in zip(requests(digest), nothing, strict=True):
                found = identity.ask(world.local, method, path, **more)
                assert content not in found[2], (identity.name, method, path)
                assert neutral(found, digest) == expected, (identity.name, method, path)
                asked += 1
    assert asked > 5 * 3 * 40
    for identity in identities:
        for method, path, more in everywhere(world.local):
            told = identity.ask(world.local, method, path, **more)[2]
            assert b"planted" not in told, (identity.name, method, path)
            for digest in mine.private.keys() - theirs.keys():
                assert digest.encode() not in told, (identity.name, method, path)


def test_every_route_that_a_digest_goes_into_is_asked(world: World) -> None:
    """A new one has to be added to ``requests``."""
    of_api = {(method, path) for method, path in routes(world.local) if "digest" in path or "blobs" in path}
    assert of_api == {
        ("POST", "/api/v1/scenarios/{scenario}/blobs/missing"),
        ("PUT", "/api/v1/scenarios/{scenario}/blobs/{digest}"),
    }


def test_what_a_team_has_is_served_to_it(world: World) -> None:
    """Or the tests around this one would hold with nothing served at all."""
    for mine in (world.shop, world.bank):
        for digest, content in {**mine.public, **mine.private}.items():
            path = f"/git/{mine.scenario}.git/blobs/{digest}"
            assert world.local.ask("GET", path, mine.token).content == content


def test_devices_get_what_versions_have_for_them_and_nothing_else(world: World) -> None:
    public = {**world.shop.public, **world.bank.public}
    private = {**world.shop.private, **world.bank.private}
    assert digest_of(MIXED) in public.keys() & private.keys()
    for digest in {**public, **private}:
        for identity in (Identity("anonymous"), Identity("device", device=world.device)):
            status, _, content = identity.ask(world.local, "GET", f"/v1/blobs/{digest}")
            if digest in public:
                assert (status, content) == (200, public[digest]), identity.name
            else:
                assert status == 404 and private[digest] not in content, identity.name
    devices = world.local.state.settings.folder / "blobs"
    there = {file.name for file in devices.glob("[0-9a-f][0-9a-f]/*")}
    assert there == set(public), "whatever else hands the folder out"


def test_nothing_that_devices_are_told_names_the_servers_files(world: World) -> None:
    """Metadata, manifests and plans: all that lies in the repository, and a device's own requests."""
    private = {
        digest
        for each in (world.shop, world.bank)
        for digest in each.private
        if digest not in {**world.shop.public, **world.bank.public}
    }
    repository = world.local.state.settings.folder / "repository"
    told = [file.read_bytes() for file in repository.rglob("*") if file.is_file()]
    asked = ["/v1/device", "/v1/tuf/metadata/timestamp.json", "/v1/tuf/metadata/1.root.json"]
    told += [world.local.ask("GET", path).content for path in asked]
    told.append(json.dumps(world.device.enrolled).encode())
    assert len(told) > 12 and any(bytes.fromhex(next(iter(world.shop.public))) in text for text in told)
    for text in told:
        for digest in private:
            assert digest.encode() not in text and bytes.fromhex(digest) not in text
        assert b"planted" not in text and b"large-" not in text


def test_a_version_with_another_servers_half_is_another_version(world: World) -> None:
    """The package digest does not cover it, so that must not be how it is told apart."""
    local, shop = world.local, world.shop
    content = b"planted: another cloud.py"
    local.done("PUT", f"/scenarios/shop/blobs/{digest_of(content)}", shop.token, content=content)
    files = [
        PackageFile(f.name, digest_of(content), len(content), f.kind)
        if f.name == _core.package.CLOUD_CODE else f
        for f in shop.package.files
    ]  # fmt: skip
    other = Package("shop", "rank", "1.0.0", "0" * 64, files=files)
    assert other.for_devices() == shop.package.for_devices()
    path = "/api/v1/scenarios/shop/tasks/rank/versions/1.0.0"
    assert local.ask("PUT", path, shop.token, content=shop.whole).status_code == 200
    for given in (other.to_bytes(), shop.package.for_devices().to_bytes()):
        refused = local.ask("PUT", path, shop.token, content=given)
        assert refused.status_code == 400 and "raise the version" in refused.json()["next"]


def test_a_version_cannot_have_files_of_another_team(world: World, tmp_path: Path) -> None:
    local, shop, bank = world.local, world.shop, world.bank
    stolen = next(digest for digest, content in bank.private.items() if b"bank's own" in content)
    for kind, name in ((FileKind.RESOURCE, "stolen.bin"), (FileKind.CLOUD, "stolen.bin")):
        size = len(bank.private[stolen])
        files = [*shop.package.files, PackageFile(name, stolen, size, kind)]
        files.sort(key=lambda file: file.name.encode())
        whole = Package("shop", "rank", "2.0.0", "0" * 64, files=files).to_bytes()
        path = "/api/v1/scenarios/shop/tasks/rank/versions/2.0.0"
        refused = local.ask("PUT", path, shop.token, content=whole)
        assert refused.status_code == 409 and "not there" in refused.json()["given"]
