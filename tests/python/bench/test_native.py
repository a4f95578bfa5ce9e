"""The measuring module does what it measures: its loops give what the public API gives for the same input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from _bench import Appender, Matching, ipv_ns

from walle_rt.stream import Catalog, ColumnType, EventKind
from walle_rt.stream._ipv import IpvEncoder
from walle_rt.stream._log import EventLog
from walle_rt.stream._triggers import TriggerSet

T0 = 1_700_000_000_000_000


def world() -> Catalog:
    catalog = Catalog().declare("click", EventKind.CLICK, {"item": ColumnType.INT, "text": ColumnType.TEXT})
    return catalog.page("home", "item")


def test_appends_are_appended(tmp_path: Path) -> None:
    with EventLog(tmp_path, world()) as log:
        log.append("click", "home", {"item": 7, "text": "x" * 140}, ts=T0)
    appender = Appender(str(tmp_path), 4 << 20)
    took = appender.append(100)
    assert took.shape == (100,) and (took > 0).all()
    del appender
    with EventLog(tmp_path) as log:
        events = list(log.read())
    assert len(events) == 101
    assert all(e.contents == {"item": 7, "text": "x" * 140} and e.page == "home" for e in events)


def test_columns_fire_what_steps_fire() -> None:
    catalog = world()
    rng = np.random.default_rng(3)
    names = [name for name, _, _ in catalog.events]
    texts = ["click > click", "click@home ~ click@item within 1m", "page_enter !~ click for 10s"]
    events = rng.choice([names.index("click"), names.index("page_enter")], 500).astype(np.uint16)
    pages = rng.integers(1, len(catalog.pages), 500).astype(np.uint16)
    ts = T0 + np.cumsum(rng.integers(1, 5_000_000, 500))
    triggers = TriggerSet(catalog)
    for i, text in enumerate(texts):
        triggers.add(f"t{i}", text)
    stepped = sum(
        len(triggers.step(names[e], catalog.pages[p], ts=t, seq=i + 1))
        for i, (e, p, t) in enumerate(zip(events.tolist(), pages.tolist(), ts.tolist(), strict=True))
    )
    matching = Matching(catalog.to_bytes(), texts)
    fired, seconds = matching.run(events, pages, ts, np.zeros(500, np.int64))
    assert fired == stepped > 100
    assert 0 < seconds < 1
    assert (matching.nodes, matching.memory_bytes) == (
        triggers.stats["nodes"],
        triggers.stats["memory_bytes"],
    )


def test_columns_outside_the_catalogue_are_refused() -> None:
    matching = Matching(world().to_bytes(), ["click ~ click"])
    ids, ts = np.array([3, 3], np.uint16), np.array([T0 + 1, T0 + 2])
    values = np.array([1, 2])
    for events, pages in ((ids + 900, ids), (ids, ids + 900)):
        with pytest.raises(ValueError, match="row 0 has an id"):
            matching.run(events, pages, ts, values)
    with pytest.raises(ValueError, match="row 1 is not in order of time"):
        matching.run(ids, ids - 2, ts[::-1].copy(), values)
    with pytest.raises(ValueError, match="length"):
        matching.run(ids, ids[:1], ts, values)
    with pytest.raises(ValueError, match="length"):
        matching.run(ids, ids - 2, ts, values[:1])
    assert matching.run(ids, ids - 2, ts, values)[0] == 1


def test_ipv_takes_time(tmp_path: Path) -> None:
    with EventLog(tmp_path, world()) as log:
        log.append("page_enter", "item", ts=T0)
        log.append("click", "item", {"item": 1}, ts=T0 + 1_000_000)
        log.append("page_exit", "item", ts=T0 + 2_000_000)
    encoder = IpvEncoder.seeded()
    assert 0 < ipv_ns(str(tmp_path), 1, encoder.weights, encoder.bias, 50) < 1e6
    with pytest.raises(ValueError, match="IpvEncoder"):
        ipv_ns(str(tmp_path), 1, encoder.weights[:1], encoder.bias, 1)
