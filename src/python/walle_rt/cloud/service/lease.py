"""Lease: one server at a time acts on a database, wherever its folder lies.

A lock on the folder keeps a second process out of it, and says nothing of a server with a folder of its own
that was given the same database: both would sign plans. So the database says who holds it. The holder says so
again every few seconds; who is silent for `LASTS_S` has lost it to whoever asks next, and every transaction
of the one that was only slow is refused from then on. The row stays: it binds the database to one repository,
as plans of another one's keys would reach no device.

Clocks of machines that share a database must not differ by more than a few seconds.
"""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from ...errors import ResourceError
from ...whole_files import write_whole
from ..model.database import Database
from ..model.tables import Lease as Row

LASTS_S = 30.0
_RENEWED_AFTER_S = 10.0
_ONLY = 1  # the row's key
_HELD_BY = select(Row.holder).where(Row.id == _ONLY)


class LeaseLostError(ResourceError):
    """Another server holds the database."""


class Lease:
    """The right to act on a database; held until `release`, as long as `renew` is called. Threads: any.

    Args:
        database: to hold.
        folder: of the server; with the machine's name it says who holds.
        root: SHA-256 of the repository's first root, hexadecimal.
        now: the clock, in seconds since 1970.

    Raises:
        LeaseLostError: another server holds it.
        ResourceError: it belongs to another repository.
    """

    def __init__(self, database: Database, folder: Path, root: str, now: Callable[[], float]) -> None:
        """Take it."""
        self._database, self._root, self._now = database, root, now
        self.holder = f"{socket.gethostname()}:{folder.resolve()}#{_instance(folder)}"[:400]
        try:
            self._take()
        except IntegrityError:  # two began at once, and the other was first
            self._take()
        self._until = now() + LASTS_S
        database.guard = self.check

    def _take(self) -> None:
        now = self._now()
        with self._database.writing() as session:
            row = session.get(Row, _ONLY, with_for_update=True)
            if row is None:
                row = Row(id=_ONLY, root=self._root, holder=self.holder, until=0.0)
                session.add(row)
            if row.root != self._root:
                raise ResourceError.of(
                    f"a database of the repository with root {row.root[:16]}...",
                    f"that of this folder's, {self._root[:16]}...",
                    "walle serve",
                    "serve the folder that it belongs to, or name another --db",
                )
            # Whoever was here before us in this folder has ended: the folder's lock is ours.
            if row.holder != self.holder and row.until > now:
                raise self._lost(row.holder, row.until)
            row.holder, row.until = self.holder, now + LASTS_S

    def renew(self) -> None:
        """Say that this server is alive; cheap where it has just been said.

        Raises:
            LeaseLostError: another one has taken over.
        """
        now = self._now()
        if LASTS_S - _RENEWED_AFTER_S < self._until - now <= LASTS_S:
            return
        with self._database.writing() as session:  # which asks who holds it
            session.get_one(Row, _ONLY).until = now + LASTS_S
        self._until = now + LASTS_S

    def check(self, session: Session) -> None:
        """Refuse a transaction of a server that has lost the database meanwhile.

        Raises:
            LeaseLostError: another one has taken over.
        """
        holder = session.scalar(_HELD_BY)
        if holder != self.holder:
            raise self._lost(holder or "nobody", None)

    def release(self) -> None:
        """Let the next one have it at once."""
        with self._database.writing() as session:
            session.get_one(Row, _ONLY).until = 0.0

    def _lost(self, holder: str, until: float | None) -> LeaseLostError:
        who = holder.partition("#")[0]
        next_step = "stop one of the two servers, or give this one a database of its own (--db)"
        if until is not None:
            when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(until))
            next_step += f"; where that one is gone, start again after {when}"
        return LeaseLostError.of(
            f"a database that the server at {who} holds", "one server at a time", "walle serve", next_step
        )


def _instance(folder: Path) -> str:
    """Tells this folder from another one of the same name on a machine of the same name."""
    file = folder / ".instance"
    if not file.is_file():
        write_whole(file, secrets.token_hex(8).encode(), 0o600)
    return file.read_text()[:16]
