"""A server's folder from an archive, and numbers that its fleet will follow.

Devices refuse what goes back: a plan of a lower epoch, metadata of a lower version. A backup is older than
what they have seen, by an unknown number of plans and signatures; so both are raised beyond what a server can
have made since, by the time that has passed.
"""

from __future__ import annotations

import math
import secrets
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ...errors import ArgumentError, ResourceError
from ...whole_files import write_whole
from ..service.server import Server
from ..service.state import Settings
from ._archive import Manifest, read_archive

ACTOR = "walle restore"
_PER_S = (
    10  # plans and signatures of each role: a server signs once a second, and once for each act of signing
)
_LEAST = 10_000
_MOST_EPOCH = 2**31  # half of what a device's header can say


@dataclass(frozen=True)
class Restored:
    """What became of an archive.

    Attributes:
        created: of the backup, seconds since 1970.
        epoch: of the plan that is signed now.
        raised: by how much it and the versions of signed roles are above those of the backup.
        paused: gray releases, which are paused: nobody knows who was let in since.
        unsigned: roles whose keys are not at hand: devices that have seen newer ones refuse the metadata
            until these were signed again.
    """

    created: float
    epoch: int
    raised: int
    paused: list[str]
    unsigned: list[str]


def restore(
    archive: Path,
    folder: Path,
    now_s: float,
    *,
    db: str | None = None,
    mqtt_port: int | None = None,
    raised: int | None = None,
) -> Restored:
    """Make a server's folder of an archive, which was checked whole before anything is put there.

    Args:
        archive: that ``back_up`` has made.
        folder: of the server to be; must not exist, or be empty.
        now_s: seconds since 1970.
        db: URL of a database that lies elsewhere, and was restored there.
        mqtt_port: of the broker, in place of the one of before.
        raised: by how much to raise epoch and versions; None: by the time since the backup.

    Raises:
        ArgumentError: a folder that is not empty, an archive without a database and no ``db``.
        ResourceError: a damaged archive, a full disk.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ArgumentError.of(
            f"'{folder}'", "a folder that is new or empty", "walle restore", "take another"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}.restoring")
    draft.mkdir(mode=0o700)
    try:
        manifest = read_archive(archive, draft)
        if not manifest.database and db is None:
            raise ArgumentError.of(
                f"'{archive}', whose database lay elsewhere",
                "--db",
                "walle restore",
                "restore that one first",
            )
        if mqtt_port is not None:
            write_whole(draft / "broker" / "port", str(mqtt_port).encode())
        if db is None:
            _free(draft / manifest.database)
        made = _raise(draft, manifest, now_s, db, raised)
        if folder.is_dir():
            folder.rmdir()
        draft.rename(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return made


def _free(database: Path) -> None:
    """This copy is held by nobody, whoever held the one that it was made of."""
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE leases SET until = 0")


def _raise(folder: Path, manifest: Manifest, now_s: float, db: str | None, raised: int | None) -> Restored:
    by = raised if raised is not None else max(_LEAST, math.ceil(_PER_S * max(now_s - manifest.created, 0.0)))
    server = Server(Settings(folder, db=db), lambda: now_s)
    try:
        if server.releases.epoch + by >= _MOST_EPOCH:
            raise ResourceError.of(
                f"epoch {server.releases.epoch} + {by}",
                f"less than {_MOST_EPOCH}",
                "walle restore",
                "say with --raise by how much less, but more than there were plans since the backup",
            )
        unsigned = server.repository.raise_versions(by)
        paused = server.releases.restored(by, ACTOR)
        server.releases.turn()
        return Restored(manifest.created, server.releases.epoch, by, paused, unsigned)
    finally:
        server.close()
