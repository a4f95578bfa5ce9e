"""Retention: how long rows of features are kept, and how many, by ``retention.toml``.

    [default]
    days = 90

    ["rank/clicks"]
    days = 7
    rows = 1_000_000

What lies behind a limit is deleted from its table, oldest first, as it came to the sink (a device's clock may
say anything). The mark of each record, some 30 bytes, stays: it is what a record that comes a second time is
known by. Nothing is deleted where no limit is declared.
"""

from __future__ import annotations

import contextlib
import sqlite3
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...errors import ArgumentError
from ._schema import table_name

DEFAULT = "default"
_STEP = 1000  # rows of one transaction: the sink waits for it
_STEPS = 20  # of one table in one sweep
_DAY_US = 86_400 * 1_000_000
_WAIT_S = 5.0


@dataclass(frozen=True)
class Limit:
    """What is kept of a feature's tables, of each schema; None: without end.

    Attributes:
        days: since a row came; at that very age it is still there.
        rows: the newest so many.
    """

    days: float | None = None
    rows: int | None = None


def read_limits(file: Path) -> dict[str, Limit]:
    """The limits of a file by ``task/feature``, and of ``default``; empty where there is no file.

    Raises:
        ArgumentError: no TOML, an unknown key, a value that is no limit.
    """

    def refused(given: str, expected: str) -> ArgumentError:
        return ArgumentError.of(given, expected, f"'{file}'", "see docs/how-to/run-a-server.md")

    try:
        given = tomllib.loads(file.read_text())
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise refused(str(error), "TOML") from None
    out = {}
    for name, table in given.items():
        if name != DEFAULT and name.count("/") != 1:
            raise refused(f"[{name}]", '[default] or ["TASK/FEATURE"]')
        if not isinstance(table, dict) or not set(table) <= {"days", "rows"}:
            raise refused(f"[{name}] = {table!r}"[:200], "days, rows or both")
        days, rows = table.get("days"), table.get("rows")
        for key, value, kinds in (("days", days, (int, float)), ("rows", rows, (int,))):
            number = isinstance(value, kinds) and not isinstance(value, bool)
            if value is not None and not (number and 0 <= value < 2**31):
                raise refused(f"{key} = {value!r} of [{name}]", "a number that is not negative")
        out[name] = Limit(days, rows)
    return out


class Maintenance:
    """Deletes what lies behind its limits from a sink's database, beside the sink. One thread."""

    def __init__(self, database: Path, limits: Mapping[str, Limit]) -> None:
        """Open nothing yet: the sink makes the file."""
        self._database, self._limits = database, dict(limits)
        self._of_all = self._limits.pop(DEFAULT, Limit())
        self.deleted: dict[str, int] = {}  # rows by task/feature, since this was made

    def sweep(self, now_s: float) -> int:
        """Delete up to 20,000 rows of each table; returns how many there were.

        Raises:
            sqlite3.Error: the database cannot be written; the next sweep goes on.
        """
        if not (self._limits or self._of_all != Limit()) or not self._database.is_file():
            return 0
        swept = 0
        connection = sqlite3.connect(self._database, isolation_level=None, timeout=_WAIT_S)
        with contextlib.closing(connection) as db:
            for id_, task, feature in db.execute("SELECT id, task, feature FROM schemas").fetchall():
                name = f"{task}/{feature}"
                gone = self._sweep_table(db, table_name(id_), self._limits.get(name, self._of_all), now_s)
                if gone:
                    self.deleted[name] = self.deleted.get(name, 0) + gone
                swept += gone
        return swept

    def _sweep_table(self, db: sqlite3.Connection, table: str, limit: Limit, now_s: float) -> int:
        swept = 0
        for _ in range(_STEPS):
            last, count = self._behind(db, table, limit, now_s)
            if count == 0:
                break
            db.execute(f"DELETE FROM {table} WHERE rowid <= ?", (last,))
            swept += count
            if count < _STEP:
                break
        return swept

    @staticmethod
    def _behind(db: sqlite3.Connection, table: str, limit: Limit, now_s: float) -> tuple[int, int]:
        """Of the oldest rows the last one behind a limit, and how many go with it."""
        query = (
            f"SELECT t.rowid, r.received FROM {table} t JOIN records r ON r.source = t.source"
            " AND r.seq = t.seq ORDER BY t.rowid LIMIT ?"
        )
        oldest: list[tuple[int, int]] = db.execute(query, (_STEP,)).fetchall()
        if not oldest:
            return 0, 0
        # Rows are added behind and deleted in front alone, so their numbers have no gaps.
        (newest,) = db.execute(f"SELECT max(rowid) FROM {table}").fetchone()
        first_kept = 0 if limit.rows is None else newest - limit.rows + 1
        since = None if limit.days is None else int(now_s * 1e6 - limit.days * _DAY_US)
        count = 0
        for row, received in oldest:
            if row >= first_kept and (since is None or received >= since):
                break
            count += 1
        return (oldest[count - 1][0], count) if count else (0, 0)
