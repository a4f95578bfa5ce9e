"""Admin API: what devices have sent, as tables."""

from __future__ import annotations

import tempfile
from pathlib import Path as File
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi.responses import FileResponse
from pydantic import BaseModel
from starlette.background import BackgroundTask

from ...errors import ArgumentError
from ..service.server import Server
from ..sink import FeatureTable, FeatureTables
from .auth import Admin, State
from .errors import not_found

router = APIRouter(tags=["features"])

MOST_ROWS = 10_000
TableId = Annotated[int, Path(ge=1, le=2**31)]


class TableRow(BaseModel):
    """One schema of a feature: rows of these columns."""

    id: int
    task: str
    feature: str
    columns: list[str]
    rows: int


class Rows(BaseModel):
    """Rows, newest first; a vector is little-endian float32 in hexadecimal."""

    columns: list[str]
    rows: list[list[Any]]


class BrokerRow(BaseModel):
    """Where devices find the broker; an empty address where there is none."""

    url: str
    online: int
    records: int


@router.get("/broker")
def broker(_: Admin, state: State) -> BrokerRow:
    """The broker and what came through it since the server was started."""
    tunnel = state.tunnel
    if tunnel is None:
        return BrokerRow(url="", online=0, records=0)
    stats = tunnel.stats()
    return BrokerRow(url=tunnel.url, online=stats["online"], records=stats["records"])


@router.get("/tables")
def list_tables(_: Admin, state: State) -> list[TableRow]:
    """One table per schema that has come."""
    try:
        opened = _open(state)
    except ArgumentError:  # nothing has come yet
        return []
    with opened as tables:
        return [
            TableRow(id=t.id, task=t.task, feature=t.feature, columns=list(t.columns), rows=t.rows)
            for t in tables.tables()
        ]


@router.get("/tables/{number}")
def rows(
    number: TableId,
    _: Admin,
    state: State,
    device: Annotated[str | None, Query(max_length=64)] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 100,
) -> Rows:
    """The newest rows."""
    table = _table(state, number)
    with _open(state) as tables:
        found = tables.rows(table, device=device, limit=limit)
    shown = [[v.hex() if isinstance(v, bytes) else v for v in row] for row in found]
    return Rows(columns=["device", "stream", "seq", "row", "ts", *table.columns], rows=shown)


@router.get("/tables/{number}/parquet", response_class=FileResponse)
def parquet(number: TableId, _: Admin, state: State) -> FileResponse:
    """Every row as a Parquet file."""
    table = _table(state, number)
    with tempfile.NamedTemporaryFile(suffix=".parquet", delete=False) as made:
        file = File(made.name)
    try:
        with _open(state) as tables:
            tables.export(table, file)
    except BaseException:
        file.unlink()
        raise
    name = f"{table.task}-{table.feature}.parquet"
    return FileResponse(
        file,
        media_type="application/vnd.apache.parquet",
        filename=name,
        background=BackgroundTask(file.unlink, missing_ok=True),
    )


def _open(state: Server) -> FeatureTables:
    return FeatureTables(state.settings.folder / "features.db")


def _table(state: Server, number: int) -> FeatureTable:
    try:
        with _open(state) as tables:
            found = next((table for table in tables.tables() if table.id == number), None)
    except ArgumentError:
        found = None
    if found is None:
        raise not_found(f"table {number}", "tables", "see /api/v1/tables")
    return found
