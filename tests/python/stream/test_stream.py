"""The event log, triggers and the IPV feature from Python."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from places import DATA

from walle_rt.errors import ArgumentError, ModelError, ResourceError
from walle_rt.stream import Catalog, ColumnType, EventKind, Trigger, event, explain
from walle_rt.stream._ipv import IpvEncoder
from walle_rt.stream._log import EventLog
from walle_rt.stream._record import record, replay_into
from walle_rt.stream._triggers import TriggerSet, catalog_of

T0 = 1_700_000_000_000_000


def shop() -> Catalog:
    return (
        Catalog()
        .declare("page_scroll", EventKind.PAGE_SCROLL, {"depth": ColumnType.FLOAT})
        .declare("exposure", EventKind.EXPOSURE, {"item": ColumnType.INT})
        .declare(
            "click",
            EventKind.CLICK,
            {"item": ColumnType.INT, "price": ColumnType.FLOAT, "brand": ColumnType.TEXT},
        )
        .declare("buy", fields={"item": ColumnType.INT})
        .page("home", "item")
        .state("wifi", "charging")
    )


def test_log_keeps_what_was_appended(tmp_path: Path) -> None:
    with EventLog(tmp_path, shop()) as log:
        log.append("page_enter", "home", ts=T0)
        log.append("click", "home", {"item": 7, "price": 2, "brand": "é"}, ts=T0 + 5)
        log.compact()
        log.append("page_exit", "home", ts=T0 + 3)
        with pytest.raises(ResourceError, match="already open"):
            EventLog(tmp_path, shop())
    with EventLog(tmp_path) as log:
        events = list(log.read())
        assert [e.event for e in events] == ["page_enter", "click", "page_exit"]
        assert events[1].contents == {"item": 7, "price": 2.0, "brand": "é"}
        assert events[1].page_instance == 1
        assert events[2].ts == T0 + 5
        assert log.report.lost == 0


@pytest.mark.parametrize(
    ("given", "part"),
    [
        (("nothing", "", None), "event 'nothing'"),
        (("click", "nowhere", None), "page 'nowhere'"),
        (("click", "home", {"colour": 1}), "field 'colour'"),
        (("click", "home", {"item": "seven"}), "type text for field 'item'"),
        (("click", "home", {"brand": "x" * 20_000}), "at most 16384"),
        (("click", "home", {"price": float("nan")}), "finite"),
    ],
)
def test_log_refuses(tmp_path: Path, given: tuple[str, str, dict[str, object] | None], part: str) -> None:
    with EventLog(tmp_path, shop()) as log:
        with pytest.raises(ArgumentError, match=part):
            log.append(*given)  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="ahead of the device's clock"):
            log.append("click", "home", ts=T0 * 2)
        assert log.last_seq == 0


MISTAKES = [
    ("", "end of the trigger"),
    ("a >", "end of the trigger"),
    ("> a", "an event name"),
    ("a b", "a clause"),
    ("a >> b", "an event name"),
    ("a ~ ~ b", "an event name"),
    ("a !b c", "'~' after the guard"),
    ("a !b", "'~' after the guard"),
    ("a !~ b", "'for' and a duration"),
    ("a !~ b for", "duration"),
    ("a !~ b for 10", "us, ms, s, m, h or d"),
    ("a{0}", "count from 1 to 16"),
    ("a{17}", "count from 1 to 16"),
    ("a{x}", "count from 1 to 16"),
    ("a{2", "'}'"),
    ("(a | b", "')'"),
    ("(a b)", "')'"),
    ("()", "an event name"),
    ("a@", "a page name"),
    ("a@@b", "a page name"),
    ("a[", "a field name"),
    ("a[x >]", "a number"),
    ("a[x > 1", "']'"),
    ("a[x = = 1]", "'=='"),
    ("a[x in 1]", "'('"),
    ("a[(x > 1]", "')'"),
    ("a[x > 1e999]", "finite number"),
    ("a[x > ]", "quoted text"),
    ("a[x + > 1]", "a number"),
    ("a[(x + 1]", "a comparison"),
    ("a[((x + 1) * 2 > 3]", "')'"),
    ("a ~> ~ b", "an event name"),
    ("count(a)", ">, >= or == and a number"),
    ("sum(x)", ">, >=, < or <= and a number"),
    ("!a b", "'~'"),
    ("a or", "the end of the trigger"),
    ("a during mon-", "days or a span of the day"),
    ("a once per", "a field name"),
    ('a["x]', "closing quote"),
    ("a within", "duration"),
    ("a within 10", "us, ms, s, m, h or d"),
    ("a within -5s", "duration"),
    ("a within 400d", "366d"),
    ("a within 5s within 6s", "each clause once"),
    ("a scope galaxy", "device, session, page or by"),
    ("a scope by()", "a field name"),
    ("a every skip_past", "choose one"),
    ("a rate 0 per 1h", "1 to 64"),
    ("a rate 3", "'per'"),
    ("a when", "name of a state"),
    ("daily 25:00", "time of day"),
    ("a ; b", "unknown character"),
    ("a $ b", "an edge"),
    ("a ~> b[x > $a]", "an event and its field"),
    ("within ~ b", "word of the language"),
    (" > ".join("a" * 20), "at most 16"),
]


@pytest.mark.parametrize(("text", "part"), MISTAKES)
def test_trigger_mistakes_name_their_place(text: str, part: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        Trigger(text)
    assert part in str(raised.value)
    assert "column" in raised.value.where
    assert raised.value.next_step


@pytest.mark.parametrize(
    "before", ["", "view ~ ", 'view[name == "' + "\u00e9" * 90 + '"] ~ ', "view ~\n  buy ~ "]
)
@pytest.mark.parametrize("behind", ["", " ~ view" * 20, " # " + "\u20ac" * 90])
def test_the_mark_stands_under_the_mistake(before: str, behind: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        Trigger(before + "$" + behind)
    line = before.split("\n")[-1]
    head, shown, mark = raised.value.where.split("\n")
    assert head == f"line {before.count(chr(10)) + 1}, column {len(line) + 1}:"
    assert shown[mark.index("^")] == "$"
    assert mark.strip() == "^"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("nothing", "event 'nothing'"),
        ("click@nowhere", "page 'nowhere'"),
        ("click[colour > 1]", "does not declare"),
        ('click[item == "x"]', "compared with"),
        ("click ~ buy when sun", "state 'sun'"),
        ("click ~ buy scope by(sun)", "scope by"),
        ("click? ~ buy?", "optional steps alone"),
        ("click !buy ~ buy", "unreachable"),
        ("click@home ~ buy@item scope page", "unreachable"),
        ("click !~ buy for 1s every", "trailing absence"),
        ("every 5s within 3s", "a timer with"),
        ("click{9} ~ buy{9}", "18 steps"),
        ("click when wifi and not wifi", "both on and off"),
    ],
)
def test_triggers_that_cannot_fire_are_refused(text: str, part: str) -> None:
    with pytest.raises(ArgumentError, match=part):
        TriggerSet(shop()).add("t", text)
    with pytest.raises(ArgumentError, match=part):
        Trigger(text).check(shop())


def test_builder_and_text_agree() -> None:
    built = Trigger(
        event("click", "home", "price > 10").later(event("buy"), unless=event("page_exit"), gap="5m"),
        within="10m",
        cooldown="1h",
    )
    assert built == Trigger("click@home[price > 10] !page_exit ~(5m) buy within 10m cooldown 1h")


def test_set_matches_and_survives_a_snapshot() -> None:
    triggers = TriggerSet(shop())
    triggers.add("abandoned", "click !~ buy for 10s")
    triggers.add("pair", Trigger("click[price > 10] ~ buy within 1m"))
    assert triggers.step("click", "item", {"price": 20.0, "item": 1}, ts=T0, seq=1) == []
    other = TriggerSet(shop())
    for name, t in reversed(triggers.triggers.items()):
        other.add(name, t)
    assert other.restore(triggers.snapshot()) == 0
    for s in (triggers, other):
        fired = s.step("buy", "item", {"item": 1}, ts=T0 + 5_000_000, seq=2)
        assert [(f.trigger, f.ts, f.start_ts) for f in fired] == [("pair", T0 + 5_000_000, T0)]
        assert s.advance(T0 + 60_000_000) == []
    with pytest.raises(ModelError, match="snapshot"):
        other.restore(b"nonsense")


def test_set_refuses_what_the_log_would_have_mended(tmp_path: Path) -> None:
    triggers = TriggerSet(shop())
    triggers.add("two", "click ~ click")
    triggers.step("click", "item", ts=T0, seq=1)
    with pytest.raises(ArgumentError, match="order of time"):
        triggers.step("click", "item", ts=T0 - 1, seq=2)
    for name, page, contents, said in (
        ("clack", "item", None, "event 'clack'"),
        ("click", "nowhere", None, "page 'nowhere'"),
        ("click", "item", {"colour": 1}, "field 'colour'"),
        ("click", "item", {"price": "dear"}, "type text for field 'price'"),
    ):
        with pytest.raises(ArgumentError, match=said):
            triggers.step(name, page, contents, ts=T0 + 1, seq=2)
    with EventLog(tmp_path, shop()) as log:
        log.append("click", "item", ts=T0 - 5)
        with pytest.raises(ArgumentError, match="order of time"):
            triggers.replay(log)
    assert [f.seq for f in triggers.step("click", "item", ts=T0, seq=2)] == [2]


def test_explain_shares_prefixes() -> None:
    texts = {"a": Trigger("x ~ y ~ z"), "b": Trigger("x ~ y > w"), "c": Trigger("every 5m")}
    shown = explain(texts, catalog_of(texts.values()))
    assert shown.count("  ~ y\n") == 1
    assert "=> c: every 5m" in shown
    assert explain(texts, catalog_of(texts.values()), form="dot").startswith("digraph")
    picture = ElementTree.fromstring(explain(texts, catalog_of(texts.values()), form="svg"))
    labels = [e.text for e in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert labels.count("~ y") == 1 and "c: every 5m" in labels
    with pytest.raises(ArgumentError, match="text, svg or dot"):
        explain(texts, catalog_of(texts.values()), form="png")


def test_recording_reproduces_firings_and_features(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    with EventLog(tmp_path / "a", shop()) as log:
        log.append("page_enter", "item", ts=T0)
        for i in range(114):
            name = ("page_scroll", "exposure", "click")[int(rng.integers(3))]
            contents = (
                {"depth": float(rng.random())} if name == "page_scroll" else {"item": int(rng.integers(20))}
            )
            log.append(name, "item", contents, ts=T0 + i * 100_000)
        log.set_state("wifi", True, ts=T0 + 11_400_000)
        log.append("page_exit", "item", ts=T0 + 11_500_000)
        record(log, tmp_path / "events.jsonl.gz")
        with replay_into(tmp_path / "events.jsonl.gz", tmp_path / "b") as again:
            found = []
            for each in (log, again):
                triggers = TriggerSet(shop())
                triggers.add("two", "click > click scope page")
                triggers.add("end", "page_enter ~ page_exit when wifi")
                encoder = IpvEncoder.seeded()
                made = encoder(each, 1)
                assert made.events == 116
                assert made.feature.nbytes == 1328 and made.code.nbytes == 128
                found.append((triggers.replay(each), made.feature.tobytes(), made.code.tobytes()))
            assert found[0] == found[1]
            assert [f.trigger for f in found[0][0]].count("end") == 1
    (tmp_path / "bad.jsonl").write_text("{}\n")
    with pytest.raises(ModelError, match="line 1"):
        replay_into(tmp_path / "bad.jsonl", tmp_path / "c")


def test_ipv_feature_agrees_with_plain_python(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    depths, items, clicks = [], [], 0
    with EventLog(tmp_path, shop()) as log:
        log.append("page_enter", "item", ts=T0)
        for i in range(200):
            if rng.random() < 0.5:
                depths.append(float(rng.random()))
                log.append("page_scroll", "item", {"depth": depths[-1]}, ts=T0 + i * 10_000)
            elif rng.random() < 0.8:
                items.append(int(rng.integers(12)))
                log.append("exposure", "item", {"item": items[-1]}, ts=T0 + i * 10_000)
            else:
                clicks += 1
                log.append("click", "item", {"item": 3}, ts=T0 + i * 10_000)
        log.append("page_exit", "item", ts=T0 + 2_000_000)
        encoder = IpvEncoder.seeded(3)
        made = encoder(log, 1)
    f = made.feature
    assert f[0] == pytest.approx(2.0)
    assert list(f[1:4]) == [len(depths), len(items), clicks]
    assert f[4] == pytest.approx(max(depths)) and f[5] == pytest.approx(np.mean(depths), rel=1e-5)
    assert f[6] == pytest.approx(np.var(depths), rel=1e-4)
    steps = np.sign(np.diff([0.0, *depths]))
    assert f[7] == np.sum(steps[1:] * steps[:-1] < 0)
    assert f[8] == len(set(items))
    assert f[12 : 12 + 64].sum() == len(depths) and f[76 : 76 + 64].sum() == len(items)
    assert f[268] == max(items.count(i) for i in set(items))
    assert np.allclose(made.code, np.tanh(encoder.weights @ f + encoder.bias), atol=2e-5)


def open_bandit() -> list[dict[str, str]]:
    path = DATA / "open_bandit" / "random_men.csv.gz"
    if not path.exists():
        pytest.skip(f"no real data: {path} is absent (set WALLE_TEST_DATA)")
    with gzip.open(path, "rt") as f:
        return list(csv.DictReader(f))


def test_open_bandit_takes_less_space_than_its_json(tmp_path: Path) -> None:
    from datetime import datetime

    rows = sorted(open_bandit(), key=lambda r: r["timestamp"])
    columns = [c for c in rows[0] if c and c != "timestamp"]
    texts = {c for c in columns if c.startswith("user_feature")}
    fields = {c: ColumnType.TEXT if c in texts else ColumnType.FLOAT for c in columns}
    catalog = (
        Catalog()
        .declare("exposure", EventKind.EXPOSURE, fields)
        .declare("click", EventKind.CLICK, fields)
        .page("shop")
    )
    raw = written = 0
    with EventLog(tmp_path, catalog, journal_bytes=1 << 20, max_age_s=1e9) as log:
        for row in rows:
            contents = {c: row[c] if c in texts else float(row[c]) for c in columns}
            ts = int(datetime.fromisoformat(row["timestamp"]).timestamp() * 1e6)
            name = "click" if row["click"] == "1" else "exposure"
            log.append(name, "shop", contents, ts=ts)
            raw += len(json.dumps({"event": name, "page": "shop", "ts": ts, "contents": contents}))
            written += 16 + 30 + sum(6 + len(v) if isinstance(v, str) else 10 for v in contents.values())
            log.maintain()
        log.compact()
        total = written + log.segment_bytes
        parts = f"journal {written} + segments {log.segment_bytes}"
        print(f"{len(rows)} events, raw JSON {raw} bytes, {parts} = {total / raw:.2f}x")
        assert log.last_seq == len(rows)
        assert total <= 1.3 * raw
        triggers = TriggerSet(log.catalog)
        triggers.add("clicked", "exposure ~ click within 1h every")
        assert len(triggers.replay(log)) == sum(r["click"] == "1" for r in rows[1:])


def test_kill9() -> None:
    from tests.fault.kill9 import run

    found = run(200, seed=1)
    assert found["kills"] == 200 and found["accepted"] > 1000 and found["laps"] > 10
