"""The devices' path, as plain ASGI: a request costs a third of what it costs through FastAPI.

    GET  /v1/tuf/metadata/<file>, /v1/tuf/targets/<path>   signed metadata and targets
    GET  /v1/blobs/<SHA-256>                                files that devices get, with Range and ETag
    GET  /v1/time                                           seconds since 1970, of the server's clock
    GET  /v1/device                                         204; signed, what the device has carried out
    POST /v1/reports                                        a batch of reports, from an enrolled device
    POST /v1/enrol                                          a certificate for a code, or for the old key

Metadata and files need no proof of who asks: their digests are signed, and caches of others may hold them.
So nothing lies there but what published versions have for devices (``blobs/_stores.py``).
Replies to a request with ``X-Walle`` carry ``X-Walle-Up``, too.
"""

from __future__ import annotations

import ipaddress
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool

from ..._core import names, policy
from ...errors import ArgumentError, Error
from .. import metrics
from ..blobs import one_range
from ..service import enrolment
from ..service.server import Server
from .errors import PROBLEM
from .guard import Receive, Scope, Send, answer

PREFIX = "/v1/"
_ASKED, _REPLY = (name.lower().encode() for name in (policy.HEADER, policy.REPLY))
_METADATA, _TARGETS, _BLOBS = "/v1/tuf/metadata/", "/v1/tuf/targets/", "/v1/blobs/"
_CHUNK = 256 * 1024
_MOST_ENROL = 16 * 1024
MOST_REPORTS = 256 * 1024

FOREVER = b"public, max-age=31536000, immutable"
NEVER = b"no-cache"


