"""Backups, and servers that are restored from them."""

from __future__ import annotations

import shutil
import stat
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cloud import restore_drill
from cloud.followers import HAS_VM
from cloud.servers import Clock, LocalServer
from cloud.test_releases import EVERYBODY, Fleet, act, plan, publish, start

from walle_rt.cloud.backup import back_up, restore
from walle_rt.cloud.broker._mosquitto import find_mosquitto
from walle_rt.cloud.trust import KeyFolder, Scheme, first_role
from walle_rt.errors import ArgumentError, ResourceError

HOUR_S = 3_600.0


def _has_mosquitto() -> bool:
    try:
        return bool(find_mosquitto())
    except ResourceError:
        return False


@pytest.mark.serial
@pytest.mark.timeout(300)
@pytest.mark.skipif(not _has_mosquitto(), reason="no Mosquitto (apt-get install mosquitto)")
@pytest.mark.skipif(not HAS_VM, reason="no VM library")
def test_a_fleet_follows_a_restored_server(tmp_path: Path) -> None:
    found = restore_drill.drill(tmp_path, 5)
    print(f"restored: {found}")
    assert found.by_tunnel + found.by_pull == found.online == 5


@pytest.fixture
def local(tmp_path: Path) -> Any:
    made = LocalServer(tmp_path / "server", Clock())
    made.done("POST", "/scenarios", json={"name": "shop"})
    yield made
    made.close()


def versions_of(local: LocalServer) -> dict[str, int]:
    """Of each signed role."""
    repository = local.state.repository
    return {role: repository._load(role).signed.version for role in repository.roles() if role != "root"}


def test_plans_and_metadata_go_on_above_what_devices_can_have_seen(
    local: LocalServer, tmp_path: Path
) -> None:
    publish(local, "1.0.0")
    act(local, start(local, "1.0.0", EVERYBODY), "full")
    back_up(tmp_path / "server", tmp_path / "archive.tar", local.clock())
    backed_up = versions_of(local)
    publish(local, "1.1.0")
    act(local, start(local, "1.1.0", EVERYBODY), "full")
    local.clock.forward(3 * HOUR_S)
    local.state.turn()
    seen, epoch = versions_of(local), plan(local).epoch

    made = restore(tmp_path / "archive.tar", tmp_path / "restored", local.clock())
    assert made.epoch > epoch and made.raised == 10 * 3 * HOUR_S and made.unsigned == []
    again = LocalServer(tmp_path / "restored", local.clock, admin=local.admin)
    try:
        now = versions_of(again)
        assert all(now[role] > seen[role] >= backed_up[role] for role in now), (backed_up, seen, now)
        again.state.turn()
        assert plan(again).epoch == made.epoch
        [entry] = [e for e in again.done("GET", "/audit")["entries"] if e["act"] == "release.restore"]
        assert entry["who"] == "walle restore" and again.done("GET", "/audit")["broken"] is None
    finally:
        again.close()


def test_a_gray_release_waits_for_nobody_and_is_paused(local: LocalServer, tmp_path: Path) -> None:
    publish(local, "1.0.0")
    release, fleet = start(local, "1.0.0", EVERYBODY), Fleet(local, 8)
    for device in fleet.devices:
        assert fleet.send(device, release, "claim").status_code == 200
    fleet.send(fleet.devices[0], release, "ok")
    back_up(tmp_path / "server", tmp_path / "archive.tar", local.clock())
    local.clock.forward(HOUR_S)
    made = restore(tmp_path / "archive.tar", tmp_path / "restored", local.clock())
    assert made.paused == [release]
    again = LocalServer(tmp_path / "restored", local.clock, admin=local.admin)
    try:
        again.state.turn()
        told = again.done("GET", f"/releases/{release}")
        assert told["state"] == "paused" and "backup" in told["reason"]
        assert (told["progress"]["outstanding"], told["progress"]["missing"]) == (0, 0)
        assert act(again, release, "resume")["state"] == "gray"
    finally:
        again.close()


def test_roles_whose_keys_are_elsewhere_are_named(local: LocalServer, tmp_path: Path) -> None:
    team = first_role(KeyFolder(tmp_path / "team"), Scheme.ED25519, local.state.utc(), 90)
    local.done("POST", "/scenarios", json={"name": "maps", "team": team})
    shutil.move(tmp_path / "server" / "keys" / "offline", tmp_path / "offline")
    back_up(tmp_path / "server", tmp_path / "archive.tar", local.clock())
    made = restore(tmp_path / "archive.tar", tmp_path / "restored", local.clock())
    assert sorted(made.unsigned) == ["maps", "targets"]


