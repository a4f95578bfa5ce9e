"""One server acts on a database: the second is refused, and one that was taken over ends."""

from __future__ import annotations

import contextlib
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest
from cloud.servers import Child, Clock, LocalServer, opened_server
from cloud.test_releases import publish
from commands import run_walle
from waits import until

from walle_rt.cloud.service.lease import LASTS_S, LeaseLostError
from walle_rt.cloud.service.server import Server
from walle_rt.cloud.service.state import Settings
from walle_rt.errors import ResourceError


def second(tmp_path: Path, local: LocalServer, clock: Clock | None = None) -> Server:
    """Another server of the same repository on the same database."""
    folder = tmp_path / "second"
    if not folder.exists():
        shutil.copytree(local.state.settings.folder, folder)
        (folder / ".instance").unlink()
    return Server(Settings(folder, db=local.state.settings.database), clock or local.clock)


def test_the_second_server_is_refused_and_takes_over_when_the_first_is_silent(
    database: str | None, tmp_path: Path
) -> None:
    with opened_server(tmp_path, database) as local:
        local.done("POST", "/scenarios", json={"name": "shop"})
        with pytest.raises(LeaseLostError, match="one server at a time") as refused:
            second(tmp_path, local)
        told = str(refused.value)
        assert str(local.state.settings.folder) in told and "start again after" in told
        for _ in range(3):  # it says that it lives
            local.clock.forward(LASTS_S - 1)
            local.state.turn()
        with pytest.raises(LeaseLostError):
            second(tmp_path, local)
        local.clock.forward(LASTS_S)
        other = second(tmp_path, local)
        try:
            with pytest.raises(LeaseLostError, match="second"):
                local.state.turn()
            reply = local.ask("POST", "/api/v1/scenarios", local.admin, json={"name": "more"})
            assert reply.status_code == 409 and "one server at a time" in reply.json()["expected"]
            other.turn()
        finally:
            other.close()
        with pytest.raises(LeaseLostError):
            local.state.turn()


def test_a_server_that_ended_in_order_leaves_the_database_to_the_next(
    database: str | None, tmp_path: Path
) -> None:
    with opened_server(tmp_path, database) as local:
        local.reopen()
        local.state.close()
        other = second(tmp_path, local)
        other.close()
        local.state = Server(local.state.settings, local.clock)


def test_a_database_belongs_to_one_repository(database: str | None, tmp_path: Path) -> None:
    with opened_server(tmp_path, database) as local:
        local.state.close()
        settings = Settings(tmp_path / "other", db=local.state.settings.database)
        with pytest.raises(ResourceError, match="the repository with root"):
            Server(settings, lambda: local.clock() + 10 * LASTS_S)
        local.state = Server(local.state.settings, local.clock)


def test_a_slow_server_writes_nothing_behind_a_takeover(tmp_path: Path) -> None:
    """In the middle of a request, too: each transaction asks who holds the database."""
    with opened_server(tmp_path) as local:
        local.done("POST", "/scenarios", json={"name": "shop"})
        publish(local, "1.0.0")
        later = Clock(local.clock() + 2 * LASTS_S)
        other = second(tmp_path, local, later)
        try:
            given = {"task": "rank", "version": "1.0.0"}
            reply = local.ask("POST", "/api/v1/scenarios/shop/releases", local.admin, json=given)
            assert reply.status_code == 409
            assert other.releases._controller.releases() == []
        finally:
            other.close()


def stop_between_writes(process: subprocess.Popen[bytes], file: Path) -> None:
    """Stopped within one it would hold SQLite's lock for good, which no lease can take from it."""
    for _ in range(100):
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.1)
        connection = sqlite3.connect(file, timeout=0, isolation_level=None)
        with contextlib.closing(connection) as database, contextlib.suppress(sqlite3.OperationalError):
            database.execute("BEGIN IMMEDIATE")
            database.execute("ROLLBACK")
            return
        process.send_signal(signal.SIGCONT)
    pytest.fail("the first server writes all the time")


def test_two_processes_on_one_database(tmp_path: Path) -> None:
    first = Child(tmp_path / "server")
    try:
        database = f"sqlite:///{tmp_path / 'server' / 'walle.db'}"
        shutil.copytree(tmp_path / "server", tmp_path / "copy", ignore=shutil.ignore_patterns(".*", "*.db*"))
        words = ("serve", "copy", "--port", "0", "--db", database)
        run_walle(*words, code=5, says="one server at a time", folder=tmp_path)
        stop_between_writes(first.process, tmp_path / "server" / "walle.db")  # it hangs, and is taken over
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("walle_rt.cloud.service.lease.LASTS_S", 0.5)
            other = Server(Settings(tmp_path / "copy", db=database), lambda: time.time() + LASTS_S)
        first.process.send_signal(signal.SIGCONT)
        until(lambda: first.process.poll() is not None)
        assert first.process.returncode == 5 and "one server at a time" in first.log.read_text()
        other.close()
    finally:
        first.process.kill()
    again = Child(tmp_path / "server")  # it was killed: nobody waits for a lease of its own
    again.kill()
    Child(tmp_path / "server").kill()
