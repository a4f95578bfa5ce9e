"""Result tables: rows that tasks leave, as NumPy columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from .. import _core

# One read of an iteration: enough that a row costs no look-up of its own, little beside any device's memory.
_ROWS_AT_ONCE = 4096

_DTYPES = {"text": np.dtype(object), "bytes": np.dtype(object)}


class Rows(Sequence[dict[str, Any]]):
    """Rows that were read from a result table: a sequence of dicts, and their columns as arrays.

    A row has what the task put into it, ``None`` where it put nothing, and besides ``_number`` (rows are
    numbered 1, 2, 3 ... and keep their numbers) and ``_ts``, when it was made (microseconds since 1970).

    Attributes:
        numbers: uint64, one per row, ascending.
        times: int64, microseconds since 1970.
    """

    def __init__(
        self,
        numbers: npt.NDArray[np.uint64],
        times: npt.NDArray[np.int64],
        columns: Sequence[tuple[str, str, Any, npt.NDArray[np.bool_]]],
    ) -> None:
        """Of what the native device reads."""
        self.numbers = numbers
        self.times = times
        self._types = {name: kind for name, kind, _, _ in columns}
        self._present = {name: present for name, _, _, present in columns}
        self._values = {name: values for name, _, values, _ in columns}

    def __len__(self) -> int:
        """How many rows."""
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        """One row as a dict, or several."""
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        at = range(len(self))[index]
        row: dict[str, Any] = {"_number": int(self.numbers[at]), "_ts": int(self.times[at])}
        for name, values in self._values.items():
            value = values[at] if self._present[name][at] else None
            row[name] = value.item() if isinstance(value, np.generic) else value
        return row

    @property
    def types(self) -> dict[str, str]:
        """{column: "i64", "f64", "bool", "text" or "bytes"}."""
        return dict(self._types)

    def present(self, column: str) -> npt.NDArray[np.bool_]:
        """Where rows have a value in the column.

        Raises:
            KeyError: there is no such column.
        """
        return self._present[column]

    def column(self, name: str) -> npt.NDArray[Any]:
        """One column as an array of int64, float64, bool, or object (str and bytes, ``None`` for nothing).

        Numbers of rows without a value are masked: then the array is a ``numpy.ma.MaskedArray``. The memory
        is the rows' own; pandas, Arrow and others take it over through the array interface.

        Raises:
            KeyError: there is no such column.
        """
        values = self._values[name]
        kind = self._types[name]
        if kind in _DTYPES:
            array = np.empty(len(self), dtype=object)
            array[:] = values
            return array
        present = self._present[name]
        numbers: npt.NDArray[Any] = values
        return numbers if present.all() else np.ma.MaskedArray(numbers, mask=~present)

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """All columns by name, as ``column`` gives them."""
        return {name: self.column(name) for name in self._types}

    def to_numpy(self) -> npt.NDArray[Any]:
        """One structured array with ``_number``, ``_ts`` and all columns; 0 where a number is missing."""
        fields: list[tuple[str, Any]] = [("_number", np.uint64), ("_ts", np.int64)]
        fields += [(name, self.column(name).dtype) for name in self._types]
        out = np.zeros(len(self), dtype=fields)
        out["_number"], out["_ts"] = self.numbers, self.times
        for name in self._types:
            column = self.column(name)
            out[name] = column.filled(0) if isinstance(column, np.ma.MaskedArray) else column
        return out

    def to_pandas(self) -> Any:
        """A DataFrame with the row numbers as its index; numbers that are missing are ``NA``.

        Raises:
            ImportError: the package pandas is not installed.
        """
        import pandas as pd  # type: ignore[import-untyped]

        columns: dict[str, Any] = {"_ts": pd.to_datetime(self.times, unit="us", utc=True)}
        for name, kind in self._types.items():
            column = self.column(name)
            if not isinstance(column, np.ma.MaskedArray):
                columns[name] = column
            elif kind == "i64":
                columns[name] = pd.arrays.IntegerArray(column.data, column.mask)
            elif kind == "f64":
                columns[name] = pd.arrays.FloatingArray(column.data, column.mask)
            else:
                columns[name] = pd.arrays.BooleanArray(column.data, column.mask)
        return pd.DataFrame(columns, index=pd.Index(self.numbers, name="_number"))

    def __repr__(self) -> str:
        """Short description."""
        return f"Rows({len(self)} rows of {', '.join(self._types) or 'no columns'})"


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
    def types(self) -> dict[str, str]:
        """{column: "i64", "f64", "bool", "text" or "bytes"}."""
        return dict(self._native.table_info(self.task, self.table)[5])

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
