"""Scopes with keys from Python, firings that are all handed out, and triggers beside a log at work."""

from __future__ import annotations

import csv
from collections import defaultdict
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from places import DATA

from walle_rt.errors import ArgumentError, ResourceError
from walle_rt.stream import Catalog, ColumnType
from walle_rt.stream._log import EventLog
from walle_rt.stream._triggers import TriggerSet

T0 = 1_700_000_000_000_000
SECOND = 1_000_000


def shop() -> Catalog:
    fields = {
        "item": ColumnType.INT,
        "price": ColumnType.FLOAT,
        "sale": ColumnType.BOOL,
        "brand": ColumnType.TEXT,
    }
    return Catalog().declare("view", fields=fields).declare("buy", fields=fields).page("home")


def views() -> list[tuple[int, int, int]]:
    """(ts, session, item) of the clickstream, in order of time."""
    path = DATA / "clickstream" / "sample_train-item-views.csv"
    if not path.exists():
        pytest.skip(f"no real data: {path} is absent (set WALLE_TEST_DATA)")
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    out = []
    for row in rows:
        day = datetime.fromisoformat(row["eventdate"] + "T00:00:00+00:00").timestamp()
        ts = int(day) * SECOND + int(row["timeframe"]) * 1000
        out.append((ts, int(row["session_id"]), int(row["item_id"])))
    return sorted(out)


@pytest.mark.parametrize("cut", [0, 6000])
def test_no_key_of_the_clickstream_is_lost(cut: int) -> None:
    given = views()
    catalog = Catalog().declare("view", fields={"visit": ColumnType.INT, "item": ColumnType.INT})

    def made() -> TriggerSet:
        triggers = TriggerSet(catalog)
        triggers.add("two", "view ~ view within 1h scope by(visit)")
        triggers.add("left", "view !~ view for 1h scope by(visit)")
        return triggers

    triggers = made()
    fired: dict[str, int] = defaultdict(int)
    for seq, (ts, session, item) in enumerate(given, 1):
        if seq == cut:
            state, triggers = triggers.snapshot(), made()
            assert triggers.restore(state) == 0
        for f in triggers.step("view", "", {"visit": session, "item": item}, ts=ts, seq=seq):
            fired[f.trigger] += 1
    for f in triggers.advance(given[-1][0] + 7200 * SECOND):
        fired[f.trigger] += 1
    # The same in plain Python, session by session.
    two = left = 0
    sessions = defaultdict(list)
    for ts, session, _ in given:
        sessions[session].append(ts)
    for times in sessions.values():
        first = None
        for before, ts in zip([None, *times], times, strict=False):
            if first is not None and ts - first <= 3600 * SECOND and before == first:
                two, first = two + 1, None
            else:
                first = ts
        # Waits begin anew at the first view behind the deadline or the view that broke the last one.
        left += sum(b - a > 3600 * SECOND for a, b in pairwise(times)) + 1
    assert fired == {"two": two, "left": left}
    assert triggers.stats["evicted_keys"] == 0
    assert triggers.stats_of("two").evicted == 0


def test_firings_of_one_event_are_all_given() -> None:
    triggers = TriggerSet(shop())
    for i in range(300):
        triggers.add(f"t{i}", "view")
    assert len(triggers.step("view", ts=T0)) == 300
    assert triggers.stats["dropped"] == triggers.stats["coalesced"] == 0


def test_keys_are_declared_priced_and_counted() -> None:
    triggers = TriggerSet(shop(), keys={"item": 2}, page_instances=10)
    triggers.add("bought", "view ~ buy scope by(item)")
    triggers.add("other", "view ~ buy scope by(brand)")
    triggers.add("page", "view ~ buy scope page")
    prices = {p.scope: p for p in triggers.prices}
    assert [prices[s].keys for s in ("by(item)", "by(brand)", "page")] == [2, 4096, 10]
    assert prices["by(brand)"].bytes <= 1 << 20
    for item in (1, 2, 3):
        triggers.step("view", "", {"item": item}, ts=T0)
    assert [len(triggers.step("buy", "", {"item": item}, ts=T0)) for item in (2, 3)] == [1, 1]
    told = triggers.stats_of("bought")
    assert (told.fired, told.suppressed, told.evicted, told.last_ts) == (2, 0, 1, T0)
    assert triggers.stats_of("other").last_ts is None
    assert triggers.stats["memory_bytes"] <= triggers.stats["memory_bytes_at_most"]
    with pytest.raises(ArgumentError, match="trigger 'none'"):
        triggers.stats_of("none")
    with pytest.raises(ArgumentError, match="0 keys"):
        TriggerSet(shop(), keys=0)
    with pytest.raises(ResourceError, match="key_bytes"):
        TriggerSet(shop(), key_bytes=1000).add("much", "view ~ buy scope by(item)")


def test_deadlines_say_when_to_advance() -> None:
    triggers = TriggerSet(shop())
    triggers.add("left", "view !~ buy for 10s")
    assert triggers.next_deadline is None and triggers.last_ts is None
    triggers.step("view", ts=T0)
    deadline = triggers.next_deadline
    assert deadline == T0 + 10 * SECOND + 1
    assert triggers.advance(deadline - 1) == []
    assert [f.ts for f in triggers.advance(deadline)] == [T0 + 10 * SECOND]
    assert triggers.next_deadline is None


