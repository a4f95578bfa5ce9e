"""Inbox: reports on their way into the database, many devices' in one transaction.

A report is answered when it is durable. While one transaction runs the next reports gather, so the disk is
waited for once per batch and not per device: 2,000 devices that report at once cost a few transactions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from ...errors import NetworkError
from .. import metrics
from .lane import Lane
from .rates import Rates
from .troubles import Troubles

MOST_WAITING = 4096  # batches of reports; beyond that devices are sent away until later
MOST_TOGETHER = 256
# Of a device: reports at once - all that wait on its disk, and claims - and more with each second.
BURST, PER_S = 512.0, 1.0

Given = tuple[str, Any]


class Inbox:
    """Gathers what ``decode`` makes of bodies and gives it to ``store``, a list at a time.

    Lives in one event loop. ``store`` runs in a thread of the lane, once at a time, and returns a reply per
    item.
    """

    def __init__(
        self,
        decode: Callable[[str, bytes], list[Any]],
        store: Callable[[list[Given]], list[dict[str, Any]]],
        now: Callable[[], float],
        lane: Lane,
        troubles: Troubles,
    ) -> None:
        """Nothing waits yet."""
        self._decode, self._store, self._now, self._lane = decode, store, now, lane
        self._rates, self._troubles = Rates(BURST, PER_S), troubles
        self._waiting: list[tuple[Given, asyncio.Future[dict[str, Any]]]] = []
        self._task: asyncio.Task[None] | None = None

    async def take(self, device: str, body: bytes) -> dict[str, Any]:
        """What one device sent; returns when it is durable, or when to come again: it sends too much.

        Raises:
            ArgumentError: the bytes are no reports, or another device's.
            NetworkError: too much waits.
        """
        if len(self._waiting) >= MOST_WAITING:
            raise NetworkError.of(
                f"{len(self._waiting)} batches that wait", "fewer", "/v1/reports", "send it again later"
            )
        item = self._decode(device, body)
        wait_s = self._rates.allow(device, len(item), self._now())
        if wait_s:
            metrics.LIMITED.inc()
            self._troubles.note(device, f"more than {BURST:.0f} reports at once", self._now())
            return {"taken": 0, "granted": False, "wait_s": wait_s}
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting.append(((device, item), future))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._write())
        return await future

    async def _write(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:MOST_TOGETHER], self._waiting[MOST_TOGETHER:]
            try:
                replies = await self._lane.run(self._store, [given for given, _ in batch])
            except Exception as error:
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
                continue
            for (_, future), reply in zip(batch, replies, strict=True):
                if not future.done():
                    future.set_result(reply)
