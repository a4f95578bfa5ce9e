"""EventLog.read_rows: the events of read() as columns, whatever they lie in and however many come at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from walle_rt.errors import ArgumentError
from walle_rt.stream import Catalog, ColumnType
from walle_rt.stream._log import EventLog
from walle_rt.stream._query import EventQuery

EVENTS = 3000
FIELDS = {"item": ColumnType.INT, "price": ColumnType.FLOAT, "name": ColumnType.TEXT, "big": ColumnType.BOOL}
START = 1_700_000_000_000_000


@pytest.fixture
def log(tmp_path: Path) -> Any:
    """Segments, a journal, and events that lack fields."""
    catalog = Catalog().declare("buy", fields=FIELDS).declare("tick").page("home")
    with EventLog(tmp_path / "log", catalog, recorded_times=True, max_age_s=1e9) as made:
        for n in range(EVENTS):
            contents = {"item": n, "price": n / 3, "name": f"n{n % 7}", "big": n % 2 == 0}
            if n % 5 == 0:
                del contents["price"], contents["name"]
            if n % 11 == 0:
                made.append("tick", ts=START + n)
            else:
                made.append("buy", "home", contents, ts=START + n)
            if n in (1000, 2500):
                made.compact()
        yield made


@pytest.mark.parametrize("rows", [1, 7, 1000, 1001, EVENTS, 65_536])
def test_what_read_gives(log: EventLog, rows: int) -> None:
    first = 1 if rows > 1 else EVENTS - 40
    pieces = list(log.read_rows(list(FIELDS), first, rows=rows))
    assert all(0 < len(piece) <= rows for piece in pieces)
    events = list(log.read(first))
    assert [int(n) for piece in pieces for n in piece.numbers] == [e.seq for e in events]
    assert [int(t) for piece in pieces for t in piece.times] == [e.ts for e in events]
    for name in FIELDS:
        got = [each[name] for piece in pieces for each in piece]
        assert got == [e.contents.get(name) for e in events], name
    assert [each["page"] for piece in pieces for each in piece] == [e.page for e in events]
    assert [each["event"] for piece in pieces for each in piece] == [e.event for e in events]


def test_numbers_are_arrays_and_what_is_absent_is_masked(log: EventLog) -> None:
    (rows,) = log.read_rows(["item", "price", "name"])
    price = rows.column("price")
    assert isinstance(price, np.ma.MaskedArray) and price.dtype == np.float64
    assert rows.column("session").dtype == np.int64 and rows.column("name").dtype == object
    present = [e.contents.get("price") for e in log.read()]
    assert price.compressed().tolist() == [p for p in present if p is not None]


def test_what_is_asked_for_alone(log: EventLog) -> None:
    some = list(log.read_rows(["item"], where=EventQuery(from_ts=START + 990, to_ts=START + 1010)))
    assert [int(n) for piece in some for n in piece.numbers] == list(range(991, 1012))
    assert list(log.read_rows(from_seq=EVENTS + 1)) == []
    # Events that come meanwhile are not among them.
    reading = log.read_rows(["item"], rows=100)
    count = len(next(reading))
    log.append("tick", ts=START + EVENTS)
    assert count + sum(map(len, reading)) == EVENTS
    with pytest.raises(ArgumentError, match=r"'pric'.*did you mean 'price'"):
        next(log.read_rows(["pric"]))
    with pytest.raises(ArgumentError, match="rows=0"):
        next(log.read_rows(rows=0))
