"""Nanoseconds per durable append, and bytes that reach the disk for real events, beside SQLite row by row.

pytest bench/stream -s
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import sqlite3
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _bench import Appender

from walle_rt.stream import Catalog, ColumnType, EventKind
from walle_rt.stream._log import EventLog

APPEND_P50_NS, APPEND_P99_NS = 150, 2000
DISK_BAR = 1.3  # times the raw JSON
DURABLE_BAR = 1.0  # times SQLite's row
DURABLE_ROWS, DURABLE_ROUNDS = 200, 7
DATA = Path(os.environ.get("WALLE_TEST_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
ROWS = 20_000


def test_append(tmp_path: Path, benchmark: Any) -> None:
    """Wall clock around each single append of a 200 B event; two clock reads are part of every figure."""
    catalog = (
        Catalog()
        .declare("click", EventKind.CLICK, {"item": ColumnType.INT, "text": ColumnType.TEXT})
        .page("home")
    )
    contents = {"item": 1, "text": "x" * 140}
    samples = []
    journal_bytes = 16 << 20
    with EventLog(tmp_path, catalog, journal_bytes=journal_bytes) as log:
        log.append("click", "home", contents)
    appender = Appender(str(tmp_path), journal_bytes)
    appender.append(20_000)
    benchmark.pedantic(lambda: samples.append(appender.append(20_000)), rounds=5, iterations=1)
    ns = np.concatenate(samples)
    p50, p99 = float(np.percentile(ns, 50)), float(np.percentile(ns, 99))
    benchmark.extra_info.update(p50_ns=p50, p99_ns=p99)
    sqlite = sqlite_append_us(tmp_path / "rows.sqlite", contents)
    print(
        f"\nappend of a 200 B event: p50 {p50:.0f} ns (bar {APPEND_P50_NS}), "
        f"p99 {p99:.0f} ns (bar {APPEND_P99_NS}); "
        f"SQLite row by row, WAL: {sqlite:.1f} us"
    )
    assert p50 <= APPEND_P50_NS
    assert p99 <= APPEND_P99_NS


def test_sealed_append(tmp_path: Path, benchmark: Any) -> None:
    """What a key costs: the same event into a log with one and into a log without, in turns."""
    contents = {"item": 1, "text": "x" * 140}
    catalog = Catalog().declare("click", EventKind.CLICK, {"item": ColumnType.INT, "text": ColumnType.TEXT})
    appenders = {}
    for name, key in (("plain", b""), ("sealed", bytes(range(32)))):
        with EventLog(tmp_path / name, catalog, key=key or None) as log:
            log.append("click", contents=contents)
        appenders[name] = Appender(str(tmp_path / name), 16 << 20, key)
    samples: dict[str, list[Any]] = {name: [] for name in appenders}

    def both() -> None:
        for name, appender in appenders.items():
            samples[name].append(appender.append(20_000))

    benchmark.pedantic(both, rounds=5, iterations=1)
    p50 = {name: float(np.percentile(np.concatenate(ns), 50)) for name, ns in samples.items()}
    benchmark.extra_info.update(p50)
    print(f"\nappend of a 200 B event: p50 {p50['plain']:.0f} ns, with a key {p50['sealed']:.0f} ns")


def test_durable_append(tmp_path: Path, benchmark: Any) -> None:
    """One event that survives a power loss when append() returns, beside a row of SQLite's synchronous=FULL.

    In turns, because disks drift. Says nothing on a file system in memory, where a sync is free.
    """
    contents = {"item": 1, "text": "x" * 140}
    catalog = (
        Catalog()
        .declare("click", EventKind.CLICK, {"item": ColumnType.INT, "text": ColumnType.TEXT})
        .page("home")
    )
    with EventLog(tmp_path / "log", catalog) as log:
        log.append("click", "home", contents)
    appender = Appender(str(tmp_path / "log"), 4 << 20)
    ours: list[float] = []
    theirs: list[float] = []

    def both() -> None:
        ours.extend(appender.append(DURABLE_ROWS, durable=True) / 1e3)
        path = tmp_path / f"full{len(theirs)}.sqlite"
        theirs.append(sqlite_append_us(path, contents, DURABLE_ROWS, "full"))

    benchmark.pedantic(both, rounds=DURABLE_ROUNDS, iterations=1)
    mean, sqlite = float(np.mean(ours)), float(np.median(theirs))
    benchmark.extra_info.update(durable_us=mean, sqlite_full_us=sqlite, ratio=mean / sqlite)
    print(
        f"\ndurable append: mean {mean:.0f} us, p50 {np.percentile(ours, 50):.0f} us; SQLite FULL row by row "
        f"{sqlite:.0f} us: {mean / sqlite:.2f}x (bar {DURABLE_BAR})"
    )
    assert mean <= DURABLE_BAR * sqlite


def sqlite_table(path: Path, synchronous: str = "normal") -> sqlite3.Connection:
    """Rows as they come, each its own transaction; no sync per row unless ``synchronous`` is "full"."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("pragma journal_mode=wal")
    db.execute(f"pragma synchronous={synchronous}")
    db.execute(
        "create table events(seq integer primary key, ts integer, event text, page text, contents text)"
    )
    return db


