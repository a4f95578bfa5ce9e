"""How long rows of features are kept, and how many."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from cloud.servers import opened_server
from cloud.test_sink import batch, message, said

from walle_rt import ArgumentError, _core
from walle_rt.cloud.sink import FeatureTables, Limit, Maintenance, Message, SinkStore, read_limits

DAY = 86_400
STORED = 0


def stored(path: Path, *seqs: int, at: float, feature: str = "f") -> SinkStore:
    """Records that came at a time."""
    store = SinkStore(path)
    records = [(seq, 1, "t", feature, batch(n=seq)) for seq in seqs]
    store.write([Message("d", _core.tunnel.pack_message([(feature, b"", False, records)]))])
    with sqlite3.connect(path) as db:
        known = f"(SELECT id FROM sources WHERE stream = '{feature}')"
        marks = ", ".join(map(str, seqs))
        db.execute(
            f"UPDATE records SET received = ? WHERE source = {known} AND seq IN ({marks})", (int(at * 1e6),)
        )
    return store


def left(path: Path, feature: str = "f") -> list[int]:
    with FeatureTables(path) as tables:
        return sorted(row[5] for row in tables.rows(tables.table("t", feature)))


def test_rows_of_an_age_are_kept_up_to_that_very_age(tmp_path: Path) -> None:
    path = tmp_path / "features.db"
    stored(path, 1, at=0).close()
    stored(path, 2, 3, at=10).close()
    stored(path, 4, at=DAY).close()
    maintenance = Maintenance(path, {"default": Limit(days=1)})
    assert maintenance.sweep(DAY) == 0 and left(path) == [1, 2, 3, 4]
    assert maintenance.sweep(DAY + 10) == 1 and left(path) == [2, 3, 4]
    assert maintenance.sweep(DAY + 10.001) == 2 and left(path) == [4]
    assert maintenance.deleted == {"t/f": 3}
    assert maintenance.sweep(9 * DAY) == 1 and left(path) == []
    assert maintenance.sweep(10 * DAY) == 0


def test_the_newest_rows_are_kept_and_each_feature_has_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "features.db"
    stored(path, *range(1, 11), at=0).close()
    stored(path, *range(1, 11), at=0, feature="g").close()
    stored(path, *range(1, 11), at=0, feature="h").close()
    maintenance = Maintenance(path, {"default": Limit(rows=7), "t/g": Limit(rows=0), "t/h": Limit()})
    assert maintenance.sweep(0) == 13
    assert (left(path), left(path, "g"), left(path, "h")) == ([4, 5, 6, 7, 8, 9, 10], [], list(range(1, 11)))
    stored(path, 11, 12, at=0).close()
    assert maintenance.sweep(0) == 2 and left(path) == [6, 7, 8, 9, 10, 11, 12]
    assert maintenance.deleted == {"t/f": 5, "t/g": 10}


def test_a_record_whose_rows_were_deleted_is_not_stored_again(tmp_path: Path) -> None:
    path = tmp_path / "features.db"
    store = stored(path, 1, 2, 3, at=0, feature="s")
    try:
        assert Maintenance(path, {"default": Limit(rows=1)}).sweep(0) == 2
        assert said(store.write([message(1, 2, 4)])["d"]) == [("s", STORED, [1, 2, 4])]
        assert store.counts.duplicates == 2
    finally:
        store.close()
    with FeatureTables(path) as tables:
        assert sorted(seq for _, _, seq in tables.records()) == [1, 2, 3, 4]


def test_a_sweep_is_bounded_and_the_next_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "features.db"
    stored(path, 1, at=0).close()
    with sqlite3.connect(path) as db:
        many = ((1, seq, seq, 0, 1) for seq in range(2, 25_001))
        db.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?)", many)
        db.executemany("INSERT INTO feature_1 VALUES (1, ?, 0, 0, 0)", ((seq,) for seq in range(2, 25_001)))
    maintenance = Maintenance(path, {"default": Limit(days=1)})
    assert maintenance.sweep(9 * DAY) == 20_000
    assert maintenance.sweep(9 * DAY) == 5_000 and left(path) == []


def test_nothing_is_deleted_where_nothing_is_declared(tmp_path: Path) -> None:
    path = tmp_path / "features.db"
    assert Maintenance(path, {"default": Limit(days=0)}).sweep(1e9) == 0 and not path.exists()
    stored(path, 1, at=0).close()
    assert read_limits(tmp_path / "none.toml") == {}
    assert Maintenance(path, {}).sweep(1e9) == 0 and left(path) == [1]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[default", "TOML"),
        ("days = 3", "days, rows or both|TASK/FEATURE"),
        ("[other]\ndays = 3", "TASK/FEATURE"),
        ("[default]\nhours = 3", "days, rows or both"),
        ("[default]\ndays = -1", "not negative"),
        ("[default]\ndays = true", "not negative"),
        ("[default]\nrows = 1.5", "not negative"),
        ("[default]\nrows = 2147483648", "not negative"),
        ("[default]\ndays = nan", "not negative"),
    ],
)
def test_limits_that_are_none_are_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "retention.toml").write_text(text)
    with pytest.raises(ArgumentError, match=says):
        read_limits(tmp_path / "retention.toml")


def test_the_server_sweeps_once_a_minute_and_counts(tmp_path: Path) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    (folder / "retention.toml").write_text('["t/f"]\nrows = 1\n')
    assert read_limits(folder / "retention.toml") == {"t/f": Limit(rows=1)}
    with opened_server(tmp_path) as local:
        stored(folder / "features.db", 1, 2, 3, at=0).close()
        local.state.turn()
        assert left(folder / "features.db") == [3]
        stored(folder / "features.db", 4, at=0).close()
        local.clock.forward(59)
        local.state.turn()
        assert left(folder / "features.db") == [3, 4]
        local.clock.forward(1)
        local.state.turn()
        assert left(folder / "features.db") == [4]
        told = local.ask("GET", "/metrics", local.admin).text
        assert 'walle_feature_rows_deleted_total{feature="t/f"} 3.0' in told
