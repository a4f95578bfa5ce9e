"""The queue of passwords that are hashed: one at a time, few that wait, and everybody else is sent away.

A hash takes 46 MiB and tens of milliseconds by design, and anybody may ask for one. So it has a thread of its
own, which the system runs when nobody else wants to, and a queue that is bounded altogether and for each
client: whoever sends wrong passwords by the hundred waits for themselves.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from ...errors import ResourceError

T = TypeVar("T")

MOST_WAITING = 32
MOST_OF_ONE = 8  # client: an address, or an operator
_NICE = 10
_FIRST_GUESS_S = 0.1  # that one takes


class BusyError(ResourceError):
    """Too many passwords wait; ``retry_s``: when there is room again, in seconds."""

    retry_s: float = 1.0


class PasswordQueue:
    """Runs what hashes passwords, in the order in which it came. Any thread may ask."""

    def __init__(self) -> None:
        """Nobody waits yet; the thread begins with the first."""
        self._lock = threading.Lock()
        self._waiting: Counter[str] = Counter()
        self._each_s = _FIRST_GUESS_S
        self._pool = ThreadPoolExecutor(1, "walle-passwords", initializer=_be_nice)

    def close(self) -> None:
        """Whoever waits gets no answer."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def full(self, client: str) -> bool:
        """Whether this client would be sent away now."""
        return self._waiting.total() >= MOST_WAITING or self._waiting[client] >= MOST_OF_ONE

    def retry_s(self) -> float:
        """After how many seconds those that wait now are done."""
        return max(1.0, self._waiting.total() * self._each_s)

    def submit(self, client: str, work: Callable[[], T]) -> Future[T]:
        """What ``work`` will have returned.

        Raises:
            BusyError: too many wait, of this client or of all.
        """
        with self._lock:
            if self.full(client):
                raise _busy(self.retry_s())
            self._waiting[client] += 1
        try:
            return self._pool.submit(self._timed, client, work)
        except RuntimeError:  # closed
            self._done(client)
            raise

    def run(self, client: str, work: Callable[[], T]) -> T:
        """The same, waited for."""
        return self.submit(client, work).result()

    def _timed(self, client: str, work: Callable[[], T]) -> T:
        began = time.monotonic()
        try:
            return work()
        finally:
            self._each_s += 0.1 * (time.monotonic() - began - self._each_s)
            self._done(client)

    def _done(self, client: str) -> None:
        with self._lock:
            self._waiting[client] -= 1
            if self._waiting[client] <= 0:
                del self._waiting[client]


def _busy(retry_s: float) -> BusyError:
    made = BusyError.of(
        "too many passwords that wait to be checked",
        f"at most {MOST_WAITING} at once, and {MOST_OF_ONE} of one client",
        "log-in",
        f"wait {retry_s:.0f} s",
    )
    made.retry_s = retry_s
    return made


def _be_nice() -> None:
    """Of this thread alone, as Linux has it; elsewhere the queue's bounds must do."""
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
