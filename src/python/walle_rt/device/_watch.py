"""Results of firings as an async iterator."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from types import TracebackType

from ._info import TaskResult


class Watch:
    """Results of firings as they come, for one event loop: ``async with device.watch() as results``, then
    ``async for result in results``. Ends when the device is closed.

    Results that nobody takes wait, at most ``limit`` of them; beyond it the oldest go and ``missed`` counts
    them. What must not be missed is in the result tables.
    """

    def __init__(
        self, subscribe: Callable[[Watch], Callable[[], None]], task: str | None, limit: int
    ) -> None:
        """Of a device; ``subscribe`` gives what ends the subscription."""
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[TaskResult] = deque()
        self._changed = asyncio.Event()
        self._ended = False
        self._task = task
        self._limit = limit
        self.missed = 0
        self._leave = subscribe(self)

    def _send(self, result: TaskResult) -> None:
        """From a worker."""
        if self._task in (None, result.task):
            self._soon(lambda: self._take(result))

    def _end(self) -> None:
        """From whoever closes the device."""
        self._soon(self._finish)

    def _soon(self, call: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:  # the loop is closed: nobody is there to be told
            self._leave()

    def _take(self, result: TaskResult) -> None:
        if len(self._waiting) >= self._limit:
            self._waiting.popleft()
            self.missed += 1
        self._waiting.append(result)
        self._changed.set()

    def _finish(self) -> None:
        self._ended = True
        self._changed.set()

    async def __aenter__(self) -> Watch:
        """The watch itself; results count from its making on."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """No more results are kept."""
        self._leave()
        self._finish()

    def __aiter__(self) -> Watch:
        """The watch itself."""
        return self

    async def __anext__(self) -> TaskResult:
        """The oldest result that waits."""
        while not self._waiting:
            if self._ended:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        return self._waiting.popleft()