def test_a_log_with_other_names_is_refused(tmp_path: Path) -> None:
    with EventLog(tmp_path, Catalog().declare("buy").declare("view")) as log:
        log.append("buy", ts=T0)
        triggers = TriggerSet(Catalog().declare("view").declare("buy"))
        triggers.add("viewed", "view")
        with pytest.raises(ArgumentError, match=r"TriggerSet\(log.catalog\)"):
            triggers.replay(log)
        fewer = TriggerSet(Catalog())
        fewer.add("any", "*")
        assert len(fewer.replay(log)) == 1


def test_values_of_numpy_are_values() -> None:
    triggers = TriggerSet(shop())
    triggers.add("cheap", "view[item == 7 and price < 2 and sale]")
    contents = {"item": np.int64(7), "price": np.float32(1.5), "sale": np.bool_(True), "brand": None}
    assert len(triggers.step("view", "", contents, ts=np.int64(T0))) == 1
    later = datetime.fromtimestamp(T0 / SECOND + 1, UTC)
    assert len(triggers.step("view", "", contents | {"price": np.int32(1)}, ts=later)) == 1


@pytest.mark.parametrize(
    ("contents", "says"),
    [
        ({"item": 1 << 63}, "the integer 9223372036854775808 for field 'item'"),
        ({"item": datetime(2026, 1, 1)}, "type datetime for field 'item'"),
        ({"item": [1]}, "type list for field 'item'"),
        ({"brand": b"x"}, "type bytes for field 'brand'"),
        ({"price": 10**400}, "for field 'price'"),
        ({"price": np.float64("nan")}, "not finite"),
    ],
)
def test_what_is_no_content_is_an_error_that_says_so(contents: dict[str, object], says: str) -> None:
    triggers = TriggerSet(shop())
    with pytest.raises(ArgumentError, match=says):
        triggers.step("view", "", contents, ts=T0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ts", "says"),
    [
        (1.5, "type float"),
        ("now", "type str"),
        (None, "type NoneType"),
        (1 << 80, "the time 1208925819614629174706176"),
        (datetime(2026, 1, 1), "without time zone"),
    ],
)
def test_what_is_no_time_is_an_error_that_says_so(ts: object, says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        TriggerSet(shop()).step("view", ts=ts)  # type: ignore[arg-type]


def test_columns_in_predicates_count_letters() -> None:
    triggers = TriggerSet(shop())
    with pytest.raises(ArgumentError, match=r"column 27\b"):
        triggers.add("é", 'view[brand == "ééééé" and prise > 2]')


def test_an_attached_set_matches_what_is_appended(tmp_path: Path) -> None:
    with EventLog(tmp_path, shop(), max_age_s=1e9) as log:
        log.append("view", contents={"item": 1}, ts=T0)
        triggers = TriggerSet(log.catalog)
        triggers.add("bought", "view ~ buy scope by(item)")
        with pytest.raises(ArgumentError, match=r"TriggerSet\(log.catalog\)"):
            TriggerSet(Catalog().declare("other")).attach(log)
        triggers.attach(log)
        for item in (1, 2):
            log.append("view", contents={"item": item}, ts=T0 + 1)
        assert triggers.take() == []
        seq = log.append("buy", contents={"item": 2}, ts=T0 + 2)
        assert [(f.trigger, f.seq, f.start_ts) for f in triggers.take()] == [("bought", seq, T0 + 1)]
        with pytest.raises(ArgumentError, match="detach the other set"):
            TriggerSet(log.catalog).attach(log)
        triggers.step("view", ts=T0 + 100)
        log.append("view", ts=T0 + 50)
        with pytest.raises(ArgumentError, match="order of time"):
            triggers.take()
        assert triggers.take() == []
        triggers.detach(log)
        log.append("buy", contents={"item": 1}, ts=T0 + 200)
        assert triggers.take() == []


@pytest.mark.parametrize(
    ("text", "events", "fires_at"),
    [
        ("!x ~ a scope by(page, item)", [("b", 1), ("x", None), ("a", 1)], []),
        ("!x ~ a scope by(page, item)", [("x", None), ("b", 1), ("a", 1)], [3]),
        ("b !x ~ a scope by(page, item)", [("b", 1), ("x", None), ("a", 1)], []),
        ("count(a) >= 2 scope by(page, item)", [("a", 1), ("a", None)], [2]),
        ("count(a) >= 2 scope by(page, item)", [("a", None), ("a", 1)], []),
    ],
)
def test_an_event_without_the_key_is_of_every_key_that_has_begun(
    text: str, events: list[tuple[str, int | None]], fires_at: list[int]
) -> None:
    catalog = Catalog().page("home")
    for name in "abx":
        catalog.declare(name, fields={"item": ColumnType.INT})
    triggers = TriggerSet(catalog)
    triggers.add("t", text)
    fired = []
    for second, (name, item) in enumerate(events, 1):
        contents = None if item is None else {"item": item}
        at = T0 + second * 1_000_000
        fired += triggers.step(name, "home", contents, ts=at, seq=second, page_instance=1)
    fired += triggers.advance(T0 + 100 * 1_000_000)
    assert [(firing.ts - T0) // 1_000_000 for firing in fired] == fires_at
