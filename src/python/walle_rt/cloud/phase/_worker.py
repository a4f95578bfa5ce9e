"""Worker: a thread for calls that may never end.

A call that sits in native code - a model, a loop of C that looks at no interrupt - cannot be stopped. Its
thread can be given up: it runs on until the call ends by itself, and everything else goes on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

_Job = tuple[Callable[[], Any], "Future[Any]"]


class Worker:
    """Runs the calls of one caller, one after another.

    Not a ``ThreadPoolExecutor``: Python waits for the threads of those at its end, and one of these may not
    come.
    """

    def __init__(self, name: str) -> None:
        """Nothing runs yet; threads are called ``name``."""
        self._name = name
        self._jobs: SimpleQueue[_Job | None] | None = None

    def run(self, call: Callable[[], T], patience_s: float) -> T | None:
        """What the call returns or raises; None: it has not ended in time, and its thread was given up."""
        if self._jobs is None:
            self._jobs = SimpleQueue()
            threading.Thread(target=_work, args=(self._jobs,), name=self._name, daemon=True).start()
        future: Future[T] = Future()
        self._jobs.put((call, future))
        if not wait([future], patience_s).done:
            self.close()
            return None
        return future.result()

    def close(self) -> None:
        """The thread ends when its call does."""
        if self._jobs is not None:
            self._jobs.put(None)
            self._jobs = None


def _work(jobs: SimpleQueue[_Job | None]) -> None:
    while (job := jobs.get()) is not None:
        call, future = job
        try:
            future.set_result(call())
        except BaseException as error:  # the caller's to handle
            future.set_exception(error)
        del job, call, future  # what a call holds, its isolate too, goes with it
