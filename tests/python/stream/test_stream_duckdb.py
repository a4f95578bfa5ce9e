"""The operators beside DuckDB: 10,000 pairs of a random graph and a random stream,
each graph also said in SQL.

One query answers for all streams of a graph: they differ by the column g. Every stream is cut into batches at
random.
"""

from __future__ import annotations

import os
import random
from typing import Any

import duckdb
import pytest

from walle_rt.stream import Aggregate, Batch, Graph, aggregate, as_of_join

STREAMS = 40
SHAPES = int(os.environ.get("WALLE_STREAM_GRAPHS", "10000")) // STREAMS
S = 1_000_000

# Two-valued as here: a comparison with an absent value is false, and its negation true.
FILTERS = {
    "x > 3": "coalesce(x > 3, false)",
    'k in ("a", "b") or x == 1': "k IN ('a', 'b') OR coalesce(x = 1, false)",
    "not (x == 1) and exists x": "NOT coalesce(x = 1, false) AND x IS NOT NULL",
    "not (x <= 5)": "NOT coalesce(x <= 5, false)",
}
AGGREGATES: list[tuple[Aggregate, str]] = [
    (aggregate("count"), "count(*)"),
    (aggregate("count", "x"), "count(x)"),
    (aggregate("sum", "x"), "coalesce(sum(x), 0)"),
    (aggregate("mean", "x"), "avg(x)"),
    (aggregate("min", "x"), "min(x)"),
    (aggregate("max", "x"), "max(x)"),
    (aggregate("var", "x"), "var_pop(x)"),
    (aggregate("distinct", "k"), "count(DISTINCT k)"),
    (
        aggregate("histogram", "x", k=3, low=0.0, high=9.0),
        "concat_ws(',', count(*) FILTER (x < 3), count(*) FILTER (x >= 3 AND x < 6), "
        "count(*) FILTER (x >= 6))",
    ),
]
STATES: list[tuple[str | Aggregate, str]] = [
    ("previous", "lag(x) OVER w"),
    ("first", "first_value(x) OVER w"),
    ("since", "(ts - lag(ts) OVER w) / 1000000.0"),
    (aggregate("sum", "x"), "coalesce(sum(x) OVER w, 0)"),
    (aggregate("max", "x"), "max(x) OVER w"),
]


