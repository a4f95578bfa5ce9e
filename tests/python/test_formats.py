"""Small files of each format, decoded here in plain Python by the pages of docs/reference/formats/ alone."""

from __future__ import annotations

import re
import struct
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from build_model import model
from onnx.helper import make_node

import walle_rt
from walle_rt.device import Device
from walle_rt.results import ResultStore
from walle_rt.stream import (
    Batch,
    Catalog,
    ColumnType,
    EventKind,
    FeatureField,
    FeaturePolicy,
    Graph,
    Sensitivity,
    unpack_batch,
)
from walle_rt.stream._egress import EgressGate
from walle_rt.stream._log import EventLog
from walle_rt.stream._privacy import spend_epsilon
from walle_rt.stream._processor import Processor, WhenFull
from walle_rt.stream._triggers import TriggerSet

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "reference" / "formats"
sys.path.insert(0, str(ROOT / "tests" / "fault"))

from seal import crc32c  # noqa: E402 - a sibling folder of the tests

T0 = 1_700_000_000_000_000
DAY = 86_400_000_000  # us
FIELDS = {"i": ColumnType.INT, "d": ColumnType.FLOAT, "b": ColumnType.BOOL, "t": ColumnType.TEXT}
CLICK, APP_STATE = 3, 5  # ids of built-in events