def sqlite_append_us(
    path: Path, contents: dict[str, Any], rows: int = 3000, synchronous: str = "normal"
) -> float:
    """Microseconds per row."""
    db = sqlite_table(path, synchronous)
    body = json.dumps(contents)
    start = time.perf_counter()
    for i in range(rows):
        db.execute(
            "insert into events(ts, event, page, contents) values (?,?,?,?)", (i, "click", "home", body)
        )
    seconds = time.perf_counter() - start
    db.close()
    return seconds * 1e6 / rows


def open_bandit() -> list[dict[str, str]]:
    """Real impressions and clicks, oldest first."""
    rows: list[dict[str, str]] = []
    for name in ("random_men.csv.gz", "random_women.csv.gz"):
        path = DATA / "open_bandit" / name
        if not path.exists():
            pytest.skip(f"{path.name} is absent: set WALLE_TEST_DATA to the folder that holds open_bandit/")
        with gzip.open(path, "rt") as f:
            rows += [{k: v for k, v in r.items() if k and v} for r in csv.DictReader(f)]
    return sorted(rows, key=lambda r: r["timestamp"])[:ROWS]


def written() -> int:
    """Bytes this process has caused to be sent to the disk,
    dirtied pages of mapped files included (Linux).
    """
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("write_bytes")))


def test_bytes_on_disk(tmp_path: Path, benchmark: Any) -> None:
    """Everything the log writes - journal pages, segments, manifest, catalogue - against the raw JSON."""
    events = []
    for row in open_bandit():
        stamp = int(datetime.fromisoformat(row.pop("timestamp")).timestamp() * 1e6)
        contents = {k: v if k.startswith("user_feature") else float(v) for k, v in row.items()}
        events.append(("click" if row["click"] == "1" else "exposure", stamp, contents))
    names = {
        k: ColumnType.TEXT if isinstance(v, str) else ColumnType.FLOAT
        for _, _, c in events
        for k, v in c.items()
    }
    catalog = (
        Catalog().declare("exposure", EventKind.EXPOSURE, names).declare("click", EventKind.CLICK, names)
    )
    raw = sum(len(json.dumps({"event": e, "page": "shop", "ts": t, "contents": c})) for e, t, c in events)

    def fill() -> int:
        before = written()
        with EventLog(tmp_path / "log", catalog.page("shop"), max_age_s=1e9) as log:
            for name, ts, contents in events:
                log.append(name, "shop", contents, ts=ts)
                log.maintain()
            log.compact()
            log.sync()
            assert log.last_seq == len(events)
        return written() - before

    ours = benchmark.pedantic(fill, rounds=1, iterations=1)
    if ours == 0:
        pytest.skip(f"{tmp_path} lies on a file system without write accounting: give --basetemp on a disk")
    kept = sum(f.stat().st_size for f in (tmp_path / "log").iterdir() if f.suffix != ".walj")

    before = written()
    db = sqlite_table(tmp_path / "rows.sqlite")
    for name, ts, contents in events:
        db.execute(
            "insert into events(ts, event, page, contents) values (?,?,?,?)",
            (ts, name, "shop", json.dumps(contents)),
        )
    db.close()
    rows = written() - before
    benchmark.extra_info.update(
        raw_json=raw, written=ours, ratio=ours / raw, sqlite_rows=rows, sqlite_ratio=rows / raw
    )
    print(
        f"\n{len(events)} Open Bandit events, raw JSON {raw:,} bytes: written {ours:,} = {ours / raw:.2f}x "
        f"(bar {DISK_BAR}), kept outside the journal {kept:,}; SQLite row by row {rows:,} = {rows / raw:.2f}x"
    )
    assert ours <= DISK_BAR * raw
