"""The sink's database: docs/reference/formats/sink.md."""

from __future__ import annotations

import sqlite3
from pathlib import Path

VERSION = 1

_TABLES = """
CREATE TABLE sources (
  id INTEGER PRIMARY KEY, device TEXT NOT NULL, stream TEXT NOT NULL, UNIQUE (device, stream)
);
CREATE TABLE records (
  source INTEGER NOT NULL, seq INTEGER NOT NULL, ts INTEGER NOT NULL, received INTEGER NOT NULL,
  schema INTEGER NOT NULL, PRIMARY KEY (source, seq)
) WITHOUT ROWID;
CREATE TABLE schemas (
  id INTEGER PRIMARY KEY, task TEXT NOT NULL, feature TEXT NOT NULL, columns TEXT NOT NULL,
  UNIQUE (task, feature, columns)
);
CREATE TABLE dictionaries (
  source INTEGER NOT NULL, id INTEGER NOT NULL, number INTEGER NOT NULL, bytes BLOB NOT NULL,
  PRIMARY KEY (source, id)
) WITHOUT ROWID;
CREATE TABLE refusals (
  id INTEGER PRIMARY KEY, received INTEGER NOT NULL, device TEXT NOT NULL, stream TEXT NOT NULL,
  seq INTEGER NOT NULL, reason TEXT NOT NULL
);
CREATE TABLE questions (
  id INTEGER PRIMARY KEY AUTOINCREMENT, source INTEGER NOT NULL, seq INTEGER NOT NULL, ts INTEGER NOT NULL,
  received INTEGER NOT NULL, task TEXT NOT NULL, feature TEXT NOT NULL, package TEXT NOT NULL,
  data BLOB NOT NULL
);
"""


def table_name(schema: int) -> str:
    """The table of a schema's rows."""
    return f"feature_{schema}"


def column_name(index: int) -> str:
    """The column of a schema's field: a number, as a field may have any name."""
    return f"c{index}"


def open_database(path: Path) -> sqlite3.Connection:
    """The sink's connection; what it commits outlives a power loss.

    Raises:
        sqlite3.Error: a file that is no database, or of another version.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA journal_mode = WAL")
    # Of NORMAL, the choice of most in this mode, a power loss takes the newest commits: acknowledged ones.
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA wal_autocheckpoint = 4000")
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version == 0:
        db.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT")
    elif version != VERSION:
        db.close()
        raise sqlite3.DatabaseError(f"a sink of version {version}; this one reads {VERSION}")
    return db
