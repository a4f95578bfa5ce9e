"""The sink's database: each record once, however often and in whatever order it comes."""

from __future__ import annotations

import random
import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from random_seed import random_seed

from walle_rt import ArgumentError, NetworkError, _core
from walle_rt._core import mqtt
from walle_rt.cloud.sink import Endpoint, FeatureTables, Limits, Message, SinkStore
from walle_rt.cloud.sink._mqtt import Packet, Reader

STORED, REFUSED, UNKNOWN = 0, 1, 2


def batch(**columns: object) -> bytes:
    """One row as pack_batch writes it."""
    out = struct.pack("<IqI", 1, 1_700_000_000_000_000, len(columns))
    for name, value in columns.items():
        out += struct.pack("<I", len(name.encode())) + name.encode()
        if value is None:
            out += b"\x80\0"
        elif isinstance(value, int):
            out += b"\0" + struct.pack("<q", value)
        elif isinstance(value, float):
            out += b"\1" + struct.pack("<d", value)
        elif isinstance(value, str):
            out += b"\3" + struct.pack("<I", len(value.encode())) + value.encode()
        else:
            floats = np.asarray(value, "<f4")
            out += b"\5" + struct.pack("<I", floats.nbytes) + floats.tobytes()
    return out


def message(
    *seqs: int, device: str = "d", stream: str = "s", words: bytes = b"", remember: bool = False
) -> Message:
    records = [(seq, seq * 10, "t", "f", batch(n=seq)) for seq in seqs]
    return Message(device, _core.tunnel.pack_message([(stream, words, remember, records)]))


def said(acks: list[bytes]) -> list[tuple[str, int, list[int]]]:
    out = []
    for ack in acks:
        for stream, status, _, runs in _core.tunnel.read_ack(ack):
            out.append((stream, status, [n for first, count in runs for n in range(first, first + count)]))
    return sorted(out)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SinkStore]:
    made = SinkStore(tmp_path / "sink.sqlite")
    yield made
    made.close()


def records(store: SinkStore) -> list[tuple[str, str, int]]:
    with FeatureTables(store.path) as tables:
        return sorted(tables.records())


def test_a_record_is_stored_once_and_acknowledged_each_time(store: SinkStore) -> None:
    first = store.write([message(1, 2), message(2, 3)])
    assert said(first["d"]) == [("s", STORED, [1, 2, 3])]
    assert said(store.write([message(1, 3)])["d"]) == [("s", STORED, [1, 3])]
    assert records(store) == [("d", "s", 1), ("d", "s", 2), ("d", "s", 3)]
    with FeatureTables(store.path) as tables:
        assert sorted(row[5] for row in tables.rows(tables.table("t", "f"))) == [1, 2, 3]
    assert store.counts.records == 3 and store.counts.duplicates == 3


def test_the_same_number_of_another_stream_or_device_is_another_record(store: SinkStore) -> None:
    store.write([message(1), message(1, stream="u"), message(1, device="e")])
    assert len(records(store)) == 3


def test_any_order_and_any_doubling_over_restarts(tmp_path: Path) -> None:
    rng = random.Random(random_seed())
    store = SinkStore(tmp_path / "sink.sqlite")
    sent = [(f"d{rng.randrange(3)}", f"s{rng.randrange(2)}", 1 + rng.randrange(60)) for _ in range(800)]
    for start in range(0, len(sent), 40):
        part = sent[start : start + 40]
        store.write([message(seq, device=device, stream=stream) for device, stream, seq in part])
        if rng.random() < 0.3:
            store.close()
            store = SinkStore(tmp_path / "sink.sqlite")
    assert records(store) == sorted(set(sent))
    with FeatureTables(store.path) as tables:
        assert tables.tables()[0].rows == len(set(sent))
    store.close()


def test_a_full_disk_stores_nothing_of_a_batch_and_the_next_try_all_of_it(store: SinkStore) -> None:
    store.write([message(1, remember=True)])
    (pages,) = store._db.execute("PRAGMA page_count").fetchone()
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    big = [
        Message("d", _core.tunnel.pack_message([("s", b"", True, [(n, 0, "t", "f", batch(x="y" * 5000))])]))
        for n in range(2, 30)
    ]
    with pytest.raises(sqlite3.Error, match="full"):
        store.write(big)
    assert records(store) == [("d", "s", 1)]
    assert store.counts.records == 1
    store._db.execute("PRAGMA max_page_count = 1000000")
    assert said(store.write(big)["d"]) == [("s", STORED, list(range(2, 30)))]
    assert len(records(store)) == 29


def test_a_dictionary_outlives_the_sink_and_an_unknown_one_is_said(tmp_path: Path) -> None:
    store = SinkStore(tmp_path / "sink.sqlite")
    (ack,) = store.write([message(1, remember=True)])["d"]
    ((_, _, number, _),) = _core.tunnel.read_ack(ack)
    assert number != 0
    ((_, _, same, words, _),) = _core.tunnel.read_message(message(1, remember=True).payload, lambda *_: None)
    assert same == number
    long = batch(text="word " * 50)
    with_words = _core.tunnel.pack_message([("s", words, False, [(2, 0, "t", "f", long)])])
    store.close()
    store = SinkStore(tmp_path / "sink.sqlite")
    assert said(store.write([Message("d", with_words)])["d"]) == [("s", STORED, [2])]
    # The same bytes of a device that never had it to remember.
    assert said(store.write([Message("e", with_words)])["e"]) == [("s", UNKNOWN, [])]
    assert records(store) == [("d", "s", 1), ("d", "s", 2)]
    assert store.counts.unknown_dictionaries == 1
    store.close()