class Shape:
    """A random graph, made as often as there are streams, and the query that says the same."""

    def __init__(self, seed: int) -> None:
        self.random = rng = random.Random(seed)
        self.filter = rng.choice(list(FILTERS)) if rng.random() < 0.4 else ""
        self.map = (rng.choice("+-*/"), rng.randrange(1, 4)) if rng.random() < 0.4 else None
        self.dedupe = rng.random() < 0.2
        self.keys = ["k"] if rng.random() < 0.7 else []
        self.state = rng.choice(STATES) if rng.random() < 0.4 else None
        self.kind = rng.choice(["tumbling", "sliding", "session", "page", "reduce", "none"])
        self.size, self.slide = rng.randrange(2, 9), rng.randrange(1, 4)
        self.aggregates = rng.sample(AGGREGATES, rng.randrange(1, 4))
        self.disorder = rng.choice([0, 3]) if self.kind in ("tumbling", "sliding", "reduce", "none") else 0

    def graph(self) -> Graph:
        g = Graph()
        if self.filter:
            g.filter(self.filter)
        if self.map:
            g.map("x", "x", *self.map)
        if self.dedupe:
            g.dedupe("k", "x")
        g.key_by(*self.keys)
        if self.state:
            g.state("s", self.state[0], "x")
        chosen, disorder = [a for a, _ in self.aggregates], float(self.disorder)
        if self.kind == "tumbling":
            g.tumbling(self.size, *chosen, disorder_s=disorder)
        elif self.kind == "sliding":
            g.sliding(self.size, self.slide, *chosen, disorder_s=disorder)
        elif self.kind == "session":
            g.session(self.slide, *chosen)
        elif self.kind == "page":
            g.page(*chosen, idle_s=1e6)
        elif self.kind == "reduce":
            g.reduce(*chosen)
        return g

    def rows_sql(self) -> str:
        keys = ", ".join(["g", *self.keys])
        x = f"CAST(x {self.map[0]} {self.map[1]} AS DOUBLE)" if self.map else "x"
        sql = f"SELECT g, i, ts, k, {x} AS x, p, event FROM t WHERE {FILTERS.get(self.filter, 'true')}"
        if self.dedupe:
            sql = f"SELECT * FROM ({sql}) QUALIFY row_number() OVER (PARTITION BY g, k, x ORDER BY i) = 1"
        if self.state:
            sql = f"SELECT *, {self.state[1]} AS s FROM ({sql}) WINDOW w AS (PARTITION BY {keys} ORDER BY i)"
        return sql

    def sql(self) -> str:
        rows, keys = self.rows_sql(), ["g", *self.keys]
        if self.kind == "none":
            return f"SELECT g, ts, k, x{', s' if self.state else ''} FROM ({rows})"
        made = ", ".join(sql for _, sql in self.aggregates)
        if self.kind in ("tumbling", "sliding"):
            slide = (self.size if self.kind == "tumbling" else self.slide) * S
            size = self.size * S
            starts = f"unnest(range(ts // {slide} * {slide}, ts - {size}, -{slide}))"
            rows = f"SELECT *, {starts} AS start FROM ({rows})"
            keys.append("start")
            times = f"start, start + {size}"
        elif self.kind == "session":
            by, order = ", ".join(keys), "ORDER BY ts, i"
            new = f"ts - lag(ts) OVER (PARTITION BY {by} {order}) > {self.slide * S}"
            rows = f"SELECT *, coalesce({new}, false) AS new FROM ({rows})"
            rows = f"SELECT *, sum(new::INT) OVER (PARTITION BY {by} {order}) AS number FROM ({rows})"
            keys.append("number")
            times = f"min(ts), max(ts) + {self.slide * S}"
        elif self.kind == "page":
            # Rows behind a page's exit are late, unless they share its very time.
            by = ", ".join([*keys, "p"])
            exits = f"min(ts) FILTER (event = 'page_exit') OVER (PARTITION BY {by})"
            rows = f"SELECT *, {exits} AS exit FROM ({rows}) WHERE p <> 0"
            rows = f"SELECT * FROM ({rows}) WHERE exit IS NULL OR ts <= exit"
            keys.append("p")
            times = f"min(ts), coalesce(min(exit), max(ts) + {10**6 * S})"
        else:
            times = "min(ts), max(ts)"
        shown = ", ".join(k for k in keys if k not in ("start", "number"))
        return f"SELECT {shown}, {times}, {made} FROM ({rows}) GROUP BY {', '.join(keys)}"


def stream(rng: random.Random, disorder: int, exits: bool) -> Batch:
    ts, out = 0, Batch({"ts": [], "k": [], "x": [], "page_instance": [], "event": []})
    page = 1
    for _ in range(14):
        ts += rng.randrange(1, 4) if exits else rng.randrange(4)
        out.columns["ts"].append((ts + 10 - rng.randrange(disorder + 1)) * S)
        out.columns["k"].append(rng.choice("abc"))
        out.columns["x"].append(None if rng.random() < 0.1 else float(rng.randrange(10)))
        leaves = exits and rng.random() < 0.3
        out.columns["page_instance"].append(0 if rng.random() < 0.1 else page)
        out.columns["event"].append("page_exit" if leaves else "click")
        page += leaves
    return out


def in_pieces(graph: Graph, whole: Batch, rng: random.Random) -> Batch:
    at, out = 0, Batch({})
    while at < len(whole):
        n = rng.randrange(1, 8)
        out.append(graph.push(Batch({k: v[at : at + n] for k, v in whole.columns.items()})))
        at += n
    out.append(graph.finish())
    return out