class Reader:
    """Numbers and texts from front to back."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, layout: str) -> Any:
        """One value of a struct layout, or a tuple of several; little-endian without padding."""
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values if len(values) > 1 else values[0]

    def bytes(self, size: int) -> bytes:
        assert size <= len(self.data) - self.at
        self.at += size
        return self.data[self.at - size : self.at]

    def text(self) -> str:
        return self.bytes(self.take("I")).decode()

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take("B")
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    def done(self) -> bool:
        return self.at == len(self.data)


def test_every_page_is_in_the_list() -> None:
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", (PAGES / "README.md").read_text()))
    assert listed == {p.name for p in PAGES.glob("*.md")} - {"README.md"}


def test_the_checksum_is_the_one_the_page_names() -> None:
    assert crc32c(b"123456789") == 0xE3069283


# --- event log: journal, records, segments


def world() -> Catalog:
    return (
        Catalog()
        .declare("click", EventKind.CLICK, FIELDS)
        .declare("mark", fields=FIELDS)
        .page("home")
        .state("wifi")
    )


def fill(log: EventLog, count: int = 40) -> None:
    for n in range(count):
        contents = {"i": n * n - 5, "d": n / 8, "b": n % 2 == 0, "t": "x" * (n % 7)}
        given = {k: v for k, v in contents.items() if (n + ord(k)) % 5}
        log.append("click" if n % 3 else "mark", "home", given, ts=T0 + 1000 * n)
        if n % 10 == 0:
            log.set_state("wifi", n % 20 == 0, ts=T0 + 1000 * n)


def frames(data: bytes) -> list[tuple[int, bytes]]:
    """Number and payload of every frame of a journal's chain."""
    magic, capacity, capacity_not, newest, newest_not = struct.unpack_from("<8s4Q", data)
    ones = 2**64 - 1
    assert magic == b"WALJRNL1" and capacity ^ capacity_not == ones and newest ^ newest_not == ones
    ring = data[4096:]
    assert len(ring) == capacity and capacity % 4096 == 0
    tails = [struct.unpack_from("<QQQII", data, at) for at in (64, 128)]
    valid = [t for t, at in zip(tails, (64, 128), strict=True) if t[3] == crc32c(data[at : at + 24]) and t[0]]
    _, seq, offset, *_ = max(valid, default=(0, 1, 0))
    out = []
    for _ in range(capacity // 16):
        if capacity - offset < 16:
            offset = 0
        crc, size, number = struct.unpack_from("<IIQ", ring, offset)
        payload = {0xFFFFFFFF: 0, 0xFFFFFFFE: 8}.get(size, size)
        if number != seq or crc != crc32c(ring[offset + 4 : offset + 16 + payload]):
            break
        content = ring[offset + 16 : offset + 16 + payload]
        offset += (16 + payload + 7) // 8 * 8
        if size == 0xFFFFFFFF:
            offset = 0
        elif size == 0xFFFFFFFE:
            seq = struct.unpack("<Q", content)[0]
        else:
            out.append((number, content))
            seq += 1
    assert seq == newest + 1
    return out


def record(payload: bytes) -> dict[str, Any]:
    """An event record; contents by position."""
    r = Reader(payload)
    event, page, flags, n, ts, session, instance = r.take("HHBBqQQ")
    own = r.take("q") if flags & (1 | 16) else ts
    contents: dict[int, Any] = {}
    for _ in range(n):
        position, kind = r.take("BB")
        contents[position] = {
            0: lambda: r.take("q"),
            1: lambda: r.take("d"),
            2: lambda: bool(r.take("q")),
            3: r.text,
        }[kind]()
    assert r.done()
    return {
        "event": event,
        "page": page,
        "flags": flags,
        "ts": ts,
        "own": own,
        "session": session,
        "instance": instance,
    } | {"contents": contents}


def same(decoded: dict[str, Any], read: Any, log_catalog: Catalog) -> bool:
    """Whether a decoded record is the event that the log gives."""
    names = [name for name, _, _ in log_catalog.events]
    contents = {list(FIELDS)[at]: v for at, v in decoded["contents"].items()}
    return (
        names[decoded["event"]] == read.event
        and decoded["ts"] == read.ts
        and decoded["own"] == read.own_ts
        and decoded["session"] == read.session
        and decoded["flags"] == read.flags
        and contents == dict(read.contents)
    )


def test_journal_and_event_records(tmp_path: Path) -> None:
    with EventLog(tmp_path, world(), journal_bytes=16384) as log:
        fill(log)
        found = frames((tmp_path / "journal.walj").read_bytes())
        events = list(log.read())
        assert [number for number, _ in found] == [e.seq for e in events] and len(found) == 44
        decoded = [record(payload) for _, payload in found]
        assert all(same(d, e, log.catalog) for d, e in zip(decoded, events, strict=True))
    assert {d["event"] for d in decoded} == {CLICK, APP_STATE, 7}
    assert {d["flags"] for d in decoded if d["event"] == APP_STATE} == {0, 8}


def test_a_journal_that_has_gone_round(tmp_path: Path) -> None:
    with EventLog(tmp_path, world(), journal_bytes=8192) as log:
        for _ in range(6):
            fill(log)
            log.compact()
        fill(log, 20)
        numbers = [number for number, _ in frames((tmp_path / "journal.walj").read_bytes())]
        assert numbers == list(range(log.last_seq - 21, log.last_seq + 1))


def marked(marks: bytes, rows: int) -> list[bool]:
    """Which rows have a value, a bit each, the lowest first."""
    bits = int.from_bytes(marks, "little")
    assert bits >> rows == 0 and bits.bit_count() < rows
    return [bool(bits >> row & 1) for row in range(rows)]


def column(r: Reader, most: int) -> tuple[str, list[Any]]:
    """One column of a segment, None where there is no value."""
    start = r.at
    name = r.bytes(r.take("B")).decode()
    kind, codec, rows, values, raw_size, stored_size = r.take("BBIIII")
    head = r.data[start : r.at]
    crc, stored = r.take("I"), r.bytes(stored_size)
    assert crc == crc32c(head + stored) and values <= rows <= most
    raw = Reader(zlib.decompress(stored) if codec else stored)
    assert len(raw.data) == raw_size
    present = marked(raw.bytes((rows + 7) // 8), rows) if values < rows else [True] * rows
    out: list[Any] = []
    if kind in (0, 2):
        previous = 0
        for _ in range(values):
            z = raw.varint()
            previous = (previous + (z >> 1 ^ -(z & 1))) & (2**64 - 1)
            out.append(bool(previous) if kind == 2 else previous - 2**64 if previous >> 63 else previous)
    else:
        words = [raw.take("d") if kind == 1 else raw.bytes(raw.varint()) for _ in range(raw.varint())]
        assert len(words) <= values
        out = [words[raw.varint()] for _ in range(values)]
    assert raw.done()
    found = iter(w.decode() if kind == 3 else w for w in out)
    return name, [next(found) if there else None for there in present]


def segment(data: bytes) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Head and columns of a segment."""
    r = Reader(data)
    magic, first, rows, min_ts, max_ts, columns, crc = r.take("8sQQqqII")
    assert magic == b"WSEG0001" and crc == crc32c(data[:44])
    found = dict(column(r, rows) for _ in range(columns))
    assert r.done()
    return {"first": first, "rows": rows, "min_ts": min_ts, "max_ts": max_ts}, found


def test_segment(tmp_path: Path) -> None:
    with EventLog(tmp_path, world()) as log:
        fill(log)
        log.compact()
        events = list(log.read())
    (file,) = tmp_path.glob("*.wseg")
    head, columns = segment(file.read_bytes())
    assert file.name == f"{1:016x}-{events[-1].seq:016x}.wseg"
    assert head == {"first": 1, "rows": len(events), "min_ts": T0, "max_ts": events[-1].ts}
    assert columns["seq"] == [e.seq for e in events] and columns["ts"] == [e.ts for e in events]
    assert columns["flags"] == [e.flags for e in events]
    for position, name in enumerate(FIELDS):
        clicks = [e for e in events if e.event == "click"]
        assert columns[f"v{CLICK}.{position}"] == [e.contents.get(name) for e in clicks]


# --- result tables: frames of commits, segments, manifest


COLUMNS = {"user": "text", "n": "int", "score": "float", "new": "bool", "code": "bytes"}


def result(n: int) -> dict[str, Any]:
    """Row n of the tests, without what it does not have."""
    whole = {"user": f"u{n % 3}", "n": n * n - 5, "score": n / 8, "new": n % 2 == 0, "code": bytes([n] * n)}
    return {name: v for at, (name, v) in enumerate(whole.items()) if (n + at) % 4}


def rows_of(data: bytes, columns: int, count: int) -> list[dict[str, Any]]:
    """Rows as a frame has them."""
    r, out = Reader(data), []
    for _ in range(count):
        r.take("q")
        mask = int.from_bytes(r.bytes((columns + 7) // 8), "little")
        row: dict[str, Any] = {}
        for at, (name, kind) in enumerate(COLUMNS.items()):
            if mask >> at & 1:
                row[name] = {
                    "int": lambda: r.take("q"),
                    "float": lambda: r.take("d"),
                    "bool": lambda: bool(r.take("B")),
                    "text": lambda: r.bytes(r.varint()).decode(),
                    "bytes": lambda: r.bytes(r.varint()),
                }[kind]()
        out.append(row)
    assert r.done()
    return out


def test_commits_and_result_tables(tmp_path: Path) -> None:
    with ResultStore(tmp_path, journal_bytes=65536) as store:
        store.declare("shop.rows", COLUMNS, max_bytes=5000, max_age_s=60)
        store.append("shop.rows", [result(n) for n in range(5)])
        store.append("shop.rows", result(5))
        journal = frames((tmp_path / "commits.walj").read_bytes())
        store.checkpoint()
        times = store.read("shop.rows").times
    found = []
    for _, payload in journal:
        r = Reader(payload)
        assert r.take("B") == 1 and r.text() == "" and r.take("Q") == 0 and r.take("I") == 1
        assert r.text() == "shop.rows" and r.take("Q") == len(found) + 1
        count, columns = r.take("I"), r.take("H")
        found += rows_of(r.bytes(r.take("I")), columns, count)
        assert (r.take("I"), r.take("I"), r.take("I")) == (0, 0, 0) and r.done()
    assert found == [result(n) for n in range(6)]
    (file,) = (tmp_path / "tables").glob("*.wtab")
    assert file.name == f"shop.rows.{1:016x}-{6:016x}.wtab"
    head, columns = segment(file.read_bytes())
    assert head == {"first": 1, "rows": 6, "min_ts": times.min(), "max_ts": times.max()}
    assert columns["#"] == list(range(1, 7)) and columns["@"] == times.tolist()
    for name in COLUMNS:
        assert columns[":" + name] == [result(n).get(name) for n in range(6)], name
    r = Reader(mirrored(tmp_path / "tables" / "tables.wals", b"TABL")[1])
    assert (r.take("B"), r.take("Q"), r.take("I"), r.text()) == (3, 2, 1, "shop.rows")
    assert (r.take("q"), r.take("q"), r.take("I")) == (5000, 60_000_000, 5)
    assert [(r.take("B"), r.text()) for _ in range(5)] == [
        (3, "user"),
        (0, "n"),
        (1, "score"),
        (2, "new"),
        (4, "code"),
    ]
    since, newest, reserved, floor, removed, removed_to = r.take("6Q")
    assert (since, newest, floor, removed, removed_to) == (0, 6, 0, 0, 0) and reserved > 6
    assert r.take("I") == 1
    assert r.take("QQQqqq") == (1, 6, 6, times.min(), times.max(), file.stat().st_size)
    assert r.take("I") == 0 and r.done()
    settled = state(tmp_path / "commits.wals")
    assert settled[b"applied"] == settled[b"newest"] == struct.pack("<Q", 2)


# --- snapshot


def fnv(*parts: bytes) -> int:
    """The fingerprint of what is named."""
    h = 0xCBF29CE484222325
    for byte in b"".join(parts):
        h = (h ^ byte) * 0x100000001B3 % 2**64
    h ^= h >> 33
    h = h * 0xFF51AFD7ED558CCD % 2**64
    return h ^ h >> 33


def text_fingerprint(text: str) -> int:
    return fnv(struct.pack("<Q", len(text.encode())), text.encode())


def test_snapshot(tmp_path: Path) -> None:
    texts = [
        "click ~ mark",
        "click > mark scope page",
        "click !mark ~ click rate 3 per 1h",
        "every 15m when wifi",
        "click cooldown 1h per page keep 8",
    ]
    matching = TriggerSet(world())
    for n, text in enumerate(texts):
        matching.add(f"t{n}", text)
    with EventLog(tmp_path, world()) as log:
        fill(log)
        matching.replay(log)
        newest = log.last_seq
    data = matching.snapshot()
    r = Reader(data[:-4])
    assert crc32c(r.data) == struct.unpack("<I", data[-4:])[0] and r.bytes(4) == b"WSS4"
    base, started, key, last_seq, last_ts, now, states = r.take("qBQQqqQ")
    century = 100 * 366 * 86_400_000_000
    assert (base, started, last_seq, last_ts, now) == (T0 - century, 1, newest, T0 + 39_000, T0 + 39_000)
    assert key >> 10 == last_ts - base + 1 and states == 0
    fired, limits, periods = {}, {}, {}
    for _ in range(r.take("I")):
        fingerprint, period, once, last_fire = r.take("QqBq")
        periods[fingerprint] = period
        fired[fingerprint] = (once, last_fire, [r.take("q") for _ in range(r.take("I"))])
        limits[fingerprint] = [limit(r) for _ in range(r.take("I"))]
    assert set(fired) == {text_fingerprint(text) for text in texts}
    assert len(fired[text_fingerprint(texts[2])][2]) == 3
    every = periods.pop(text_fingerprint(texts[3]))
    assert every % 900_000_000 == 0 and every >= now and set(periods.values()) == {-(2**63)}
    assert [len(kept) for kept in limits.values()].count(1) == 1
    (per_page,) = limits[text_fingerprint(texts[4])]
    assert per_page and all(len(times) == 1 and times[0] >= T0 for times in per_page.values())
    scopes = [group(r, set(fired)) for _ in range(r.take("I"))]
    assert r.done() and sorted(scopes) == [0, 2]
    # The root's child for `click` on any page: the atom (3, any), no gap, no guard, not strict.
    atom = fnv(struct.pack("<IQ", CLICK << 16 | 0xFFFF, 0))
    edge = fnv(struct.pack("<QQi", 2**64 - 1, 0, 0))
    assert struct.pack("<Q", fnv(struct.pack("<QQQ", 0, edge, atom))) in data


def limit(r: Reader) -> dict[int, list[int]]:
    """Reads a limit per key: the times of each key's firings."""
    times, keys = r.take("II")
    return {r.take("Q"): [r.take("q") for _ in range(times)] for _ in range(keys)}


def group(r: Reader, triggers: set[int]) -> int:
    """Reads one trie's part; its scope."""
    scope, parts = r.take("BB")
    assert parts == 0 and r.take("I") == 0
    nodes, guards, names = ([r.take("Q") for _ in range(r.take("I"))] for _ in range(3))
    assert set(names) <= triggers
    for _ in range(r.take("I")):
        _key, _outer, _newest, closed = r.take("QQQB")
        assert closed in (0, 1)
        for _ in range(r.take("I")):
            place, start, last = r.take("HQQ")
            assert place < len(nodes) and 0 < start <= last
        for _ in range(r.take("I")):
            place, word = r.take("HQ")
            assert place < len(guards) and word
        for _ in range(r.take("I")):
            place, *words = r.take("HQQQ")
            assert place < len(names) and any(words)
    return int(scope)


# --- egress


def mirrored(path: Path, kind: bytes) -> tuple[int, bytes]:
    """Number and content of a mirrored file whose copies are whole."""
    data = path.read_bytes()
    assert data == path.with_name(path.name + ".mirror").read_bytes()
    magic, crc, number, of, size = struct.unpack_from("<8sIQ4sI", data)
    assert magic == b"WALMIRR1" and of == kind and crc == crc32c(data[12:])
    assert len(data) == 28 + size
    return number, data[28:]


def state(path: Path) -> dict[bytes, bytes]:
    """Entries of a state file."""
    r = Reader(mirrored(path, b"STAT")[1])
    out = {}
    for _ in range(r.take("I")):
        key, value = r.take("II")
        name = r.bytes(key)
        out[name] = r.bytes(value)
    assert r.done() and list(out) == sorted(out)
    return out


def test_egress_batch_ledger_and_state(tmp_path: Path) -> None:
    vectors = [np.array([1, 2], np.float32), np.array([3, 4], np.float32)]
    columns = {"ts": [T0, T0 + 1], "n": [1, None], "x": [0.5, -2.0], "s": ["ä", ""], "v": vectors}
    columns["b"] = [None, True]
    batch = Graph().select(*"nxsvb").push(Batch(columns))
    types = {"n": ColumnType.INT, "x": ColumnType.FLOAT, "s": ColumnType.TEXT, "v": ColumnType.VECTOR}
    types["b"] = ColumnType.BOOL
    fields = [FeatureField(c, t, highest=Sensitivity.PERSONAL) for c, t in types.items()]
    policy = FeaturePolicy("f", fields, 10_000, 10)
    gate = EgressGate(tmp_path)
    gate.allow("task", policy)
    gate.set_consents(["statistics"])
    sent = gate.send("task", "f", batch)
    r = Reader(sent)
    assert [r.take("q") for _ in range(r.take("I"))] == columns["ts"]
    found = [batch_column(r, 2) for _ in range(r.take("I"))]
    assert r.done() and found == [
        ("n", [1, None]),
        ("x", [0.5, -2.0]),
        ("s", ["ä", ""]),
        ("v", [(1.0, 2.0), (3.0, 4.0)]),
        ("b", [None, True]),
    ]
    assert unpack_batch(sent).columns["s"] == ["ä", ""]
    (_, first), (number, entry) = frames((tmp_path / "ledger.walj").read_bytes())
    assert first[8:] == struct.pack("<qqI", 0, 0, 0)
    r = Reader(entry)
    (ts, size, count), task = r.take("qqq"), r.text()
    assert (size, count, task, r.data[r.at :]) == (len(sent), 2, "task", b"f")
    assert ts == gate.ledger[0].ts
    kept = state(tmp_path / "egress.wals")
    assert kept.pop(b"entry") == struct.pack("<Q", number) + entry
    assert kept.pop(b"day/" + struct.pack("<I", 4) + b"taskf") == struct.pack("<qqq", ts // DAY, len(sent), 1)
    assert kept.pop(b"consent/statistics") == b""
    assert not kept


def test_stream_graph() -> None:
    data = Graph().filter("x > 1").select("x").to_bytes()
    magic, size = struct.unpack_from("<8sI", data)
    assert magic == b"WALGRAP1" and len(data) == 12 + size + 4
    content = data[12 : 12 + size]
    assert content[4:8] == b"WALG" and b"x > 1" in content
    assert struct.unpack("<I", data[-4:])[0] == crc32c(data[:-4])


def test_manifest_of_a_log(tmp_path: Path) -> None:
    with EventLog(tmp_path, world(), journal_bytes=8192) as log:
        fill(log, 30)
        log.compact()
        fill(log, 10)
        written = log.last_seq
    (tmp_path / "journal.walj").unlink()
    with EventLog(tmp_path) as log:
        (told,) = log.report.losses
    r = Reader(mirrored(tmp_path / "manifest.wals", b"MNFT")[1])
    version, closed, reserved, newest, compacted, removed, erased = r.take("BBQQQQQ")
    assert (version, closed, removed, erased) == (2, 1, 0, 0) and written <= newest <= reserved
    assert r.take("I") == 1
    first, last, rows, low, high, size = r.take("QQQqqq")
    (file,) = tmp_path.glob("*.wseg")
    head, _ = segment(file.read_bytes())
    assert file.name == f"{first:016x}-{last:016x}.wseg" and compacted == last
    assert (low, high, size, rows) == (head["min_ts"], head["max_ts"], file.stat().st_size, head["rows"])
    assert r.take("I") == 1
    kind, start, end, events, noticed, exact = r.take("BQQQqB")
    assert (kind, start, end, events, exact) == (0, last + 1, written, written - last, 1)
    assert noticed == told.noticed_ts and r.text() == "" and r.text() == told.cause
    assert r.take("I") == 0 and r.done()


def test_state_of_a_log(tmp_path: Path) -> None:
    with EventLog(tmp_path, world()) as log:
        fill(log)
        fill(log, 5)
        log.set_cursor("reader", 5)
        spend_epsilon(log, "clicks", 0.5, 1.0)
        catalog = log.catalog.to_bytes()
    assert state(tmp_path / "state.wals") == {
        b"cursor/reader": struct.pack("<Q", 5),
        b"epsilon/clicks": struct.pack("<d", 0.5),
    }
    assert mirrored(tmp_path / "catalog.walc", b"CATL")[1] == catalog


def batch_column(r: Reader, rows: int) -> tuple[str, list[Any]]:
    """A column of a batch, None where there is no value."""
    name, told = r.text(), r.take("B")
    present = marked(r.bytes((rows + 7) // 8), rows) if told & 0x80 else [True] * rows
    read: Callable[[], Any] = {
        0: lambda: r.take("q"),
        1: lambda: r.take("d"),
        2: lambda: bool(r.take("B")),
        3: r.text,
        5: lambda: r.take(f"{r.take('I') // 4}f"),
    }[told & 0x7F]
    return name, [read() if there else None for there in present]


# --- processor


def test_processor(tmp_path: Path) -> None:
    with Processor(tmp_path, world()) as device:
        device.install(
            "one", {"clicks": "click", "both": "click ~ mark"}, queue=7, when_full=WhenFull.DROP_NEW
        )
        device.install("gone", {"t": "mark"})
        device.record("mark")
        device.record("click")
        device.record("click")
        device.settle("one", 1)
        device.remove("gone")
        waiting = device.take("one")
        assert waiting is not None
        device.checkpoint()
    _number, content = mirrored(tmp_path / "processor.wals", b"PROC")
    r = Reader(content)
    text = r.text
    assert r.take("IBQ") == (3, 0, 3)
    session, page_instance, order = r.take("QQQ")
    local, changes, tasks = r.take("qII")
    assert (session, page_instance, order, tasks) == (1, 0, 3, 1) and (local, changes) == (0, 0)
    assert (text(), r.take("IBQQQQBI")) == ("one", (7, 2, 2, 1, 0, 0, 0, 2))
    triggers = [(text(), text(), *r.take("QIQQq")) for _ in range(2)]
    assert triggers[0][:4] == ("clicks", "click", 0, 2) and triggers[0][-1] == waiting.ts
    assert triggers[1] == ("both", "click ~ mark", 1, 0, 0, 0, -(2**63))
    assert r.take("I") == 1
    firing = r.take("QQQqqQQI")
    assert firing == (2, waiting.key, 3, waiting.ts, waiting.start_ts, 1, 0, 0)
    start_place, last_ts, last_place, within, fields = r.take("HqHBB")
    assert (last_ts, start_place, within, fields) == (waiting.ts, last_place, 0, 0) and last_place < 1024
    assert (text(), r.take("I"), text(), r.take("Q")) == ("clicks", 1, "gone", 1)
    snapshot = r.bytes(r.take("I"))
    assert snapshot[:4] == b"WSS4" and r.done()


# --- models and tasks


def field(data: bytes, table: int, slot: int) -> int:
    """Where a FlatBuffers table's field lies, 0 if nowhere."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, vtable)[0]
    at = 4 + 2 * slot
    offset = struct.unpack_from("<H", data, vtable + at)[0] if at < size else 0
    return table + offset if offset else 0


def vector(data: bytes, table: int, slot: int) -> tuple[int, int]:
    """Where the elements of a table's vector begin, and how many there are."""
    at = field(data, table, slot)
    at += struct.unpack_from("<I", data, at)[0]
    return at + 4, struct.unpack_from("<I", data, at)[0]


def test_model(tmp_path: Path) -> None:
    weights = {"w": np.ones(4, np.float32), "v": np.arange(20, dtype=np.float32).reshape(5, 4)}
    nodes = [make_node("Add", ["x", "w"], ["s"]), make_node("Mul", ["s", "v"], ["y"])]
    walle_rt.load(model(nodes, {"x": [4]}, ["y"], weights)).save(tmp_path / "m.walle")
    data = (tmp_path / "m.walle").read_bytes()
    r = Reader(data)
    magic, version, flags, graph, graph_bytes, area, area_bytes, graph_crc, crc = r.take("8sIIQQQQII")
    assert (magic, version, flags, graph) == (b"WALLEMDL", 1, 0, 64) and data[56:64] == bytes(8)
    assert crc == crc32c(data[:52]) and graph_crc == crc32c(data[graph : graph + graph_bytes])
    assert data[graph + 4 : graph + 8] == b"WALM"
    assert area % 64 == 0 and area >= graph + graph_bytes and area + area_bytes == len(data)

    root = graph + struct.unpack_from("<I", data, graph)[0]
    segments, count = vector(data, root, 4)
    sums, as_many = vector(data, root, 5)
    assert count == as_many == 2
    found = []
    for i in range(count):
        offset, size = struct.unpack_from("<QQ", data, segments + 16 * i)
        held = data[area + offset : area + offset + size]
        assert offset % 64 == 0 and len(held) == size
        assert crc32c(held) == struct.unpack_from("<I", data, sums + 4 * i)[0]
        found.append(np.frombuffer(held, np.float32))
    assert sorted(map(len, found)) == [4, 20]
    assert all(np.array_equal(f, weights["w" if len(f) == 4 else "v"].ravel()) for f in found)


def parts(data: bytes) -> dict[str, bytes]:
    """The parts of a task file by name; the bytecode's is empty."""
    r = Reader(data)
    magic, crc, index_bytes, count, zero = r.take("8sIIII")
    assert magic == b"WTASK001" and zero == 0 and crc == crc32c(data[24 : 24 + index_bytes])
    out = {}
    for _ in range(1 + count):
        offset, size, part_crc = r.take("QQI")
        part = data[offset : offset + size]
        assert offset % 64 == 0 and len(part) == size and crc32c(part) == part_crc
        out[r.text()] = part
    assert r.at == 24 + index_bytes and list(out) == sorted(out)
    return out


def value(r: Reader) -> Any:
    """One tagged value of a task."""
    tag = r.take("B")
    if tag == 6:
        return [value(r) for _ in range(r.take("I"))]
    if tag == 7:
        return {r.text(): value(r) for _ in range(r.take("I"))}
    return {
        0: lambda: None,
        1: lambda: bool(r.take("B")),
        2: lambda: r.take("q"),
        3: lambda: r.take("d"),
        4: r.text,
        5: lambda: r.bytes(r.take("I")),
    }[tag]()


def entries(data: bytes) -> dict[str, bytes]:
    """A key-value file."""
    r = Reader(data)
    magic, crc = r.take("8sI")
    assert magic == b"WALKV001" and crc == crc32c(data[12:])
    out = {}
    for _ in range(r.take("I")):
        key_size, value_size = r.take("II")
        key = r.bytes(key_size).decode()
        out[key] = r.bytes(value_size)
    assert r.done() and list(out) == sorted(out)
    return out


def test_task_file_and_state(tmp_path: Path) -> None:
    from walle_rt.vm import VM, Isolate, TaskBundle, library_path

    if not VM.available("full"):
        pytest.skip(
            f"no VM library at {library_path()}: it was built with WALLE_VM=OFF or without the CPython source"
        )
    (tmp_path / "task" / "data").mkdir(parents=True)
    kept = {"n": None, "b": True, "i": -7, "f": 0.5, "s": "ä", "y": b"\0\1", "l": [1, ["x"]]}
    (tmp_path / "task" / "main.py").write_text(f"import walle\ndef f():\n    walle.kv.put('k', {kept!r})\n")
    (tmp_path / "task" / "data" / "table.bin").write_bytes(bytes(range(100)))
    vm = VM("full")
    bundle = TaskBundle.compile(tmp_path / "task", vm)
    bundle.save(tmp_path / "x.wtask")
    found = parts((tmp_path / "x.wtask").read_bytes())
    assert found["data/table.bin"] == bytes(range(100)) and found[""][:4] == b"WVMB"
    with Isolate(vm, state=str(tmp_path / "state")) as isolate:
        isolate.load(bundle)
        isolate.call("f")
    state = entries((tmp_path / "state").read_bytes())
    r = Reader(state["k"])
    assert r.take("q") == 0 and value(r) == kept and r.done()


STATE_TOML = """
task = {name = "keeper", version = "1.0.0"}
triggers = {did = "do"}
entry = {main = "main"}
capabilities = {host_calls = ["walle.kv"]}
events.do.fields = {}
call.leave = {}
"""
STATE_MAIN = """
import walle
def main(event):
    pass
def leave():
    walle.kv.put("b", 2)
    walle.kv.put("a", "x", ttl=1000)
    walle.kv.put("gone", 1, ttl=1e-6)
"""


def test_state_map(tmp_path: Path) -> None:
    from walle_rt.vm import VM

    if not VM.available("device"):
        pytest.skip("no VM library")
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "task.toml").write_text(STATE_TOML)
    (tmp_path / "task" / "main.py").write_text(STATE_MAIN)
    with Device(tmp_path / "device") as device:
        device.install(tmp_path / "task")
        device.call("keeper", "leave")
    r = Reader(mirrored(tmp_path / "device" / "kv" / "keeper", b"SMAP")[1])
    assert (r.take("Q"), r.take("I")) == (1, 2)
    found = {}
    for _ in range(2):
        key, size = r.take("I"), r.take("I")
        name, bytes_ = r.bytes(key).decode(), Reader(r.bytes(size))
        found[name] = (bytes_.take("q"), value(bytes_))
        assert bytes_.done()
    assert r.done() and list(found) == ["a", "b"] and found["b"] == (0, 2)
    assert found["a"][1] == "x" and abs(found["a"][0] / 1e6 - time.time() - 1000) < 600


def test_the_page_of_mirrored_files_names_every_kind() -> None:
    root = Path(__file__).resolve().parents[2]
    sources = [f.read_text() for end in ("cc", "h") for f in (root / "src" / "cpp").rglob(f"*.{end}")]
    kinds = {
        k for text in sources for k in re.findall(r'constexpr const char\* k\w*Kind = "([A-Z]{4})"', text)
    }
    page = (root / "docs" / "reference" / "formats" / "mirrored-file.md").read_text()
    assert len(kinds) >= 9 and kinds == set(re.findall(r"\| `([A-Z]{4})` \|", page))