def test_a_backup_is_whole_while_the_server_works_and_for_its_owner_alone(
    local: LocalServer, tmp_path: Path
) -> None:
    publish(local, "1.0.0")
    (tmp_path / "server" / "retention.toml").write_text("[default]\ndays = 9\n")
    (tmp_path / "server" / "broker").mkdir(exist_ok=True)
    (tmp_path / "server" / "broker" / "port").write_text("18883")
    with local.state.database.writing() as session:  # a transaction that is never kept
        session.connection().exec_driver_sql("DELETE FROM devices")
        manifest = back_up(tmp_path / "server", tmp_path / "archive.tar", local.clock())
        session.rollback()
    assert stat.S_IMODE((tmp_path / "archive.tar").stat().st_mode) == 0o600
    assert {"walle.db", "retention.toml", "broker/port", "keys/ca/ca.key"} <= set(manifest.files)
    assert not [name for name in manifest.files if name.startswith(".") or name.endswith(("-wal", "-shm"))]
    restore(tmp_path / "archive.tar", tmp_path / "restored", local.clock(), mqtt_port=18884)
    assert (tmp_path / "restored" / "broker" / "port").read_text() == "18884"
    for path in (tmp_path / "restored").rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        if path.suffix in (".pem", ".key", ".db"):
            assert mode & 0o077 == 0, (path, oct(mode))
    assert stat.S_IMODE((tmp_path / "restored").stat().st_mode) == 0o700
    with pytest.raises(ResourceError, match="exists"):
        back_up(tmp_path / "server", tmp_path / "archive.tar", local.clock())
    with pytest.raises(ResourceError, match="a server's folder"):
        back_up(tmp_path, tmp_path / "other.tar", local.clock())


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20_000])


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _escape(path: Path) -> None:
    with tarfile.open(path, "a") as tar:
        (path.parent / "evil").write_text("x")
        tar.add(path.parent / "evil", "../evil")


def _link(path: Path) -> None:
    made = tarfile.TarInfo("walle.lnk")
    made.type, made.linkname = tarfile.SYMTYPE, "/etc/passwd"
    with tarfile.open(path, "a") as tar:
        tar.addfile(made)


def _more(path: Path) -> None:
    with tarfile.open(path, "a") as tar:
        tar.add(path.parent / "server" / "keys" / "ca" / "ca.pem", "keys/ca/other.pem")


def _empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [_cut, _flip, _escape, _link, _more, _empty])
def test_a_damaged_archive_restores_nothing(
    local: LocalServer, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    archive = tmp_path / "archive.tar"
    back_up(tmp_path / "server", archive, local.clock())
    damage(archive)
    before = {path.name for path in tmp_path.iterdir()}
    with pytest.raises(ResourceError, match="archive"):
        restore(archive, tmp_path / "restored", local.clock())
    assert {path.name for path in tmp_path.iterdir()} == before, "nothing is left"


def test_a_backup_that_fails_leaves_nothing(
    local: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("walle_rt.cloud.backup._archive.ArchiveWriter.finish", full)
    before = {path.name for path in tmp_path.iterdir()}
    with pytest.raises(OSError, match="No space"):
        back_up(tmp_path / "server", tmp_path / "archive.tar", local.clock())
    assert {path.name for path in tmp_path.iterdir()} == before


def test_a_folder_that_is_there_is_not_written_over(local: LocalServer, tmp_path: Path) -> None:
    back_up(tmp_path / "server", tmp_path / "archive.tar", local.clock())
    with pytest.raises(ArgumentError, match="new or empty"):
        restore(tmp_path / "archive.tar", tmp_path / "server", local.clock())
    (tmp_path / "empty").mkdir()
    restore(tmp_path / "archive.tar", tmp_path / "empty", local.clock())
    assert (tmp_path / "empty" / "walle.db").is_file()


def test_a_database_that_lies_elsewhere_is_asked_for(local: LocalServer, tmp_path: Path) -> None:
    for name in ("walle.db", "walle.db-wal", "walle.db-shm"):
        (tmp_path / "server" / name).unlink(missing_ok=True)
    assert back_up(tmp_path / "server", tmp_path / "archive.tar", local.clock()).database == ""
    with pytest.raises(ArgumentError, match="--db"):
        restore(tmp_path / "archive.tar", tmp_path / "restored", local.clock())
