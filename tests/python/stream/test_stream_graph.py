"""Operators, the egress gate and local privacy."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from walle_rt.errors import ArgumentError, TaskError
from walle_rt.stream import (
    Batch,
    ColumnType,
    FeatureField,
    FeaturePolicy,
    Graph,
    Sensitivity,
    aggregate,
    as_of_join,
)
from walle_rt.stream._egress import EgressGate
from walle_rt.stream._log import EventLog
from walle_rt.stream._privacy import (
    discrete_gaussian,
    gaussian_sum,
    laplace_sum,
    randomised_response,
    spend_epsilon,
    spent_epsilon,
)

AGGREGATES = [
    aggregate("count"),
    aggregate("sum", "x"),
    aggregate("mean", "x"),
    aggregate("min", "x"),
    aggregate("max", "x"),
    aggregate("var", "x"),
    aggregate("distinct", "k"),
    aggregate("top_k", "k", k=2),
    aggregate("histogram", "x", k=3, low=0.0, high=9.0),
]


def rows(rng: random.Random, n: int, disorder: int = 0) -> Batch:
    ts, out = 0, Batch({"ts": [], "k": [], "x": [], "event": [], "page_instance": []})
    for _ in range(n):
        ts += rng.randrange(4)
        out.columns["ts"].append((ts - rng.randrange(disorder + 1)) * 1_000_000)
        out.columns["k"].append(rng.choice("abc"))
        out.columns["x"].append(None if rng.random() < 0.1 else float(rng.randrange(10)))
        out.columns["event"].append(rng.choice(["click", "click", "page_exit"]))
        out.columns["page_instance"].append(rng.randrange(5))
    return out


def random_graph(rng: random.Random) -> Graph:
    g = Graph()
    if rng.random() < 0.4:
        g.filter(rng.choice(["x > 3", 'k in ("a", "b")', "not (x == 1) and exists x"]))
    if rng.random() < 0.3:
        g.map("x", "x", rng.choice("+-*"), rng.randrange(1, 4))
    if rng.random() < 0.2:
        g.dedupe("k", within_s=rng.randrange(1, 5))
    if rng.random() < 0.7:
        g.key_by("k")
    if rng.random() < 0.3:
        g.state(
            "s",
            rng.choice(["previous", "first", "since", aggregate("sum", "x")]),
            "x",
            max_keys=rng.choice([2, 99]),
        )
    times = {"disorder_s": rng.choice([0, 2]), "lateness_s": rng.choice([0, 3])}
    some = rng.sample(AGGREGATES, rng.randrange(1, 4))
    kind = rng.randrange(6)
    if kind == 0:
        g.tumbling(rng.randrange(1, 9), *some, **times)
    elif kind == 1:
        g.sliding(rng.randrange(3, 9), rng.randrange(1, 4), *some, **times)
    elif kind == 2:
        g.session(rng.randrange(1, 4), *some, **times)
    elif kind == 3:
        g.page(*some, idle_s=rng.randrange(2, 9), **times)
    elif kind == 4:
        g.reduce(*some)
    return g


def test_batch_equals_stream_on_random_graphs() -> None:
    given = 0
    for seed in range(10_000):
        stream = rows(random.Random(seed), 12, disorder=seed % 4)
        whole_graph, cut_graph = random_graph(random.Random(seed)), random_graph(random.Random(seed))
        whole = whole_graph.run(stream)
        rng, at, pieces = random.Random(seed + 1), 0, Batch({})
        while at < len(stream):
            n = rng.randrange(1, 6)
            pieces.append(cut_graph.push(Batch({k: v[at : at + n] for k, v in stream.columns.items()})))
            at += n
        pieces.append(cut_graph.finish())
        assert whole.rows() == pieces.rows(), seed
        assert (
            whole.support == pieces.support and whole.labels == pieces.labels and whole.paths == pieces.paths
        )
        for counter in ("late", "outside", "evicted"):
            assert getattr(whole_graph, counter) == getattr(cut_graph, counter)
        given += len(whole)
    assert given > 20_000


def test_windows_agree_with_plain_python() -> None:
    for seed in range(200):
        stream = rows(random.Random(seed), 60)
        size = 1 + seed % 7
        made = Graph().key_by("k").tumbling(size, *AGGREGATES).run(stream)
        groups: dict[tuple[str, int], list[tuple[str, float | None]]] = defaultdict(list)
        for ts, k, x, _, _ in stream.rows():
            groups[k, ts // (size * 1_000_000) * size * 1_000_000].append((k, x))
        assert len(made) == len(groups)
        for _, k, start, end, revision, *got in made.rows():
            xs = [x for _, x in groups[k, start] if x is not None]
            assert end == start + size * 1_000_000 and revision == 0
            assert got[0] == len(groups[k, start])
            assert got[1] == pytest.approx(sum(xs))
            if xs:
                assert got[2:6] == pytest.approx([np.mean(xs), min(xs), max(xs), np.var(xs)])
            else:
                assert got[2:6] == [None] * 4
            assert got[6] == 1 and got[7] == f"{k}:{len(groups[k, start])}"
            assert [int(n) for n in got[8].split(",")] == list(np.histogram(xs, bins=3, range=(0.0, 9.0))[0])


def test_late_rows_are_revised_or_counted() -> None:
    batch = Batch(
        {"ts": [1_000_000, 12_000_000, 2_000_000, 30_000_000, 3_000_000], "x": [1.0, 1.0, 1.0, 1.0, 1.0]}
    )
    g = Graph().tumbling(10, aggregate("sum", "x"), lateness_s=5)
    made = g.run(batch)
    first = [(r[3], r[4]) for r in made.rows() if r[1] == 0]
    assert first == [(0, 1.0), (1, 2.0)]
    assert g.late == 1


def page_rows(*rows: tuple[int, str, int]) -> Batch:
    times, events, pages = zip(*rows, strict=True)
    return Batch({"ts": [t * 1_000_000 for t in times], "event": list(events), "page_instance": list(pages)})


def test_page_window_closes_with_its_exit_or_when_idle() -> None:
    g = Graph().page(aggregate("count"), idle_s=60, lateness_s=20)
    assert (
        len(g.push(page_rows((0, "page_enter", 1), (5, "click", 1), (6, "click", 0), (7, "page_enter", 2))))
        == 0
    )
    left = g.push(page_rows((9, "page_exit", 1)))
    assert left.rows() == [(9_000_000, 1, 0, 9_000_000, 0, 3)] and left.support == [3]
    revised = g.push(page_rows((8, "click", 1)))
    assert [r[3:] for r in revised.rows()] == [(9_000_000, 1, 4)]
    idle = g.push(page_rows((68, "page_enter", 3), (68, "click", 1)))
    assert [r[1:] for r in idle.rows()] == [(2, 7_000_000, 67_000_000, 0, 1)]
    assert (g.late, g.outside) == (1, 1)  # the last row of page 1 is past its lateness
    assert [r[1] for r in g.finish().rows()] == [3]


def test_state_remembers_per_key_and_counts_what_it_forgets() -> None:
    rows = Batch(
        {"ts": [0, 1_000_000, 3_000_000, 4_000_000], "k": ["a", "b", "a", "a"], "x": [1, 5, None, 2]}
    )
    g = (
        Graph()
        .key_by("k")
        .state("before", "previous", "x")
        .state("start", "first", "x")
        .state("wait", "since")
    )
    made = g.state("total", aggregate("sum", "x")).push(rows)
    assert made.columns["before"] == [None, None, 1, None]
    assert made.columns["start"] == [1, 5, 1, 1]
    assert made.columns["wait"] == [None, None, 3.0, 1.0]
    assert made.columns["total"] == [1.0, 5.0, 1.0, 3.0]
    small = Graph().key_by("k").state("n", aggregate("count"), max_keys=1)
    assert small.push(rows).columns["n"] == [1, 1, 1, 2]
    assert small.evicted == 2
    with pytest.raises(ArgumentError, match="state 'last'"):
        Graph().state("n", "last", "x")
    with pytest.raises(ArgumentError, match="a name, a column"):
        Graph().state("n", "previous")


def test_top_k_counts_the_rows_it_cannot_tell_apart() -> None:
    values = [f"v{i:05d}" for i in range(5000)] * 2 + ["v00000"]
    made = Graph().reduce(aggregate("top_k", "x", k=1)).run(Batch({"ts": [0] * len(values), "x": values}))
    assert made.columns["top_k_x"] == ["v00000:3,*:1808"]


def test_distinct_is_close() -> None:
    n = 20_000
    made = (
        Graph()
        .tumbling(10, aggregate("distinct", "x"))
        .run(Batch({"ts": [0] * n, "x": [f"user {i % 7000}" for i in range(n)]}))
    )
    assert made.columns["distinct_x"][0] == pytest.approx(7000, rel=0.1)


def test_as_of_join_takes_the_newest_not_younger() -> None:
    left = Batch({"ts": [10, 20, 30], "k": ["a", "a", "b"]})
    right = Batch({"ts": [5, 20, 25], "k": ["a", "a", "a"], "price": [1.0, 2.0, 3.0]})
    assert as_of_join(left, right, "k").columns["price"] == [1.0, 2.0, None]
    with pytest.raises(ArgumentError, match="column 'q'"):
        as_of_join(left, right, "q")


def test_wrong_graphs_are_refused() -> None:
    with pytest.raises(ArgumentError, match="column 'z'"):
        Graph().filter("z > 1").push(Batch({"ts": [1], "x": [1.0]}))
    with pytest.raises(ArgumentError, match="without aggregates"):
        Graph().tumbling(1)
    with pytest.raises(ArgumentError, match="positive times"):
        Graph().tumbling(0, aggregate("count"))
    with pytest.raises(ArgumentError, match="aggregate 'median'"):
        Graph().tumbling(1, aggregate("median", "x"))
    with pytest.raises(ArgumentError, match="1 rows as in 'ts'"):
        Graph().select("x").push(Batch({"ts": [1], "x": [1.0, 2.0]}))


COUNTS = [FeatureField(n, ColumnType.INT) for n in ("window_start", "window_end", "revision", "count")]


def test_gate_denies_by_default_and_remembers(tmp_path: Path) -> None:
    made = Graph().tumbling(10, aggregate("count")).run(Batch({"ts": [1, 2], "x": [1.0, 2.0]}))
    assert made.support == [2]
    gate = EgressGate(tmp_path)
    with pytest.raises(TaskError, match="without a policy"):
        gate.send("t", "f", made)
    gate.allow("t", FeaturePolicy("f", COUNTS[:3], 1000, 2))
    with pytest.raises(TaskError, match="column 'count'"):
        gate.check("t", "f", made)
    gate.allow("t", FeaturePolicy("f", COUNTS, 1000, 2, minimum_events=2, consent="statistics"))
    with pytest.raises(TaskError, match="no consent"):
        gate.check("t", "f", made)
    gate.set_consents(["statistics"])
    few = Graph().tumbling(10, aggregate("count")).run(Batch({"ts": [1], "x": [1.0]}))
    with pytest.raises(TaskError, match="summarises 1 events"):
        gate.send("t", "f", few)
    assert len(gate.send("t", "f", made)) == gate.ledger[0].bytes
    gate.send("t", "f", made)
    with pytest.raises(TaskError, match="send number 3"):
        gate.send("t", "f", made)
    del gate
    again = EgressGate(tmp_path)
    assert len(again.ledger) == 2 and again.consents == ["statistics"]
    again.allow("t", FeaturePolicy("f", COUNTS, 1000, 2))
    with pytest.raises(TaskError, match="send number 3"):
        again.send("t", "f", made)
    again.allow("t", FeaturePolicy("f", COUNTS, 1000, 9, expires_ts=1))
    with pytest.raises(TaskError, match="expired"):
        again.send("t", "f", made)


def test_gate_holds_features_to_their_schema(tmp_path: Path) -> None:
    gate = EgressGate(tmp_path)
    fields = [
        FeatureField("v", ColumnType.VECTOR, 4, Sensitivity.PERSONAL),
        FeatureField("s", ColumnType.TEXT, 3, Sensitivity.PERSONAL),
        FeatureField("n", highest=Sensitivity.PERSONAL),
    ]
    gate.allow("t", FeaturePolicy("f", fields, 1000, 9))

    def batch(v: object = None, s: object = "abc", n: object = 1) -> Batch:
        vector = np.zeros(4, np.float32) if v is None else v
        return Graph().select("v", "s", "n").push(Batch({"ts": [1], "v": [vector], "s": [s], "n": [n]}))

    assert len(gate.send("t", "f", batch())) == 4 + 3 * 5 + 4 + 8 + (1 + 4 + 16) + (1 + 4 + 3) + (1 + 8)
    for wrong, said in [
        (batch(v=np.zeros(5, np.float32)), "size 5 in column 'v'"),
        (batch(v=1.0), "a float in column 'v'"),
        (batch(s="abcd"), "size 4 in column 's'"),
        (batch(n="1"), "a text in column 'n'"),
    ]:
        with pytest.raises(TaskError, match=said):
            gate.send("t", "f", wrong)


def test_raw_data_is_refused_when_the_task_is_built(tmp_path: Path) -> None:
    gate = EgressGate(tmp_path)
    gate.allow("t", FeaturePolicy("raw", [FeatureField("brief"), FeatureField("n", ColumnType.INT)], 1000, 9))
    graph = Graph().filter("exists x").map("brief", "x").select("brief")
    with pytest.raises(TaskError, match=r"column 'brief' \(x > map brief\) labelled secret"):
        gate.check("t", "raw", graph.outputs({"x": Sensitivity.SECRET}))
    windowed = Graph().tumbling(10, aggregate("max", "x", "brief")).select("brief")
    with pytest.raises(TaskError, match=r"\(x > brief\) labelled personal"):
        gate.check("t", "raw", windowed.outputs({"x": Sensitivity.PERSONAL}))
    with EventLog(tmp_path / "log") as log:
        told = Graph().reduce(aggregate("sum", "x", "brief")).select("brief")
        told.noise("brief", 0, 10, log=log, account="brief", epsilon=1.0, limit=1.0)
        gate.check("t", "raw", told.outputs({"x": Sensitivity.PERSONAL}))
        assert spent_epsilon(log, "brief") == 0


def test_privacy_account_and_noise(tmp_path: Path) -> None:
    with EventLog(tmp_path) as log:
        assert spend_epsilon(log, "clicks", 0.5, 1.0) == 0.5
    with EventLog(tmp_path) as log:
        assert spend_epsilon(log, "clicks", 0.5, 1.0) == 1.0
        with pytest.raises(TaskError, match=r"at most 1 in all"):
            spend_epsilon(log, "clicks", 0.1, 1.0)
    sums = [laplace_sum([0.5] * 10, 0.0, 1.0, 0.5, seed=s) for s in range(4000)]
    assert np.mean(sums) == pytest.approx(5.0, abs=0.2)
    assert np.std(sums) == pytest.approx(np.sqrt(2) * 2, rel=0.1)
    sums = [gaussian_sum([0.5] * 10, 0.0, 1.0, 1.0, 1e-5, seed=s) for s in range(4000)]
    sigma = 1 / (np.sqrt(2) * (np.sqrt(np.log(1e5) + 1) - np.sqrt(np.log(1e5))))
    assert np.mean(sums) == pytest.approx(5.0, abs=0.4) and np.std(sums) == pytest.approx(sigma, rel=0.05)
    samples = discrete_gaussian(3.0, 20_000, seed=1)
    assert np.mean(samples) == pytest.approx(0, abs=0.1) and np.std(samples) == pytest.approx(3.0, rel=0.03)
    kept = np.mean(np.array(randomised_response([2] * 20_000, 4, 1.0, seed=3)) == 2)
    assert kept == pytest.approx(np.e / (np.e + 3), abs=0.02)
    with pytest.raises(ArgumentError):
        randomised_response([9], 4, 1.0)


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian", "response"])
def test_noise_spends_what_it_gives_away(tmp_path: Path, mechanism: str) -> None:
    rows = 2000
    batch = Batch({"ts": list(range(rows)), "x": [3] * rows, "y": [1] * rows}, {"x": Sensitivity.SECRET})
    with EventLog(tmp_path) as log:
        graph = Graph().noise(
            "x",
            0,
            4,
            log=log,
            account="x",
            epsilon=1.0,
            limit=1.5 * rows,
            mechanism=mechanism,
            delta=1e-3,
            seed=5,
        )
        made = graph.push(batch)
        assert made.labels["x"] == Sensitivity.OPEN and made.labels["y"] == Sensitivity.PERSONAL
        assert made.paths["x"] == "x > noise"
        told = np.array(made.columns["x"], float)
        assert len(set(told)) > 3
        if mechanism == "response":
            assert np.mean(told == 3) == pytest.approx(np.e / (np.e + 4), abs=0.04)
        else:
            assert told.mean() == pytest.approx(3, abs=0.6)
        with pytest.raises(TaskError, match="at most"):
            graph.push(batch)
        assert spent_epsilon(log, "x") == rows
        del graph  # a graph with noise holds its log open
    with EventLog(tmp_path) as log:
        assert spent_epsilon(log, "x") == rows
