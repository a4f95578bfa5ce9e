"""walle.stream: a task reads the events it was triggered by, runs graphs over them, and sends their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from walle_rt import _core
from walle_rt.stream import (
    Catalog,
    ColumnType,
    FeatureField,
    FeaturePolicy,
    Graph,
    Sensitivity,
    aggregate,
)
from walle_rt.stream._egress import EgressGate
from walle_rt.stream._ipv import ipv_network
from walle_rt.stream._log import EventLog
from walle_rt.vm import VM, Isolate, Limits, TaskBundle, TaskFailed, library_path
from walle_rt.vm.limits import native_terms

T0 = 1_700_000_000_000_000
SOURCE = """
import walle
from walle import stream

def events(firing, *args):
    made = stream.events(firing, *args)
    return {k: v.tolist() if isinstance(v, walle.Tensor) else v for k, v in made.items()}
def kinds(firing):
    made = stream.events(firing, 'session', ['item', 'price', 'label'])
    return {k: v.dtype if isinstance(v, walle.Tensor) else 'list' for k, v in made.items()}
def named(firing):
    return events(firing) == events(firing, 'match', None), [
        stream.events(fields=['item'], firing=firing)['item'].tolist(),
        len(stream.events(firing, of='session')['ts'])]
def run(graph, firing, of='match'):
    rows = stream.run(graph, firing, of=of)
    made = rows.columns()
    assert len(rows) == len(rows.ts)
    return {k: v.tolist() if isinstance(v, walle.Tensor) else v for k, v in made.items()}
def twice(first, second, firing):
    return run(second, stream.run(first, firing, 'session', ['item', 'price']))
def send(graph, feature, firing):
    return stream.send(feature, stream.run(graph, firing))
def misuse(what, firing):
    if what == 'rows': stream.send('f', {'n': [1]})
    if what == 'source': stream.run('sum.graph', 5)
    if what == 'closed':
        rows = stream.run('sum.graph', firing)
        rows.close()
        rows.close()
        rows.columns()
    if what == 'graph': stream.run(5, firing)
    if what == 'handle': stream._calls.columns('x')
def many(firing, n):
    held = [stream.run('sum.graph', firing) for _ in range(n)]
    return len(held)
def drop(firing, n):
    for _ in range(n):
        stream.run('sum.graph', firing)
    return n
