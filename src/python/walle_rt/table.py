"""Tables: the types of columns, and rows of typed columns any of whose values may be absent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from importlib import import_module
from typing import Any, overload

import numpy as np
import numpy.typing as npt


class ColumnType(StrEnum):
    """What a column holds: fields of events, columns of result tables, features. Any value may be absent.

    A str: the word that task.toml says.
    """

    INT = "int"
    """Integers of 64 bits."""
    FLOAT = "float"
    """Floats of 64 bits."""
    BOOL = "bool"
    TEXT = "text"
    BYTES = "bytes"
    VECTOR = "vector"
    """float32 arrays of shape [n]."""


class Rows(Sequence[dict[str, Any]]):
    """Rows that were read from a result table: a sequence of dicts, and their columns as arrays.

    A row has what was put into it, ``None`` where nothing was, and besides ``_number`` (rows are numbered
    1, 2, 3 ... and keep their numbers) and ``_ts``, when it was made (microseconds since 1970).

    Attributes:
        numbers: uint64, one per row, ascending.
        times: int64, microseconds since 1970.
        types: of the columns, by name, in order.
    """

    def __init__(
        self,
        numbers: npt.NDArray[np.uint64],
        times: npt.NDArray[np.int64],
        columns: Sequence[tuple[str, str, Any, npt.NDArray[np.bool_]]],
    ) -> None:
        """Of what the native tables read."""
        self.numbers = numbers
        self.times = times
        self.types = {name: ColumnType(kind) for name, kind, _, _ in columns}
        self._values = {name: values for name, _, values, _ in columns}
        self._present = {name: present for name, _, _, present in columns}

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

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows, oldest first."""
        names = ["_number", "_ts", *self.types]
        columns = [self.numbers.tolist(), self.times.tolist(), *map(self._list, self.types)]
        for values in zip(*columns, strict=True):
            yield dict(zip(names, values, strict=True))

    def present(self, column: str) -> npt.NDArray[np.bool_]:
        """Where rows have a value in the column.

        Raises:
            KeyError: there is no such column.
        """
        return self._present[column]

    def column(self, name: str) -> npt.NDArray[Any]:
        """One column as an array of int64, float64, bool, or object (str, bytes, ``None`` for nothing).

        Numbers of rows without a value are masked: then the array is a ``numpy.ma.MaskedArray``. The memory
        is the rows' own; pandas, Arrow and others take it over through the array interface.

        Raises:
            KeyError: there is no such column.
        """
        values = self._values[name]
        if isinstance(values, list):
            array = np.empty(len(self), dtype=object)
            array[:] = values
            return array
        present = self._present[name]
        numbers: npt.NDArray[Any] = values
        return numbers if present.all() else np.ma.MaskedArray(numbers, mask=~present)

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """All columns by name, as ``column`` gives them."""
        return {name: self.column(name) for name in self.types}

    def to_numpy(self) -> npt.NDArray[Any]:
        """One structured array: ``_number``, ``_ts`` and all columns; masked where a value is missing."""
        columns = self.columns()
        fields: list[tuple[str, Any]] = [("_number", np.uint64), ("_ts", np.int64)]
        fields += [(name, column.dtype) for name, column in columns.items()]
        masked = any(isinstance(column, np.ma.MaskedArray) for column in columns.values())
        out = (np.ma.zeros if masked else np.zeros)(len(self), dtype=fields)
        out["_number"], out["_ts"] = self.numbers, self.times
        for name, column in columns.items():
            out[name] = column
        return out

    def to_pandas(self) -> Any:
        """A DataFrame with the row numbers as its index; numbers that are missing are ``NA``.

        Raises:
            ImportError: the package pandas is not installed.
        """
        pd = import_module("pandas")
        nullable = {
            ColumnType.INT: pd.arrays.IntegerArray,
            ColumnType.FLOAT: pd.arrays.FloatingArray,
            ColumnType.BOOL: pd.arrays.BooleanArray,
        }
        columns: dict[str, Any] = {"_ts": pd.to_datetime(self.times, unit="us", utc=True)}
        for name, column in self.columns().items():
            if isinstance(column, np.ma.MaskedArray):
                columns[name] = nullable[self.types[name]](column.data, column.mask)
            else:
                columns[name] = column
        return pd.DataFrame(columns, index=pd.Index(self.numbers, name="_number"))

    def to_arrow(self) -> Any:
        """A pyarrow.Table of ``_number``, ``_ts`` and the columns; what is missing is null.

        Raises:
            ImportError: the package pyarrow is not installed.
        """
        pyarrow = import_module("pyarrow")
        types = {
            ColumnType.INT: pyarrow.int64(),
            ColumnType.FLOAT: pyarrow.float64(),
            ColumnType.BOOL: pyarrow.bool_(),
            ColumnType.TEXT: pyarrow.string(),
            ColumnType.BYTES: pyarrow.binary(),
        }
        arrays = {"_number": pyarrow.array(self.numbers), "_ts": pyarrow.array(self.times)}
        for name, kind in self.types.items():
            values = self._values[name]
            # Arrow's mask is of what is not there.
            mask = None if isinstance(values, list) else ~self._present[name]
            arrays[name] = pyarrow.array(values, type=types[kind], mask=mask)
        return pyarrow.table(arrays)

    def __repr__(self) -> str:
        """Short description."""
        return f"Rows({len(self)} rows of {', '.join(self.types) or 'no columns'})"

    def _list(self, name: str) -> list[Any]:
        values = self._values[name]
        if isinstance(values, list):
            return values
        present = self._present[name]
        plain = values.tolist()
        return plain if present.all() else [v if p else None for v, p in zip(plain, present, strict=True)]
