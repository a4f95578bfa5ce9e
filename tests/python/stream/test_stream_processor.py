"""The processor: firings that wait for their task, over restarts, kills and replacements."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from walle_rt.errors import ArgumentError
from walle_rt.stream import Catalog, ColumnType
from walle_rt.stream._log import EventLog
from walle_rt.stream._processor import Past, Processor, WhenFull
from walle_rt.stream._triggers import TriggerSet

START = 1_700_000_000_000_000
SECOND = 1_000_000


def catalog() -> Catalog:
    fields = {"item": ColumnType.INT, "price": ColumnType.FLOAT}
    return Catalog().declare("view", fields=fields).declare("buy", fields=fields).page("shop").state("wifi")


def opened(path: Path, **options: object) -> Processor:
    return Processor(path, catalog(), recorded_times=True, max_age_s=1e9, **options)  # type: ignore[arg-type]


def numbers(p: Processor, task: str) -> list[int]:
    out = []
    while (f := p.take(task)) is not None:
        out.append(f.number)
        p.settle(task, f.number)
    return out


def test_a_firing_names_all_that_a_task_asks_for(tmp_path: Path) -> None:
    with opened(tmp_path) as p:
        p.install("offers", {"bought": "view ~ buy within 10m scope session", "seen": "view"})
        first = p.record("view", "shop", {"item": 7}, ts=START)
        last = p.record("buy", "shop", {"item": 7, "price": 1.5}, ts=START + SECOND)
        seen, bought = p.take("offers"), p.take("offers")
        assert seen is not None and bought is not None
        assert (seen.trigger, seen.number, seen.seq, seen.installed) == ("seen", 1, first, True)
        assert (bought.trigger, bought.number, bought.seq, bought.start_ts) == ("bought", 2, last, START)
        assert bought.session == first and bought.ts == START + SECOND and bought.task == "offers"
        assert p.take("offers") is None and p.take("nobody") is None
        stats = p.stats("offers")
        assert stats.in_flight == 2 and stats.newest == 2 and stats.trigger_stats["seen"].fired == 1
        assert list(stats.triggers) == ["bought", "seen"]
        p.settle("offers", 2)
        assert p.stats("offers").in_flight == 0
        assert [e.event for e in p.read()] == ["view", "buy"]


def test_what_is_not_settled_comes_again_after_a_restart(tmp_path: Path) -> None:
    with opened(tmp_path) as p:
        p.install("a", {"t": "view"})
        for i in range(5):
            p.record("view", ts=START + i)
        firing = p.take("a")
        assert firing is not None
        p.settle("a", 1)
    with opened(tmp_path, settled={"a": 3}) as p:
        assert (p.report.replayed, p.report.firings, p.report.missed) == (5, 5, 0)
        again = p.take("a")
        assert again is not None and again.number == 4
        p.checkpoint()
    with opened(tmp_path) as p:
        assert p.report.replayed == 0
        assert numbers(p, "a") == [4, 5]


@pytest.mark.parametrize(
    ("policy", "left", "dropped", "coalesced"),
    [
        (WhenFull.COALESCE, [5, 6], 0, 4),
        (WhenFull.DROP_OLDEST, [5, 6], 4, 0),
        (WhenFull.DROP_NEW, [1, 2], 4, 0),
    ],
)
def test_full_queues(tmp_path: Path, policy: WhenFull, left: list[int], dropped: int, coalesced: int) -> None:
    with opened(tmp_path) as p:
        p.install("a", {"v": "view", "b": "buy"}, queue=2, when_full=policy)
        for i in range(3):
            p.record("view", ts=START + i)
            p.record("buy", ts=START + i)
        stats = p.stats("a")
        assert (stats.dropped, stats.coalesced, stats.when_full) == (dropped, coalesced, policy)
        assert numbers(p, "a") == left


def test_time_passes_in_the_log_and_sessions_end_all_the_same(tmp_path: Path) -> None:
    with opened(tmp_path) as p:
        p.install("a", {"left": "view !~ buy for 10s", "tick": "every 10m"})
        p.record("view", ts=START)
        assert p.next_deadline == START + 10 * SECOND + 1
        p.advance(START + 10 * SECOND)
        assert p.last_seq == 1, "nothing is due: a deadline is strict"
        p.advance(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=START + 10 * SECOND + 1))
        assert p.last_seq == 2
        for minutes in (10, 20, 30):
            p.advance(START + minutes * 60 * SECOND)
        later = p.record("view", ts=START + 31 * 60 * SECOND)
        events = list(p.read())
        assert [e.event for e in events][1:-1] == ["timer"] * (later - 2)
        assert events[-1].session == later
        fired = p.stats("a").newest
    with opened(tmp_path) as p:
        assert p.stats("a").newest == fired
        assert numbers(p, "a") == list(range(1, fired + 1))


def test_replacing_keeps_what_is_under_way_where_the_text_is_the_same(tmp_path: Path) -> None:
    with opened(tmp_path) as p:
        p.install("a", {"kept": "view ~ buy", "changed": "view ~ buy within 1h"})
        p.install("b", {"other": "view ~ buy"})
        p.record("view", ts=START)
        p.install("a", {"changed": "view ~ buy within 2h", "kept": "view  ~  buy"})
        p.record("buy", ts=START + 1)
        first, other = p.take("a"), p.take("b")
        assert first is not None and first.trigger == "kept" and p.take("a") is None
        assert other is not None and other.key != first.key
        p.remove("a")
        assert p.tasks == ["b"]
        p.install("a", {"kept": "view"})
        p.record("view", ts=START + 2)
        assert numbers(p, "a") == [2], "numbers go on"


def test_the_past_of_a_new_trigger(tmp_path: Path) -> None:
    with opened(tmp_path) as p:
        for i, name in enumerate(["view", "buy", "view"]):
            p.record(name, ts=START + i)
        for past in Past:
            p.install(past.name.lower(), {"t": "view ~ buy"}, past=past)
        assert {past: numbers(p, past.name.lower()) for past in Past} == {
            Past.IGNORED: [],
            Past.WARMED: [],
            Past.DELIVERED: [1],
        }
        p.record("buy", ts=START + 3)
        assert {past: numbers(p, past.name.lower()) for past in Past} == {
            Past.IGNORED: [],
            Past.WARMED: [1],
            Past.DELIVERED: [2],
        }


def test_a_set_replays_for_one_trigger(tmp_path: Path) -> None:
    with EventLog(tmp_path, catalog(), recorded_times=True, max_age_s=1e9) as log:
        for i in range(6):
            log.append("buy" if i % 3 == 2 else "view", ts=START + i)
        both = TriggerSet(log.catalog)
        both.add("old", "view ~ buy")
        old = both.replay(log)
        assert [f.seq for f in both.add("new", "view ~ buy", replay=log)] == [3, 6]
        assert [f.seq for f in old] == [3, 6]
        log.append("view", ts=START + 9)
        log.append("buy", ts=START + 9)
        fired = both.replay(log, 7)
        assert [(f.trigger, f.seq) for f in fired] == [("old", 8), ("new", 8)]
        assert len({f.idempotency for f in fired}) == 2, "of one text, and each for itself"


def test_mistakes(tmp_path: Path) -> None:
    p = opened(tmp_path)
    p.install("a", {"t": "view"})
    for bad in (
        lambda: p.install("", {"t": "view"}),
        lambda: p.install("a", {"t": "nothing_declared"}),
        lambda: p.install("a", {"t": "view"}, queue=0),
        lambda: p.install("a", {f"t{i}": "view" for i in range(300)}),
        lambda: p.remove("b"),
        lambda: p.stats("b"),
        lambda: p.record("unknown"),
        lambda: p.record("view", ts=5),
        lambda: p.acknowledge_loss(),
    ):
        with pytest.raises(ArgumentError) as error:
            bad()
        assert error.value.next_step
    assert p.tasks == ["a"] and not p.report.lost
    p.close()
    with pytest.raises(ArgumentError, match="closed"):
        p.record("view")
    with pytest.raises(ArgumentError, match="maintenance"):
        Processor(tmp_path, catalog(), maintenance="both")  # type: ignore[arg-type]


def test_a_lost_state_is_told_until_acknowledged(tmp_path: Path) -> None:
    with opened(tmp_path) as p:
        p.install("a", {"t": "view"})
        p.record("view", ts=START)
    for name in ("processor.wals", "processor.wals.mirror"):
        (tmp_path / name).write_bytes(b"damaged")
    for _ in range(2):
        with opened(tmp_path) as p:
            assert p.report.lost and p.tasks == []
    with opened(tmp_path, settled={"a": 1}) as p:
        p.acknowledge_loss()
        p.install("a", {"t": "view"}, past=Past.DELIVERED)
        assert numbers(p, "a") == [2]
    with opened(tmp_path) as p:
        assert not p.report.lost


def test_threads_share_one(tmp_path: Path) -> None:
    count = 2000
    with opened(tmp_path) as p:
        p.install("a", {"t": "view"}, queue=65536)
        threads = [
            threading.Thread(target=lambda: [p.record("view", ts=START) for _ in range(count)]),
            threading.Thread(target=lambda: [p.checkpoint() for _ in range(5)]),
            threading.Thread(target=lambda: [p.install("b", {"t": t}) for t in ("view", "buy") * 3]),
        ]
        for t in threads:
            t.start()
        got = []
        while any(t.is_alive() for t in threads) or p.stats("a").waiting:
            got += numbers(p, "a")
        assert got == list(range(1, count + 1))


def test_a_key_seals_the_state(tmp_path: Path) -> None:
    key = bytes(range(32))
    with opened(tmp_path, key=key) as p:
        p.install("a", {"canary": "view[item == 4242]"})
        p.record("view", "", {"item": 4242}, ts=START)
        p.checkpoint()
    assert b"canary" not in (tmp_path / "processor.wals").read_bytes()
    with opened(tmp_path, key=key) as p:
        assert numbers(p, "a") == [1]


def test_kill9() -> None:
    from tests.fault.processor_kill9 import run

    found = run(20, seed=5)
    assert found["kills"] == 20 and found["firings"] > 100
