"""CloudPhase: one thread that answers, one that brings the answers to their devices.

Neither holds up the sink, which rings a bell behind a commit and hands on what devices say of answers; a bell
that rings twice rings once, and what devices say is said again by them at every connection.
"""

from __future__ import annotations

import logging
import queue
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ... import _core
from ...errors import Error
from ._answers import AnswerStore, Question
from ._runner import PackageShelf, Runner

LOG = logging.getLogger("walle_rt.cloud.phase")

KEEP_S = 7 * 24 * 3600.0  # an answer waits so long for its device
_MARKS = 10_000  # messages of devices that wait to be read
_LATENCIES = 1000
_MOST_ERROR = 2000
_RETRY_S = 1.0
_LOOK_S = 5.0  # between two looks at what is to be sent again, at most
Send = Callable[[str, bytes], bool]


@dataclass(frozen=True)
class PhaseStats:
    """What the cloud phase has done.

    Attributes:
        asked: questions since the server's folder was made; ``dropped_questions`` of them found the queue
            full.
        answered, failed: since the server was started, by how the code ended.
        sent: frames; ``refused`` found too much waiting in front of the broker and are sent again.
        taken: answers that devices said to have since the server was started.
        waiting: answers that no device has taken yet; ``dropped_answers`` were given up.
        execute_p50_s, round_trip_p50_s: of the newest 1,000: in the code, and from the question's arrival
            until the device was heard to have the answer; 0.0: none yet.
    """

    asked: int
    dropped_questions: int
    answered: int
    failed: int
    sent: int
    refused: int
    taken: int
    waiting: int
    dropped_answers: int
    execute_p50_s: float
    round_trip_p50_s: float

    def figures(self) -> dict[str, float]:
        """By name."""
        return asdict(self)


