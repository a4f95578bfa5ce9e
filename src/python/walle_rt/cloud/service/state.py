"""The server's folder, and everything that is opened from it.

walle.db        the database, unless a URL names another (with walle.db-wal, walle.db-shm)
features.db     what devices have sent
retention.toml  how long that is kept; yours to write
webhook.toml    whom to tell what an operator must know; yours to write
blobs/          files of packages by digest: what devices get
blobs/teams     per scenario, all that its team has uploaded
repository/     signed metadata and targets, as devices read them
keys/offline    root and targets: move them away after the set-up
keys/online     snapshot, timestamp and director
keys/scenarios  one folder per scenario
keys/ca         the certificate authority of devices
.reserve        of the disk, for what must be written when it is full
.running        held by the process that serves the folder
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from ...errors import ArgumentError, ResourceError
from ..blobs import BlobStore, Stores
from ..git import ScenarioRepository
from ..model import Database
from ..model.accounts import add_operator, hash_password, new_password
from ..model.audit import append
from ..model.tables import Operator, Scenario
from ..trust import KeyFolder, TaskRepository
from ..trust.authority import DEVICE_DAYS, Authority
from .lease import Lease
from .listing import named_paths
from .private import close_to_others
from .reserve import DiskReserve

LOG = logging.getLogger("walle_rt.cloud")

FIRST_OPERATOR = "admin"


@dataclass
class Settings:
    """What ``walle serve`` was asked for."""

    folder: Path
    host: str = "127.0.0.1"
    port: int = 8470
    db: str | None = None
    mqtt_url: str | None = None
    hosts: list[str] = field(default_factory=list)  # names that devices reach the server by
    max_upload: int = 2 * 1024**3  # bytes of one file
    max_body: int = 1024**2  # bytes of any other request
    tick_s: float = 1.0
    device_days: float = DEVICE_DAYS  # that a device's certificate counts
    public_https: bool = False  # behind something that ends TLS: the dashboard's cookie is for https alone
    tls: bool = False  # with a certificate of the server's own authority
    certificate: Path | None = None  # chain and key of another one, PEM
    key: Path | None = None
    mqtt_port: int | None = None  # of our own broker; None: the one of before, or any that is free
    plain_enrolment: bool = False  # codes may come over plain HTTP from other machines

    @property
    def database(self) -> str:
        """The database's URL."""
        return self.db or f"sqlite:///{(self.folder / 'walle.db').resolve()}"

    @property
    def ends_tls(self) -> bool:
        """Whether connections are encrypted here."""
        return self.tls or self.certificate is not None

    def names(self) -> list[str]:
        """What certificates of the server's own authority say it is called."""
        return self.hosts or sorted({"localhost", "127.0.0.1", self.host} - {"0.0.0.0", "::"})


