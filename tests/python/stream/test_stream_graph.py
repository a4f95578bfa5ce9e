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
    EgressGate,
    EventLog,
    Graph,
    Sensitivity,
    aggregate,
    as_of_join,
    discrete_gaussian,
    laplace_sum,
    randomised_response,
    spend_epsilon,
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
    ts, out = 0, Batch({"ts": [], "k": [], "x": []})
    for _ in range(n):
        ts += rng.randrange(4)
        out.columns["ts"].append((ts - rng.randrange(disorder + 1)) * 1_000_000)
        out.columns["k"].append(rng.choice("abc"))
        out.columns["x"].append(None if rng.random() < 0.1 else float(rng.randrange(10)))
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
    times = {"disorder_s": rng.choice([0, 2]), "lateness_s": rng.choice([0, 3])}
    some = rng.sample(AGGREGATES, rng.randrange(1, 4))
    kind = rng.randrange(4)
    if kind == 0:
        g.tumbling(rng.randrange(1, 9), *some, **times)
    elif kind == 1:
        g.sliding(rng.randrange(3, 9), rng.randrange(1, 4), *some, **times)
    elif kind == 2:
        g.session(rng.randrange(1, 4), *some, **times)
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
        assert whole_graph.late == cut_graph.late
        given += len(whole)
    assert given > 20_000


def test_windows_agree_with_plain_python() -> None:
    for seed in range(200):
        stream = rows(random.Random(seed), 60)
        size = 1 + seed % 7
        made = Graph().key_by("k").tumbling(size, *AGGREGATES).run(stream)
        groups: dict[tuple[str, int], list[tuple[str, float | None]]] = defaultdict(list)
        for ts, k, x in stream.rows():
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
    batch = Batch({"ts": [1_000_000, 12_000_000, 2_000_000, 30_000_000, 3_000_000], "x": [1.0, 1.0, 1.0, 1.0, 1.0]})
    g = Graph().tumbling(10, aggregate("sum", "x"), lateness_s=5)
    made = g.run(batch)
    first = [(r[3], r[4]) for r in made.rows() if r[1] == 0]
    assert first == [(0, 1.0), (1, 2.0)]
    assert g.late == 1


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


def test_gate_denies_by_default_and_remembers(tmp_path: Path) -> None:
    made = Graph().tumbling(10, aggregate("count")).run(Batch({"ts": [1, 2], "x": [1.0, 2.0]}))
    gate = EgressGate(tmp_path)
    with pytest.raises(TaskError, match="without a policy"):
        gate.send("t", "f", made, rows_behind=2)
    fields = ["window_start", "window_end", "revision", "count"]
    gate.allow("t", "f", fields[:3], bytes_per_day=1000, sends_per_day=2)
    with pytest.raises(TaskError, match="column 'count'"):
        gate.check("t", "f", made)
    gate.allow("t", "f", fields, bytes_per_day=1000, sends_per_day=2, minimum_rows=2, consent="statistics")
    with pytest.raises(TaskError, match="no consent"):
        gate.check("t", "f", made)
    gate.set_consents(["statistics"])
    with pytest.raises(TaskError, match="summarise 1 events"):
        gate.send("t", "f", made, rows_behind=1)
    assert len(gate.send("t", "f", made, rows_behind=2)) == gate.ledger[0].bytes
    gate.send("t", "f", made, rows_behind=2)
    with pytest.raises(TaskError, match="send number 3"):
        gate.send("t", "f", made, rows_behind=2)
    raw = Batch({"ts": [1], "x": ["a name"]}, {"x": Sensitivity.SECRET})
    gate.allow("t", "raw", ["x"], bytes_per_day=1000, sends_per_day=9)
    with pytest.raises(TaskError, match="labelled secret"):
        gate.check("t", "raw", Graph().filter("exists x").map("x", "x").push(raw))
    del gate
    again = EgressGate(tmp_path)
    assert len(again.ledger) == 2
    again.allow("t", "f", fields, bytes_per_day=1000, sends_per_day=2)
    with pytest.raises(TaskError, match="send number 3"):
        again.send("t", "f", made, rows_behind=2)


def test_privacy_account_and_noise(tmp_path: Path) -> None:
    with EventLog(tmp_path) as log:
        assert spend_epsilon(log, "clicks", 0.5, 1.0) == 0.5
    with EventLog(tmp_path) as log:
        assert spend_epsilon(log, "clicks", 0.5, 1.0) == 1.0
        with pytest.raises(TaskError, match=r"at most 1\.0"):
            spend_epsilon(log, "clicks", 0.1, 1.0)
    sums = [laplace_sum([0.5] * 10, 0.0, 1.0, 0.5, seed=s) for s in range(4000)]
    assert np.mean(sums) == pytest.approx(5.0, abs=0.2)
    assert np.std(sums) == pytest.approx(np.sqrt(2) * 2, rel=0.1)
    samples = discrete_gaussian(3.0, 20_000, seed=1)
    assert np.mean(samples) == pytest.approx(0, abs=0.1) and np.std(samples) == pytest.approx(3.0, rel=0.03)
    kept = np.mean(np.array(randomised_response([2] * 20_000, 4, 1.0, seed=3)) == 2)
    assert kept == pytest.approx(np.e / (np.e + 3), abs=0.02)
    with pytest.raises(ArgumentError):
        randomised_response([9], 4, 1.0)
