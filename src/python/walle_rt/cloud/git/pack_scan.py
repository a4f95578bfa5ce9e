"""How large a push becomes: counted before anything of it is kept.

A pack says of each object how many bytes it has, and a delta how many it makes: a megabyte may stand for
gigabytes, in an object or in a few deltas on one. Here the numbers are read, each is held against the limits
before its object is inflated, and an object that has more bytes than it says is refused.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from typing import BinaryIO

from dulwich.errors import GitProtocolError

from .body import TooLargeError

MOST_OBJECT = 32 << 20  # bytes of one object
MOST_OBJECTS = 200_000
MOST_INFLATED = 256 << 20  # bytes of all of them together
_MOST_COMMANDS = 1 << 20  # bytes of the lines before a pack
_OFS_DELTA, _REF_DELTA = 6, 7
_SHA1 = 20
_STEP = 4096  # bytes handed to zlib at first; twice as many each time
_HEAD = 24  # bytes of a delta: two numbers stand there


def check_push(file: BinaryIO) -> None:
    """Look through the body of a push (a file on the disk), from where it stands; it is left at its begin.

    Raises:
        TooLargeError: it would inflate to more than a push may.
        GitProtocolError: it is no push.
    """
    file.seek(0, 2)
    if file.tell():
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            at = _behind_commands(content)
            if at < len(content):
                _Pack(content, at).check()
    file.seek(0)


def _behind_commands(content: mmap.mmap) -> int:
    """Where the pack begins: behind the commands, and behind the options where there are some."""
    at = 0
    while at < len(content) and content[at : at + 4] != b"PACK":
        try:
            length = int(content[at : at + 4], 16)
        except ValueError:
            raise GitProtocolError("a push that does not begin with lines") from None
        at += max(4, length)
        if at > _MOST_COMMANDS:
            raise TooLargeError("more commands than a push may have")
    return at


class _Pack:
    """Object after object."""

    def __init__(self, content: mmap.mmap, at: int) -> None:
        self._content, self._at = content, at
        self._left = MOST_INFLATED

    def check(self) -> None:
        """All objects."""
        head = self._content[self._at : self._at + 12]
        if len(head) < 12:
            raise GitProtocolError("a pack that ends early")
        _, version, count = struct.unpack(">4sII", head)
        if version not in (2, 3):
            raise GitProtocolError(f"a pack of version {version}")
        if count > MOST_OBJECTS:
            raise TooLargeError("more objects than a push may have")
        self._at += 12
        for _ in range(count):
            self._object()

    def _object(self) -> None:
        byte = self._byte()
        kind, size, shift = byte >> 4 & 7, byte & 15, 4
        while byte & 0x80:
            byte = self._byte()
            size |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                raise GitProtocolError("an object of no size")
        if kind == _REF_DELTA:
            self._at += _SHA1
        elif kind == _OFS_DELTA:
            while self._byte() & 0x80:
                pass
        self._spend(size)
        begin = self._inflate(size)
        if kind in (_OFS_DELTA, _REF_DELTA):
            self._spend(_second_number(begin))

    def _spend(self, size: int) -> None:
        self._left -= size
        if size > MOST_OBJECT or self._left < 0:
            raise TooLargeError("a push that becomes larger than one may")

    def _byte(self) -> int:
        if self._at >= len(self._content):
            raise GitProtocolError("a pack that ends early")
        self._at += 1
        return self._content[self._at - 1]

    def _inflate(self, size: int) -> bytes:
        """Pass over an object's bytes, which are as many as it says; returns the first few."""
        inflate, found, begin, step = zlib.decompressobj(), 0, b"", _STEP
        packed = b""
        while not inflate.eof:
            if not packed:
                packed = self._content[self._at : self._at + step]
                self._at += len(packed)
                step *= 2
                if not packed:
                    raise GitProtocolError("a pack that ends early")
            try:
                out = inflate.decompress(packed, max(1, size + 1 - found))
            except zlib.error as error:
                raise GitProtocolError(f"a pack that cannot be inflated ({error})") from None
            packed = inflate.unconsumed_tail
            begin += out[: _HEAD - len(begin)]
            found += len(out)
            if found > size:
                raise GitProtocolError("an object with more bytes than it says")
        self._at -= len(inflate.unused_data)
        if found != size:
            raise GitProtocolError("an object with fewer bytes than it says")
        return begin


def _second_number(delta: bytes) -> int:
    """How many bytes a delta makes; before it stands how many its base has."""
    numbers: list[int] = []
    at = 0
    while len(numbers) < 2:
        value, shift = 0, 0
        while True:
            if at >= len(delta):
                raise GitProtocolError("a delta that ends early")
            value |= (delta[at] & 0x7F) << shift
            shift += 7
            at += 1
            if not delta[at - 1] & 0x80:
                break
        numbers.append(value)
    return numbers[1]