class ServerState:
    """One server's folder, open; one process at a time.

    Threads: any may call anything. ``signing`` is held while the repository's metadata change.

    Raises:
        ResourceError: another process serves the folder, or another server the database; the database cannot
            be opened, or belongs to another repository.
    """

    def __init__(self, settings: Settings, now: Callable[[], float] = time.time) -> None:
        """Open the folder; make what is missing."""
        self.settings, self.now = settings, now
        folder = settings.folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = _only_server(folder)
        self.signing = threading.RLock()
        self.first_password: str | None = None
        self.wake: Callable[[], None] = lambda: None  # makes the loop turn at once
        try:
            if closed := close_to_others(folder):
                LOG.warning("closed to other users", extra={"folder": str(folder), "things": closed})
            self.reserve = DiskReserve(folder)
            self.reserve.give()
            self.database = Database(settings.database)
            self.database.before_writing = self.reserve.give
            self.database.migrate()
            blobs, most = folder / "blobs", settings.max_upload
            self.stores = Stores(blobs, blobs / "teams", most_blob_bytes=most)
            self.authority = Authority(folder / "keys" / "ca", settings.device_days)
            self.repository = self._open_repository()
            self.lease = Lease(self.database, folder, self.repository.root_id(), now)
            self._first_operator()
        except BaseException:
            self._lock.close()
            raise

    def close(self) -> None:
        """Let go of the folder."""
        with contextlib.suppress(ResourceError):  # another server has it
            self.lease.release()
        self.database.close()
        self._lock.close()

    def utc(self) -> datetime:
        """The clock as python-tuf and certificates want it."""
        return datetime.fromtimestamp(self.now(), UTC)

    def _keys(self, name: str) -> KeyFolder:
        return KeyFolder(self.settings.folder / "keys" / name)

    def _open_repository(self) -> TaskRepository:
        folder = self.settings.folder
        scenarios = folder / "keys" / "scenarios"
        names = sorted(f.name for f in scenarios.iterdir()) if scenarios.is_dir() else []
        keys = [self._keys("online"), self._keys("offline"), *(self._keys(f"scenarios/{n}") for n in names)]
        opened = TaskRepository(
            folder / "repository", keys, now=self.utc, named=lambda name: named_paths(self.database, name)
        )
        metadata = folder / "repository" / "metadata"
        if not (metadata / "timestamp.json").is_file():
            # A process that died while it made the repository left a root that nothing stands on: nobody has
            # seen it, as it was never served.
            for leftover in metadata.glob("*.json"):
                leftover.unlink()
            opened.create(offline=self._keys("offline"), online=self._keys("online"))
        return opened

    def _first_operator(self) -> None:
        """Without any operator: one that may do everything, with a password that is printed once.

        As long as it was not changed each start makes another one: a process that died before it was read
        would have locked everybody out.
        """
        with self.database.writing() as session:
            first = session.scalars(select(Operator).where(Operator.name == FIRST_OPERATOR)).first()
            others = session.scalar(select(func.count()).select_from(Operator)) or 0
            if others > (first is not None) or (first is not None and not first.one_time):
                return
            self.first_password = new_password()
            hashed = hash_password(self.first_password)
            if first is not None:
                first.password = hashed
                return
            add_operator(session, FIRST_OPERATOR, hashed, self.now(), admin=True)
            append(session, self.now(), "walle serve", "operator.add", FIRST_OPERATOR, {"admin": True})

    # -- trust ---------------------------------------------------------------------------------------------

    def add_scenario(self, name: str, by: str, team: dict[str, Any] | None = None) -> None:
        """A scenario with a key of its own, in the trust and in the database.

        The trust comes first: a process that dies between is continued by asking once more.

        Args:
            name: of the scenario.
            by: who adds it.
            team: what ``first_role`` made, where the key stays with the team.

        Raises:
            ArgumentError: no name, or taken; a key or a role that is none.
        """
        with self.signing:
            with self.database.reading() as session:
                taken = session.get(Scenario, name) is not None
            if taken:
                raise ArgumentError.of(f"scenario '{name}'", "a new name", "scenarios", "choose another name")
            if name not in self.repository.roles():
                self._need_offline_keys()
                if team is None:
                    self.repository.add_scenario(name, self._keys(f"scenarios/{name}"))
                else:
                    given = (str(team["keyid"]), team["key"], str(team["role"]).encode())
                    self.repository.add_team_scenario(name, *given)
            (self.settings.folder / "git").mkdir(exist_ok=True)
            ScenarioRepository.create(self.settings.folder / "git", name, self.stores.team(name))
            with self.database.writing() as session:
                session.add(Scenario(name=name, created=self.now()))
                session.flush()
                append(
                    session, self.now(), by, "scenario.add", name, {"key": team["keyid"]} if team else None
                )

    def team_blobs(self, scenario: str) -> BlobStore:
        """What the team of a scenario has uploaded; nobody else is served from it.

        Raises:
            ArgumentError: no such scenario.
        """
        with self.database.reading() as session:
            if session.get(Scenario, scenario) is None:
                raise ArgumentError.of(
                    f"scenario '{scenario}'", "one that was added", "blobs", "ask an administrator to add it"
                )
        return self.stores.team(scenario)

    def _need_offline_keys(self) -> None:
        if not any(keyid in self._keys("offline") for keyid in self.repository.keyids("targets")):
            raise ResourceError.of(
                "no key of 'targets' on this server",
                "keys/offline in the server's folder while a scenario is added",
                "scenarios",
                "bring the offline keys back for this, or run `walle keys scenario` beside them",
            )


def _only_server(folder: Path) -> Any:
    lock = (folder / ".running").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise ResourceError.of(
            f"'{folder}', which another process serves",
            "one server per folder",
            "walle serve",
            "stop the other one, or take another folder",
        ) from None
    return lock
