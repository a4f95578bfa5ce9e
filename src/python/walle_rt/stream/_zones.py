"""Time zones for the matcher, which knows none: from when on local time is how far ahead of UTC."""

from __future__ import annotations

import functools
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..errors import ArgumentError
from ._times import EPOCH

# What logs of phones may hold, and as long as a device lives; a day's step finds each change, since no zone
# changes twice within one.
_FIRST = datetime(2000, 1, 1, tzinfo=UTC)
_LAST = datetime(2045, 1, 1, tzinfo=UTC)
_STEP = timedelta(days=1)


@functools.cache
def offset_changes(zone: str) -> list[tuple[int, int]]:
    """The offsets of an IANA time zone: [(from when on in UTC, offset)], in microseconds.

    The first one also holds before its time.

    Raises:
        ArgumentError: there is no such zone, or this system has no time zone database.
    """
    try:
        local = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ArgumentError.of(
            f"zone '{zone}'",
            "a name of the IANA time zone database",
            "trigger set",
            "write a name such as Europe/Berlin, or install the package tzdata",
        ) from error
    at, found = _FIRST, [(_FIRST, _offset(_FIRST, local))]
    while at < _LAST:
        if _offset(at + _STEP, local) != found[-1][1]:
            found.append(_change(at, at + _STEP, local))
        at += _STEP
    return [(_microseconds(at - EPOCH), _microseconds(offset)) for at, offset in found]


def _microseconds(span: timedelta) -> int:
    return span // timedelta(microseconds=1)


def _offset(at: datetime, local: ZoneInfo) -> timedelta:
    return at.astimezone(local).utcoffset() or timedelta()


def _change(before: datetime, after: datetime, local: ZoneInfo) -> tuple[datetime, timedelta]:
    """The first second of the later of two offsets."""
    earlier = _offset(before, local)
    while after - before > timedelta(seconds=1):
        middle = before + (after - before) // timedelta(seconds=2) * timedelta(seconds=1)
        if _offset(middle, local) == earlier:
            before = middle
        else:
            after = middle
    return after, _offset(after, local)
