"""Bytes of the disk that are kept for what must work when it is full.

A decision of an operator and a device's report are answered when they are durable, and an order counts when
it is signed: each needs a few kilobytes. A file holds them free; where the disk runs full it is made shorter
a step at a time, and whatever writes much - uploads, pushes, the sink - is refused until there is room again.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

from .. import metrics

LOG = logging.getLogger("walle_rt.cloud")

SIZE = 32 << 20  # bytes that are kept
STEP = 8 << 20  # bytes that are given at a time, and that are free before more is given
_NAME = ".reserve"


class DiskReserve:
    """The file, and who may write. Any thread may ask.

    Args:
        folder: of the server; its file system is the one that is looked at.
        free: bytes that are free there.
    """

    def __init__(self, folder: Path, free: Callable[[], int] | None = None) -> None:
        """Take as much as there is room for."""
        self._file = folder / _NAME
        self._free = free or (lambda: shutil.disk_usage(folder).free)
        self._lock = threading.Lock()
        self.refill()

    @property
    def held(self) -> int:
        """Bytes that can still be given."""
        try:
            return self._file.stat().st_size
        except FileNotFoundError:
            return 0

    def low(self) -> bool:
        """Whether what writes much has to wait: the rest is for what must be written."""
        return self._free() < 2 * STEP

    def give(self) -> None:
        """Make room, a step, where there is none: called before everything that must be written."""
        if self._free() >= STEP:
            return
        with self._lock:
            held = self.held
            if not held or self._free() >= STEP:
                return
            left = max(0, held - STEP)
            os.truncate(self._file, left)
        metrics.RESERVE.set(left)
        LOG.warning("the disk is full: some of the reserve was given", extra={"left": left})

    def refill(self) -> None:
        """Take back what was given, where the disk has several times as much."""
        with self._lock:
            held = self.held
            if held < SIZE and self._free() > 4 * STEP + SIZE - held:
                with contextlib.suppress(OSError):  # somebody else has taken it just now: later, then
                    self._take()
            metrics.RESERVE.set(self.held)

    def _take(self) -> None:
        handle = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.posix_fallocate(handle, 0, SIZE)
        finally:
            os.close(handle)
