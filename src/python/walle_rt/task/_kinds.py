"""Kinds of values in task.toml: what each looks like, and what it is read as."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._core import names
from ..errors import ArgumentError
from ..stream._zones import offset_changes

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_TIMES = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Refused(Exception):  # noqa: N818 - never seen outside: Mistake is what a user reads
    """A value of another kind; ``why`` says more, where there is more to say."""

    def __init__(self, why: ArgumentError | None = None) -> None:
        """Keep it."""
        self.why = why


@dataclass(frozen=True)
class Kind:
    """``expected`` says what is accepted; ``read`` turns it into what the rest works with, or is Refused."""

    expected: str
    read: Callable[[Any], Any]
    choices: tuple[str, ...] = ()


def name(kind: str) -> Kind:
    """A name of docs/reference/names.md."""

    def read(value: Any) -> str:
        if not isinstance(value, str):
            raise Refused
        try:
            return names.check(kind, value, "task.toml")
        except ArgumentError as error:
            raise Refused(error) from None

    return Kind(names.expected(kind), read)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise Refused
    return value


def _yes(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Refused
    return value


def whole(least: int, most: int) -> Kind:
    """An integer between two others, both included."""

    def read(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise Refused
        return value

    return Kind(f"an integer from {least:,} to {most:,}", read)


def size(least: int, most: int) -> Kind:
    """Bytes: an integer, or a text with K, M or G."""

    def read(value: Any) -> int:
        if isinstance(value, str) and (match := re.fullmatch(r"([0-9]{1,12})([KMG]?)", value)):
            value = int(match[1]) * _UNITS[match[2]]
        return int(number.read(value))

    number = whole(least, most)
    return Kind(f'bytes from {least:,} to {most:,}, as 65536 or "64K" (K, M, G)', read)


def _duration(value: Any) -> int:
    match = re.fullmatch(r"([1-9][0-9]{0,5})([smhd])", value) if isinstance(value, str) else None
    seconds = int(match[1]) * _TIMES[match[2]] if match else 0
    if not 0 < seconds <= 3660 * 86400:
        raise Refused
    return seconds * 1_000_000


def _moment(value: Any) -> int:
    if isinstance(value, datetime.datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
    elif isinstance(value, datetime.date):
        moment = datetime.datetime(value.year, value.month, value.day, tzinfo=datetime.UTC)
    else:
        raise Refused
    if moment.year < 1970 or moment.timestamp() <= 0:
        raise Refused
    return int(moment.timestamp()) * 1_000_000 + moment.microsecond


def choice(*names: str) -> Kind:
    """One of some words; read as its position."""
    one = word(*names)
    return Kind(one.expected, lambda value: names.index(one.read(value)), names)


def word(*names: str) -> Kind:
    """One of some words; read as it is."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in names:
            raise Refused
        return value

    return Kind("one of " + ", ".join(f'"{name}"' for name in names), read, names)


def listing(kind: Kind, what: str, most: int = 256, *, distinct: bool = True) -> Kind:
    """A list, without repetitions unless it says otherwise."""

    def read(value: Any) -> list[Any]:
        if not isinstance(value, list) or len(value) > most:
            raise Refused
        out = [kind.read(each) for each in value]
        if distinct and len(set(out)) != len(out):
            raise Refused
        return out

    return Kind(f"a list of at most {most} {what}{', each once' if distinct else ''}", read)


def _scalar(value: Any) -> bool | int | float | str:
    if isinstance(value, float) and not math.isfinite(value):
        raise Refused
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise Refused
    if isinstance(value, bool | int | float | str):
        return value
    raise Refused


def _zone(value: Any) -> str:
    zone = str(name("zone").read(value))
    try:
        offset_changes(zone)
    except ArgumentError as error:
        raise Refused(error) from None
    return zone


def window(most: int) -> Kind:
    """A duration, read as (microseconds, 0), or a number, read as (0, number)."""
    number = whole(1, most)

    def read(value: Any) -> tuple[int, int]:
        if not isinstance(value, str):
            return 0, int(number.read(value))
        us = _duration(value)
        if us > 366 * 86_400_000_000:
            raise Refused
        return us, 0

    return Kind(f'a duration up to 366d, as "7d" (s, m, h, d), or {number.expected}', read)


SCALAR = Kind("true or false, a number or a text", _scalar)
ZONE = Kind('a time zone of the IANA database, as "Europe/Berlin"', _zone)
TEXT = Kind("a text", _text)
YES = Kind("true or false", _yes)
DURATION = Kind('a duration up to ten years, as "30d" (s, m, h, d)', _duration)
MOMENT = Kind("a date or a date and time, as 2030-01-01 (UTC)", _moment)
