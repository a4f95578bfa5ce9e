"""HTTP by Python's own ``http.client`` and ``ssl``: what a device uses where there is no libcurl.

One connection is kept open from request to request. Called from the agent's thread alone, but for ``cancel``.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable
from urllib.parse import urljoin, urlsplit

Headers = list[tuple[str, str]]
Sink = Callable[[bytes], None]

_CHUNK = 65_536
_REDIRECTS = 3
_STALL_S = 60.0  # at less than _STALL_BYTES a second for so long, a transfer ends
_STALL_BYTES = 100


class HttpTransport:
    """GET and POST for ``Device.connect``.

    Args:
        authorities: a PEM file; whom servers must be signed by. None: the system's.
        timeout_s: for connecting, and between two pieces of a reply.
    """

    name = "http.client"

    def __init__(self, authorities: str | None = None, timeout_s: float = 30.0) -> None:
        """Connect to nobody yet."""
        self._authorities = authorities
        self._timeout_s = timeout_s
        self._context: ssl.SSLContext | None = None
        self._lock = threading.Lock()
        self._connection: http.client.HTTPConnection | None = None
        self._server = ("", "")
        self._cancelled = False

    def get(self, url: str, start: int, headers: Headers, sink: Sink) -> int:
        """Bytes of a body from ``start`` on to ``sink``; returns the status."""
        wanted = dict(headers)
        if start:
            wanted["Range"] = f"bytes={start}-"
        for _ in range(1 + _REDIRECTS):
            reply = self._ask("GET", url, None, wanted)
            moved = reply.getheader("Location")
            if reply.status not in (301, 302, 303, 307, 308) or not moved:
                break
            reply.read(_CHUNK)
            self._close()
            there = urljoin(url, moved)
            if urlsplit(url).scheme == "https" and urlsplit(there).scheme != "https":
                raise ConnectionError(f"a redirect from https to {urlsplit(there).scheme}")
            url = there
        skip = start if reply.status == 200 else 0
        self._give(reply, sink if reply.status in (200, 206) else None, skip)
        return reply.status

    def post(self, url: str, content_type: str, body: bytes, headers: Headers, sink: Sink) -> int:
        """Send ``body``; what comes back with a success or 429 goes to ``sink``. Returns the status."""
        reply = self._ask("POST", url, body, {**dict(headers), "Content-Type": content_type})
        self._give(reply, sink if reply.status // 100 == 2 or reply.status == 429 else None, 0)
        return reply.status

    def cancel(self) -> None:
        """End what is under way, and whatever is asked from now on, with an error; from any thread."""
        with self._lock:
            self._cancelled = True
            connection = self._connection
        if connection is not None and connection.sock is not None:
            with contextlib.suppress(OSError):  # it has ended by itself
                connection.sock.shutdown(socket.SHUT_RDWR)

    def _ask(
        self, method: str, url: str, body: bytes | None, headers: dict[str, str]
    ) -> http.client.HTTPResponse:
        parts = urlsplit(url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        kept = self._server == (parts.scheme, parts.netloc) and self._connection is not None
        if not kept:
            self._open(parts.scheme, parts.netloc)
        try:
            return self._request(method, path, body, headers)
        except (ConnectionError, http.client.RemoteDisconnected, http.client.BadStatusLine):
            # A kept connection may have been closed by the server meanwhile. A POST is asked again, too: what
            # the agent posts counts once, however often it comes.
            self._close()
            if not kept or self._cancelled:
                raise
        self._open(parts.scheme, parts.netloc)
        return self._request(method, path, body, headers)

    def _request(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> http.client.HTTPResponse:
        assert self._connection is not None
        try:
            self._connection.request(method, path or "/", body, headers)
            return self._connection.getresponse()
        except BaseException:
            self._close()
            raise

    def _open(self, scheme: str, netloc: str) -> None:
        self._close()
        connection: http.client.HTTPConnection
        if scheme == "https":
            if self._context is None:
                self._context = ssl.create_default_context(cafile=self._authorities)
            connection = http.client.HTTPSConnection(netloc, timeout=self._timeout_s, context=self._context)
        else:
            connection = http.client.HTTPConnection(netloc, timeout=self._timeout_s)
        with self._lock:
            if self._cancelled:
                raise ConnectionAbortedError("the transport was cancelled")
            self._connection = connection
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._server = (scheme, netloc)

    def _close(self) -> None:
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _give(self, reply: http.client.HTTPResponse, sink: Sink | None, skip: int) -> None:
        whole = False
        try:
            if sink is None:
                reply.read(_CHUNK)  # of an error; more than this nobody needs
                whole = reply.isclosed()
            else:
                self._read(reply, sink, skip)
                whole = True
        finally:
            if not whole or reply.will_close:
                self._close()

    def _read(self, reply: http.client.HTTPResponse, sink: Sink, skip: int) -> None:
        begun, came = time.monotonic(), 0
        while piece := reply.read1(_CHUNK):
            came += len(piece)
            gone = time.monotonic() - begun
            if gone > _STALL_S:
                if came < _STALL_BYTES * gone:
                    raise TimeoutError(f"{came} bytes in {gone:.0f} s")
                begun, came = time.monotonic(), 0
            wanted = piece[min(skip, len(piece)) :]
            skip -= len(piece) - len(wanted)
            if wanted:
                sink(wanted)
        # read1() says nothing of a reply that was cut off.
        if reply.length:
            raise http.client.IncompleteRead(b"", reply.length)
        reply.close()  # which read1() leaves to others, and the connection waits for
