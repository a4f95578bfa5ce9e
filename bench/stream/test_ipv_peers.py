"""The IPV feature of one page beside the same feature in plain Python, polars, pandas,
DuckDB and SQLite over JSON.

    pytest bench/stream/test_ipv_peers.py -s

Every peer starts from what it would have - events as objects, a data frame, a table, JSON texts, built
beforehand and not timed - and gives the same 332 floats; they are compared before anything is timed. Rounds
are interleaved, the minimum counts.
"""

from __future__ import annotations

import importlib
import json
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from walle_rt.stream import Catalog, ColumnType, EventKind
from walle_rt.stream._ipv import ipv_feature, ipv_network
from walle_rt.stream._log import Event, EventLog

T0 = 1_700_000_000_000_000
BINS, ITEMS = 64, 32
ROUNDS = 30

Feature = npt.NDArray[np.float32]


def page(log: EventLog) -> list[Event]:
    """A visit of 116 events."""
    rng = np.random.default_rng(0)
    log.append("page_enter", "item", ts=T0)
    for i in range(114):
        name = ("page_scroll", "exposure", "exposure", "click")[int(rng.integers(4))]
        contents = (
            {"depth": float(rng.random())} if name == "page_scroll" else {"item": int(rng.integers(30))}
        )
        log.append(name, "item", contents, ts=T0 + i * 250_000)
    log.append("page_exit", "item", ts=T0 + 114 * 250_000)
    return list(log.read())


def assemble(
    times: tuple[int, int],
    counts: tuple[int, int, int],
    depth: tuple[float, float, float, int],
    items: int,
    first_click: int | None,
    bins: list[tuple[str, int, int, float]],
    top: list[tuple[int, int]],
) -> Feature:
    """The vector from its parts; ``bins`` are (kind, bin, count, deepest), ``top`` (exposures,
    clicks) in order.
    """
    out = np.zeros(12 + 4 * BINS + 2 * ITEMS, np.float32)
    seconds = max(1, times[1] - times[0]) / 1e6
    scrolls, exposures, clicks = counts
    ratio = clicks / exposures if exposures else 0
    wait = -1.0 if first_click is None else (first_click - times[0]) / 1e6
    head = seconds, scrolls, exposures, clicks, *depth, items, ratio, wait, clicks / seconds
    out[:12] = head
    for kind, at, n, deep in bins:
        row = ("page_scroll", "exposure", "click").index(kind)
        out[12 + row * BINS + at] = n
        if row == 0:
            out[12 + 3 * BINS + at] = deep
    for k, (shown, clicked) in enumerate(top[:ITEMS]):
        out[12 + 4 * BINS + 2 * k : 14 + 4 * BINS + 2 * k] = shown, clicked
    return out


def turns_of(depths: list[float]) -> int:
    """Changes of the scrolling's direction."""
    last = direction = 0.0
    turns = 0
    for depth in depths:
        step = depth - last
        turns += step * direction < 0
        direction, last = step or direction, depth
    return turns


def plain(events: list[Event]) -> Feature:
    """Plain Python over the events' dictionaries."""
    start, end = events[0].ts, events[-1].ts
    scale = BINS / (max(1, end - start) * (1 + 1e-9))
    bins: dict[tuple[str, int], tuple[int, float]] = {}
    depths: list[float] = []
    shown: dict[int, int] = {}
    clicked: dict[int, int] = {}
    first_click = None
    counts = {"page_scroll": 0, "exposure": 0, "click": 0}
    for e in events:
        if e.event not in counts:
            continue
        counts[e.event] += 1
        at = min(BINS - 1, int((e.ts - start) * scale))
        n, deep = bins.get((e.event, at), (0, 0.0))
        if e.event == "page_scroll":
            depth = e.contents["depth"]
            depths.append(float(depth))
            deep = max(deep, float(depth))
        else:
            item = int(e.contents["item"])
            if e.event == "exposure":
                shown[item] = shown.get(item, 0) + 1
            else:
                first_click = e.ts if first_click is None else first_click
                if item in shown:
                    clicked[item] = clicked.get(item, 0) + 1
        bins[e.event, at] = n + 1, deep
    mean = sum(depths) / len(depths)
    variance = sum(d * d for d in depths) / len(depths) - mean * mean
    order = sorted(shown, key=lambda item: (-shown[item], item))
    return assemble(
        (start, end),
        (counts["page_scroll"], counts["exposure"], counts["click"]),
        (max(depths), mean, variance, turns_of(depths)),
        len(shown),
        first_click,
        [(kind, at, n, deep) for (kind, at), (n, deep) in bins.items()],
        [(shown[i], clicked.get(i, 0)) for i in order],
    )


