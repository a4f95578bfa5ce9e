"""The sink's tables for readers: dashboards, exports, people."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import Any

from ...errors import ArgumentError, ResourceError
from ._schema import column_name, table_name


@dataclass(frozen=True)
class FeatureTable:
    """One schema of a feature: a task's rows of these columns.

    Attributes:
        id: number of the schema; ``feature_<id>`` is its table, ``c0``, ``c1`` ... its columns.
        task: the task that sends it.
        feature: its name.
        columns: names, in order.
        rows: how many there are.
    """

    id: int
    task: str
    feature: str
    columns: tuple[str, ...]
    rows: int


class FeatureTables:
    """A sink's database, read beside the sink; vectors are bytes of little-endian float32."""

    def __init__(self, path: str | PathLike[str]) -> None:
        """Open the file.

        Raises:
            ArgumentError: there is none.
        """
        if not Path(path).is_file():
            raise ArgumentError.of(
                f"'{fspath(path)}', which is no file",
                "a sink's database",
                "FeatureTables",
                "start a sink first",
            )
        uri = Path(path).absolute().as_uri() + "?mode=ro"
        self._db = sqlite3.connect(uri, uri=True, check_same_thread=False)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> FeatureTables:
        """The tables."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self.close()

    def tables(self) -> list[FeatureTable]:
        """Every schema, in the order in which they came."""
        out = []
        for id_, task, feature, columns in self._db.execute("SELECT * FROM schemas ORDER BY id").fetchall():
            (rows,) = self._db.execute(f"SELECT count(*) FROM {table_name(id_)}").fetchone()
            out.append(FeatureTable(id_, task, feature, tuple(json.loads(columns)), rows))
        return out

    def table(self, task: str, feature: str) -> FeatureTable:
        """The newest schema of a feature.

        Raises:
            ArgumentError: nothing of it has come; the message names what has.
        """
        all_tables = self.tables()
        for table in reversed(all_tables):
            if (table.task, table.feature) == (task, feature):
                return table
        known = ", ".join(sorted({f"{t.task}/{t.feature}" for t in all_tables})) or "nothing yet"
        raise ArgumentError.of(f"'{task}/{feature}'", f"one of {known}", "FeatureTables", "look at its name")

    def rows(
        self, table: FeatureTable, *, device: str | None = None, limit: int = 1000
    ) -> list[tuple[Any, ...]]:
        """The newest rows as (device, stream, seq, row, ts, values...), the newest first.

        Args:
            table: of ``tables()``.
            device: of this one alone.
            limit: how many at most.
        """
        values = "".join(f", t.{column_name(i)}" for i in range(len(table.columns)))
        where = "" if device is None else "WHERE s.device = ?"
        query = (
            f"SELECT s.device, s.stream, t.seq, t.row, t.ts{values} FROM {table_name(table.id)} t"
            f" JOIN sources s ON s.id = t.source {where} ORDER BY t.rowid DESC LIMIT ?"
        )
        given = (limit,) if device is None else (device, limit)
        return self._db.execute(query, given).fetchall()

    def records(self) -> list[tuple[str, str, int]]:
        """Every record that was stored, as (device, stream, seq)."""
        query = "SELECT s.device, s.stream, r.seq FROM records r JOIN sources s ON s.id = r.source"
        return self._db.execute(query).fetchall()

    def export(self, table: FeatureTable, path: str | PathLike[str]) -> int:
        """Write every row as Parquet: device, stream, seq, row, ts (microseconds), then the columns.

        Returns:
            How many rows.

        Raises:
            ResourceError: polars, which writes it, is not installed.
        """
        try:
            import polars
        except ModuleNotFoundError as error:
            raise ResourceError.of(
                "no polars", "the package that writes Parquet", "FeatureTables.export", "pip install polars"
            ) from error
        rows = self.rows(table, limit=-1)[::-1]
        names = ["device", "stream", "seq", "row", "ts", *[f"{name}" for name in table.columns]]
        names = [name if names.index(name) == i else f"{name}_{i}" for i, name in enumerate(names)]
        frame = polars.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)
        frame.write_parquet(fspath(path))
        return len(rows)
