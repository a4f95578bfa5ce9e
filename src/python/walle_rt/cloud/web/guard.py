"""Limits of every request, before anything reads it: how large a body may be, and how slowly it may come.

Plain ASGI around everything else. A body that is too large is refused by what it says of itself, or else
where it passes the limit; a client that sends or takes nothing for ``IDLE_S`` is let go. Head lines have a
limit of size and time in ``serve/connection.py``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from starlette.exceptions import HTTPException

from ..._core import names
from .errors import PROBLEM

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

IDLE_S = 30.0
_MOST_PUSH = 80 << 20  # what the git application takes


class BodyTooLargeError(HTTPException):
    """Passed the limit while it came. Of the kind that FastAPI hands on when it happens inside of a body."""

    def __init__(self) -> None:
        """413."""
        super().__init__(413, "a body that is too large")


class LateError(HTTPException):
    """Nothing of a body came for too long."""

    def __init__(self) -> None:
        """408."""
        super().__init__(408, "a body that does not come")


class GoneError(TimeoutError):
    """Nothing of a reply was taken for too long. Nobody is there to be answered."""


class Guard:
    """Holds the limits around ``app``."""

    def __init__(self, app: App, max_body: int, max_upload: int, idle_s: float = IDLE_S) -> None:
        """Keep the limits, in bytes and seconds."""
        self._app, self._max_body, self._max_upload, self._idle_s = app, max_body, max_upload, idle_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the events of the server's life."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        most = self._max_upload if _is_upload(path) else _MOST_PUSH if _is_git(path) else self._max_body
        said = next((v for k, v in scope["headers"] if k == b"content-length"), b"0")
        if len(said) > 18 or not said.isdigit() or int(said) > most:
            await _refuse(send, most)
            return
        state = _Request(receive, send, most, self._idle_s)
        try:
            await self._app(scope, state.receive, state.send)
        except BodyTooLargeError:
            if not state.began:
                await _refuse(send, most)
        except LateError:
            if not state.began:
                await answer(send, 408, "a body that does not come", "it within the time", "send it again")
        except GoneError:
            return


def _is_upload(path: str) -> bool:
    """Whether a file comes, by its digest: to the API, or by Git LFS."""
    match path.split("/"):
        case ["", "api", "v1", "scenarios", _, "blobs", digest]:
            return names.valid("sha256", digest)
        case ["", "git", _, "info", "lfs", "objects", digest]:
            return names.valid("sha256", digest)
    return False


def _is_git(path: str) -> bool:
    match path.split("/"):
        case ["", "git", _, "git-upload-pack" | "git-receive-pack"]:
            return True
    return False


class _Request:
    """One request and its reply."""

    def __init__(self, receive: Receive, send: Send, most: int, idle_s: float) -> None:
        self._receive, self._send, self._left, self._idle_s = receive, send, most, idle_s
        self._whole = False
        self.began = False

    async def receive(self) -> dict[str, Any]:
        if self._whole:  # what is waited for from now on is the end of the connection
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), self._idle_s)
        except TimeoutError:
            raise LateError() from None
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            self._whole = not message.get("more_body", False)
            if self._left < 0:
                raise BodyTooLargeError()
        return message

    async def send(self, message: dict[str, Any]) -> None:
        self.began = True
        try:
            await asyncio.wait_for(self._send(message), self._idle_s)
        except TimeoutError:
            raise GoneError() from None


def writes_much(method: str, path: str) -> bool:
    """Whether a request brings files: a full disk has no room for it."""
    if method not in ("PUT", "POST"):
        return False
    parts = path.split("/")
    return _is_upload(path) or parts[-1] == "git-receive-pack" or "versions" in parts[5:]


async def _refuse(send: Send, most: int) -> None:
    await answer(send, 413, "a body that is too large", f"at most {most} bytes", "send less")


async def answer(
    send: Send,
    status: int,
    given: str,
    expected: str,
    next_step: str,
    more: Iterable[tuple[bytes, bytes]] = (),
) -> None:
    """A problem as JSON; ends the connection, as the rest of the request may still be on its way."""
    content = {"error": "Refusal", "given": given, "expected": expected, "where": "HTTP", "next": next_step}
    text = json.dumps(content).encode()
    headers = [
        (b"content-type", PROBLEM.encode()),
        (b"content-length", str(len(text)).encode()),
        (b"connection", b"close"),
        *more,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})
