"""The batch API of Git LFS: plain `git lfs` where it is installed, and its specification's JSON."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cloud.servers import LocalServer, opened_server
from cloud.test_pages import listening
from waits import PATIENCE_S

from walle_rt.cloud.git import Author, Pointer
from walle_rt.cloud.git.remote import Edition, HttpGit

TYPE = "application/vnd.git-lfs+json"
BATCH = "/git/shop.git/info/lfs/objects/batch"


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalServer]:
    with opened_server(tmp_path, max_upload=1 << 20) as made:
        made.done("POST", "/scenarios", json={"name": "shop"})
        yield made


def batch(local: LocalServer, token: str | None, operation: str, *objects: Any, **more: Any) -> Any:
    given = {"operation": operation, "transfers": ["basic"], "objects": list(objects), **more}
    headers = {"Accept": TYPE, "Content-Type": TYPE}
    return local.ask("POST", BATCH, token, content=json.dumps(given), headers=headers)


def named(content: bytes) -> dict[str, Any]:
    return {"oid": hashlib.sha256(content).hexdigest(), "size": len(content)}


def test_files_go_up_and_come_down(local: LocalServer) -> None:
    content = random.Random(1).randbytes(100_000)
    told = batch(local, local.admin, "download", named(content))
    assert told.status_code == 200 and told.headers["content-type"] == TYPE
    [missing] = told.json()["objects"]
    assert missing["error"]["code"] == 404 and "actions" not in missing
    told = batch(local, local.admin, "upload", named(content)).json()
    assert told["transfer"] == "basic" and told["hash_algo"] == "sha256"
    action = told["objects"][0]["actions"]["upload"]
    assert action["href"].startswith("http://server/git/shop.git/info/lfs/objects/")
    path = action["href"].removeprefix("http://server")
    assert local.ask("PUT", path, content=content[:-1], headers=action["header"]).status_code == 422
    assert local.ask("PUT", path, content=content).status_code == 401
    assert local.ask("PUT", path, content=content, headers=action["header"]).status_code == 200
    [again] = batch(local, local.admin, "upload", named(content)).json()["objects"]
    assert "actions" not in again and "error" not in again, "it is there"
    [found] = batch(local, local.admin, "download", named(content)).json()["objects"]
    action = found["actions"]["download"]
    path = action["href"].removeprefix("http://server")
    assert local.ask("GET", path, headers=action["header"]).content == content
    part = local.ask("GET", path, headers={**action["header"], "Range": "bytes=10-19"})
    assert part.status_code == 206 and part.content == content[10:20]
    [other] = batch(local, local.admin, "download", {**named(content), "size": 5}).json()["objects"]
    assert other["error"]["code"] == 422


def test_who_may_do_what(local: LocalServer) -> None:
    content = b"x" * 1000
    assert batch(local, None, "download", named(content)).status_code == 401
    assert batch(local, "wrong", "download", named(content)).status_code == 401
    assert batch(local, local.operator("nobody"), "download", named(content)).status_code == 403
    looks, writes = local.operator("looks", shop="viewer"), local.operator("writes", shop="author")
    assert batch(local, looks, "download", named(content)).status_code == 200
    assert batch(local, looks, "upload", named(content)).status_code == 403
    path = f"/git/shop.git/info/lfs/objects/{named(content)['oid']}"
    assert local.ask("PUT", path, looks, content=content).status_code == 403
    assert local.ask("PUT", path, writes, content=content).status_code == 200
    name = base64.b64encode(f"x:{writes}".encode()).decode()
    assert local.ask("POST", BATCH, headers={"Authorization": f"Basic {name}"}, json={}).status_code == 422


def test_requests_that_are_wrong(local: LocalServer) -> None:
    for body in (b"", b"{", b"[]", b"3", b"[" * 50_000, b'{"operation": "steal", "objects": []}',
                 b'{"operation": "download"}', b'{"operation": "download", "objects": 3}',
                 b'{"operation": "download", "objects": [], "transfers": ["ssh"]}',
                 b'{"operation": "download", "objects": [], "transfers": 3}'):  # fmt: skip
        assert local.ask("POST", BATCH, local.admin, content=body).status_code == 422, body[:60]
    assert batch(local, local.admin, "download", hash_algo="sha512").status_code == 409
    assert batch(local, local.admin, "download", *[named(b"")] * 1001).status_code == 422
    odd = ({}, 3, None, {"oid": "../../x", "size": 3}, {"oid": "A" * 64, "size": 3},
           {"oid": "0" * 64, "size": -1}, {"oid": "0" * 64, "size": True}, {"oid": "0" * 64})  # fmt: skip
    told = batch(local, local.admin, "download", *odd).json()["objects"]
    assert [each["error"]["code"] for each in told] == [422] * len(odd)
    large = {"oid": "0" * 64, "size": (1 << 20) + 1}
    assert batch(local, local.admin, "upload", large).json()["objects"][0]["error"]["code"] == 422
    path = f"/git/shop.git/info/lfs/objects/{'0' * 64}"
    assert local.ask("PUT", path, local.admin, content=b"x" * ((1 << 20) + 1)).status_code == 413
    assert local.ask("GET", path, local.admin).status_code == 404
    assert local.ask("GET", BATCH, local.admin).status_code == 404
    assert local.ask("POST", "/git/shop.git/info/lfs/locks/verify", local.admin).status_code == 404
    assert batch(local, local.admin, "download").json()["objects"] == []


def test_plain_git_lfs(local: LocalServer, tmp_path: Path) -> None:
    if shutil.which("git-lfs") is None:
        pytest.skip("no git-lfs (apt-get install git-lfs)")
    content, home = random.Random(1).randbytes(200_000), tmp_path / "home"
    home.mkdir()
    environment = {**os.environ, "HOME": str(home), "GIT_TERMINAL_PROMPT": "0"}

    def git(*words: str, folder: Path = tmp_path, code: int = 0) -> str:
        done = subprocess.run(
            ["git", *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    local.state.team_blobs("shop").put(content)
    with listening(local) as url:
        files = {"model.bin": Pointer.to(content).to_bytes(), "task.toml": b"[task]\n"}
        edition = Edition("rank", "1.0.0", "0" * 64, files, "first", Author("ada", "ada@example.com"))
        HttpGit(f"{url}/git/shop.git", local.admin).publish(edition)
        git("lfs", "install", "--skip-repo")
        there = f"{url.replace('://', f'://x:{local.admin}@')}/git/shop.git"
        git("clone", "-q", "-b", "rank", there, "clone")
        clone = tmp_path / "clone"
        git("lfs", "pull", folder=clone)
        assert (clone / "model.bin").read_bytes() == content
        more = random.Random(2).randbytes(150_000)
        git("lfs", "track", "*.bin", folder=clone)
        (clone / "more.bin").write_bytes(more)
        git("add", ".", folder=clone)
        who = ("-c", "user.name=ada", "-c", "user.email=ada@example.com")
        git(*who, "commit", "-q", "-m", "more", folder=clone)
        git("push", "-q", "origin", "rank", folder=clone)
        assert local.state.team_blobs("shop").read(hashlib.sha256(more).hexdigest()) == more
        git("clone", "-q", "-b", "rank", there, "second")
        assert (tmp_path / "second" / "more.bin").read_bytes() == more