# The same in SQL. A click counts for an item once the item was shown.
SQL = {
    "head": """SELECT min(ts), max(ts), count(*) FILTER (WHERE event = 'page_scroll'),
        count(*) FILTER (WHERE event = 'exposure'), count(*) FILTER (WHERE event = 'click'),
        max(depth), avg(depth), avg(depth * depth),
        count(DISTINCT item) FILTER (WHERE event = 'exposure'),
        min(ts) FILTER (WHERE event = 'click') FROM t""",
    "bins": """SELECT event, {bin}, count(*), coalesce(max(depth), 0) FROM t
        WHERE event IN ('page_scroll', 'exposure', 'click') GROUP BY 1, 2""",
    "depths": "SELECT depth FROM t WHERE event = 'page_scroll' ORDER BY seq",
    "items": """SELECT count(*) FILTER (WHERE event = 'exposure') AS shown,
        count(*) FILTER (WHERE event = 'click' AND seq > first)
        FROM (SELECT *, min(seq) FILTER (WHERE event = 'exposure') OVER (PARTITION BY item) AS first FROM t
              WHERE item IS NOT NULL)
        GROUP BY item HAVING count(*) FILTER (WHERE event = 'exposure') > 0
        ORDER BY shown DESC, item LIMIT 32""",
}


def by_sql(ask: Callable[[str], list[tuple]], bin_of: str) -> Feature:
    """From four queries; ``bin_of`` is a bin number from the float {}, in the engine's own dialect."""
    start, end, scrolls, exposures, clicks, deepest, mean, square, distinct, first = ask(SQL["head"])[0]
    scale = BINS / (max(1, end - start) * (1 + 1e-9))
    bins = ask(SQL["bins"].format(bin=bin_of.format(f"(ts - {start}) * {scale!r}")))
    depths = [d for (d,) in ask(SQL["depths"])]
    depth = deepest, mean, square - mean * mean, turns_of(depths)
    return assemble(
        (start, end), (scrolls, exposures, clicks), depth, distinct, first, bins, ask(SQL["items"])
    )


