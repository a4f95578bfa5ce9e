"""Reading a log from Python beside SQLite: everything, and one event by its number.

pytest bench/stream/test_stream_read.py -s
"""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import pytest
from test_stream_log import sqlite_table

from walle_rt.stream import Catalog, ColumnType, EventKind
from walle_rt.stream._log import EventLog

EVENTS, ROUNDS, POINTS = 200_000, 5, 2000
ALL_BAR = 1.5  # times SQLite's time
POINT_BAR_US = 20
FIELDS = {"item": ColumnType.INT, "price": ColumnType.FLOAT, "text": ColumnType.TEXT}


def contents(n: int) -> dict[str, Any]:
    return {"item": n % 5000, "price": n / 7, "text": f"item number {n % 5000}"}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A log in segments, and the same rows in SQLite."""
    folder = tmp_path_factory.mktemp("read")
    catalog = Catalog().declare("click", EventKind.CLICK, FIELDS).page("home")
    log = EventLog(folder / "log", catalog, quota_bytes=1 << 30, recorded_times=True, max_age_s=1e9)
    db = sqlite_table(folder / "rows.sqlite")
    db.execute("begin")
    for n in range(EVENTS):
        ts = 1_700_000_000_000_000 + n * 1000
        log.append("click", "home", contents(n), ts=ts)
        log.maintain()
        row = (n + 1, ts, "click", "home", json.dumps(contents(n)))
        db.execute("insert into events values (?,?,?,?,?)", row)
    db.execute("commit")
    log.compact()
    yield log, db
    log.close()
    db.close()


def seconds(work: Callable[[], int], expected: int) -> float:
    start = time.perf_counter()
    assert work() == expected
    return time.perf_counter() - start


def test_everything(both: Any) -> None:
    """Each event with its contents as a dict, in turns."""
    log, db = both

    def theirs() -> int:
        rows = db.execute("select seq, ts, event, page, contents from events order by seq")
        return sum(1 for row in rows if json.loads(row[4])["item"] >= 0)

    def ours() -> int:
        return sum(1 for event in log.read() if event.contents["item"] >= 0)

    pairs = [(seconds(ours, EVENTS), seconds(theirs, EVENTS)) for _ in range(ROUNDS)]
    ratio = statistics.median(a / b for a, b in pairs)
    ours_us, theirs_us = (statistics.median(x) * 1e6 / EVENTS for x in zip(*pairs, strict=True))
    print(f"\nall: {ours_us:.2f} us an event, SQLite {theirs_us:.2f}: {ratio:.2f}x (bar {ALL_BAR})")
    assert ratio <= ALL_BAR


def test_columns(both: Any) -> None:
    """What an analysis reads: three columns as arrays, beside SQLite's rows of the same."""
    log, db = both

    def ours() -> int:
        return sum(len(rows.column("item")) for rows in log.read_rows(["item", "price", "text"]))

    def theirs() -> int:
        return sum(1 for row in db.execute("select contents from events") if json.loads(row[0])["price"] >= 0)

    pairs = [(seconds(ours, EVENTS), seconds(theirs, EVENTS)) for _ in range(ROUNDS)]
    ratio = statistics.median(a / b for a, b in pairs)
    ours_us = statistics.median(a for a, _ in pairs) * 1e6 / EVENTS
    print(f"\ncolumns: {ours_us:.2f} us an event, {ratio:.2f}x of SQLite's rows (bar {ALL_BAR})")
    assert ratio <= ALL_BAR


def test_one_by_its_number(both: Any) -> None:
    """At random, and the next hundred of one place, as somebody who looks at a match does."""
    log, db = both
    picks = [random.Random(7).randint(1, EVENTS) for _ in range(POINTS)]
    near = [EVENTS // 2 + n % 100 for n in range(POINTS)]
    for name, numbers in (("at random", picks), ("nearby", near)):
        took, sqlite = [], []
        for n in numbers:
            start = time.perf_counter()
            (event,) = log.read(n, 1)
            took.append((time.perf_counter() - start) * 1e6)
            assert event.contents["item"] == (n - 1) % 5000
            start = time.perf_counter()
            (row,) = db.execute("select contents from events where seq = ?", (n,))
            json.loads(row[0])
            sqlite.append((time.perf_counter() - start) * 1e6)
        p50, p99 = statistics.median(took), statistics.quantiles(took, n=100)[98]
        print(
            f"\none event {name}: p50 {p50:.1f} us, p99 {p99:.0f} us (bar {POINT_BAR_US}); "
            f"SQLite p50 {statistics.median(sqlite):.1f} us"
        )
        assert p50 <= POINT_BAR_US
