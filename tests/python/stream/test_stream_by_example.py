"""Triggers of docs/how-to/triggers-by-example.md on the real logs that the page speaks of."""

from __future__ import annotations

import csv
import functools
import gzip
import re
from collections import Counter
from datetime import datetime
from typing import Any

import pytest
from places import DATA, ROOT, need

from walle_rt.stream import Catalog, ColumnType, EventKind
from walle_rt.stream._triggers import TriggerSet

PAGE = (ROOT / "docs" / "how-to" / "triggers-by-example.md").read_text(encoding="utf-8")
CLAIMS = [
    (log, trigger, int(times.replace(",", "")))
    for log, trigger, times in re.findall(r"In `(\w+)`, `(.+)` fires ([\d,]+) times\.", PAGE)
]
Row = dict[str, Any]
S = 1_000_000
FIELDS = {"item": ColumnType.INT, "user": ColumnType.TEXT, "place": ColumnType.INT, "part": ColumnType.INT}


def catalog() -> Catalog:
    return (
        Catalog()
        .declare("exposure", EventKind.EXPOSURE, FIELDS)
        .declare("click", EventKind.CLICK, FIELDS)
        .declare("open", fields=FIELDS)
        .declare("view", fields=FIELDS)
    )


def open_bandit() -> list[Row]:
    """Shown items and clicks of both shops, in order of time."""
    rows = []
    for name in ("men", "women"):
        path = need(DATA / "open_bandit") / f"random_{name}.csv.gz"
        with gzip.open(path, "rt", encoding="utf-8") as file:
            rows += [(name, r) for r in csv.DictReader(file)]
    rows.sort(key=lambda r: r[1]["timestamp"])
    out = []
    for name, r in rows:
        contents = {
            "item": int(r["item_id"]) + (1000 if name == "women" else 0),
            "user": r["user_feature_0"],
            "place": int(r["position"]),
        }
        ts = int(datetime.fromisoformat(r["timestamp"]).timestamp() * S)
        out.append({"event": "exposure", "ts": ts, "contents": contents})
        if r["click"] == "1":
            out.append({"event": "click", "ts": ts, "contents": contents})
    return out


def clickstream() -> list[Row]:
    """Visits one after another, each item's page left when the next is opened."""
    path = need(DATA / "clickstream") / "sample_train-item-views.csv"
    with path.open(encoding="utf-8") as file:
        rows = sorted(
            csv.DictReader(file, delimiter=";"),
            key=lambda r: (r["eventdate"], int(r["session_id"]), int(r["timeframe"])),
        )
    out: list[Row] = []
    last, visit, page = 0, "", 0
    for r in rows:
        day = int(datetime.fromisoformat(r["eventdate"] + "T00:00:00+00:00").timestamp())
        # One device: visits follow one another.
        last = max(last + 1, day * S + int(r["timeframe"]) * 1000)
        where = {"ts": last, "session": int(r["session_id"])}
        if page:
            out.append({"event": "page_exit", "page_instance": page, **where, "session": int(visit)})
        if visit != r["session_id"]:
            out.append({"event": "open", "contents": {"user": r["session_id"]}, **where})
        visit, page = r["session_id"], len(out) + 1
        item = int(r["item_id"])
        contents = {"item": item, "user": visit, "part": item % 2}
        out.append({"event": "view", "contents": contents, "page_instance": page, **where})
    return out


@functools.cache
def rows_of(log: str) -> list[Row]:
    return {"open_bandit": open_bandit, "clickstream": clickstream}[log]()


def fires(log: str, trigger: str) -> int:
    triggers = TriggerSet(catalog(), zone="Europe/Berlin", keys=20_000)
    triggers.add("it", trigger)
    rows = rows_of(log)
    found = 0
    for seq, row in enumerate(rows, start=1):
        given = {k: v for k, v in row.items() if k not in ("event", "contents")}
        found += len(triggers.step(row["event"], "", row.get("contents"), seq=seq, **given))
    stats = triggers.stats
    assert (stats["evicted_keys"], stats["evicted_limits"]) == (0, 0)
    return found + len(triggers.advance(rows[-1]["ts"] + 3600 * S))


def test_there_are_twenty_two() -> None:
    assert len(CLAIMS) == 22
    assert re.findall(r"^\*\*(\d+)\.", PAGE, re.MULTILINE) == [str(n) for n in range(1, 23)]


@pytest.mark.parametrize(("log", "trigger", "times"), CLAIMS, ids=[c[1] for c in CLAIMS])
def test_a_real_log_fires_as_the_page_says(log: str, trigger: str, times: int) -> None:
    assert fires(log, trigger) == times


def test_counts_are_those_of_plain_python() -> None:
    """Some of them by other means than a matcher."""
    stated = {trigger: times for _, trigger, times in CLAIMS}
    views = [r for r in rows_of("clickstream") if r["event"] == "view"]
    items = {r["contents"]["item"] for r in views}
    assert stated["view once per item keep 20000"] == len(items)
    looks = Counter((r["contents"]["item"], r["session"]) for r in views)
    third = sum(n >= 3 for n in looks.values())
    assert stated["count(view) == 3 scope by(item, session) every"] == third

    first = {r["session"]: r["contents"]["part"] for r in reversed(views)}
    assert stated["!view ~ view[part == 1] scope by(user)"] == sum(first.values())
    left = sum(r["event"] == "page_exit" for r in rows_of("clickstream"))
    assert stated["view !click ~ page_exit scope by(page, item)"] == left

    last: dict[int, int] = {}
    fallen = 0
    barrier: dict[int, bool] = {}
    for r in rows_of("open_bandit"):
        if r["event"] != "exposure":
            continue
        item, place = r["contents"]["item"], r["contents"]["place"]
        # A match takes both events: the next one starts behind it.
        if item in last and not barrier.get(item) and place < last[item]:
            fallen += 1
            barrier[item] = True
        else:
            barrier[item] = False
        last[item] = place
    assert stated["exposure ~> exposure[place < $exposure.place] scope by(item)"] == fallen
