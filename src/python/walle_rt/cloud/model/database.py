"""Connections to the server's database, and its migrations.

SQLite: one writer at a time, which begins as a writer (``BEGIN IMMEDIATE``): a reader that turns into a
writer would fail at once where another one writes, whatever the timeout. ``synchronous=FULL``: what was
answered is on the disk.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, event, make_url
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import ArgumentError as UrlError
from sqlalchemy.exc import NoSuchModuleError, OperationalError
from sqlalchemy.orm import Session

from ...errors import ArgumentError, ResourceError

_WAIT_S = 30  # for another process that writes the same SQLite file
_POOL = {"pool_size": 8, "max_overflow": 32}  # as many as threads may ask at once: none waits for another's


class Database:
    """The server's database. Any thread may use it; writers of this process wait for each other.

    Args:
        url: as SQLAlchemy has it: ``sqlite:////path/walle.db``, ``postgresql://user@host/name``.

    Raises:
        ArgumentError: the URL is none, or of a database that is not supported.
    """

    def __init__(self, url: str) -> None:
        """Open; nothing is read yet."""
        self.url = _checked(url)
        self._writer = threading.Lock()
        self.guard: Callable[[Session], None] = lambda session: None  # refuses a transaction by raising
        self.before_writing: Callable[[], None] = lambda: None  # makes room where there is none
        self.engine = _engine(self.url)

    def migrate(self) -> None:
        """Bring the tables to what this version of walle_rt needs; what is there is kept.

        Raises:
            ResourceError: the database cannot be reached, or a newer walle_rt has written it.
        """
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
        try:
            with self._writer, self.engine.begin() as connection:
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
        except OperationalError as error:
            raise _unreachable(self.url, error) from None
        except Exception as error:
            if "Can't locate revision" not in str(error):
                raise
            raise ResourceError.of(
                f"a database with tables of a later version ({error})",
                "tables that this walle_rt knows",
                f"'{_shown(self.url)}'",
                "start the walle_rt that wrote it, or a later one",
            ) from None

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """One view of the database; nothing is kept."""
        with Session(self.engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """One transaction: durable when the block ends, nothing of it where it raises."""
        self.before_writing()
        with (
            self._writer,
            self.engine.connect().execution_options(walle_writes=True) as connection,
            Session(connection, expire_on_commit=False) as session,
        ):
            self.guard(session)
            yield session
            session.commit()

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()


def _checked(url: str) -> str:
    problem = "a database that is not supported"
    try:
        name = make_url(url).get_backend_name()
    except UrlError:
        name, problem = "", "no URL"
    if name not in ("sqlite", "postgresql"):
        raise ArgumentError.of(
            f"'{_shown(url)}', {problem}",
            "sqlite:////path/walle.db or postgresql://user@host/name",
            "--db",
            "leave it out for SQLite in the server's folder",
        )
    return url


def _engine(url: str) -> Engine:
    parsed = make_url(url)
    if parsed.get_backend_name() == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
        try:
            return create_engine(parsed, pool_pre_ping=True, **_POOL)
        except (NoSuchModuleError, ModuleNotFoundError):
            raise ResourceError.of(
                "no driver for PostgreSQL", "the package psycopg", "--db", "pip install 'psycopg[binary]'"
            ) from None
    engine = create_engine(parsed, connect_args={"timeout": _WAIT_S}, **_POOL)
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver would begin late, as a reader
    for line in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {line}")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("walle_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _unreachable(url: str, error: OperationalError) -> ResourceError:
    return ResourceError.of(
        f"a database that cannot be opened ({str(error.orig).splitlines()[0]})",
        "one that runs and lets us in",
        f"'{_shown(url)}'",
        "check the URL, the server and the rights of the folder",
    )


def _shown(url: str) -> str:
    """Without its password."""
    try:
        return make_url(url).render_as_string(hide_password=True)
    except UrlError:
        return url