"""


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    fields = {"item": ColumnType.INT, "price": ColumnType.FLOAT, "label": ColumnType.TEXT}
    catalog = Catalog().declare("tap", fields=fields).page("home")
    catalog.extend("tap", "secret", ColumnType.INT, Sensitivity.SECRET)
    with EventLog(tmp_path / "log", catalog, recorded_times=True) as made:
        for i in range(6):
            contents = {"item": i, "price": i / 2}
            made.append("tap", "home", contents, ts=T0 + i * 1_000_000)
        made.append("tap", "home", {"label": "last"}, ts=T0 + 6_000_000)
        yield made


FIRING = {"seq": 5, "start_ts": T0 + 2_000_000, "session": 1, "page_instance": 0, "trigger": "tapped"}
Call = Callable[..., Any]


@pytest.fixture
def task(log: EventLog, tmp_path: Path) -> Iterator[Callable[..., Call]]:
    if not VM.available("full"):
        pytest.skip(f"no VM library at {library_path()}")
    isolates: list[Isolate] = []

    def make(gate: EgressGate | None = None, stream: bool = True, **limits: Any) -> Call:
        folder = tmp_path / f"task{len(isolates)}"
        (folder / "models").mkdir(parents=True)
        (folder / "main.py").write_text(SOURCE)
        total = Graph().reduce(aggregate("count"), aggregate("sum", "price", "total"))
        (folder / "sum.graph").write_bytes(total.to_bytes())
        weights = np.full((1, 2), 0.25, np.float32)
        network = ipv_network([(weights, np.zeros(1, np.float32))])
        network.save(folder / "models" / "half.walle")
        encode = (
            Graph()
            .filter("exists price")
            .encode("code", network.session(), "item", "price", model="models/half.walle")
        )
        (folder / "code.graph").write_bytes(encode.to_bytes())
        (folder / "damaged.graph").write_bytes(total.to_bytes()[:-1])
        vm = VM("full")
        terms = native_terms(vm._native, Limits(**limits), None, None)
        if stream:
            terms.set_stream(log._core, "shop", gate and gate._core)
        isolate = Isolate._adopt(vm, _core.vm.Isolate.create(vm._native, terms))
        isolate.load(TaskBundle.compile(folder, vm))
        isolates.append(isolate)
        return isolate.call

    yield make
    for isolate in isolates:
        isolate.close()


def test_events_come_as_columns_by_match_session_page_and_time(task: Callable[..., Call]) -> None:
    call = task()
    made = call("events", FIRING, "match", ["item"])
    assert made["item"] == [2, 3, 4] and made["event"] == ["tap"] * 3 and made["page"] == ["home"] * 3
    assert made["ts"] == [T0 + i * 1_000_000 for i in (2, 3, 4)] and made["session"] == [1] * 3
    assert list(made) == ["ts", "event", "page", "session", "page_instance", "item"]
    assert call("events", FIRING, "session", ["item"])["item"] == [0, 1, 2, 3, 4], "no later ones"
    second, fourth = T0 + 1_000_000, T0 + 3_000_000
    made = call("events", FIRING, [second, fourth])
    assert made["ts"] == [second, T0 + 2_000_000, fourth], "both ends included"
    assert call("named", FIRING) == [True, [[2, 3, 4], 5]]
    assert call("events", FIRING, "page")["ts"] == [], "outside any page"
    assert call("kinds", FIRING | {"seq": 6}) == {
        "ts": "int64",
        "event": "list",
        "page": "list",
        "session": "int64",
        "page_instance": "int64",
        "item": "int64",
        "price": "float64",
        "label": "list",
    }
    assert call("events", FIRING | {"seq": 7}, "session", ["label"])["label"] == [None] * 6 + ["last"]


@pytest.mark.parametrize(
    ("args", "kind", "said"),
    [
        ((5,), "TypeError", "a firing that is no dict"),
        (({"seq": 5},), "KeyError", "a firing without 'start_ts'"),
        ((FIRING | {"seq": "5"},), "TypeError", "which is no int"),
        ((FIRING | {"seq": -1},), "ValueError", "number of an event"),
        ((FIRING, "sesion"), "ValueError", "did you mean 'session'?"),
        ((FIRING, [1]), "TypeError", "two ints"),
        ((FIRING, "match", "item"), "TypeError", "fields that are no list"),
        ((FIRING, "match", ["itm"]), "KeyError", "did you mean 'item'?"),
        ((FIRING, "match", [5]), "TypeError", "a list of str"),
        ((FIRING, 7), "TypeError", "a str"),
    ],
)
def test_errors_name_what_was_given(
    task: Callable[..., Call], args: tuple[Any, ...], kind: str, said: str
) -> None:
    with pytest.raises(TaskFailed, match=said) as raised:
        task()("events", *args)
    assert raised.value.type == kind


def test_graphs_run_natively_over_the_firings_events(task: Callable[..., Call]) -> None:
    call = task()
    made = call("run", "sum.graph", FIRING)
    assert made["count"] == [3] and made["total"] == [4.5]
    assert call("run", "sum.graph", FIRING, "session")["count"] == [5]
    direct = Graph().filter("item > 2").to_bytes()
    assert call("run", direct, FIRING)["item"] == [3, 4]
    assert call("twice", direct, "sum.graph", FIRING | {"seq": 6})["count"] == [3]
    coded = call("run", "code.graph", FIRING)["code"]
    expected = np.tanh(np.array([[i * 0.25 + i / 8] for i in (2, 3, 4)], np.float32))
    np.testing.assert_allclose(coded, expected, rtol=1e-6)
    assert call("drop", FIRING, 1_000) == 1_000, "rows go with their objects"


@pytest.mark.parametrize(
    ("graph", "kind", "said"),
    [
        ("none.graph", "KeyError", "sum.graph"),
        ("damaged.graph", "ValueError", "resource 'damaged.graph'"),
        (b"nothing", "ValueError", "no graph"),
        (Graph().filter("nothing > 1").to_bytes(), "KeyError", "field 'nothing'"),
    ],
)
def test_graphs_that_are_none_are_refused(
    task: Callable[..., Call], graph: str | bytes, kind: str, said: str
) -> None:
    with pytest.raises(TaskFailed, match=said) as raised:
        task()("run", graph, FIRING)
    assert raised.value.type == kind


def test_misuse_is_a_type_error_and_rows_are_bounded(task: Callable[..., Call]) -> None:
    call = task()
    for what in ("rows", "source", "graph", "handle"):
        with pytest.raises(TaskFailed) as raised:
            call("misuse", what, FIRING)
        assert raised.value.type == "TypeError", what
    with pytest.raises(TaskFailed, match="rows that are closed") as raised:
        call("misuse", "closed", FIRING)
    assert raised.value.type == "ValueError"
    assert call("many", FIRING, 60) == 60
    with pytest.raises(TaskFailed, match="64 batches") as raised:
        call("many", FIRING, 65)
    assert raised.value.type == "OSError"


def test_what_graphs_gave_leaves_through_the_gate(task: Callable[..., Call], tmp_path: Path) -> None:
    gate = EgressGate(tmp_path / "gate")
    fields = [
        FeatureField(name, kind, highest=Sensitivity.PERSONAL)
        for name, kind in [
            ("window_start", ColumnType.INT),
            ("window_end", ColumnType.INT),
            ("revision", ColumnType.INT),
            ("count", ColumnType.INT),
            ("total", ColumnType.FLOAT),
        ]
    ]
    gate.allow("shop", FeaturePolicy("sums", fields, 1000, 1))
    call = task(gate)
    none = Graph().filter("price > 100").map("total", "price").select("total").to_bytes()
    assert call("send", none, "sums", FIRING) is False and gate.ledger == []
    assert call("send", "sum.graph", "sums", FIRING) is True
    assert [(e.task, e.feature, e.rows) for e in gate.ledger] == [("shop", "sums", 1)]
    assert call("send", none, "sums", FIRING) is False, "the budget is spent, and nothing is asked of it"
    with pytest.raises(TaskFailed, match="without a policy"):
        call("send", none, "other", FIRING)
    for feature, said in (("sums", "send number 2 today"), ("other", "without a policy")):
        with pytest.raises(TaskFailed, match=said) as raised:
            call("send", "sum.graph", feature, FIRING)
        assert raised.value.type == "PermissionError"
    leaks = Graph().map("total", "secret").select("total").to_bytes()
    with pytest.raises(TaskFailed, match=r"column 'total' \(secret > map total\) labelled secret"):
        call("send", leaks, "sums", FIRING)
    assert len(gate.ledger) == 1
    with pytest.raises(TaskFailed, match="egress gate") as raised:
        task()("send", "sum.graph", "sums", FIRING)
    assert raised.value.type == "PermissionError"


def test_without_a_stream_or_the_right_to_it_nothing_is_read(task: Callable[..., Call]) -> None:
    with pytest.raises(TaskFailed, match="a task without a stream") as raised:
        task(stream=False)("events", FIRING)
    assert raised.value.type == "OSError"
    with pytest.raises(TaskFailed) as raised:
        task(host_calls=["walle.log"])("events", FIRING)
    assert raised.value.type == "PermissionError"