class CloudPhase:
    """Answers questions while it is open.

    Args:
        store: what is durable; closed with it.
        shelf: where packages are.
        send: hands a frame for a device to the broker; False where it cannot now.
        keep_s: how long an answer waits for its device.
    """

    def __init__(
        self, store: AnswerStore, shelf: PackageShelf, send: Send, *, keep_s: float = KEEP_S
    ) -> None:
        """Start; goes on where a process before was stopped."""
        self._store, self._shelf, self._send, self._keep_s = store, shelf, send, keep_s
        self._asked, self._deliver = threading.Event(), threading.Event()
        self._marks: queue.Queue[tuple[str, bytes]] = queue.Queue(_MARKS)
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._execute: deque[float] = deque(maxlen=_LATENCIES)
        self._trips: deque[float] = deque(maxlen=_LATENCIES)
        self._answered = self._failed = self._sent = self._refused = self._taken = 0
        self._threads = [
            threading.Thread(target=self._answer_all, name="walle-cloud-phase", daemon=True),
            threading.Thread(target=self._deliver_all, name="walle-answers", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def asked(self) -> None:
        """There are questions in the sink's database. Returns at once."""
        self._asked.set()

    def heard(self, device: str, payload: bytes) -> None:
        """A device says which answers it has. Returns at once."""
        try:
            self._marks.put_nowait((device, payload))
        except queue.Full:
            return  # it says so again
        self._deliver.set()

    def stats(self) -> PhaseStats:
        """What it has done."""
        counts = self._store.counts()
        with self._lock:
            return PhaseStats(
                counts.asked,
                counts.dropped_questions,
                self._answered,
                self._failed,
                self._sent,
                self._refused,
                self._taken,
                counts.waiting,
                counts.dropped_answers,
                _median(self._execute),
                _median(self._trips),
            )

    def answers(self, limit: int = 100) -> list[dict[str, Any]]:
        """The newest answers, newest first."""
        return self._store.answers(limit)

    def close(self) -> None:
        """End it. A question that is being answered is asked again at the next start."""
        self._over.set()
        self._asked.set()
        self._deliver.set()
        for thread in self._threads:
            thread.join(30)
        self._store.close()

    # -- answering -------------------------------------------------------------------------------------------

    def _answer_all(self) -> None:
        runner = Runner(self._shelf, _log)
        while not self._over.is_set():
            self._asked.clear()
            try:
                questions = self._store.next_questions()
                for question in questions:
                    if self._over.is_set():
                        break
                    self._answer(runner, question)
            except sqlite3.Error as error:
                LOG.error("questions wait: %s", error)
                self._over.wait(_RETRY_S)
                continue
            except Exception:
                LOG.exception("the cloud phase failed, and goes on")
                self._over.wait(_RETRY_S)
                continue
            if not questions:
                self._asked.wait(_LOOK_S)
        runner.close()

    def _answer(self, runner: Runner, question: Question) -> None:
        began = _now_us()
        rows: list[dict[str, Any]] = []
        why = ""
        try:
            rows = runner.answer(question)
            self._store.answer(question, rows, "", began, _now_us())
        except sqlite3.Error:
            raise  # nothing was kept: the question comes again
        except (
            Exception
        ) as error:  # a task's own failure, or one of ours at it: it must not hold up all behind it
            why = _short(str(error)) or type(error).__name__
            if not isinstance(error, Error):
                LOG.exception("the cloud phase of '%s' failed in the server", question.task)
            else:
                LOG.warning(
                    "a question was not answered: %s",
                    why,
                    extra={"task": question.task, "package": question.package, "phase": "cloud"},
                )
            self._store.answer(question, [], why, began, _now_us())
        with self._lock:
            self._answered += not why
            self._failed += bool(why)
            self._execute.append((_now_us() - began) / 1e6)
        self._deliver.set()

    # -- delivering ------------------------------------------------------------------------------------------

    def _deliver_all(self) -> None:
        while not self._over.is_set():
            self._deliver.clear()
            wait = _LOOK_S
            try:
                self._take_marks()
                dropped = self._store.drop_older(_now_us() - int(self._keep_s * 1e6))
                if dropped:
                    LOG.warning("%d answers were given up: their devices did not come for them", dropped)
                wait = self._send_due()
            except sqlite3.Error as error:
                LOG.error("answers wait: %s", error)
                wait = _RETRY_S
            except Exception:
                LOG.exception("answers could not be brought, and are tried again")
                wait = _RETRY_S
            self._deliver.wait(wait)

    def _take_marks(self) -> None:
        while True:
            try:
                device, payload = self._marks.get_nowait()
            except queue.Empty:
                return
            try:
                marks = _core.tunnel.read_marks(payload)
            except Error as error:
                LOG.warning("what device %s says of answers was not read: %s", device, error)
                continue
            for stream, taken in marks:
                trips = self._store.mark(device, stream, taken, _now_us())
                with self._lock:
                    self._taken += len(trips)
                    self._trips.extend(trip / 1e6 for trip in trips)

    def _send_due(self) -> float:
        frames = self._store.due(_now_us())
        for device, frame in frames:
            taken = self._send(device, frame)
            with self._lock:
                self._sent += taken
                self._refused += not taken
        if frames:
            return 0.0
        due = self._store.next_due()
        return _LOOK_S if due is None else min(_LOOK_S, max(0.05, (due - _now_us()) / 1e6))


def _now_us() -> int:
    return time.time_ns() // 1000


def _median(values: deque[float]) -> float:
    return sorted(values)[len(values) // 2] if values else 0.0


def _short(text: str) -> str:
    return text.encode()[:_MOST_ERROR].decode(errors="ignore")


def _log(level: int, line: str) -> None:
    LOG.log((logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)[min(level, 3)], "%s", line)


def open_phase(folder: Path, sink: Path, shelf: PackageShelf, send: Send) -> CloudPhase:
    """The cloud phase of a server's folder."""
    return CloudPhase(AnswerStore(folder / "answers.db", sink), shelf, send)
