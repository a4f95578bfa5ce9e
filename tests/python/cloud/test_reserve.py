"""A full disk: what must be written is, and what writes much waits."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cloud.servers import LocalServer, opened_server
from cloud.test_releases import publish, start
from waits import PATIENCE_S

from walle_rt.cloud.service.reserve import SIZE, STEP, DiskReserve

ROOT = Path(__file__).resolve().parents[3]


class Disk:
    """A file system of so many bytes, of which others take some."""

    def __init__(self, folder: Path, size: int) -> None:
        self.folder, self.size, self.others = folder, size, 0

    def free(self) -> int:
        file = self.folder / ".reserve"
        held = file.stat().st_size if file.exists() else 0
        return max(0, self.size - self.others - held)


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path, 200 << 20)


def test_it_is_given_a_step_at_a_time_and_taken_back(disk: Disk) -> None:
    reserve = DiskReserve(disk.folder, disk.free)
    assert reserve.held == SIZE and not reserve.low()
    blocks = (disk.folder / ".reserve").stat().st_blocks
    assert blocks * 512 >= SIZE, "a hole keeps nothing free"
    assert (disk.folder / ".reserve").stat().st_mode & 0o077 == 0
    reserve.give()
    assert reserve.held == SIZE, "there is room"
    for left in range(SIZE - STEP, -1, -STEP):
        disk.others += disk.free()  # somebody takes all of it
        assert reserve.low()
        reserve.give()
        assert reserve.held == left and disk.free() == STEP and reserve.low()
        reserve.give()
        assert reserve.held == left, "a step is enough until it is used"
    disk.others += disk.free()
    reserve.give()
    assert reserve.held == 0, "nothing is left to give, and nothing fails"
    reserve.refill()
    assert reserve.held == 0
    disk.others = 0
    reserve.refill()
    assert reserve.held == SIZE and not reserve.low()


def test_a_disk_that_is_nearly_full_already_is_left_alone(disk: Disk) -> None:
    disk.others = disk.size - SIZE
    reserve = DiskReserve(disk.folder, disk.free)
    assert reserve.held == 0 and not (disk.folder / ".reserve").exists()


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalServer]:
    with opened_server(tmp_path) as made:
        made.done("POST", "/scenarios", json={"name": "shop"})
        yield made


def test_files_wait_and_orders_do_not(local: LocalServer) -> None:
    publish(local, "1.0.0")
    release = start(local, "1.0.0")
    disk = Disk(local.state.settings.folder, 200 << 20)
    local.state.reserve._free = disk.free
    content = b"a file"
    digest = hashlib.sha256(content).hexdigest()
    upload = ("PUT", f"/api/v1/scenarios/shop/blobs/{digest}")
    disk.others = disk.free() - STEP - 1
    for method, path in (
        upload,
        ("PUT", f"/git/shop.git/info/lfs/objects/{digest}"),
        ("POST", "/git/shop.git/git-receive-pack"),
        ("PUT", "/api/v1/scenarios/shop/tasks/rank/versions/1.0.1"),
        ("PUT", "/api/v1/scenarios/shop/tasks/rank/versions/1.0.1/signed"),
    ):
        told = local.ask(method, path, local.admin, content=content)
        assert told.status_code == 507 and "disk" in told.json()["given"], path
        assert told.headers["content-type"] == "application/problem+json"
    disk.others += disk.free()
    for act in ("kill", "revive", "halt"):
        local.done("POST", f"/releases/{release}/{act}", json={"reason": "the disk is full"})
        local.state.turn()
    assert local.state.reserve.held == SIZE - STEP
    assert local.ask("GET", "/git/shop.git/info/refs?service=git-upload-pack", local.admin).status_code == 200
    disk.others = 0
    assert local.ask(*upload, local.admin, content=content).status_code == 204
    local.clock.forward(120)
    local.state.turn()
    assert local.state.reserve.held == SIZE, "once a minute the loop looks"


@pytest.mark.serial
def test_on_a_file_system_without_a_free_byte() -> None:
    """As tests/fault/flood.py has it, with a small dose."""
    unshare = shutil.which("unshare")
    if (
        os.geteuid() != 0
        or unshare is None
        or subprocess.run([unshare, "-m", "true"], check=False).returncode
    ):
        pytest.skip("a file system of its own needs root and unshare; the tests above have a made-up one")
    line = [sys.executable, "-m", "tests.fault.flood", "--disk", "--seconds", "1.5", "--slack", "4"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0 and "free: 0 bytes when it was full" in done.stdout, done.stdout + done.stderr
