"""The reserved lane: what must work however much else is asked.

Halting and killing a release, and reports of devices, have threads and connections of their own, so that
whoever floods a server with anything else keeps nobody from them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

import anyio
from anyio.to_thread import run_sync

T = TypeVar("T")

THREADS = 8  # of the lane
OTHER_THREADS = 24  # of all other requests: with the lane's no more than there are database connections
_ACTS = ("pause", "resume", "full", "halt", "rollback", "kill", "revive")
_ALSO = {"/v1/reports": "POST", "/healthz": "GET"}
_OF_AN_ACT = re.compile(rf"(?:/api/v1)?/releases/[^/]+/(?:{'|'.join(_ACTS)})(?:/preview)?")


def is_reserved(method: str, path: str) -> bool:
    """Whether a request belongs into the lane: an act on a release and what it would change, reports, and
    whether the server lives."""
    if path in _ALSO:
        return method == _ALSO[path]
    return method in ("GET", "POST") and _OF_AN_ACT.fullmatch(path) is not None


class Lane:
    """Threads that nothing else waits for. Lives in one event loop."""

    def __init__(self) -> None:
        """Nothing runs yet."""
        self._limit = anyio.CapacityLimiter(THREADS)

    async def run(self, work: Callable[..., T], *given: object) -> T:
        """What ``work`` returns, or raises, in a thread."""
        return await run_sync(work, *given, limiter=self._limit)
