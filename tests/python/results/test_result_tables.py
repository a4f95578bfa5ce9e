"""Result tables from Python: rows, columns, limits, mistakes, damage, readers beside a writer."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_seed import random_seed

import walle_rt
from walle_rt.results import ColumnType, ResultStore, ResultTables, Rows

COLUMNS = {"user": "text", "count": "int", "score": "float", "new": "bool", "code": "bytes"}


def row(n: int) -> dict[str, Any]:
    """Row ``n``: some of its values are absent, in their own way each."""
    out: dict[str, Any] = {"user": f"user {n % 7}", "count": n, "new": n % 2 == 0}
    if n % 3:
        out["score"] = n / 3
    if n % 4:
        out["code"] = bytes([n % 256]) * (n % 5)
    return out


def absent(n: int) -> dict[str, Any]:
    """The same with None for what is absent."""
    return {name: row(n).get(name) for name in COLUMNS}


def plain(rows: Rows) -> list[dict[str, Any]]:
    """Rows without their numbers and times."""
    return [{name: value for name, value in row.items() if name[0] != "_"} for row in rows]


def test_rows_come_back_at_once_and_after_a_checkpoint(tmp_path: Path) -> None:
    with ResultStore(tmp_path) as store:
        store.declare("t", COLUMNS)
        for n in range(1, 201):
            store.append("t", row(n))
            if n % 60 == 0:
                store.checkpoint()
        assert plain(store.read("t")) == [absent(n) for n in range(1, 201)]
        assert store.last("t", 3).numbers.tolist() == [198, 199, 200]
        assert [r["_number"] for r in store.rows("t", 190)] == list(range(190, 201))
        assert plain(store.read("t", 5, 2, ["count"])) == [{"count": 5}, {"count": 6}]
        info = store.tables()["t"]
        assert (info.rows, info.waiting, info.first, info.last) == (200, 20, 1, 200)
        assert info.columns["score"] is ColumnType.FLOAT
    with ResultStore(tmp_path) as store:
        assert len(store.read("t")) == 200


def test_columns_are_arrays(tmp_path: Path) -> None:
    with ResultStore(tmp_path) as store:
        store.declare("t", COLUMNS)
        store.append("t", [row(n) for n in range(1, 8)])
        rows = store.read("t")
        columns = rows.columns()
        assert list(columns) == list(COLUMNS) == list(rows.types)
        assert columns["count"].dtype == np.int64
        assert columns["count"].tolist() == list(range(1, 8))
        assert columns["new"].dtype == bool
        score = columns["score"]
        assert isinstance(score, np.ma.MaskedArray) and score.dtype == np.float64
        assert score.tolist() == [None if n % 3 == 0 else n / 3 for n in range(1, 8)]
        assert rows.present("score").tolist() == [n % 3 != 0 for n in range(1, 8)]
        assert columns["user"][0] == "user 1" and columns["code"][3] is None
        assert rows.times.dtype == np.int64 and rows.numbers.dtype == np.uint64
        with pytest.raises(KeyError):
            rows.column("none")


def test_arrow_and_pandas(tmp_path: Path) -> None:
    with ResultStore(tmp_path) as store:
        store.declare("t", COLUMNS)
        store.append("t", [row(n) for n in range(1, 8)])
        rows = store.read("t")
    pandas = pytest.importorskip("pandas")
    frame = rows.to_pandas()
    assert frame.index.tolist() == list(range(1, 8))
    assert frame["count"].sum() == 28
    assert pandas.isna(frame["score"].iloc[2])
    pytest.importorskip("pyarrow")
    table = rows.to_arrow()
    assert table.column("_number").to_pylist() == list(range(1, 8))
    assert [{k: r[k] for k in COLUMNS} for r in table.to_pylist()] == [absent(n) for n in range(1, 8)]


def test_numpy_values_are_values(tmp_path: Path) -> None:
    with ResultStore(tmp_path) as store:
        store.declare("t", COLUMNS)
        store.append(
            "t", {"count": np.int32(3), "score": np.float32(0.5), "new": np.bool_(True), "user": np.str_("x")}
        )
        store.append("t", {"score": 3})  # an integer is a float, too
        assert plain(store.read("t")) == [
            {"user": "x", "count": 3, "score": 0.5, "new": True, "code": None},
            {"user": None, "count": None, "score": 3.0, "new": None, "code": None},
        ]


def test_mistakes_say_what_was_expected(tmp_path: Path) -> None:
    with ResultStore(tmp_path) as store:
        store.declare("clicks", COLUMNS)
        cases: list[tuple[dict[str, Any], str]] = [
            ({"count": "3"}, "column 'count' of result table 'clicks'"),
            ({"count": 3.5}, "int, or nothing"),
            ({"new": 1}, "bool, or nothing"),
            ({"user": b"x"}, "text, or nothing"),
            ({"cuont": 3}, "did you mean 'count'?"),
            ({"user": [1]}, "a value of type vector"),
            ({"user": "x" * 300_000}, "at most 262144"),
        ]
        for given, text in cases:
            with pytest.raises(walle_rt.ArgumentError) as told:
                store.append("clicks", [row(1), given])
            assert text in str(told.value)
        with pytest.raises(OverflowError):
            store.append("clicks", {"count": 1 << 64})
        with pytest.raises(walle_rt.ArgumentError, match="did you mean 'clicks'"):
            store.read("click")
        with pytest.raises(walle_rt.ArgumentError, match="int, float, bool, text, bytes"):
            store.declare("other", {"a": "i64"})
        with pytest.raises(walle_rt.ArgumentError, match="keep the columns"):
            store.declare("clicks", {"user": "text"})
        assert len(store.read("clicks")) == 0  # of each refused call, no row
    with pytest.raises(walle_rt.ArgumentError, match="closed"):
        store.append("clicks", row(1))
    with pytest.raises(walle_rt.ArgumentError, match="without a device's results"):
        ResultTables(tmp_path / "none")


def test_readers_see_what_is_there_beside_the_writer(tmp_path: Path) -> None:
    with ResultStore(tmp_path) as store:
        store.declare("t", COLUMNS)
        reader = ResultTables(tmp_path)
        before = sorted(tmp_path.iterdir())
        for n in range(1, 51):
            store.append("t", row(n))
            if n % 20 == 0:
                store.checkpoint()
            assert reader.last("t", 1).numbers.tolist() == [n]
        assert plain(reader.read("t")) == [absent(n) for n in range(1, 51)]
        assert sorted(tmp_path.iterdir()) == before
        with pytest.raises(walle_rt.ResourceError, match="already open"):
            ResultStore(tmp_path)


def test_size_and_age_let_rows_go(tmp_path: Path) -> None:
    with ResultStore(tmp_path) as store:
        store.declare("t", COLUMNS, max_bytes=4000)
        for batch in range(40):
            store.append("t", [row(batch * 100 + n) for n in range(100)])
            store.checkpoint()
        info = store.tables()["t"]
        assert info.removed > 0 and info.removed + info.rows == 4000
        assert info.first == info.removed + 1 and info.last == 4000
        assert store.losses() == []


def test_a_key_seals_everything(tmp_path: Path) -> None:
    key = bytes(range(32))
    with ResultStore(tmp_path, key=key) as store:
        store.declare("t", {"text": "text"})
        store.append("t", {"text": "a canary that is not to be found"})
        store.checkpoint()
        store.append("t", {"text": "a canary that is not to be found"})
    assert all(b"canary" not in f.read_bytes() for f in tmp_path.rglob("*") if f.is_file())
    assert len(ResultTables(tmp_path, key=key).read("t")) == 2
    for other in (b"", bytes(32)):
        with pytest.raises(walle_rt.ArgumentError):
            ResultTables(tmp_path, key=other)


CHILD = """
import sys
from walle_rt.results import ResultStore
store = ResultStore(sys.argv[1], journal_bytes=65536)
store.declare("t", {"n": "int", "text": "text"})
n = len(store.read("t"))
while True:
    n += 1
    store.append("t", {"n": n, "text": "x" * (n % 50)})
    print(n, flush=True)
    if n % 97 == 0:
        store.checkpoint()