def with_sqlite(events: list[Event]) -> Callable[[], Feature]:
    """SQLite with a row of JSON per event, read by its JSON functions."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE raw (seq INTEGER PRIMARY KEY, json TEXT)")
    rows = [(e.seq, json.dumps({"event": e.event, "ts": e.ts, "contents": e.contents})) for e in events]
    db.executemany("INSERT INTO raw VALUES (?, ?)", rows)
    db.execute("""CREATE VIEW t AS SELECT seq, json ->> '$.event' AS event, json ->> '$.ts' AS ts,
        json ->> '$.contents.depth' AS depth, json ->> '$.contents.item' AS item FROM raw""")

    return lambda: by_sql(lambda sql: db.execute(sql).fetchall(), "min(63, CAST({} AS INT))")


def with_duckdb(events: list[Event]) -> Callable[[], Feature]:
    """DuckDB over a table of its own."""
    duckdb = importlib.import_module("duckdb")
    db = duckdb.connect()
    db.execute("SET threads = 1")
    db.execute("CREATE TABLE t (seq BIGINT, event TEXT, ts BIGINT, depth DOUBLE, item BIGINT)")
    rows = [(e.seq, e.event, e.ts, e.contents.get("depth"), e.contents.get("item")) for e in events]
    db.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)

    return lambda: by_sql(lambda sql: db.execute(sql).fetchall(), "least(63, CAST(floor({}) AS INT))")


def columns(events: list[Event]) -> dict[str, list]:
    kept = [e for e in events if e.event in ("page_scroll", "exposure", "click")]
    return {
        "seq": [e.seq for e in kept],
        "event": [e.event for e in kept],
        "ts": [e.ts for e in kept],
        "depth": [e.contents.get("depth") for e in kept],
        "item": [e.contents.get("item") for e in kept],
    }


def with_pandas(events: list[Event]) -> Callable[[], Feature]:
    """Pandas over a data frame."""
    pd = importlib.import_module("pandas")
    frame = pd.DataFrame(columns(events))
    start, end = events[0].ts, events[-1].ts

    def feature() -> Feature:
        scale = BINS / (max(1, end - start) * (1 + 1e-9))
        depths = frame.depth[frame.event == "page_scroll"]
        shown_rows, click_rows = frame[frame.event == "exposure"], frame[frame.event == "click"]
        bins = ((frame.ts - start) * scale).astype(int).clip(upper=BINS - 1)
        grouped = frame.groupby([frame.event, bins]).depth.agg(["size", "max"]).fillna(0)
        shown, first = shown_rows.groupby("item").size(), shown_rows.groupby("item").seq.min()
        counted = click_rows[click_rows.seq > click_rows.item.map(first)].groupby("item").size()
        top = pd.DataFrame({"shown": shown, "clicked": counted.reindex(shown.index).fillna(0)}).reset_index()
        top = top.sort_values(["shown", "item"], ascending=[False, True])
        return assemble(
            (start, end),
            (len(depths), len(shown_rows), len(click_rows)),
            (depths.max(), depths.mean(), depths.var(ddof=0), turns_of(depths.tolist())),
            len(shown),
            None if click_rows.empty else int(click_rows.ts.min()),
            [(kind, at, n, deep) for (kind, at), n, deep in grouped.itertuples()],
            list(zip(top.shown, top.clicked, strict=True)),
        )

    return feature


def with_polars(events: list[Event]) -> Callable[[], Feature]:
    """Polars over a data frame."""
    pl = importlib.import_module("polars")
    frame = pl.DataFrame(columns(events))
    start, end = events[0].ts, events[-1].ts
    is_scroll, is_shown, is_click = (pl.col("event") == e for e in ("page_scroll", "exposure", "click"))

    def feature() -> Feature:
        scale = BINS / (max(1, end - start) * (1 + 1e-9))
        depth = pl.col("depth").filter(is_scroll)
        head = frame.select(
            is_scroll.sum().alias("scrolls"),
            is_shown.sum().alias("exposures"),
            is_click.sum().alias("clicks"),
            depth.max().alias("deepest"),
            depth.mean().alias("mean"),
            depth.var(ddof=0).alias("variance"),
            pl.col("ts").filter(is_click).min().alias("first"),
        ).row(0)
        at = ((pl.col("ts") - start) * scale).cast(pl.Int64).clip(0, BINS - 1)
        bins = (
            frame.group_by("event", at.alias("bin")).agg(pl.len(), pl.col("depth").max().fill_null(0)).rows()
        )
        items = frame.filter(pl.col("item").is_not_null()).with_columns(
            first=pl.col("seq").filter(is_shown).min().over("item")
        )
        top = (
            items.group_by("item")
            .agg(
                is_shown.sum().alias("shown"),
                (is_click & (pl.col("seq") > pl.col("first"))).sum().alias("clicked"),
            )
            .filter(pl.col("shown") > 0)
            .sort(["shown", "item"], descending=[True, False])
        )
        turns = turns_of(frame.filter(is_scroll)["depth"].to_list())
        order = top.select("shown", "clicked").rows()
        return assemble((start, end), head[:3], (*head[3:6], turns), len(top), head[6], bins, order)

    return feature


PEERS = {"polars": with_polars, "pandas": with_pandas, "duckdb": with_duckdb, "sqlite3": with_sqlite}


def test_ipv_beside_peers(tmp_path: Path) -> None:
    catalog = (
        Catalog()
        .declare("page_scroll", EventKind.PAGE_SCROLL, {"depth": ColumnType.FLOAT})
        .declare("exposure", EventKind.EXPOSURE, {"item": ColumnType.INT})
        .declare("click", EventKind.CLICK, {"item": ColumnType.INT})
        .page("item")
    )
    rng = np.random.default_rng(1)
    layers = [
        ((rng.standard_normal((out, into)) / np.sqrt(into)).astype(np.float32), np.zeros(out, np.float32))
        for into, out in ((332, 64), (64, 32))
    ]
    session = ipv_network(layers).session(threads=1)
    with EventLog(tmp_path, catalog) as log:
        events = page(log)
        want = ipv_feature(log, 1)
        calls: dict[str, Callable[[], object]] = {
            "walle_rt, from the log": lambda: ipv_feature(log, 1),
            "walle_rt, from the log, and the encoder network": lambda: session.run(
                {"feature": ipv_feature(log, 1)[None]}
            ),
            "plain Python": lambda: plain(events),
        }
        absent = []
        for name, make in PEERS.items():
            try:
                calls[name] = make(events)
            except ImportError:
                absent.append(name)
        for name, call in calls.items():
            got = call()
            if isinstance(got, np.ndarray):
                np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5, err_msg=name)
        best = dict.fromkeys(calls, float("inf"))
        for _ in range(ROUNDS):
            for name, call in calls.items():
                began = time.perf_counter()
                call()
                best[name] = min(best[name], time.perf_counter() - began)
    own = best["walle_rt, from the log"]
    print(f"\nIPV feature of {len(events)} events, minimum of {ROUNDS} interleaved rounds, one thread")
    for name, seconds in best.items():
        print(f"  {name:<50} {seconds * 1e6:9.1f} us   {seconds / own:7.1f} x")
    if absent:
        print(f"  not installed: {', '.join(absent)} (tools/setup.sh bench)")
    assert best["walle_rt, from the log"] == min(best.values())
    if absent == list(PEERS):
        pytest.skip("no peer is installed: tools/setup.sh bench")