def test_what_can_never_be_taken_is_refused_and_the_rest_of_the_message_is_not(store: SinkStore) -> None:
    given = [
        (1, 0, "t", "f", batch(n=1)),
        (2, 0, "t", "f", b"no batch"),
        (3, 0, "t", "f", batch(**{f"c{i}": i for i in range(401)})),
        (4, 0, "t", "f", batch(**{f"c{i}": i for i in range(400)})),
        ((1 << 63), 0, "t", "f", batch(n=5)),
    ]
    answer = store.write([Message("d", _core.tunnel.pack_message([("s", b"", False, given)]))])
    assert said(answer["d"]) == [("s", STORED, [1, 4]), ("s", REFUSED, [2, 3, 1 << 63])]
    reasons = [row[0] for row in store._db.execute("SELECT reason FROM refusals ORDER BY id")]
    assert "no batch" in reasons[0] and "401 columns" in reasons[1]


def test_damaged_messages_are_counted_and_say_nothing(store: SinkStore) -> None:
    good = message(1).payload
    assert store.write([Message("d", good[:-1]), Message("d", b""), Message("d", good[:-1] + b"x")]) == {}
    assert store.counts.damaged == 3 and records(store) == []


def test_devices_cannot_make_the_sink_hold_without_bound(tmp_path: Path) -> None:
    store = SinkStore(tmp_path / "sink.sqlite", Limits(streams=2, schemas=2, columns=3))
    for stream, status in (("a", STORED), ("b", STORED), ("c", REFUSED), ("a", STORED)):
        assert said(store.write([message(1, stream=stream)])["d"])[0][:2] == (stream, status)
    for seq, name, status in ((1, "x", STORED), (2, "y", REFUSED), (3, "x", STORED)):
        record = (seq, 0, "t", "f", batch(**{name: 1}))
        payload = _core.tunnel.pack_message([("s", b"", False, [record])])
        assert said(store.write([Message("e", payload)])["e"])[0][1] == status
    for _ in range(5):
        store.write([message(1, device="many", remember=True), message(2, device="many", remember=True)])
        store.write([message(3, 4, device="many", remember=True)])
    (kept,) = store._db.execute(
        "SELECT max(n) FROM (SELECT count(*) AS n FROM dictionaries GROUP BY source)"
    ).fetchone()
    assert kept == 2
    store.close()


def test_a_schema_has_a_table_and_any_name(store: SinkStore, tmp_path: Path) -> None:
    nasty = 'c0"; DROP TABLE records; --'
    code = np.arange(3, dtype=np.float32)
    rows = batch(**{nasty: "it's", "größe": 1.5, "code": code, "none": None, "row": 7})
    store.write([Message("d", _core.tunnel.pack_message([("s", b"", False, [(1, 0, "t", "f", rows)])]))])
    store.write([message(2)])
    with FeatureTables(store.path) as tables:
        first, second = tables.tables()
        assert first.columns == (nasty, "größe", "code", "none", "row") and second.columns == ("n",)
        assert tables.table("t", "f") == second
        ((device, stream, seq, _, _, *values),) = tables.rows(first)
        assert (device, stream, seq) == ("d", "s", 1)
        assert values == ["it's", 1.5, code.tobytes(), None, 7]
        polars = pytest.importorskip("polars")
        assert tables.export(first, tmp_path / "first.parquet") == 1
        frame = polars.read_parquet(tmp_path / "first.parquet")
        assert frame["größe"].to_list() == [1.5] and frame["device"].to_list() == ["d"]
        with pytest.raises(ArgumentError, match="t/f"):
            tables.table("t", "g")
    with pytest.raises(ArgumentError, match="no file"):
        FeatureTables(tmp_path / "none.sqlite")


def test_another_version_of_the_file_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "sink.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 9")
    with pytest.raises(sqlite3.DatabaseError, match="version 9"):
        SinkStore(path)


def test_packets_are_read_whatever_the_pieces() -> None:
    stream = mqtt.publish("w/d/up", b"x" * 300, number=5) + mqtt.publish("$SYS/a", b"1") + b"\xd0\x00"
    whole = list(_fed(stream, len(stream)))
    assert [(p.kind, p.number, p.topic, len(p.payload)) for p in whole] == [
        (3, 5, "w/d/up", 300),
        (3, 0, "$SYS/a", 1),
        (13, 0, "", 0),
    ]
    for size in (1, 2, 3, 7, 100):
        assert list(_fed(stream, size)) == whole


def _fed(stream: bytes, size: int) -> Iterator[Packet]:
    reader = Reader(1000)
    for start in range(0, len(stream), size):
        reader.add(stream[start : start + size])
        yield from reader.packets()


@pytest.mark.parametrize(
    "bad",
    [
        b"\x30\xff\xff\xff\xff\x01",
        b"\x30\x80\x80\x01",
        b"\x34\x05\0\1a\0\1",
        b"\x30\x01\0",
        b"\x40\x01\0",
        b"\x32\x03\0\1a",
        b"\x30\x03\0\1\xff",
        b"\xf0\0",
        b"\x20\x01\0",
    ],
)
def test_what_is_no_mqtt_ends_the_connection(bad: bytes) -> None:
    reader = Reader(1000)
    reader.add(bad)
    with pytest.raises(NetworkError, match="MQTT"):
        reader.packets()


def test_an_address_is_one_with_tls(tmp_path: Path) -> None:
    for url in ("mqtt://host", "host", "mqtts://", "mqtts://user@host", "mqtts://host/path"):
        with pytest.raises(ArgumentError, match="mqtts://host:port"):
            Endpoint(url, tmp_path, tmp_path, tmp_path).address()
    assert Endpoint("mqtts://host", tmp_path, tmp_path, tmp_path).address() == ("host", 8883)
