"""Result tables: rows that tasks leave, as NumPy columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy.typing as npt

from .. import _core
from ..table import ColumnType, Rows

# One read of an iteration: enough that a row costs no look-up of its own, little beside any device's memory.
_ROWS_AT_ONCE = 4096


class Results:
    """One result table of a task: iterate for its rows as they are now, oldest first.

    Reading sees every firing that ``Device.wait`` or a callback has told of. Any thread may read.
    """

    def __init__(self, native: _core.device.Device, task: str, table: str) -> None:
        """Of an open device."""
        self._native = native
        self.task = task
        self.table = table

    def read(self, start: int = 0, limit: int | None = None, columns: Sequence[str] | None = None) -> Rows:
        """Rows with numbers from ``start`` on (inclusive), oldest first.

        Args:
            start: row number; a reader goes on with the last number it has seen plus one.
            limit: how many rows at most.
            columns: names of the columns to read; default: all.

        Raises:
            ArgumentError: an unknown column, or the device is closed.
        """
        return Rows(*self._native.read(self.task, self.table, start, limit, list(columns or ())))

    def last(self, count: int = 1) -> Rows:
        """The newest ``count`` rows, oldest first."""
        return Rows(*self._native.last(self.task, self.table, count))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Every row as a dict; those that come while it runs are included."""
        start = 0
        while len(rows := self.read(start, _ROWS_AT_ONCE)):
            yield from rows
            start = int(rows.numbers[-1]) + 1

    def __len__(self) -> int:
        """How many rows can be read now."""
        return int(self._native.table_info(self.task, self.table)[0])

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """All rows as {column: array}, as ``Rows.column`` gives them."""
        return self.read().columns()

    def to_numpy(self) -> npt.NDArray[Any]:
        """All rows as one structured array."""
        return self.read().to_numpy()

    def to_pandas(self) -> Any:
        """All rows as a DataFrame; see ``Rows.to_pandas``."""
        return self.read().to_pandas()

    @property
    def types(self) -> dict[str, ColumnType]:
        """Of the columns, by name, in order."""
        fields = self._native.table_info(self.task, self.table)[5]
        return {name: ColumnType(kind) for name, kind in fields.items()}

    @property
    def newest(self) -> int:
        """Number of the newest row ever; 0: none."""
        return int(self._native.table_info(self.task, self.table)[2])

    @property
    def removed(self) -> int:
        """Rows that left by the table's limits of size and age."""
        return int(self._native.table_info(self.task, self.table)[3])

    def __repr__(self) -> str:
        """Short description."""
        return f"Results({self.task!r}, {self.table!r})"
