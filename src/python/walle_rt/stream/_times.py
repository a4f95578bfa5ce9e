"""Times as callers give them: microseconds since 1970, or a datetime with its time zone."""

from __future__ import annotations

import operator
from datetime import UTC, datetime, timedelta
from typing import SupportsIndex

from ..errors import ArgumentError

Time = SupportsIndex | datetime

# What the log and the matcher can add and subtract without overflow.
_MOST = 1 << 60
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(ts: Time, where: str) -> int:
    """The time in microseconds; ArgumentError for what is none."""
    if isinstance(ts, datetime):
        if ts.utcoffset() is None:
            raise _refused(f"a datetime without time zone: {ts.isoformat()}", where)
        return (ts - EPOCH) // timedelta(microseconds=1)
    try:
        out = operator.index(ts)
    except TypeError:
        raise _refused(f"a time of type {type(ts).__name__}", where) from None
    if isinstance(ts, bool) or abs(out) > _MOST:
        raise _refused(f"the time {ts}", where)
    return out


def _refused(given: str, where: str) -> ArgumentError:
    return ArgumentError.of(
        given,
        "microseconds since 1970 as an integer, or a datetime with a time zone",
        where,
        "give int(seconds * 1e6) or datetime.now(timezone.utc)",
    )
