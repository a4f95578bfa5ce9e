"""Nothing that a server writes can be read by another user of the machine, whatever it was started with."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from cloud.servers import Child, opened_server
from cloud.test_releases import packed
from waits import PATIENCE_S

from walle_rt.cli.server_api import ServerApi
from walle_rt.cloud.service.private import close_to_others

NEW = "a password of one's own"


def open_to_others(folder: Path) -> list[str]:
    """What is not its owner's alone."""
    return [
        f"{path.relative_to(folder)} {stat.S_IMODE(path.lstat().st_mode):o}"
        for path in sorted(folder.rglob("*"))
        if not path.is_symlink() and path.lstat().st_mode & 0o077
    ]


def used(child: Child) -> None:
    """Everything that makes a server write: accounts, files, git, versions, releases, devices."""
    first = child.told["login"]["password"]
    token = ServerApi(child.url).post("/login", {"name": "admin", "password": first})["token"]
    api = ServerApi(child.url, token)
    api.put("/me/password", {"old": first, "new": NEW})
    api.post("/scenarios", {"name": "shop"})
    manifest, blobs = packed("1.0.0")
    for digest, content in blobs.items():
        api.put_bytes(f"/scenarios/shop/blobs/{digest}", content)
    api.put_bytes("/scenarios/shop/tasks/rank/versions/1.0.0", manifest)
    release = api.post("/scenarios/shop/releases", {"task": "rank", "version": "1.0.0", "reason": "first"})
    api.post(f"/releases/{release['id']}/full", {"reason": "it works"})
    api.post("/device-codes", {"count": 1})


def test_a_folder_that_was_there_before(tmp_path: Path) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    folder.chmod(0o755)
    before = os.umask(0o000)  # the loosest that a service manager may give
    try:
        child = Child(folder)
        try:
            used(child)
        finally:
            assert child.stop() == 0
    finally:
        os.umask(before)
    kinds = {path.name for path in folder.iterdir()}
    assert kinds >= {"walle.db", "blobs", "repository", "git", "keys"} and len(list(folder.rglob("*"))) > 40
    assert open_to_others(folder) == []


def test_what_was_opened_is_closed_at_the_next_start(tmp_path: Path) -> None:
    with opened_server(tmp_path) as local:
        local.done("POST", "/scenarios", json={"name": "shop"})
        folder = local.state.settings.folder
        others = folder / "somebody's.txt"
        others.write_text("of another program")
        for path in [*folder.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
        local.reopen()
        assert open_to_others(folder) == ["somebody's.txt 644"], "what is not ours is left alone"
        assert close_to_others(folder) == 0


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("x")
    folder = tmp_path / "server"
    (folder / "keys").mkdir(parents=True)
    (folder / "blobs").symlink_to(outside)
    (folder / "keys" / "link").symlink_to(outside / "file")
    outside.chmod(0o755)
    (outside / "file").chmod(0o644)
    close_to_others(folder)
    assert outside.stat().st_mode & 0o777 == 0o755 and (outside / "file").stat().st_mode & 0o777 == 0o644
    assert (folder / "keys").stat().st_mode & 0o777 == 0o700


AS_NOBODY = """
import os, sys
from pathlib import Path
from walle_rt.cloud.service.private import close_to_others
from walle_rt.errors import ResourceError
os.setgid(65534)
os.setuid(65534)
try:
    close_to_others(Path(sys.argv[1]))
except ResourceError as error:
    print(error)
"""


def test_what_is_another_users_is_told(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root makes files of another user")
    folder = Path("/tmp") / f"walle-private-{os.getpid()}"
    (folder / "keys").mkdir(parents=True)
    try:
        folder.chmod(0o755)
        (folder / "keys").chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, str(folder)],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert "which is another user's" in done.stdout and "chown" in done.stdout, done.stderr
    finally:
        (folder / "keys").rmdir()
        folder.rmdir()
