"""Graphs as data, and the questions to a log that graphs and tasks are run over."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from test_stream_graph import AGGREGATES, random_graph, rows

from walle_rt.errors import ArgumentError, ModelError, ResourceError, TaskError
from walle_rt.session import Session
from walle_rt.stream import (
    Batch,
    Catalog,
    ColumnType,
    EventKind,
    FeatureField,
    FeaturePolicy,
    Graph,
    Sensitivity,
    aggregate,
    as_of_join,
)
from walle_rt.stream._egress import EgressGate
from walle_rt.stream._ipv import IPV_FLOATS, ipv_feature, ipv_network
from walle_rt.stream._log import EventLog
from walle_rt.stream._privacy import spent_epsilon
from walle_rt.stream._query import EventQuery
from walle_rt.stream._triggers import TriggerSet

T0 = 1_700_000_000_000_000


def halver() -> Session:
    weights = np.full((1, 2), 0.25, np.float32)
    return ipv_network([(weights, np.zeros(1, np.float32))]).session()


def test_a_graph_gives_the_same_from_its_bytes_however_rows_are_cut() -> None:
    given = 0
    for seed in range(2_000):
        stream = rows(random.Random(seed), 12, disorder=seed % 4)
        built = random_graph(random.Random(seed))
        read, cut = Graph.from_bytes(built.to_bytes()), Graph.from_bytes(built.to_bytes())
        assert read.to_bytes() == built.to_bytes() and str(read) == str(built) and len(read) == len(built)
        whole, again, pieces = built.run(stream), read.run(stream), Batch({})
        rng, at = random.Random(seed + 1), 0
        while at < len(stream):
            n = rng.randrange(1, 6)
            pieces.append(cut.push(Batch({k: v[at : at + n] for k, v in stream.columns.items()})))
            at += n
        pieces.append(cut.finish())
        for other in (again, pieces):
            assert whole.rows() == other.rows(), seed
            assert whole.support == other.support and whole.labels == other.labels
            assert whole.paths == other.paths
        assert (built.late, built.outside, built.evicted) == (cut.late, cut.outside, cut.evicted)
        given += len(whole)
    assert given > 4_000


def test_print_shows_one_line_per_operator() -> None:
    graph = Graph().filter("x > 1").key_by("k").tumbling(60, aggregate("mean", "x"), disorder_s=1.5)
    assert str(graph).splitlines() == [
        "graph of 2 operators",
        '  filter "x > 1"',
        "  tumbling 1m by k, disorder 1500ms: mean(x) as mean_x",
    ]
    assert repr(graph) == "<Graph of 2 operators>" and len(graph) == 2
    assert str(Graph()) == "graph of 0 operators"
    assert graph.fields == ["k", "x"]


def test_damaged_bytes_are_a_model_error() -> None:
    data = Graph().key_by("k").sliding(10, 2, *AGGREGATES).to_bytes()
    for at in range(len(data)):
        with pytest.raises(ModelError):
            Graph.from_bytes(data[:at] + bytes([data[at] ^ 0x20]) + data[at + 1 :])
        with pytest.raises(ModelError):
            Graph.from_bytes(data[:at])
    with pytest.raises(ModelError, match="no graph"):
        Graph.from_bytes(b"")


def test_what_is_wrong_is_said_when_the_operator_is_added() -> None:
    graph = Graph()
    for add in (
        lambda: graph.filter("x >"),
        lambda: graph.filter("x > 1] ~ b[x > 1"),
        lambda: graph.map("", "x"),
        lambda: graph.tumbling(0, aggregate("count")),
        lambda: graph.as_of_join(Graph()),
        lambda: graph.as_of_join(Graph().as_of_join(Graph(), "k"), "k"),
        lambda: graph.ipv(idle_s=0),
        lambda: graph.dedupe("k", max_keys=1 << 30),
    ):
        with pytest.raises(ArgumentError):
            add()
    assert len(graph) == 0, "what was refused is not in the graph"


def test_models_travel_as_names() -> None:
    session, other = halver(), halver()
    batch = Batch({"ts": [1, 2], "a": [1.0, 2.0], "b": [3.0, 4.0]})
    graph = Graph().encode("code", session, "a", "b").map("c", "code")
    data = graph.to_bytes()
    assert 'model "model1"' in str(graph)
    with pytest.raises(ResourceError, match="the model 'model1'"):
        Graph.from_bytes(data)
    made = Graph.from_bytes(data, models={"model1": other}).run(batch)
    np.testing.assert_allclose(np.stack(made.columns["code"]), np.tanh([[1.0], [1.5]]), rtol=1e-6)
    named = Graph().encode("x", session, "a", "b", model="m").encode("y", session, "x", "x")
    assert str(named).count('model "m"') == 2, "one session has one name"
    with pytest.raises(ArgumentError, match="two models called 'm'"):
        named.encode("z", other, "x", "x", model="m")


def test_noise_travels_as_its_account(tmp_path: Path) -> None:
    batch = Batch({"ts": [1, 2], "x": [3.0, 4.0]})
    with EventLog(tmp_path) as log:
        graph = Graph().noise("x", 0, 9, log=log, account="daily", epsilon=0.25, limit=1.0, seed=7)
        data = graph.to_bytes()
        with pytest.raises(ResourceError, match="account 'daily'"):
            Graph.from_bytes(data)
        Graph.from_bytes(data, log=log).run(batch)
        assert spent_epsilon(log, "daily") == 0.5
        seeded = [Graph().noise("x", 0, 9, log=log, account="a", epsilon=1, limit=9, seed=7) for _ in "12"]
        assert seeded[0].run(batch).rows() == seeded[1].run(batch).rows()
        with pytest.raises(TaskError, match="at most 1"):
            Graph.from_bytes(data, log=log).run(Batch({"ts": [1] * 3, "x": [1.0] * 3}))


def test_a_join_in_a_graph_is_the_join_of_its_sides() -> None:
    for seed in range(300):
        stream = rows(random.Random(seed), 20)
        for column in ("k", "x"):
            stream.columns[column][0] = "a" if column == "k" else 5.0
        right = Graph().filter("exists x").map("before", "x").select("k", "before")
        joined = Graph().filter('k in ("a", "b")').as_of_join(right, "k", within_s=seed % 5)
        sides = [Graph.from_bytes(g.to_bytes()) for g in (Graph().filter('k in ("a", "b")'), right)]
        expected = as_of_join(sides[0].run(stream), sides[1].run(stream), "k", within_s=seed % 5)
        made = Graph.from_bytes(joined.to_bytes()).run(stream)
        assert made.rows() == expected.rows() and made.paths == expected.paths
    prices = Graph().as_of_join(Graph(), "k", second_input=True)
    prices.push(Batch({"ts": [0], "k": ["a"], "price": [7]}), 1)
    assert len(prices.push(Batch({"ts": [1, 1], "k": ["a", "b"]}))) == 0
    assert prices.finish().columns["price"] == [7, None]
    with pytest.raises(ArgumentError, match="input 0"):
        Graph().push(Batch({"ts": [0]}), 1)


def test_outputs_need_no_row_no_model_and_spend_nothing(tmp_path: Path) -> None:
    gate = EgressGate(tmp_path / "gate")
    gate.allow("t", FeaturePolicy("f", [FeatureField("brief"), FeatureField("k")], 1000, 9))
    with EventLog(tmp_path / "log") as log:
        right = Graph().noise("x", 0, 9, log=log, account="a", epsilon=1, limit=1).map("brief", "x")
        graph = Graph().as_of_join(right.select("k", "brief"), "k").select("k", "brief")
        given = {"k": Sensitivity.OPEN, "x": Sensitivity.SECRET}
        gate.check("t", "f", graph.outputs(given))
        assert spent_epsilon(log, "a") == 0
        raw = Graph().as_of_join(Graph().map("brief", "x").select("k", "brief"), "k").select("k", "brief")
        with pytest.raises(TaskError, match=r"column 'brief' \(x > map brief > as-of join\) labelled secret"):
            gate.check("t", "f", raw.outputs(given))
        catalog = Catalog().declare("a", fields=[("k", ColumnType.TEXT, Sensitivity.OPEN)])
        catalog.extend("a", "x", ColumnType.INT, Sensitivity.SECRET)
        assert graph.outputs(catalog).labels == {"k": Sensitivity.OPEN, "brief": Sensitivity.OPEN}
        with pytest.raises(TaskError, match="labelled secret"):
            gate.check("t", "f", raw.outputs(catalog))
        with pytest.raises(ArgumentError, match="field 'nothing'"):
            Graph().select("nothing").outputs(catalog)
        two = Graph().as_of_join(Graph(), "k", second_input=True)
        labels = two.outputs({"k": Sensitivity.OPEN}, {"k": Sensitivity.OPEN, "r": Sensitivity.SECRET}).labels
        assert labels == {"k": Sensitivity.OPEN, "r": Sensitivity.SECRET}


@pytest.fixture
def pages(tmp_path: Path) -> EventLog:
    """Two pages, one inside the other, in two sessions; item fields, and a text."""
    fields = {"item": ColumnType.INT}
    catalog = Catalog().declare("page_scroll", EventKind.PAGE_SCROLL, {"depth": ColumnType.FLOAT})
    catalog = catalog.declare("exposure", EventKind.EXPOSURE, fields).declare(
        "click", EventKind.CLICK, fields
    )
    log = EventLog(tmp_path / "log", catalog.page("list").page("item"), recorded_times=True)
    for session in (0, 7_200):
        for i, (event, page, contents) in enumerate(
            [
                ("page_enter", "list", {}),
                ("exposure", "list", {"item": 3}),
                ("page_enter", "item", {}),
                ("page_scroll", "item", {"depth": 0.5}),
                ("click", "item", {"item": 3}),
                ("page_exit", "item", {}),
                ("click", "list", {"item": 3}),
                ("page_exit", "list", {}),
            ]
        ):
            log.append(event, page, contents, ts=T0 + (session + i) * 1_000_000)
        log.compact() if session == 0 else None
    return log


def test_a_log_is_asked_by_session_page_time_and_match(pages: EventLog) -> None:
    def seqs(**said: int) -> list[int]:
        return [e.seq for e in pages.read(where=EventQuery(**said))]

    assert seqs() == list(range(1, 17))
    assert seqs(session=1) == list(range(1, 9)) and seqs(session=9) == list(range(9, 17))
    assert seqs(session=9, to_seq=11) == [9, 10, 11], "inclusive"
    assert seqs(page_instance=1) == [1, 2, 7, 8] and seqs(page_instance=11) == [11, 12, 13, 14]
    assert seqs(from_ts=T0 + 2_000_000, to_ts=T0 + 4_000_000) == [3, 4, 5], "both ends included"
    assert seqs(from_seq=15) == [15, 16] and seqs(from_seq=5, to_seq=4) == []
    assert [e.seq for e in pages.read(12, where=EventQuery(session=9))] == list(range(12, 17))
    with pytest.raises(ArgumentError, match="from 0 on"):
        seqs(session=-1)
    triggers = TriggerSet(pages.catalog)
    triggers.add("clicked", "exposure ~ click@item scope session")
    first, second = triggers.replay(pages)
    assert [e.seq for e in pages.read(where=EventQuery.match(second))] == [10, 11, 12, 13]
    made = Batch.of_log(pages, ["item"], where=EventQuery.match(first))
    assert made.columns["item"] == [3, None, None, 3] and made.columns["event"][-1] == "click"


def test_the_page_feature_of_a_graph_is_that_of_the_log(pages: EventLog) -> None:
    graph = Graph().ipv()
    assert graph.fields == ["depth", "item"]
    made = Graph.from_bytes(graph.to_bytes()).run(Batch.of_log(pages, graph.fields))
    assert sorted(made.columns["page_instance"]) == [1, 3, 9, 11]
    for instance, feature in zip(made.columns["page_instance"], made.columns["ipv"], strict=True):
        assert feature.shape == (IPV_FLOATS,)
        assert feature.tobytes() == ipv_feature(pages, instance).tobytes()
    with pytest.raises(ArgumentError, match="did you mean 'item'"):
        Batch.of_log(pages, ["itm"])
