"""Result tables: what tasks leave, read as rows or as columns.

A table has declared columns and only grows: rows are appended and numbered 1, 2, 3 ..., the oldest leave when
the table is larger or older than it may be. An appended row survives kill -9 when the call returns.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _core
from .errors import ArgumentError
from .table import ColumnType, Rows

__all__ = ["ColumnType", "ResultTables", "Rows", "TableInfo"]

_US = 1_000_000
_BATCH_ROWS = 4096  # read at once by rows(): what a table's segments have


@dataclass(frozen=True)
class TableInfo:
    """A table and how much of it there is.

    Attributes:
        name: the table.
        columns: types by name, in order.
        max_bytes: of its segments on the disk; the oldest leave above it.
        max_age_s: of rows, in seconds; None: they do not grow too old.
        rows: that can be read.
        waiting: those of them that are in the journal and not yet in a segment.
        first: number of the oldest row; 0 for none.
        last: number of the newest row that ever was; 0 for none.
        bytes: of its segments on the disk.
        segments: how many files they are.
        removed: rows that have left by size or age.
    """

    name: str
    columns: dict[str, ColumnType]
    max_bytes: int
    max_age_s: float | None
    rows: int
    waiting: int
    first: int
    last: int
    bytes: int
    segments: int
    removed: int


@dataclass(frozen=True)
class Loss:
    """Rows of a table that are gone, until somebody acknowledges it.

    Attributes:
        kind: "journal", "damaged_segment", "missing_segment" or "manifest" (what the table knew of itself).
        table: its name.
        first: number of the first row that is gone.
        last: number of the last one.
        rows: how many rows there were between the two.
        exact: whether ``rows`` is known; otherwise it is the most that can be lost.
        noticed: when, in microseconds since 1970.
        cause: what was found.
    """

    kind: str
    table: str
    first: int
    last: int
    rows: int
    exact: bool
    noticed: int
    cause: str


class ResultTables:
    """The result tables of a folder, read beside whoever writes them.

    Reading needs no lock and changes nothing; each call sees the folder as it is then. Thread-safe.
    """

    def __init__(self, directory: str | os.PathLike[str], *, key: bytes = b"") -> None:
        """Open the folder of a device, or one that a ``ResultStore`` wrote.

        Args:
            directory: the folder.
            key: the 32 bytes that its files were sealed with; none where they were not.

        Raises:
            ArgumentError: no such folder, or another key.
        """
        self._directory, self._key = os.fspath(directory), key
        self._reading()

    def tables(self) -> dict[str, TableInfo]:
        """The tables by name."""
        return {info["name"]: _info(info) for info in self._reading().tables()}

    def read(
        self,
        table: str,
        start: int = 0,
        limit: int | None = None,
        columns: Sequence[str] = (),
    ) -> Rows:
        """Rows with numbers from ``start`` on, oldest first.

        Args:
            table: its name.
            start: the least number of a row; the row of that number is read, too.
            limit: how many rows at most.
            columns: those to read; none: all.

        Raises:
            ArgumentError: no such table or column; the nearest name is told.
            ResourceError: the disk does not read.
        """
        return Rows(*self._reading().read(table, start, limit, list(columns)))

    def last(self, table: str, count: int) -> Rows:
        """The newest ``count`` rows, oldest first. ArgumentError: no such table."""
        return Rows(*self._reading().last(table, count))

    def rows(self, table: str, start: int = 0) -> Iterator[dict[str, Any]]:
        """Rows one after another, each a dict with its columns, ``_number`` and ``_ts``."""
        while len(batch := self.read(table, start, _BATCH_ROWS)):
            yield from batch
            start = int(batch.numbers[-1]) + 1

    def losses(self) -> list[Loss]:
        """Rows that are gone, and have not been acknowledged."""
        return [Loss(*fields) for fields in self._reading().losses()]

    def _reading(self) -> _core.results.Reader | _core.results.Writer:
        return _core.results.Reader.open(self._directory, self._key)


class ResultStore(ResultTables):
    """Result tables that are written to: one writer per folder. Thread-safe; a context manager.

    A device has one of its own; this is for programs that want the tables alone.
    """

    def __init__(
        self, directory: str | os.PathLike[str], *, key: bytes = b"", journal_bytes: int = 8 << 20
    ) -> None:
        """Open or create the folder.

        Args:
            directory: the folder.
            key: 32 bytes that seal every file (XChaCha20-Poly1305); none: nothing is sealed.
            journal_bytes: of the ring that holds rows until they are in segments; an append takes at most a
                quarter of it.

        Raises:
            ResourceError: somebody else writes to it, or the disk is full.
            ArgumentError: another key than it was sealed with.
        """
        self._writer: _core.results.Writer | None = _core.results.Writer.open(
            os.fspath(directory), key, journal_bytes
        )
        super().__init__(directory, key=key)

    def declare(
        self,
        table: str,
        columns: Mapping[str, ColumnType | str],
        *,
        max_bytes: int = 1 << 20,
        max_age_s: float | None = None,
    ) -> None:
        """Make a table, durably; one that is there may grow columns and change its limits.

        Args:
            table: 1 to 160 letters, digits, ``_``, ``-`` and ``.``.
            columns: types by name: "int", "float", "bool", "text", "bytes".
            max_bytes: of its segments; the oldest leave, the newest stays.
            max_age_s: rows leave when all of their segment are older; None: never.

        Raises:
            ArgumentError: a name or type that is none, or columns that are not those of the rows there are.
        """
        given = [(name, str(kind)) for name, kind in columns.items()]
        age = 0 if max_age_s is None else round(max_age_s * _US)
        self._reading().declare(table, given, max_bytes, age)

    def drop(self, table: str) -> None:
        """Remove a table and its rows for good. ArgumentError: no such table."""
        self._reading().drop(table)

    def append(self, table: str, row: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> None:
        """Append a row, or several at once: all of them or none.

        Values are int, float, bool, str, bytes or None by column, also NumPy's; columns that are left out are
        absent. The rows survive kill -9 when the call returns, and a loss of power after ``sync``.

        Raises:
            ArgumentError: no such table or column, a value of another type, rows larger than a quarter of the
                journal.
            OverflowError: an integer of more than 64 bits.
            ResourceError: the disk is full; nothing was appended.
        """
        rows = [row] if isinstance(row, Mapping) else list(row)
        self._reading().append(table, [dict(r) for r in rows])

    def sync(self) -> None:
        """Everything appended is on the disk when it returns."""
        self._reading().sync()

    def maintain(self) -> None:
        """Sync and write batches where that is due; call it every second or so."""
        self._reading().maintain()

    def checkpoint(self) -> None:
        """Write everything that waits into segments, and let what is too old or too much leave."""
        self._reading().checkpoint()

    def acknowledge_losses(self) -> None:
        """Forget the losses that ``losses()`` tells."""
        self._reading().acknowledge_losses()

    def close(self) -> None:
        """Give the folder back. Twice is allowed."""
        self._writer = None

    def __enter__(self) -> ResultStore:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _reading(self) -> _core.results.Writer:
        if self._writer is None:
            raise ArgumentError.of(
                "a call of a result store that is closed", "an open one", "result store", "open it again"
            )
        return self._writer


def _info(fields: Any) -> TableInfo:
    values = dict(fields)
    age = values.pop("max_age_us")
    values["columns"] = {name: ColumnType(kind) for name, kind in fields["columns"]}
    return TableInfo(max_age_s=age / _US if age else None, **values)
