"""Events to feed a task with: recordings, event logs, and JSON lines that somebody wrote by hand."""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, cast

from ..errors import ArgumentError, ModelError, ResourceError
from ..stream import Catalog
from ..stream._catalog import Value
from ..stream._log import EventLog, is_event_log

STDIN = "-"
# Of lines without a time: the first one's, and how long after each other they happen.
_FIRST, _STEP = 1_700_000_000_000_000, 1_000_000
_KEYS = {"event", "page", "ts", "contents", "on", "late"}
_ON = 8  # flag of an app_state event that begins


@dataclass(frozen=True)
class Line:
    """One event, and where it was read."""

    event: str
    page: str
    ts: int
    contents: dict[str, Value] | None
    on: bool
    place: str
    recorded: bool = False  # by a device, which says itself which events are late


@contextmanager
def open_events(source: str) -> Iterator[tuple[Catalog | None, Iterator[Line]]]:
    """The catalogue, where the source has one, and the events one by one.

    Args:
        source: a recording or other JSON lines (gzipped where the name ends in .gz), the folder of an event
            log, or "-" for standard input.

    Raises:
        ModelError: while reading: a line that is no event, with its number.
        ResourceError: the file cannot be read.
    """
    if source == STDIN:
        yield _of_lines(sys.stdin, "standard input")
        return
    path = Path(source)
    if path.is_dir():
        if not is_event_log(path):
            given = f"the folder '{path}'"
            raise ResourceError.of(given, "an event log, or a file of events", "--events", "check the path")
        with EventLog(path, read_only=True) as log:
            yield log.catalog, _of_log(log, path)
        return
    with _opened(path) as file:
        yield _of_lines(file, str(path))


def _opened(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return cast(TextIO, gzip.open(path, "rt", encoding="utf-8"))
    return path.open(encoding="utf-8")


def _of_log(log: EventLog, path: Path) -> Iterator[Line]:
    for e in log.read():
        yield Line(
            e.event, e.page, e.own_ts, dict(e.contents), bool(e.flags & _ON), f"{path}, event {e.seq}", True
        )


def _of_lines(file: TextIO, name: str) -> tuple[Catalog | None, Iterator[Line]]:
    lines = _numbered(file, name)
    first = next(lines, None)
    if first is None:
        return None, iter(())
    number, text = first
    catalog = _catalog_of(text, f"{name}, line {number}")
    return catalog, _events(lines if catalog is not None else _again(first, lines), name, catalog is not None)


def _again(first: tuple[int, str], rest: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    yield first
    yield from rest


def _numbered(file: TextIO, name: str) -> Iterator[tuple[int, str]]:
    """Lines that hold something, from 1."""
    number = 0
    try:
        for number, text in enumerate(file, 1):
            if text.strip():
                yield number, text
    except UnicodeDecodeError as error:
        raise _wrong(f"bytes that are no UTF-8 ({error.reason})", f"{name}, after line {number}") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _wrong(f"gzip data that is damaged ({error})", f"{name}, after line {number}") from error


def _object(text: str, place: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _wrong(f"a line that is no JSON ({str(error).partition(chr(10))[0]})", place) from None
    if not isinstance(value, dict):
        raise _wrong(f"a line that is no object: {text.strip()[:40]}", place)
    return value


def _catalog_of(text: str, place: str) -> Catalog | None:
    """The catalogue that a recording begins with."""
    value = _object(text, place)
    if set(value) != {"catalog"}:
        return None
    try:
        return Catalog.from_bytes(bytes.fromhex(value["catalog"]))
    except (TypeError, ValueError):
        raise _wrong("a catalogue that is no hexadecimal text", place) from None


def in_order(lines: Iterable[Line]) -> Iterator[Line]:
    """The same, where their times do not go back.

    Raises:
        ArgumentError: at one whose time does; a device would give it the time of the one before.
    """
    newest, before = -(1 << 62), ""
    for line in lines:
        if line.ts < newest and not line.recorded:
            raise ArgumentError.of(
                f"ts {line.ts}, behind {newest} ({before})",
                "events in order of time",
                line.place,
                "sort the file, or say --sort",
            )
        if line.ts >= newest:
            newest, before = line.ts, line.place
        yield line


def _events(lines: Iterator[tuple[int, str]], name: str, recorded: bool) -> Iterator[Line]:
    ts = _FIRST - _STEP
    for number, text in lines:
        place = f"{name}, line {number}"
        value = _object(text, place)
        if unknown := set(value) - _KEYS:
            raise _wrong(f"key '{sorted(unknown)[0]}'", place)
        event, page, contents = value.get("event"), value.get("page", ""), value.get("contents")
        if not isinstance(event, str) or not isinstance(page, str):
            raise _wrong("a line without the name of an event", place)
        if contents is not None and not isinstance(contents, dict):
            raise _wrong(f"contents {contents!r}", place)
        ts = value.get("ts", ts + _STEP)
        if not isinstance(ts, int) or isinstance(ts, bool) or abs(ts) >= 1 << 62:
            raise _wrong(f"ts {ts!r}", place)
        yield Line(event, page, ts, contents, bool(value.get("on", True)), place, recorded)


def _wrong(given: str, where: str) -> ModelError:
    expected = (
        'lines such as {"event": "click", "page": "home", "ts": 1700000000000000, "contents": {"item": 7}}'
    )
    return ModelError.of(given, expected, where, "correct the line; docs/reference/formats/recording.md")
