"""AnswerStore: questions and answers as the server remembers them (docs/reference/formats/cloud-phase.md).

Questions lie in the sink's database, where they are stored in one transaction with their records; the store
remembers how far it has read them, in one transaction with the answer of each. So a process that is killed
anywhere answers each question once, or computes an answer again that nobody has seen.
"""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from ... import _core

VERSION = 1
KEPT = 10_000  # answers that were taken or dropped, for traces and figures
WINDOW = 32  # answers of one stream on their way to a device
_LEAST_RESEND_US, _MOST_RESEND_US = 30_000_000, 600_000_000
_SOON_US = 1_000_000  # an answer that was sent before so long is on its way still
_MOST_TRIES = 5  # doublings of the wait
TAKEN, DROPPED = 1, 2

_TABLES = """
CREATE TABLE cursor (only_one INTEGER PRIMARY KEY CHECK (only_one = 0), question INTEGER NOT NULL,
  dropped INTEGER NOT NULL);
INSERT INTO cursor VALUES (0, 0, 0);
CREATE TABLE answers (
  question INTEGER PRIMARY KEY, device TEXT NOT NULL, stream TEXT NOT NULL, seq INTEGER NOT NULL,
  number INTEGER NOT NULL, task TEXT NOT NULL, package TEXT NOT NULL, trace INTEGER NOT NULL,
  asked INTEGER NOT NULL, received INTEGER NOT NULL, began INTEGER NOT NULL, ended INTEGER NOT NULL,
  error TEXT NOT NULL, frame BLOB, sent INTEGER NOT NULL DEFAULT 0, sends INTEGER NOT NULL DEFAULT 0,
  state INTEGER NOT NULL DEFAULT 0, done INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX answers_waiting ON answers (device, stream, number) WHERE state = 0;
CREATE TABLE marks (device TEXT NOT NULL, stream TEXT NOT NULL, taken INTEGER NOT NULL,
  newest INTEGER NOT NULL, PRIMARY KEY (device, stream)) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class Question:
    """A record that asks; times in microseconds since 1970.

    Attributes:
        id: ascending over all devices.
        device: who asks.
        stream, seq: the record.
        ts: of the send, by the device's clock.
        received: by the server's.
        task, feature: whose.
        package: digest of the package that asked.
        data: the batch.
    """

    id: int
    device: str
    stream: str
    seq: int
    ts: int
    received: int
    task: str
    feature: str
    package: str
    data: bytes

    @property
    def trace(self) -> int:
        """Number of the record in every trace."""
        return _core.tunnel.trace_id(self.stream, self.seq)


@dataclass(frozen=True)
class AnswerCounts:
    """Since the store was made.

    Attributes:
        asked: questions that were read, those that were dropped among them.
        dropped_questions: that left the sink's queue, full, before they were answered.
        waiting: answers that no device has taken yet.
        dropped_answers: that nobody fetched in time; of the newest 10,000.
    """

    asked: int
    dropped_questions: int
    waiting: int
    dropped_answers: int


class AnswerStore:
    """Answers of one server, and how far its questions are read. Threads: any, one at a time.

    Args:
        path: of its file; made when it is missing.
        sink: the sink's database, which another thread writes.
    """

    def __init__(self, path: str | PathLike[str], sink: str | PathLike[str]) -> None:
        """Open it.

        Raises:
            sqlite3.Error: it is none, or of another version.
        """
        self._lock = threading.Lock()
        self._sink_path = Path(sink)
        self._sink: sqlite3.Connection | None = None
        self._db = _open(Path(path))
        with self._db:  # what a process before had handed over may never have left it
            self._db.execute("UPDATE answers SET sends = 0 WHERE state = 0")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()
            if self._sink is not None:
                self._sink.close()

    def next_questions(self, limit: int = 64) -> list[Question]:
        """The oldest questions without an answer."""
        with self._lock:
            if self._sink is None:
                if not self._sink_path.is_file():
                    return []
                uri = self._sink_path.absolute().as_uri() + "?mode=ro"
                self._sink = sqlite3.connect(uri, uri=True, check_same_thread=False)
            (cursor,) = self._db.execute("SELECT question FROM cursor").fetchone()
            found = self._sink.execute(
                "SELECT q.id, s.device, s.stream, q.seq, q.ts, q.received, q.task, q.feature, q.package,"
                " q.data FROM questions q JOIN sources s ON s.id = q.source"
                " WHERE q.id > ? ORDER BY q.id LIMIT ?",
                (cursor, limit),
            ).fetchall()
        return [Question(*row) for row in found]

    def answer(
        self, question: Question, rows: list[dict[str, Any]], error: str, began: int, ended: int
    ) -> None:
        """Keep an answer; the question counts as answered when this returns.

        Raises:
            ArgumentError: rows that no answer may have; nothing was kept.
        """
        q = question
        with self._lock, self._db:
            (cursor, dropped) = self._db.execute("SELECT question, dropped FROM cursor").fetchone()
            if q.id <= cursor:
                return
            (newest,) = self._db.execute(
                "SELECT max(newest, taken) FROM marks WHERE device = ? AND stream = ?", (q.device, q.stream)
            ).fetchone() or (0,)
            number = newest + 1
            frame = _core.tunnel.pack_answer(
                q.stream, q.seq, number=number, after=0, task=q.task, error=error, rows=rows
            )
            self._db.execute(
                "INSERT INTO answers (question, device, stream, seq, number, task, package, trace, asked,"
                " received, began, ended, error, frame) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (q.id, q.device, q.stream, q.seq, number, q.task, q.package, q.trace, q.ts, q.received, began,
                 ended, error, frame),
            )  # fmt: skip
            self._db.execute(
                "INSERT INTO marks VALUES (?, ?, 0, ?)"
                " ON CONFLICT (device, stream) DO UPDATE SET newest = excluded.newest",
                (q.device, q.stream, number),
            )
            # Ids are given out one after another: a gap is what the sink let go of.
            self._db.execute(
                "UPDATE cursor SET question = ?, dropped = ?", (q.id, dropped + q.id - cursor - 1)
            )

    def due(self, now: int, limit: int = 256) -> list[tuple[str, bytes]]:
        """Answers to be sent now, as (device, frame); they count as sent."""
        out = []
        with self._lock, self._db:
            found = self._db.execute(
                "SELECT a.question, a.device, a.stream, a.number, a.frame, m.taken,"
                " (SELECT max(b.number) FROM answers b WHERE b.state = 0 AND b.device = a.device"
                "  AND b.stream = a.stream AND b.number < a.number)"
                " FROM answers a JOIN marks m ON m.device = a.device AND m.stream = a.stream"
                " WHERE a.state = 0 AND (a.sends = 0 OR a.sent + min(? << min(a.sends - 1, ?), ?) <= ?)"
                " AND a.number <= m.taken + ? + (SELECT count(*) FROM answers d WHERE d.state = ?"
                "  AND d.device = a.device AND d.stream = a.stream AND d.number > m.taken)"
                " ORDER BY a.question LIMIT ?",
                (_LEAST_RESEND_US, _MOST_TRIES, _MOST_RESEND_US, now, WINDOW, DROPPED, limit),
            ).fetchall()
            for question, device, _, number, frame, taken, before in found:
                stream, seq, _, _, task, error, rows = _core.tunnel.read_answer(frame)
                after = max(taken, before or 0)
                frame = _core.tunnel.pack_answer(
                    stream, seq, number=number, after=after, task=task, error=error, rows=rows
                )
                out.append((device, frame))
                self._db.execute(
                    "UPDATE answers SET sent = ?, sends = sends + 1 WHERE question = ?", (now, question)
                )
        return out

    def next_due(self) -> int | None:
        """When an answer is to be sent again, in microseconds since 1970; None: nothing waits."""
        with self._lock:
            (at,) = self._db.execute(
                "SELECT min(CASE sends WHEN 0 THEN 0 ELSE sent + min(? << min(sends - 1, ?), ?) END)"
                " FROM answers WHERE state = 0",
                (_LEAST_RESEND_US, _MOST_TRIES, _MOST_RESEND_US),
            ).fetchone()
        return None if at is None else int(at)

    def mark(self, device: str, stream: str, taken: int, now: int) -> list[int]:
        """A device says that it has answers up to ``taken``.

        Returns:
            Of those that it has not said before, microseconds from question (by the server's clock) to now.
        """
        same = (device, stream)
        where = "device = ? AND stream = ? AND state = 0"
        with self._lock, self._db:
            row = self._db.execute(
                "SELECT taken, newest FROM marks WHERE device = ? AND stream = ?", same
            ).fetchone()
            if row is None:
                return []
            known, newest = row
            took: list[tuple[int]] = []
            anew = taken > newest
            if anew:
                # This store has been lost and made anew: its answers go on behind what the device has.
                self._renumber(device, stream, taken)
                newest += taken
            else:
                took = self._db.execute(
                    f"SELECT received FROM answers WHERE {where} AND number <= ?", (*same, taken)
                ).fetchall()
                self._db.execute(
                    f"UPDATE answers SET state = ?, done = ?, frame = NULL WHERE {where} AND number <= ?",
                    (TAKEN, now, *same, taken),
                )
            self._db.execute(
                "UPDATE marks SET taken = ?, newest = ? WHERE device = ? AND stream = ?",
                (taken, newest, *same),
            )
            if anew or taken <= known:
                # No progress: the device has just come, or lacks one that was on its way.
                self._db.execute(
                    f"UPDATE answers SET sends = 0 WHERE {where} AND sent <= ?", (*same, now - _SOON_US)
                )
        return [now - received for (received,) in took]

    def _renumber(self, device: str, stream: str, taken: int) -> None:
        same = (device, stream)
        found = self._db.execute(
            "SELECT question, number, frame FROM answers WHERE device = ? AND stream = ? AND state = 0", same
        ).fetchall()
        for question, number, frame in found:
            name, seq, _, _, task, error, rows = _core.tunnel.read_answer(frame)
            anew = _core.tunnel.pack_answer(
                name, seq, number=number + taken, after=0, task=task, error=error, rows=rows
            )
            self._db.execute(
                "UPDATE answers SET number = ?, frame = ?, sends = 0 WHERE question = ?",
                (number + taken, anew, question),
            )

    def drop_older(self, before: int) -> int:
        """Give answers up that were made before that time and that no device has taken; returns how many."""
        with self._lock, self._db:
            dropped = self._db.execute(
                "UPDATE answers SET state = ?, done = ?, frame = NULL WHERE state = 0 AND ended < ?",
                (DROPPED, before, before),
            ).rowcount
            self._db.execute(
                "DELETE FROM answers WHERE state != 0"
                " AND question <= (SELECT max(question) FROM answers) - ?",
                (KEPT,),
            )
        return int(dropped)

    def counts(self) -> AnswerCounts:
        """How things stand."""
        with self._lock:
            asked, dropped = self._db.execute("SELECT question, dropped FROM cursor").fetchone()
            waiting, gone = self._db.execute(
                "SELECT coalesce(sum(state = 0), 0), coalesce(sum(state = ?), 0) FROM answers", (DROPPED,)
            ).fetchone()
        return AnswerCounts(asked, dropped, waiting, gone)

    def answers(self, limit: int = 100) -> list[dict[str, Any]]:
        """The newest answers, newest first; times in microseconds since 1970, 0 for what has not happened."""
        names = (
            "question device stream seq trace task package asked received began ended error sent state done"
        )
        with self._lock:
            found = self._db.execute(
                f"SELECT {', '.join(names.split())} FROM answers ORDER BY question DESC LIMIT ?", (limit,)
            ).fetchall()
        return [dict(zip(names.split(), row, strict=True)) for row in found]


def _open(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path, check_same_thread=False, timeout=30)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version == 0:
        db.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT")
    elif version != VERSION:
        db.close()
        raise sqlite3.DatabaseError(f"answers of version {version}; this server reads {VERSION}")
    return db
