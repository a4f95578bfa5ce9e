"""What the reference of the trigger language says of edges, boundaries and order, one sentence a test."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from walle_rt.errors import ArgumentError
from walle_rt.stream import (
    Catalog,
    ColumnType,
    EventKind,
    Graph,
    Step,
    Trigger,
    all_of,
    counted,
    distinct,
    event,
    explain,
    summed,
)
from walle_rt.stream._ipv import IpvEncoder
from walle_rt.stream._log import EventLog
from walle_rt.stream._triggers import Firing, TriggerSet

S = 1_000_000
MINUTE = 60 * S
T0 = 1_700_000_000 * S


def world() -> Catalog:
    fields = {"item": ColumnType.INT, "price": ColumnType.FLOAT, "who": ColumnType.TEXT}
    catalog = Catalog().declare("click", EventKind.CLICK, fields)
    for name in ("a", "b", "c", "view"):
        catalog.declare(name, fields=fields)
    return catalog.page("p").state("wifi")


class Stream:
    """Events one after another, at seconds from T0."""

    def __init__(self, *triggers: str, **options: Any) -> None:
        self.set = TriggerSet(world(), **options)
        for i, text in enumerate(triggers):
            self.set.add(f"t{i}", text)
        self.seq = 0
        self.found: list[Firing] = []

    def __call__(
        self, name: str, at: float, *, session: int = 1, page: int = 0, **contents: Any
    ) -> list[Firing]:
        self.seq += 1
        ts = T0 + int(at * S)
        fired = self.set.step(name, "", contents, ts=ts, seq=self.seq, session=session, page_instance=page)
        self.found += fired
        return fired

    def until(self, at: float) -> list[Firing]:
        fired = self.set.advance(T0 + int(at * S))
        self.found += fired
        return fired

    def times(self) -> list[float]:
        return [(f.ts - T0) / S for f in self.found]


def test_after_a_trailing_absence_matches_start_behind_its_deadline() -> None:
    s = Stream("a ~ b !~ c for 10s")
    s("a", 0)
    s("b", 1)
    s("a", 5)  # starts while the absence waits: part of it
    s("b", 12)  # behind the deadline at 11, but its a is not
    s.until(40)
    assert s.times() == [11]
    s("a", 50)
    s("b", 51)
    s.until(70)
    assert s.times() == [11, 61]


def test_each_session_waits_for_itself() -> None:
    s = Stream("a !~ c for 10s scope session")
    s("a", 0, session=1)
    s("a", 2, session=2)
    s("c", 4, session=2)  # breaks the second session's wait, not the first one's
    s.until(30)
    assert s.times() == [10]


def test_an_absence_tells_the_last_event_before_its_deadline() -> None:
    s = Stream("a !~ c for 10s")
    s("a", 0)
    s("b", 3)
    s("view", 20)
    (firing,) = s.found
    assert (firing.seq, firing.ts, firing.start_ts) == (2, T0 + 10 * S, T0)


def test_skip_past_is_per_key_and_once_per_trigger() -> None:
    both = Stream("a ~ b scope by(item)", "a ~ b scope by(item) once", "a ~ b scope by(item) once per item")
    for at, name, item in [
        (0, "a", 1),
        (1, "a", 2),
        (2, "b", 1),
        (3, "b", 2),
        (4, "b", 1),
        (5, "a", 1),
        (6, "b", 1),
    ]:
        both(name, at, item=item)
    by_trigger = {name: [f.seq for f in both.found if f.trigger == name] for name in ("t0", "t1", "t2")}
    assert by_trigger == {"t0": [3, 4, 7], "t1": [3], "t2": [3, 4]}


@pytest.mark.parametrize(
    "limit", ["cooldown 10s", "rate 1 per 10s", "cooldown 10s per item", "rate 1 per 10s per item"]
)
def test_a_limit_lets_through_what_comes_exactly_at_its_end(limit: str) -> None:
    s = Stream(f"a {limit}")
    for at in (0, 9.999999, 10, 19.999999, 20.000001):
        s("a", at, item=1)
    assert s.times() == [0, 10, 20.000001]


def test_a_session_lasts_through_exactly_its_gap(tmp_path: Path) -> None:
    with EventLog(tmp_path, world()) as log:
        log.append("a", ts=T0)
        log.append("a", ts=T0 + 30 * MINUTE)
        log.append("a", ts=T0 + 60 * MINUTE + 1)
        assert [e.session for e in log.read()] == [1, 1, 3]


def test_the_end_of_a_session_closes_its_pages(tmp_path: Path) -> None:
    with EventLog(tmp_path, world()) as log:
        log.append("page_enter", "p", ts=T0)
        log.append("a", "p", ts=T0 + S)
        log.append("a", "p", ts=T0 + 2 * 60 * MINUTE)
        log.append("page_exit", "p", ts=T0 + 2 * 60 * MINUTE + S)
        assert [e.page_instance for e in log.read()] == [1, 1, 0, 0]


def test_firings_of_one_event_come_in_the_order_of_adding() -> None:
    texts = ["a", "* ~ a", "a scope by(item)", "b ~ a", "a scope session", "a[item == 1]", "view > a"]
    for order in (texts, texts[::-1], texts[3:] + texts[:3]):
        s = Stream(*order)
        s("b", 0, item=1)
        s("view", 1, item=1)
        assert [f.trigger for f in s("a", 2, item=1)] == [f"t{i}" for i in range(len(texts))]


def test_order_of_adding_survives_numbers_that_are_given_out_again() -> None:
    s = Stream("a", "b", "a")
    s.set.remove("t0")
    s.set.add("late", "a")
    assert [f.trigger for f in s("a", 0)] == ["t2", "late"]
    s.set.add("waits", "b !~ c for 5s")
    s.set.remove("t2")
    s.set.add("later", "b !~ c for 5s")
    s("b", 1)
    assert [f.trigger for f in s.until(20)] == ["waits", "later"]


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("a[item = 1]", "'=='"),
        ("a[item == 1 && item == 2]", "write 'and'"),
        ("a[item == 1 || item == 2]", "write 'or'"),
        ("a[!(item == 1)]", "write 'not'"),
        ("a when wifi && wifi", "write and"),
        ("a when !wifi", "write not"),
    ],
)
def test_there_is_one_spelling_of_each_operator(text: str, instead: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        Trigger(text)
    assert instead in str(raised.value)


REFUSED = [
    ("a ~(7d..) b", "write a ~>(7d..) b"),
    ("a ~ b[price < $a.price]", "behind '>' or '~>'"),
    ("a[price < $b.price]", "behind '>' or '~>'"),
    ("a ~ b ~> c[price < $a.price]", "step directly before"),
    ("a ~> b[price < $a.who]", "a number"),
    ("a ~> b[price < $a.price] ~> c", "compare once"),
    ("a ~> all(b, c)", "none is the newest"),
    ("sum(price) > 10 within 1h", "keep 256"),
    ("sum(who) > 1", "distinct(who)"),
    ("sum(height) > 1", "a declared field"),
    ("count(a) > 0.5", "a whole number"),
    ("count(a) < 3", "a !~ b for 1h"),
    ("count(a) > 5000", "from 1 to 4095"),
    ("mean(price) > 3", "avg(price)"),
    ("max(price) > 3 within 1h", "keep 256"),
    ("every 1h once per item", "which no event gives it"),
    ("all(a)", "both, in any order"),
    ("all(a, b, c, a, b)", "at most 4"),
    ("all(a, b, c, a) ~ all(a, b, c, a)", "more than 64 chains"),
    ("a !~ b for 1h or c", "a trigger of its own"),
    ("a or b !~ c for 1h", "a trigger of its own"),
    ("a during", "18:00-22:00"),
    ("a during mon 18:00-18:00", "not the beginning"),
    ("a during 18:00-25:00", "a time of day"),
    ("a once per item keep 0", "1 to 65534"),
    ("a scope by(page)", "a field name"),
    ("a ~>(7d..1d) b", "the shorter time first"),
    ("a ~>(7d..) b within 1d", "later than its gap or window"),
    ("a[who + 1 > 2]", "a number"),
    ("a[item + 1]", "compare the number"),
    ("a[who contains item]", "a quoted text"),
]


@pytest.mark.parametrize(("text", "part"), REFUSED)
def test_what_has_no_exact_answer_is_refused_with_a_remedy(text: str, part: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        TriggerSet(world()).add("it", text)
    assert part in str(raised.value)
    assert raised.value.next_step


def test_a_filter_compares_with_no_step() -> None:
    with pytest.raises(ArgumentError, match="step before"):
        Graph().filter("price < $a.price")


def test_local_time_follows_daylight_saving() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    days = TriggerSet(world(), zone="Europe/Berlin")
    days.add("daily", "daily 02:30")
    days.step("a", ts=int(datetime(2024, 3, 29, 12, tzinfo=berlin).timestamp()) * S)
    fired = []
    for day in range(30, 33):  # over the change of March 31st, an hour at a time
        for hour in range(24):
            at = datetime(2024, 3, 30, tzinfo=berlin).timestamp() + ((day - 30) * 24 + hour) * 3600
            fired += [f.ts for f in days.advance(int(at) * S)]
    local = [datetime.fromtimestamp(ts / S, berlin) for ts in fired]
    # 02:30 of the 31st is skipped: it is due when the clock shows 03:00.
    assert [(t.day, t.hour, t.minute) for t in local] == [(30, 2, 30), (31, 3, 0), (1, 2, 30)]


def test_a_time_that_comes_twice_is_the_first_of_the_two() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    days = TriggerSet(world(), zone="Europe/Berlin")
    days.add("daily", "daily 02:30")
    start = int(datetime(2024, 10, 26, 12, tzinfo=berlin).timestamp())
    days.step("a", ts=start * S)
    fired = [f.ts for hour in range(40) for f in days.advance((start + hour * 3600) * S)]
    assert fired == [int(datetime(2024, 10, 27, 0, 30, tzinfo=ZoneInfo("UTC")).timestamp()) * S]


def test_no_such_zone() -> None:
    with pytest.raises(ArgumentError, match="Europe/Berlin"):
        TriggerSet(world(), zone="Mars/Olympus")


def test_days_of_a_span_past_midnight_are_those_on_which_it_begins() -> None:
    friday = int(datetime(2024, 1, 5, tzinfo=ZoneInfo("UTC")).timestamp())
    s = TriggerSet(world())
    s.add("party", "a during fri 22:00-02:00")
    hours = [1, 21, 22, 25, 26, 46]
    fired = [h for h in hours if s.step("a", ts=(friday + h * 3600) * S)]
    assert fired == [22, 25]


def test_an_event_without_the_fields_belongs_to_every_key_of_its_page() -> None:
    s = Stream("view !click ~ page_exit scope by(item, page)")
    for item in (1, 2, 3):
        s("view", item, item=item, page=7)
    s("view", 4, item=1, page=9)
    s("click", 5, item=2, page=7)
    fired = s("page_exit", 6, page=7)
    assert sorted(f.start_ts for f in fired) == [T0 + 1 * S, T0 + 3 * S]
    assert len({f.idempotency for f in fired}) == 2
    assert not s("page_exit", 7, page=7)


def test_a_limit_that_forgets_says_so() -> None:
    s = Stream("a once per item keep 4")
    for at, item in enumerate((1, 2, 3, 4, 5, 1)):
        s("a", at, item=item)
    assert len(s.found) == 6  # item 1 had to be forgotten for item 5
    assert s.set.stats["evicted_limits"] == 2


def test_a_sum_that_forgets_says_so() -> None:
    s = Stream("sum(price of a) > 100 keep 3 within 1m")
    for at in range(5):
        s("a", at, price=1)
    assert s.set.stats["evicted_limits"] == 2


def test_steps_build_what_the_text_says() -> None:
    a, b = event("a"), event("b", where="price < $a.price")
    built = [
        (Trigger(a.newest(b, gap="7d.."), scope="by(item)"), "a ~>(7d..) b[price < $a.price] scope by(item)"),
        (Trigger(event("b").without(a, for_="10m"), once="per item"), "!a ~(10m) b once per item"),
        (Trigger(all_of(a, event("b")), during="fri"), "all(a, b) during fri"),
        (Trigger(a.or_else(event("b"))), "a or b"),
        (Trigger(counted(a | event("b"), 3), within="1h"), "count((a | b)) >= 3 within 1h"),
        (Trigger(distinct("item", 5, of=a)), "distinct(item of a) >= 5"),
        (Trigger(summed("price", 99.5, keep=20), within="1h"), "sum(price) > 99.5 keep 20 within 1h"),
    ]
    for trigger, text in built:
        assert trigger == Trigger(text)
    assert isinstance(a.newest(b), Step)


def test_explain_shows_the_new_edges() -> None:
    text = explain({"back": "a ~>(7d..) a scope by(item, page)", "first": "!b ~(10m) a"}, world())
    assert "scope by item page" in text
    assert "~> (604800000000..us) a" in text
    assert "!b ~ (600000000us) a" in text


def test_the_332_floats_mean_what_the_reference_says(tmp_path: Path) -> None:
    catalog = (
        Catalog()
        .declare("page_scroll", EventKind.PAGE_SCROLL, {"depth": ColumnType.FLOAT})
        .declare("exposure", EventKind.EXPOSURE, {"item": ColumnType.INT})
        .declare("click", EventKind.CLICK, {"item": ColumnType.INT})
        .page("p")
    )
    with EventLog(tmp_path, catalog) as log:
        page: list[tuple[str, int, dict[str, float]]] = [
            ("page_enter", 0, {}),
            ("page_scroll", 1, {"depth": 0.5}),
            ("exposure", 2, {"item": 9}),
            ("exposure", 3, {"item": 4}),
            ("page_scroll", 4, {"depth": 0.2}),
            ("exposure", 5, {"item": 9}),
            ("page_scroll", 6, {"depth": 0.8}),
            ("click", 16, {"item": 4}),
            ("page_exit", 64, {}),
        ]
        for name, at, contents in page:
            log.append(name, "p", contents, ts=T0 + at * S)
        feature = IpvEncoder.seeded()(log, 1).feature
    depths = np.array([0.5, 0.2, 0.8])
    head = [64, 3, 3, 1, 0.8, depths.mean(), depths.var(), 2, 2, 1 / 3, 16, 1 / 64]
    np.testing.assert_allclose(feature[:12], head, rtol=1e-6)
    # Of 64 s in 64 bins: second n lies in bin n - 1 or n, the last one in the last.
    scrolls, exposures, clicks, deepest = feature[12:268].reshape(4, 64)
    assert [scrolls.sum(), exposures.sum(), clicks.sum()] == [3, 3, 1]
    assert scrolls[:2].sum() == 1
    assert clicks[15:17].sum() == 1
    np.testing.assert_allclose(sorted(deepest[deepest > 0]), [0.2, 0.5, 0.8], rtol=1e-6)
    # Item 9 was shown twice, item 4 once and clicked.
    assert feature[268:272].tolist() == [2, 0, 1, 1]
    assert not feature[272:].any()


def test_the_sentences_that_a_second_evaluator_needs() -> None:
    anywhere = Stream("a@*")
    anywhere("a", 0)  # on no page
    assert anywhere.times() == [0]
    first = Stream("!a ~ a every")
    first("a", 0)  # does not come before itself
    first("a", 1)
    assert first.times() == [0]
    newest = Stream("view[item == 1] ~> c every")
    newest("view", 0, item=1)
    newest("view", 1, item=2)  # no other view[item == 1]
    newest("c", 2)
    assert newest.times() == [2]
    timer = Stream("every 1s")
    timer("a", 0)  # the very first event fires no timer
    assert timer.times() == []
    timer.until(1.5)
    assert timer.times() == [1]


def test_a_window_in_front_of_or_is_that_patterns_own() -> None:
    s = Stream("a ~ b within 5s or a ~ c within 10s", "a ~ b within 5s or a ~ c")
    s("a", 0)
    s("b", 6)
    s("c", 8)
    assert s.times() == [8, 8]
    s("a", 20)
    s("c", 31)
    assert s.times() == [8, 8, 31]


def test_gap_leaves_an_edge_that_is_open_upwards_alone() -> None:
    s = Stream("a ~>(7s..) b ~ c gap 2s")
    s("a", 0)
    s("b", 60)
    s("c", 61)
    assert s.times() == [61]


def test_means_least_and_greatest_values() -> None:
    s = Stream("avg(price of c) > 3 every", "min(price) < 2 every", "max(price of c) >= 6 keep 8 within 9s")
    for at, price in enumerate([2.0, 3.0, 6.0, 1.0]):
        s("c", at, price=price)
    assert s.times() == [2, 2, 3], "mean 11/3 and greatest 6 at 2, least 1 at 3; the mean is 3 then"
