"""Recordings: one file of a catalogue and events, with the same firings and features anywhere.

A recording is JSON lines, optionally gzipped: first ``{"catalog": <hex of schemas/event.fbs>}``, then one
event a line.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any, TextIO, cast

from ..errors import ModelError
from ._catalog import Catalog
from ._log import EventLog

_LATE = 32  # flag of an event that was late by the device's clock


def _open(path: Path, mode: str) -> TextIO:
    """Text of a plain or gzipped file, for the caller to close."""
    if path.suffix == ".gz":
        return cast(TextIO, gzip.open(path, f"{mode}t", encoding="utf-8"))
    return cast(TextIO, path.open(mode, encoding="utf-8"))


def record(log: EventLog, path: str | PathLike[str]) -> int:
    """Write the whole log into one file; returns the number of events."""
    count = 0
    with _open(Path(path), "w") as out:
        out.write(json.dumps({"catalog": log.catalog.to_bytes().hex()}) + "\n")
        for e in log.read():
            # The device's own times, from which the log makes the same event times again.
            line: dict[str, Any] = {"event": e.event, "page": e.page, "ts": e.own_ts}
            if e.flags & _LATE:
                line["late"] = True
            if e.contents:
                line["contents"] = e.contents
            if e.event == "app_state":
                line["on"] = bool(e.flags & 8)
            out.write(json.dumps(line) + "\n")
            count += 1
    return count


def replay_into(
    path: str | PathLike[str], directory: str | PathLike[str], *, key: bytes | None = None
) -> EventLog:
    """Append a recording's events to a new log in ``directory``, sealed with ``key`` if one is given;
    ModelError names the line that is no event.
    """
    log: EventLog | None = None
    for number, text in enumerate(_lines(Path(path)), 1):
        try:
            line = json.loads(text)
            if log is None:
                catalog = Catalog.from_bytes(bytes.fromhex(line["catalog"]))
                log = EventLog(directory, catalog, max_age_s=1e9, recorded_times=True, key=key)
            elif not _times_fit(line):
                raise _no_event(
                    f"a line that is no event: its ts is {line['ts']!r}", f"{path}, line {number}"
                )
            else:
                contents = dict(line["contents"]) if line.get("contents") is not None else None
                on, late = line["event"] == "app_state" and bool(line["on"]), bool(line.get("late", False))
                log._core.append(line["event"], line["page"], contents, line["ts"], False, on=on, late=late)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
            why = str(e).partition("\n")[0]
            raise _no_event(f"a line that is no event: {why}", f"{path}, line {number}") from e
    if log is None:
        raise ModelError.of("an empty recording", "a catalogue and events", str(path), "record the log again")
    return log


def _times_fit(line: dict[str, Any]) -> bool:
    """Whether the time is an integer of 64 bits, as the log keeps it."""
    ts = line["ts"]
    return isinstance(ts, int) and not isinstance(ts, bool) and abs(ts) < 1 << 63


def _lines(path: Path) -> Iterator[str]:
    """The lines of a recording; ModelError where it is no text, or damaged."""
    read = 0
    with _open(path, "r") as lines:
        try:
            for text in lines:
                read += 1
                yield text
        except UnicodeDecodeError as error:
            given = f"bytes that are no UTF-8 text: {error.reason}"
            raise _no_event(given, f"{path}, after line {read}") from error
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise _no_event(f"gzip data that is damaged: {error}", f"{path}, after line {read}") from error


def _no_event(given: str, where: str) -> ModelError:
    return ModelError.of(given, "what record() wrote", where, "record the log again")
