"""A few worker processes that survive a crashing case: the case is named,
a fresh worker takes over its queue.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path

SECONDS_PER_CASE = 120.0


class Worker:
    """One child process and the case it is busy with."""

    def __init__(self, env: dict[str, str]) -> None:
        """Start the process."""
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("worker.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", **env},
        )  # fmt: skip

    def ask(self, case: str, engines: list[str]) -> None:
        """Say which case is next, and who is to answer it."""
        assert self.process.stdin
        # A process that is gone says so in answer().
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(f"{case}\t{','.join(engines)}\n")
            self.process.stdin.flush()

    def answer(self) -> str | None:
        """The next engine's verdict, or how the process ended while that engine ran."""
        assert self.process.stdout
        overdue = threading.Timer(SECONDS_PER_CASE, self.process.kill)
        overdue.start()
        try:
            line = self.process.stdout.readline()
        finally:
            timed_out = not overdue.is_alive()
            overdue.cancel()
        if line:
            reason: str | None = json.loads(line)["reason"]
            return reason
        code = self.process.wait()
        if timed_out:
            return f"HANG: no answer within {SECONDS_PER_CASE:.0f} s"
        return f"CRASH: the process ended with {signal.Signals(-code).name if code < 0 else f'status {code}'}"

    @property
    def alive(self) -> bool:
        """Whether the process still takes cases."""
        return self.process.poll() is None

    def close(self) -> None:
        """Let the process end."""
        if self.process.stdin:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        if self.process.stdout:
            self.process.stdout.close()
        self.process.wait()


Verdicts = dict[str, str | None]


def run_variants(
    cases: list[str], engines: list[str], workers: int | None = None, env: dict[str, str] | None = None
) -> dict[str, Verdicts]:
    """Run the cases on each engine; per engine, each id's answer is None (passed) or why it did not pass.

    A case is asked once for all engines, which saves 12 of 13 conversions and readings of its files.
    env: variables set for the workers on top of this process's own.
    """
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    for case in cases:
        waiting.put(case)
    verdicts: dict[str, Verdicts] = {engine: {} for engine in engines}

    def serve() -> None:
        worker = Worker(env or {})
        try:
            while True:
                case, left = waiting.get_nowait(), list(engines)
                while left:
                    if not worker.alive:
                        worker.close()
                        worker = Worker(env or {})
                    worker.ask(case, left)
                    # Behind an engine that ended the process, a fresh one goes on with the rest.
                    while left:
                        verdicts[left.pop(0)][case] = worker.answer()
                        if not worker.alive:
                            break
        except queue.Empty:
            return
        finally:
            worker.close()

    count = workers or min(4, os.cpu_count() or 1)
    threads = [threading.Thread(target=serve) for _ in range(min(count, max(1, len(cases))))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return verdicts


def run_all(
    cases: list[str], engine: str, workers: int | None = None, env: dict[str, str] | None = None
) -> Verdicts:
    """Run the cases on one engine."""
    return run_variants(cases, [engine], workers, env)[engine]