class DevicePath:
    """The application behind ``/v1/``."""

    def __init__(self, state: Server) -> None:
        """Keep the server's state."""
        self._state = state
        self._repository = state.settings.folder / "repository"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        path, method = scope["path"], scope["method"]
        if header := _header(scope, _ASKED):
            send = self._telling(send, header)
        if method in ("GET", "HEAD"):
            if digest := _named(path, _BLOBS, lambda name: names.valid("sha256", name)):
                await self._file(scope, send, self._state.stores.devices.path(digest), f'"{digest}"', FOREVER)
            elif file := _named(path, _METADATA, _is_metadata):
                cache = FOREVER if file[0].isdigit() else NEVER
                await self._file(scope, send, self._repository / "metadata" / file, "", cache)
            elif file := _named(path, _TARGETS, _is_target):
                await self._file(scope, send, self._repository / "targets" / file, "", FOREVER)
            elif path == "/v1/device":
                await self._profile(scope, send, header)
            elif path == "/v1/time":
                await _time(send, self._state.now())
            else:
                await answer(
                    send, 404, f"'{path[:100]}'", "a path of docs/reference/cloud-api.md", "check it"
                )
        elif method == "POST" and path == "/v1/reports":
            await self._reports(scope, receive, send)
        elif method == "POST" and path == "/v1/enrol":
            await self._enrol(scope, receive, send)
        else:
            await answer(
                send, 405, f"{method[:20]} {path[:100]}", "GET, or POST where documented", "check it"
            )

    def _telling(self, send: Send, header: str) -> Send:
        """Replies say where the device has not carried out what it should."""

        async def send_and_tell(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                newer = self._state.releases.newer(header)
                if newer is not None:
                    message["headers"] = [*message["headers"], (_REPLY, str(newer).encode())]
            await send(message)

        return send_and_tell

    async def _file(self, scope: Scope, send: Send, path: Path, etag: str, cache: bytes) -> None:
        try:
            file = path.open("rb")
        except (FileNotFoundError, IsADirectoryError):
            await answer(send, 404, f"'{scope['path'][-80:]}'", "a file that was published", "check the name")
            return
        with file:
            size = os.fstat(file.fileno()).st_size
            headers = [(b"cache-control", cache), (b"accept-ranges", b"bytes")]
            headers.append((b"content-type", b"application/octet-stream"))
            if etag:
                headers.append((b"etag", etag.encode()))
                if _header(scope, b"if-none-match") == etag:
                    await _empty(send, 304, headers)
                    return
            wanted = _header(scope, b"range")
            if wanted and _header(scope, b"if-range") not in ("", etag):
                wanted = ""
            part = one_range(wanted, size)
            begin, end = part or (0, size)
            status = 200 if part is None else 206
            if part is not None and begin >= end:
                await _empty(send, 416, [(b"content-range", f"bytes */{size}".encode())])
                return
            if status == 206:
                headers.append((b"content-range", f"bytes {begin}-{end - 1}/{size}".encode()))
            headers.append((b"content-length", str(end - begin).encode()))
            await send({"type": "http.response.start", "status": status, "headers": headers})
            file.seek(begin)
            left = 0 if scope["method"] == "HEAD" else end - begin
            metrics.SENT_BYTES.inc(left)
            while left > 0:
                # Small files come out of the page cache at once; a thread would cost more than it saves.
                wants = min(left, _CHUNK)
                chunk = file.read(wants) if size <= _CHUNK else await run_in_threadpool(file.read, wants)
                if not chunk:
                    return  # the file became shorter, which nobody does: the client sees too few bytes
                left -= len(chunk)
                await send({"type": "http.response.body", "body": chunk, "more_body": left > 0})
            if scope["method"] == "HEAD" or end == begin:
                await send({"type": "http.response.body", "body": b""})

    async def _profile(self, scope: Scope, send: Send, header: str) -> None:
        """What a device has carried out counts where it signs it."""
        if header and _header(scope, b"authorization"):
            device = await self._device(scope, send, header.encode("latin-1"))
            if device is None:
                return
            self._state.releases.profiles.note(device, header)
        await _empty(send, 204)

    async def _reports(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _body(receive, MOST_REPORTS)
        device = await self._device(scope, send, body)
        if device is None or body is None:
            return
        try:
            reply = await self._state.inbox.take(device, body)
        except Error as error:
            await _refused(send, 400 if isinstance(error, ArgumentError) else 503, error)
            return
        if reply["granted"]:
            await _json(send, 200, reply)
        else:  # a claim, which comes alone, or too many reports: the device asks again later
            await _json(send, 429, reply, [(b"retry-after", str(reply["wait_s"]).encode())])

    async def _enrol(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _body(receive, _MOST_ENROL)
        try:
            given: Any = json.loads(body or b"")
            csr, code = str(given["csr"]).encode(), str(given.get("code", ""))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            await answer(
                send, 400, "a body that is no request", '{"code": "...", "csr": "PEM"}', "correct it"
            )
            return
        if code and not self._private(scope):
            await answer(
                send,
                403,
                "a code over plain HTTP from another machine, which others can read",
                "https",
                "ask for a new code and enrol over https; walle serve --plain-enrolment allows it",
            )
            return
        try:
            if code:
                made = await run_in_threadpool(enrolment.enrol, self._state, code, csr)
            else:
                device = await self._device(scope, send, body or b"")
                if device is None:
                    return
                made = await run_in_threadpool(enrolment.renew, self._state, device, csr)
                self._state.device_auth.forget(device)
        except enrolment.CodeRefusedError as error:
            await _refused(send, 403, error)
            return
        except ArgumentError as error:
            await _refused(send, 400, error)
            return
        await _json(send, 200, {
            "device": made.device,
            "certificate": made.certificate,
            "authority": made.authority,
            "expires": int(made.expires),
            "renew_at": int(made.renew_at),
            "broker": self._state.broker_address(),
            "root": json.loads(self._first_root()),
        })  # fmt: skip

    def _private(self, scope: Scope) -> bool:
        """Whether nobody can have listened on the way; renewals bring no secret and need it not."""
        settings, client = self._state.settings, scope.get("client")
        encrypted = scope.get("scheme") == "https" or settings.public_https
        return encrypted or settings.plain_enrolment or client is None or _is_loopback(client[0])

    async def _device(self, scope: Scope, send: Send, body: bytes | None) -> str | None:
        if body is None:
            await answer(send, 413, "a body that is too large", f"at most {MOST_REPORTS} bytes", "send less")
            return None
        header = _header(scope, b"authorization")
        given = (header, scope["method"], scope["path"], body)
        try:
            device = await self._state.lane.run(self._state.device_auth.device_of, *given)
        except enrolment.ProofRefusedError as error:
            await answer(send, 401, error.given, error.expected, error.next_step)
            return None
        self._state.saw(device)
        return device

    def _first_root(self) -> bytes:
        return (self._repository / "metadata" / "1.root.json").read_bytes()


def _named(path: str, folder: str, is_name: Callable[[str], bool]) -> str:
    """What a path names in a folder; empty where it is in another one, or names no such thing."""
    name = path.removeprefix(folder)
    return name if path.startswith(folder) and is_name(name) else ""


def _is_metadata(name: str) -> bool:
    """``12.ROLE.json``, or ``timestamp.json``; roles are files beside each other."""
    return name.endswith(".json") and names.valid("file", name) and "/" not in name and name[0] != "."


def _is_target(name: str) -> bool:
    """A target's path with its digest in front of the file's name."""
    folder, _, file = name.rpartition("/")
    return bool(folder) and names.valid("file", name) and names.valid("sha256", file.partition(".")[0])


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _header(scope: Scope, name: bytes) -> str:
    return next((v.decode("latin-1") for k, v in scope["headers"] if k == name), "")


async def _body(receive: Receive, most: int) -> bytes | None:
    """The whole body; None where it is larger. What is too large is read to its end, as the limit of all
    requests stands around it."""
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        piece = message.get("body", b"")
        size += len(piece)
        if size <= most:
            parts.append(piece)
        if not message.get("more_body", False):
            return b"".join(parts) if size <= most else None


async def _time(send: Send, now_s: float) -> None:
    """The server's clock, by which a device whose own is wrong signs its requests."""
    text = str(int(now_s)).encode()
    headers = [(b"content-type", b"text/plain"), (b"cache-control", b"no-store")]
    headers.append((b"content-length", str(len(text)).encode()))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": text})


async def _empty(send: Send, status: int, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers or []})
    await send({"type": "http.response.body", "body": b""})


async def _json(send: Send, status: int, content: Any, more: Iterable[tuple[bytes, bytes]] = ()) -> None:
    text = json.dumps(content).encode()
    kind = b"application/json" if status < 400 or status == 429 else PROBLEM.encode()
    headers = [(b"content-type", kind), (b"content-length", str(len(text)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})


async def _refused(send: Send, status: int, error: Error) -> None:
    await _json(send, status, {
        "error": type(error).__name__,
        "given": error.given,
        "expected": error.expected,
        "where": error.where,
        "next": error.next_step,
    })  # fmt: skip
