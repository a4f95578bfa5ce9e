"""The newest events of a full journal, and graphs over the events of a page, natively and from Python.

pytest bench/stream/test_graph_bench.py -s
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from walle_rt import _core
from walle_rt.stream import Batch, Catalog, ColumnType, EventKind, Graph, aggregate
from walle_rt.stream._log import EventLog
from walle_rt.stream._query import EventQuery

T0 = 1_700_000_000_000_000
EVENTS = 30_000


def best_us(run: Callable[[], object], rounds: int) -> float:
    """The least time of a call, in microseconds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best * 1e6


def filled(folder: Path) -> EventLog:
    """A journal of many short page visits, none of it in segments."""
    item = {"item": ColumnType.INT}
    catalog = Catalog().declare("page_scroll", EventKind.PAGE_SCROLL, {"depth": ColumnType.FLOAT})
    catalog.declare("exposure", EventKind.EXPOSURE, item).declare("click", EventKind.CLICK, item)
    log = EventLog(folder, catalog.page("item"), recorded_times=True, journal_bytes=16 << 20)
    for i in range(EVENTS // 20):
        at = T0 + i * 20_000_000
        log.append("page_enter", "item", ts=at)
        for k in range(1, 19):
            log.append("exposure", "item", {"item": k % 7}, ts=at + k * 1_000_000)
        log.append("page_exit", "item", ts=at + 19_000_000)
    return log


def test_newest_events_of_a_full_journal(tmp_path: Path) -> None:
    with filled(tmp_path) as log:
        last = EVENTS
        match = EventQuery(from_ts=T0 + (EVENTS // 20 - 1) * 20_000_000, to_seq=last)

        def ask(where: EventQuery) -> int:
            return len(_core.stream.TracedBatch.of_log(log._core, ["item"], where._asked(), -1))

        page = EventQuery(page_instance=last - 19)
        assert ask(match) == ask(page) == 20
        everything = best_us(lambda: ask(EventQuery()), 5)
        by_match, by_page = best_us(lambda: ask(match), 200), best_us(lambda: ask(page), 200)
        graph = Graph().ipv().select("ipv")
        data = graph.to_bytes()
        rows = Batch.of_log(log, graph.fields, where=page)._native()

        def run() -> int:
            return len(_core.stream.Graph.from_bytes(data, None, {}).run(rows))

        assert run() == 1
        made = best_us(run, 200)
        sums = Graph().key_by("item").reduce(aggregate("count"), aggregate("mean", "item")).to_bytes()
        reduced = best_us(lambda: _core.stream.Graph.from_bytes(sums, None, {}).run(rows), 200)
        print(
            f"\njournal of {EVENTS} events, 20 newest as rows: by match {by_match:.0f} us, by page instance "
            f"{by_page:.0f} us; reading all of it {everything:.0f} us\n"
            f"graph from its bytes over 20 rows: page feature {made:.0f} us, reduce by key {reduced:.0f} us"
        )
        assert by_match < everything / 20 and by_page < everything / 20