"""


def test_kill_9_loses_no_row_that_was_accepted(tmp_path: Path) -> None:
    """Twelve kills at random moments, one folder."""
    wait = random.Random(random_seed())
    accepted = 0
    for _ in range(12):
        child = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(CHILD), str(tmp_path / "rows")], stdout=subprocess.PIPE
        )
        assert child.stdout
        for _ in range(wait.randrange(1, 400)):
            accepted = int(child.stdout.readline())
        child.send_signal(signal.SIGKILL)
        rest = child.stdout.read().split()
        accepted = int(rest[-1]) if rest else accepted
        child.wait()
        with ResultStore(tmp_path / "rows", journal_bytes=65536) as store:
            rows = store.read("t")
            assert rows.column("n").tolist() == list(range(1, len(rows) + 1))
            assert len(rows) in (accepted, accepted + 1)
            assert store.losses() == []


def test_damage_is_told_until_it_is_acknowledged(tmp_path: Path) -> None:
    with ResultStore(tmp_path) as store:
        store.declare("t", COLUMNS)
        store.append("t", [row(n) for n in range(1, 51)])
        store.checkpoint()
        store.append("t", row(51))
    (segment,) = (tmp_path / "tables").glob("*.wtab")
    data = bytearray(segment.read_bytes())
    data[100] ^= 1
    segment.write_bytes(data)
    for _ in range(2):
        with ResultStore(tmp_path) as store:
            assert store.read("t").numbers.tolist() == [51]
            (loss,) = store.losses()
            assert (loss.kind, loss.table, loss.first, loss.last, loss.rows) == (
                "damaged_segment",
                "t",
                1,
                50,
                50,
            )
    assert [f.name for f in (tmp_path / "tables").glob("*.damaged")] == [segment.name + ".damaged"]
    with ResultStore(tmp_path) as store:
        store.acknowledge_losses()
        assert store.losses() == []
        store.append("t", row(52))
        assert store.last("t", 1).numbers.tolist() == [52]
