"""The body of a request, however it is framed and packed, and never more of it than a push may have."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

from dulwich.errors import GitProtocolError
from dulwich.web import ChunkReader

Read = Callable[[int], bytes]
_STEP = 1 << 16


class TooLargeError(GitProtocolError):
    """More than a push may have."""


def body_of(environ: dict[str, Any], most: int) -> Body:
    """What a WSGI request sends, with chunks and gzip taken away."""
    source = environ["wsgi.input"]
    length = environ.get("CONTENT_LENGTH", "")
    read: Read
    if length.isdigit():
        read = _Bounded(source.read, int(length)).read
    elif "asgi.scope" in environ or environ.get("wsgi.input_terminated"):
        read = source.read  # the server has taken the chunks apart, and ends where they do
    elif environ.get("HTTP_TRANSFER_ENCODING", "").lower() == "chunked":
        read = ChunkReader(source).read
    else:
        read = _Bounded(source.read, 0).read
    if environ.get("HTTP_CONTENT_ENCODING", "").lower() in ("gzip", "x-gzip"):
        read = _Gunzip(read).read
    return Body(read, most)


class Body:
    """Read as a file, up to ``most`` bytes.

    Raises:
        TooLargeError: when somebody reads on.
    """

    def __init__(self, read: Read, most: int) -> None:
        """Keep them."""
        self._read, self._left = read, most

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes; empty at the end."""
        content = self._read(_STEP if size < 0 else size)
        self._left -= len(content)
        if self._left < 0:
            raise TooLargeError("a push of more bytes than one may have")
        return content


class _Bounded:
    def __init__(self, read: Read, left: int) -> None:
        self._source, self._left = read, left

    def read(self, size: int) -> bytes:
        content = self._source(min(size, self._left)) if self._left else b""
        self._left -= len(content)
        return content


class _Gunzip:
    """Inflates as much as is asked for: a small body may stand for gigabytes."""

    def __init__(self, read: Read) -> None:
        self._source = read
        self._inflate = zlib.decompressobj(16 + zlib.MAX_WBITS)
        self._ended = False

    def read(self, size: int) -> bytes:
        out = bytearray()
        while len(out) < size and not self._inflate.eof:
            packed = self._inflate.unconsumed_tail or (b"" if self._ended else self._source(_STEP))
            if not packed:
                break
            try:
                out += self._inflate.decompress(packed, size - len(out))
            except zlib.error as error:
                raise GitProtocolError(f"a body that is no gzip ({error})") from None
        return bytes(out)
