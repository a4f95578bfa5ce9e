"""Runs of a session as asyncio awaits them."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import Any

from .run_options import CancelToken


async def result_or_cancel(submitted: Future[dict[str, Any]], token: CancelToken) -> dict[str, Any]:
    """The result; when the awaiting task is cancelled, the run is ended before the task is."""
    done = asyncio.wrap_future(submitted)
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        token.cancel()
        submitted.cancel()
        while not done.done():
            try:
                await asyncio.wait([done])
            except asyncio.CancelledError:  # cancelled once more: the run still has its step to finish
                continue
        if not done.cancelled():
            done.exception()  # looked at: asyncio tells of exceptions that nobody has seen
        raise
