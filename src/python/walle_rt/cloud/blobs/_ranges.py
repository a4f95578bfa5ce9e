"""The ``Range`` of a request, for whatever serves a file (RFC 9110, section 14)."""

from __future__ import annotations

import re

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


def one_range(header: str, size: int) -> tuple[int, int] | None:
    """First byte of the range and the one behind its last; equal where it has no byte of the file (416).

    None: the header is to be passed over, and the whole file is the answer: no header, several ranges,
    another unit, a range whose end lies before its begin.
    """
    found = _RANGE.fullmatch(header.replace(" ", ""))
    if found is None or found.groups() == ("", ""):
        return None
    first, last = found.groups()
    if not first:  # the last so many bytes
        return max(0, size - int(last)), size
    begin = int(first)
    if last and int(last) < begin:
        return None
    end = min(size, int(last) + 1) if last else size
    return (begin, end) if begin < size else (size, size)