def rounded(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Sorted, floats to nine digits, absent values before all others."""
    plain = [tuple(round(float(v), 9) if isinstance(v, int | float) else v for v in row) for row in rows]
    return sorted(
        plain, key=lambda row: [(v is not None, str(type(v)), v if v is not None else 0) for v in row]
    )


def load(connection: duckdb.DuckDBPyConnection, name: str, streams: list[Batch]) -> None:
    rows = []
    for g, s in enumerate(streams):
        for i, (ts, k, x, p, event) in enumerate(s.rows()):
            rows.append((g, i, ts, k, x, p, event))
    connection.execute(
        f"CREATE OR REPLACE TABLE {name} (g INT, i INT, ts BIGINT, k TEXT, x DOUBLE, p INT, event TEXT)"
    )
    types = ("INT", "INT", "BIGINT", "TEXT", "DOUBLE", "INT", "TEXT")
    lists = ", ".join(f"unnest(?::{t}[])" for t in types)
    connection.execute(f"INSERT INTO {name} SELECT {lists}", [list(c) for c in zip(*rows, strict=True)])


def last_revisions(shape: Shape, made: Batch) -> list[tuple[Any, ...]]:
    """Rows without ts and revision; of windows that were revised, the last word."""
    if shape.kind == "none":
        names = ["ts", "k", "x", *(["s"] if shape.state else [])]
        return [tuple(made.columns[n][r] for n in names) for r in range(len(made))]
    keys = [*shape.keys, *(["page_instance"] if shape.kind == "page" else [])]
    names = [*keys, "window_start", "window_end", *(a.out for a, _ in shape.aggregates)]
    last = {}
    for r in range(len(made)):
        last[tuple(made.columns[n][r] for n in (*keys, "window_start"))] = tuple(
            made.columns[n][r] for n in names
        )
    return list(last.values())


def test_graphs_agree_with_duckdb() -> None:
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    given = 0
    for seed in range(SHAPES):
        shape, rng = Shape(seed), random.Random(seed + 1_000_000)
        streams = [stream(rng, shape.disorder, shape.kind == "page") for _ in range(STREAMS)]
        load(connection, "t", streams)
        found: dict[int, list[tuple[Any, ...]]] = {g: [] for g in range(STREAMS)}
        for g, *row in connection.execute(shape.sql()).fetchall():
            found[g].append(tuple(row))
        for g, s in enumerate(streams):
            graph = shape.graph()
            made = in_pieces(graph, s, rng)
            assert rounded(last_revisions(shape, made)) == rounded(found[g]), (seed, g, shape.sql())
            if shape.kind != "page":
                assert graph.late == 0
            given += len(made)
    print(f"{SHAPES * STREAMS} graphs on streams, {given} rows")
    assert given > SHAPES * STREAMS


@pytest.mark.parametrize("within", [0, 5])
def test_as_of_join_agrees_with_duckdb(within: int) -> None:
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    matched = 0
    for seed in range(20):
        rng = random.Random(seed)
        left, right = ([stream(rng, 3, False) for _ in range(STREAMS)] for _ in range(2))
        for s in right:  # DuckDB may take any of several rows of one time
            s.columns["ts"] = [ts + i for i, ts in enumerate(s.columns["ts"])]
        load(connection, "l", left)
        load(connection, "r", right)
        limit = f"AND l.ts - r.ts <= {within * S}" if within else ""
        sql = f"""SELECT l.g, l.i, CASE WHEN true {limit} THEN r.x END FROM l ASOF LEFT JOIN r
                  ON l.g = r.g AND l.k = r.k AND l.ts >= r.ts ORDER BY l.g, l.i"""
        want = [x for _, _, x in connection.execute(sql).fetchall()]
        got = []
        for a, b in zip(left, right, strict=True):
            prices = Batch({"ts": b.columns["ts"], "k": b.columns["k"], "price": b.columns["x"]})
            got += as_of_join(a, prices, "k", within_s=within).columns["price"]
        assert got == want
        matched += sum(x is not None for x in got)
    assert matched > 1000
