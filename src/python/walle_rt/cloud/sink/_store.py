"""SinkStore: messages of devices into the database, a batch at a time, and what is to be said of them."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ... import _core
from ...errors import Error
from ._schema import column_name, open_database, table_name

STORED, REFUSED, UNKNOWN_DICTIONARY = 0, 1, 2
_DICTIONARIES_EACH = 2  # of a stream: the newest, and the one of what is still on its way
_DICTIONARIES_HELD = 2000  # in memory, 16 KiB each at most
_SOURCES_HELD = 100_000
_REFUSALS_KEPT = 10_000
_QUESTIONS_KEPT = 100_000
_ENTRIES, _RUNS = 64, 4096  # of one acknowledgement, as a device takes them
_MOST_SEQ = (1 << 63) - 1  # SQLite's integers


@dataclass(frozen=True)
class Limits:
    """What devices may make the sink hold: streams each, schemas of all, columns of one."""

    streams: int = 64
    schemas: int = 2000
    columns: int = 400


@dataclass(frozen=True, slots=True)
class Message:
    """What one device published, and what the broker calls it."""

    device: str
    payload: bytes


@dataclass
class Counts:
    """Since the store was opened."""

    records: int = 0
    rows: int = 0
    bytes: int = 0
    duplicates: int = 0
    refused: int = 0
    damaged: int = 0
    unknown_dictionaries: int = 0
    questions: int = 0
    by_schema: dict[str, int] = field(default_factory=dict)


@dataclass
class _Source:
    id: int
    newest: int  # highest number that was stored


@dataclass
class _Batch:
    """What one transaction is made of."""

    records: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    rows: dict[int, list[tuple[Any, ...]]] = field(default_factory=dict)
    said: dict[str, list[tuple[str, int, int, list[int]]]] = field(default_factory=dict)
    new: set[tuple[int, int]] = field(default_factory=set)
    refusals: list[tuple[int, str, str, int, str]] = field(default_factory=list)
    # source, seq, ts, received, task, feature, package, bytes
    questions: list[tuple[int, int, int, int, str, str, str, bytes]] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)


class _RefusedError(Exception):
    """A record that can never be taken."""


class SinkStore:
    """The sink's database. One thread; a file has one store at a time."""

    def __init__(self, path: str | PathLike[str], limits: Limits | None = None) -> None:
        """Open or make the file.

        Raises:
            sqlite3.Error: it is none of a sink.
        """
        self.path = Path(path)
        self.counts = Counts()
        self._limits = limits or Limits()
        self._db = open_database(self.path)
        self._sources: OrderedDict[tuple[str, str], _Source] = OrderedDict()
        self._schemas: dict[tuple[str, str, str], tuple[int, str]] = {}
        self._dictionaries: OrderedDict[tuple[int, int], bytes] = OrderedDict()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def write(self, messages: Sequence[Message]) -> dict[str, list[bytes]]:
        """Store what is new in ``messages``; durable when it returns.

        Returns:
            By device, acknowledgements to publish on its topic.

        Raises:
            sqlite3.Error: nothing of the batch was stored (a full disk); it may be tried again.
        """
        batch = _Batch()
        received = time.time_ns() // 1000
        try:
            self._db.execute("BEGIN IMMEDIATE")
            for message in messages:
                self._take(message, batch, received)
            self._insert(batch)
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            # What they say may have been part of what was rolled back.
            self._sources.clear()
            self._schemas.clear()
            self._dictionaries.clear()
            raise
        self._count(batch.counts)
        return {device: _acknowledgements(said) for device, said in batch.said.items()}

    def _take(self, message: Message, batch: _Batch, received: int) -> None:
        device = message.device

        def dictionary(stream: str, number: int) -> bytes | None:
            source = self._source(device, stream)
            return None if source is None else self._dictionary(source.id, number)

        try:
            sections = _core.tunnel.read_message(message.payload, dictionary)
        except Error:
            batch.counts.damaged += 1  # nobody knows whose numbers these were: nothing can be said of them
            return
        for stream, unknown, remembered, words, records in sections:
            said = batch.said.setdefault(device, [])
            if unknown:
                batch.counts.unknown_dictionaries += 1
                said.append((stream, UNKNOWN_DICTIONARY, unknown, []))
                continue
            source = self._source(device, stream)
            if source is None:
                reason = f"more than {self._limits.streams} streams of one device"
                self._refuse(batch, received, device, stream, [r[0] for r in records], reason)
                continue
            if remembered:
                self._remember(source.id, remembered, words)
            self._take_records(batch, received, device, stream, source, records, remembered)

    def _take_records(
        self,
        batch: _Batch,
        received: int,
        device: str,
        stream: str,
        source: _Source,
        records: list[tuple[int, int, str, str, bytes]],
        remembered: int,
    ) -> None:
        stored: list[int] = []
        for seq, ts, named, feature, data in records:
            # A record that asks names the package it comes from behind its task.
            task, _, package = named.partition("@")
            try:
                if seq > _MOST_SEQ:
                    raise _RefusedError(f"number {seq}")
                if self._is_new(batch, source, seq):
                    self._add(batch, source, seq, ts, received, self._rows(task, feature, data))
                    batch.counts.bytes += len(data)
                    if package:
                        batch.counts.questions += 1
                        batch.questions.append((source.id, seq, ts, received, task, feature, package, data))
                else:
                    batch.counts.duplicates += 1
                stored.append(seq)
            except _RefusedError as why:
                self._refuse(batch, received, device, stream, [seq], str(why))
        if stored or remembered:
            batch.said[device].append((stream, STORED, remembered, stored))

    def _is_new(self, batch: _Batch, source: _Source, seq: int) -> bool:
        if seq > source.newest:
            return True
        if (source.id, seq) in batch.new:
            return False
        found = self._db.execute("SELECT 1 FROM records WHERE source = ? AND seq = ?", (source.id, seq))
        return found.fetchone() is None

    def _rows(self, task: str, feature: str, data: bytes) -> tuple[int, str, list[tuple[Any, ...]]]:
        try:
            columns, _, _ = _core.stream.unpack_batch(data)
        except Error as error:
            raise _RefusedError(f"no batch of a feature: {error}") from error
        names = [name for name in columns if name != "ts"]
        schema, label = self._schema(task, feature, names)
        times = columns["ts"]
        values = [[_cell(v) for v in columns[name]] for name in names]
        return schema, label, list(zip(range(len(times)), times, *values, strict=True))

    def _add(
        self,
        batch: _Batch,
        source: _Source,
        seq: int,
        ts: int,
        received: int,
        rows: tuple[int, str, list[tuple[Any, ...]]],
    ) -> None:
        schema, label, cells = rows
        batch.records.append((source.id, seq, ts, received, schema))
        batch.rows.setdefault(schema, []).extend((source.id, seq, *row) for row in cells)
        batch.new.add((source.id, seq))
        source.newest = max(source.newest, seq)
        counts = batch.counts
        counts.records += 1
        counts.rows += len(cells)
        counts.by_schema[label] = counts.by_schema.get(label, 0) + 1

    def _refuse(
        self, batch: _Batch, received: int, device: str, stream: str, seqs: list[int], reason: str
    ) -> None:
        batch.said[device].append((stream, REFUSED, 0, seqs))
        batch.counts.refused += len(seqs)
        batch.refusals += [(received, device, stream, min(seq, _MOST_SEQ), reason[:500]) for seq in seqs]

    def _insert(self, batch: _Batch) -> None:
        db = self._db
        db.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?)", batch.records)
        for schema, rows in batch.rows.items():
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                db.executemany(f"INSERT INTO {table_name(schema)} VALUES ({marks})", rows)
        if batch.questions:
            db.executemany(
                "INSERT INTO questions (source, seq, ts, received, task, feature, package, data)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                batch.questions,
            )
            db.execute(
                "DELETE FROM questions WHERE id <= (SELECT max(id) FROM questions) - ?", (_QUESTIONS_KEPT,)
            )
        if batch.refusals:
            db.executemany("INSERT INTO refusals VALUES (NULL, ?, ?, ?, ?, ?)", batch.refusals)
            db.execute(
                "DELETE FROM refusals WHERE id <= (SELECT max(id) FROM refusals) - ?", (_REFUSALS_KEPT,)
            )

    def _source(self, device: str, stream: str) -> _Source | None:
        """Where records of a stream stand; None where the device has too many streams."""
        key = device, stream
        known = self._sources.get(key)
        if known is not None:
            self._sources.move_to_end(key)
            return known
        db = self._db
        found = db.execute("SELECT id FROM sources WHERE device = ? AND stream = ?", key).fetchone()
        if found is None:
            (streams,) = db.execute("SELECT count(*) FROM sources WHERE device = ?", (device,)).fetchone()
            if streams >= self._limits.streams:
                return None
            cursor = db.execute("INSERT INTO sources (device, stream) VALUES (?, ?)", key)
            found = (cursor.lastrowid,)
        (newest,) = db.execute("SELECT max(seq) FROM records WHERE source = ?", found).fetchone()
        made = self._sources[key] = _Source(int(found[0]), newest or 0)
        if len(self._sources) > _SOURCES_HELD:
            self._sources.popitem(last=False)
        return made

    def _schema(self, task: str, feature: str, names: list[str]) -> tuple[int, str]:
        if len(names) > self._limits.columns:
            raise _RefusedError(f"{len(names)} columns, more than {self._limits.columns}")
        columns = json.dumps(names, ensure_ascii=False)
        key = task, feature, columns
        if (known := self._schemas.get(key)) is not None:
            return known
        db = self._db
        query = "SELECT id FROM schemas WHERE task = ? AND feature = ? AND columns = ?"
        found = db.execute(query, key).fetchone()
        if found is None:
            (schemas,) = db.execute("SELECT count(*) FROM schemas").fetchone()
            if schemas >= self._limits.schemas:
                raise _RefusedError(f"a new schema, and there are {schemas}")
            db.execute("INSERT INTO schemas (task, feature, columns) VALUES (?, ?, ?)", key)
            found = db.execute(query, key).fetchone()
            cells = "".join(f", {column_name(i)}" for i in range(len(names)))
            db.execute(
                f"CREATE TABLE {table_name(found[0])} (source INTEGER NOT NULL, seq INTEGER NOT NULL,"
                f" row INTEGER NOT NULL, ts INTEGER NOT NULL{cells})"
            )
        made = self._schemas[key] = (int(found[0]), f"{task}/{feature}")
        return made

    def _dictionary(self, source: int, number: int) -> bytes | None:
        key = source, number
        if (known := self._dictionaries.get(key)) is not None:
            self._dictionaries.move_to_end(key)
            return known
        query = "SELECT bytes FROM dictionaries WHERE source = ? AND id = ?"
        found = self._db.execute(query, key).fetchone()
        if found is None:
            return None
        self._hold(key, found[0])
        return bytes(found[0])

    def _remember(self, source: int, number: int, words: bytes) -> None:
        db = self._db
        db.execute(
            "INSERT OR REPLACE INTO dictionaries SELECT ?, ?, coalesce(max(number), 0) + 1, ?"
            " FROM dictionaries WHERE source = ?",
            (source, number, words, source),
        )
        db.execute(
            "DELETE FROM dictionaries WHERE source = ? AND number <="
            " (SELECT max(number) FROM dictionaries WHERE source = ?) - ?",
            (source, source, _DICTIONARIES_EACH),
        )
        self._hold((source, number), words)

    def _hold(self, key: tuple[int, int], words: bytes) -> None:
        self._dictionaries[key] = words
        if len(self._dictionaries) > _DICTIONARIES_HELD:
            self._dictionaries.popitem(last=False)

    def _count(self, batch: Counts) -> None:
        for name, value in vars(batch).items():
            if name == "by_schema":
                for label, records in value.items():
                    self.counts.by_schema[label] = self.counts.by_schema.get(label, 0) + records
            else:
                setattr(self.counts, name, getattr(self.counts, name) + value)


