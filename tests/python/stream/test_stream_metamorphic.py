"""What must not change firings and features, on real event streams: a cut, a split of the tasks,
a stranger, noise.
"""

from __future__ import annotations

import csv
import gzip
import random
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from places import DATA, need

from walle_rt.stream import Batch, Catalog, ColumnType, EventKind, Graph, aggregate
from walle_rt.stream._log import EventLog
from walle_rt.stream._record import record, replay_into
from walle_rt.stream._triggers import Firing, TriggerSet

Row = dict[str, Any]
TRIGGERS = {
    "again": "view ~ view within 30s scope by(item) every",
    "three": "view{3} within 1m scope by(user)",
    "converted": "view[place == 1] !view[place == 3] ~ click within 10m cooldown 1m",
    "next": "view > click scope by(user)",
    "left": "view !~ view for 45s",
    "often": "(view | click){4} within 2m rate 2 per 1h",
    "idle": "idle 1m",
}


def catalog() -> Catalog:
    fields = {"item": ColumnType.INT, "user": ColumnType.TEXT, "place": ColumnType.INT}
    return Catalog().declare("view", fields=fields).declare("click", EventKind.CLICK, fields).declare("ping")


def open_bandit() -> list[Row]:
    with gzip.open(need(DATA / "open_bandit") / "random_women.csv.gz", "rt", encoding="utf-8") as file:
        rows = sorted(csv.DictReader(file), key=lambda r: r["timestamp"])[:3000]
    out = []
    for r in rows:
        ts = int(datetime.fromisoformat(r["timestamp"]).timestamp() * 1e6)
        contents = {"item": int(r["item_id"]), "user": r["user_feature_0"], "place": int(r["position"])}
        out.append({"event": "view", "ts": ts, "contents": contents})
        if r["click"] == "1":
            out.append({"event": "click", "ts": ts, "contents": contents})
    return out


def clickstream() -> list[Row]:
    with (need(DATA / "clickstream") / "sample_train-item-views.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter=";"))[:3000]
    out, last = [], 0
    for i, r in enumerate(rows):
        day = int(datetime.fromisoformat(r["eventdate"] + "T00:00:00+00:00").timestamp())
        # One device: sessions follow one another. A matcher tells 1,024 events of one microsecond apart.
        last = max(last + 1, day * 1_000_000 + int(r["timeframe"]) * 1000)
        contents = {"item": int(r["item_id"]), "user": r["session_id"], "place": i % 4}
        out.append({"event": "click" if i % 7 == 0 else "view", "ts": last, "contents": contents})
    return out


@pytest.fixture(scope="module", params=["open_bandit", "clickstream"])
def stream(request: pytest.FixtureRequest) -> list[Row]:
    rows = {"open_bandit": open_bandit, "clickstream": clickstream}[request.param]()
    return [row | {"seq": i + 1} for i, row in enumerate(rows)]


def a_set(names: Sequence[str] = tuple(TRIGGERS)) -> TriggerSet:
    out = TriggerSet(catalog(), queue=64)
    for name in names:
        out.add(name, TRIGGERS[name])
    return out


def fire(triggers: TriggerSet, rows: list[Row]) -> list[Firing]:
    out: list[Firing] = []
    for row in rows:
        out += triggers.step(row["event"], "", row["contents"], ts=row["ts"], seq=row["seq"])
    return out


def by_name(firings: list[Firing]) -> dict[str, list[Firing]]:
    return {name: [f for f in firings if f.trigger == name] for name in TRIGGERS}


def test_replay_may_be_cut_anywhere(stream: list[Row]) -> None:
    whole = fire(a_set(), stream)
    assert len({f.trigger for f in whole}) == len(TRIGGERS)
    rng = random.Random(1)
    cuts = sorted(rng.sample(range(1, len(stream)), 60))
    for cut in cuts[::6]:  # once
        before, after = a_set(), a_set(tuple(reversed(TRIGGERS)))
        found = fire(before, stream[:cut])
        assert after.restore(before.snapshot()) == 0
        assert by_name(found + fire(after, stream[cut:])) == by_name(whole)
    triggers, found, at = a_set(), [], 0
    for cut in [*cuts, len(stream)]:  # and at every cut of one replay
        found += fire(triggers, stream[at:cut])
        state, triggers, at = triggers.snapshot(), a_set(), cut
        triggers.restore(state)
    assert by_name(found) == by_name(whole)


def test_task_sets_may_be_split(stream: list[Row]) -> None:
    whole = by_name(fire(a_set(), stream))
    names = list(TRIGGERS)
    for part in (names[::2], names[1::2], *([n] for n in names)):
        found = by_name(fire(a_set(part), stream))
        assert {n: found[n] for n in part} == {n: whole[n] for n in part}


def test_an_unrelated_task_changes_nothing(stream: list[Row]) -> None:
    whole = by_name(fire(a_set(), stream))
    triggers, half = a_set(), len(stream) // 2
    triggers.add("stranger", "view ~ click > view ~ view scope by(item) every")
    found = fire(triggers, stream[:half])
    triggers.remove("stranger")
    triggers.add("another", "click !view ~ click")
    assert by_name(found + fire(triggers, stream[half:])) == whole


def test_irrelevant_events_change_nothing(stream: list[Row]) -> None:
    """Events no step names: `>`, `idle` and absences of others are about the events of their scope."""
    names = [n for n in TRIGGERS if n != "idle"]  # any event ends an idle time
    whole = by_name(fire(a_set(names), stream))
    noisy: list[Row] = []
    for row in stream:  # pings carry no field, so they are in no by() scope
        noisy += [{"event": "ping", "ts": row["ts"], "contents": {}, "seq": row["seq"] - 1}, row]
    assert by_name(fire(a_set(names), noisy)) == whole


def feature(rows: list[Row], pieces: int) -> tuple[Any, ...]:
    """A graph's results for the rows in so many pieces."""
    graph = Graph().filter("place < 3").key_by("user").state("wait", "since")
    graph.session(
        60, aggregate("count"), aggregate("mean", "wait"), aggregate("distinct", "item"), disorder_s=1
    )
    out, size = Batch({}), -(-len(rows) // pieces)
    for at in range(0, len(rows), size):
        part = rows[at : at + size]
        names = ("item", "user", "place")
        columns = {n: [r["contents"][n] for r in part] for n in names}
        out.append(graph.push(Batch({"ts": [r["ts"] for r in part], **columns})))
    out.append(graph.finish())
    return tuple(out.rows()), tuple(out.support), graph.late


def test_features_do_not_depend_on_the_cut(stream: list[Row]) -> None:
    whole = feature(stream, 1)
    assert len(whole[0]) > 100 and whole[2] == 0
    for pieces in (2, 7, 100, len(stream)):
        assert feature(stream, pieces) == whole


def test_a_recording_gives_the_same_again(stream: list[Row], tmp_path: Path) -> None:
    found = []
    with EventLog(tmp_path / "a", catalog(), max_age_s=1e9) as log:
        for row in stream:
            log.append(row["event"], "", row["contents"], ts=row["ts"])
        assert record(log, tmp_path / "events.jsonl") == len(stream)
        with replay_into(tmp_path / "events.jsonl", tmp_path / "b") as again:
            for each in (log, again):
                found.append(a_set().replay(each))
            record(again, tmp_path / "again.jsonl")
    assert found[0] == found[1] and len(found[0]) > 10
    assert (tmp_path / "events.jsonl").read_bytes() == (tmp_path / "again.jsonl").read_bytes()
