"""Connections: what one may send before anybody has looked at it, how fast, and who gets a place.

uvicorn's protocol takes head lines, trailers and the framing of chunks without end, waits for them for ever,
and counts all requests alike. Limits of what the application reads stand in ``web/guard.py``.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..service.lane import is_reserved
from ..web.errors import PROBLEM

MOST_HEAD = 16 * 1024  # bytes of a head; as much again may have come with it in one read
HEAD_S = 10.0  # within which a request's head lines must have come
BODY_S = 30.0  # beside a second for every LEAST_RATE bytes, within which a body must have come
LEAST_RATE = 1024  # bytes a second
MOST_CONNECTIONS = 4096
RESERVED = 8  # one place in so many is for the reserved lane
_LOOK_S = 1.0
_FRAMING = 8  # bytes of framing for each of the body: a chunk of one byte takes five
_MOST_UNREAD = 1 << 20  # bytes of a body that come behind its answer
_OTHER_FILES = 256  # of the database, of blobs on their way
_STATUS = {400: b"Bad Request", 431: b"Request Header Fields Too Large"}


def places() -> int:
    """Connections that the process can hold; takes as many files as the system lets it have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + _OTHER_FILES
    most = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    if soft < most:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
    return max(16, min(MOST_CONNECTIONS, soft - _OTHER_FILES))


class Patient(HttpToolsProtocol):
    """uvicorn's protocol with limits.

    What is no body - head lines, trailers, framing - may have 16 KiB and a small multiple of the body. A head
    must come within 10 s, a body at 1 KiB/s after half a minute. Where all places are taken, the one that has
    waited longest for a request to begin is given up, and the last eighth of them is for the reserved lane.
    """

    most = MOST_CONNECTIONS

    def connection_made(self, transport: Any) -> None:
        """Somebody connects."""
        super().connection_made(transport)
        self._everything: Any = self.app
        self._wire = self._body = self._unread = 0
        self._sending_s = 0.0
        self._since = self.loop.time()
        self._timer: asyncio.TimerHandle | None = self.loop.call_later(HEAD_S, self._too_slow)
        if len(self.connections) > self.most:
            self._make_place()

    def data_received(self, data: bytes) -> None:
        """In pieces, so that what is too much is seen before it is kept."""
        for at in range(0, len(data), MOST_HEAD):
            if self.transport.is_closing():
                return
            piece = data[at : at + MOST_HEAD]
            self._wire += len(piece)
            super().data_received(piece)
            if self._wire > MOST_HEAD + _FRAMING * self._body:
                self._refuse(431, "head lines of more bytes", f"at most {MOST_HEAD} bytes")
            elif self._unread > _MOST_UNREAD:
                self.transport.abort()

    def on_message_begin(self) -> None:
        """A request begins."""
        self._wait(HEAD_S, self._too_slow)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Its head lines are here: whether there is a place is known by what it asks."""
        self._sending_s = 0.0
        self._wait(_LOOK_S, self._look)
        reserved = is_reserved(self.parser.get_method().decode("ascii"), self.url.split(b"?")[0].decode())
        free = len(self.connections) <= self.most - self.most // RESERVED
        self.app = self._everything if reserved or free else no_place
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """More of its body."""
        self._body += len(body)
        if self.cycle.response_complete:
            self._unread += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """All of it is here."""
        self._wait(None, None)
        self._wire = self._body = self._unread = 0
        self._since = self.loop.time()
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._wait(None, None)
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP."""
        self._refuse(400, msg, "HTTP/1.1")

    def _wait(self, seconds: float | None, then: Any) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, then)

    def _look(self) -> None:
        """Once a second while a body comes. Time in which nobody here reads on is not the sender's."""
        self._timer = self.loop.call_later(_LOOK_S, self._look)
        self._sending_s += 0.0 if self.flow.read_paused else _LOOK_S
        if self._sending_s > BODY_S + self._body / LEAST_RATE:
            self._too_slow()

    def _too_slow(self) -> None:
        self._wait(None, None)
        if not self.transport.is_closing():
            self.transport.abort()

    def _idle(self) -> bool:
        """Whether nobody works on a request of this connection."""
        return not self._body and (self.cycle is None or self.cycle.response_complete)

    def _make_place(self) -> None:
        idle = [each for each in self.connections if isinstance(each, Patient) and each._idle()]
        oldest = min(idle, key=lambda each: each._since, default=self)
        oldest.transport.abort()

    def _refuse(self, status: int, given: str, expected: str) -> None:
        """Say so where no answer has begun, and end the connection."""
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.abort()
            return
        text = _problem(given, expected, "send less")
        head = b"HTTP/1.1 %d %s\r\ncontent-type: %s\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.write(head % (status, _STATUS[status], PROBLEM.encode(), len(text)) + text)
        self.transport.close()


async def no_place(scope: Any, receive: Any, send: Any) -> None:
    """Answers where the places that are left are for others."""
    text = _problem("a connection too many", "one of the places for this", "ask again in a second")
    headers = [
        (b"content-type", PROBLEM.encode()),
        (b"content-length", str(len(text)).encode()),
        (b"retry-after", b"1"),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": text})


def _problem(given: str, expected: str, next_step: str) -> bytes:
    said = {"error": "Refusal", "given": given, "expected": expected, "where": "HTTP", "next": next_step}
    return json.dumps(said).encode()
