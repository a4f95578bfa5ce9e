"""A few worker processes that survive a crashing case: the case is named,
a fresh worker takes over its queue.
"""

from __future__ import annotations

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

    def __init__(self, engine: str, env: dict[str, str]) -> None:
        """Start the process."""
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("worker.py")), engine],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", **env},
        )  # fmt: skip

    def run(self, case: str) -> str | None:
        """The case's verdict, or how the process ended while running it."""
        assert self.process.stdin and self.process.stdout
        overdue = threading.Timer(SECONDS_PER_CASE, self.process.kill)
        overdue.start()
        try:
            self.process.stdin.write(case + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
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
            self.process.stdin.close()
        if self.process.stdout:
            self.process.stdout.close()
        self.process.wait()


def run_all(
    cases: list[str], engine: str, workers: int | None = None, env: dict[str, str] | None = None
) -> dict[str, str | None]:
    """Run the cases; the answer maps each id to None (passed) or the reason it did not pass.

    env: variables set for the workers on top of this process's own.
    """
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    for case in cases:
        waiting.put(case)
    verdicts: dict[str, str | None] = {}

    def serve() -> None:
        worker = Worker(engine, env or {})
        try:
            while True:
                case = waiting.get_nowait()
                if not worker.alive:
                    worker.close()
                    worker = Worker(engine, env or {})
                verdicts[case] = worker.run(case)
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
