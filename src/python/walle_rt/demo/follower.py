"""A device of the demo: a process that follows a server, records sentences and asks about some.

    python -m walle_rt.demo.follower FOLDER URL CODE MODEL TEXTS FIRST

TEXTS is a JSON list of sentences, of which it records one after another, from number FIRST on, twenty a
second. It prints a JSON line whenever how it stands with its server changes. At the line ``report`` of its
standard input it ends its trace and prints what it has of guesses and answers; it ends with its standard
input.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..device import Answer, Device
from ..stream import Catalog, ColumnType, Sensitivity
from ..tracing import trace
from .topics import TASK

EVERY_S = 0.05
TRACE = "trace.json"


def catalog() -> Catalog:
    """What the demo's app records."""
    open_ = Sensitivity.OPEN
    fields: dict[str, ColumnType | tuple[ColumnType, Sensitivity]] = {
        "n": (ColumnType.INT, open_),
        "text": (ColumnType.TEXT, open_),
        "who": ColumnType.TEXT,
    }
    return Catalog().declare("say", fields=fields)


def tell(**what: Any) -> None:
    """One line for whoever started us."""
    sys.stdout.write(json.dumps({"at": time.time(), **what}) + "\n")
    sys.stdout.flush()


class Follower:
    """One device, what it is told to do, and what it knows of round trips."""

    def __init__(self, device: Device, texts: list[str], first: int) -> None:
        """Nothing is recorded yet."""
        self._device, self._texts, self._n = device, texts, first
        self.over, self.report = threading.Event(), threading.Event()
        self._said: dict[int, float] = {}
        self._trips: list[float] = []
        self.answered = self.failed = 0

    def listen(self) -> None:
        """Do what standard input says, until it ends."""
        for line in sys.stdin:
            if line.strip() == "report":
                self.report.set()
        self.over.set()

    def heard(self, answer: Answer) -> None:
        """An answer came; called by the tunnel."""
        self.answered += not answer.error
        self.failed += bool(answer.error)
        for row in answer.rows:
            began = self._said.get(row["n"])
            if began is not None:
                self._trips.append(time.monotonic() - began)

    def follow(self, recording: ExitStack) -> None:
        """Record, and tell what changes."""
        before: Any = None
        while not self.over.wait(EVERY_S):
            n = self._n % len(self._texts)
            self._n += 1
            self._said[n] = time.monotonic()
            self._device.record("say", contents={"n": n, "text": self._texts[n], "who": "somebody"})
            if self.report.is_set():
                self.report.clear()
                recording.close()
                tell(report=self.rows())
            state = self._device.cloud
            if state is None:
                return
            versions = {name: task.version for name, task in state.tasks.items()}
            steps = [[step.task, step.version, step.what] for step in state.steps]
            now = {"epoch": state.epoch, "versions": versions, "steps": steps, "answered": self.answered}
            if now != before:
                before = now
                tell(**now, failed=self.failed, error=state.error)

    def rows(self) -> dict[str, Any]:
        """Guesses, answers and round trips so far."""
        columns = ("n", "topic", "asked", "us")
        return {
            "guesses": [[row[c] for c in columns] for row in self._device.results(TASK, "guesses")],
            "answers": [[row["n"], row["topic"]] for row in self._device.results(TASK, "answers")],
            "trips": self._trips,
        }


def main(folder: str, url: str, code: str, model: str, texts: str, first: str) -> None:
    """Follow the server until standard input ends."""
    with Device(folder, catalog=catalog()) as device, ExitStack() as recording:
        follower = Follower(device, json.loads(Path(texts).read_text()), int(first))
        threading.Thread(target=follower.listen, daemon=True).start()
        recording.enter_context(trace(Path(folder) / TRACE))
        state = device.connect(
            url,
            root=None,
            app="demo",
            app_version="1.0.0",
            enrol_code=code,
            device=model,
            on_answer=follower.heard,
            report_after_s=1.0,
        )
        tell(device=state.device, transport=state.transport)
        follower.follow(recording)


if __name__ == "__main__":
    main(*sys.argv[1:])