def _cell(value: Any) -> Any:
    """As SQLite holds it: a vector as its floats, little-endian."""
    if isinstance(value, np.ndarray):
        return value.astype("<f4", copy=False).tobytes()
    return value


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if out and out[-1][0] + out[-1][1] == number:
            out[-1] = out[-1][0], out[-1][1] + 1
        else:
            out.append((number, 1))
    return out


def _acknowledgements(said: list[tuple[str, int, int, list[int]]]) -> list[bytes]:
    """What was said of a device's records, merged by stream, as few messages as a device takes."""
    merged: dict[tuple[str, int, int], list[int]] = {}
    newest: dict[str, int] = {}
    for stream, status, dictionary, numbers in said:
        if status == STORED:
            newest[stream] = dictionary or newest.get(stream, 0)
            dictionary = 0
        merged.setdefault((stream, status, dictionary), []).extend(numbers)
    entries = []
    for (stream, status, dictionary), numbers in merged.items():
        runs = _runs(numbers)
        shown = newest[stream] if status == STORED else dictionary
        entries += [(stream, status, shown, runs[i : i + _RUNS]) for i in range(0, max(len(runs), 1), _RUNS)]
    pack: Callable[[Any], bytes] = _core.tunnel.pack_ack
    return [pack(entries[i : i + _ENTRIES]) for i in range(0, len(entries), _ENTRIES)]
