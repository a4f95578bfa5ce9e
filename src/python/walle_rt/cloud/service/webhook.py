"""Webhook: what an operator must know, sent to a URL as signed JSON, from a thread of its own.

Signed as Standard Webhooks (standardwebhooks.com) has it: ``webhook-id``, ``webhook-timestamp`` and
``webhook-signature: v1,<base64 of HMAC-SHA256 over "id.timestamp.body">``. Nothing that serves devices waits
for somebody else's server; what waits when this one ends waits in its database (``webhook_queue.py``).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import logging
import secrets
import threading
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ...errors import ArgumentError
from ...whole_files import write_whole
from .. import metrics
from .webhook_queue import Waiting, WebhookQueue

LOG = logging.getLogger("walle_rt.cloud")

ATTEMPTS = 12
FIRST_WAIT_S, MOST_WAIT_S = 1.0, 300.0  # between two attempts, each twice the one before: 19 minutes in all
TIMEOUT_S = 10.0
_PREFIX = "whsec_"

# Sends one body with its headers; the status. May take `TIMEOUT_S`, or raise OSError.
Post = Callable[[str, bytes, Mapping[str, str]], int]


def read_url(file: Path) -> str:
    """The URL of ``webhook.toml``; "" where there is no such file.

    Raises:
        ArgumentError: no TOML, an unknown key, a URL that is none, or plain HTTP to another machine.
    """
    try:
        given = tomllib.loads(file.read_text())
    except FileNotFoundError:
        return ""
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError.of(str(error), "TOML", f"'{file}'", "see docs/how-to/run-a-server.md") from None
    url = given.get("url")
    parsed = urlsplit(url) if isinstance(url, str) else urlsplit("")
    plain = parsed.scheme == "http" and _is_loopback(parsed.hostname or "")
    if set(given) != {"url"} or not (parsed.hostname and (parsed.scheme == "https" or plain)):
        raise ArgumentError.of(
            f"{given}", 'url = "https://..." alone, or http:// to this machine', f"'{file}'", "correct it"
        )
    return str(url)


def secret_of(file: Path) -> bytes:
    """The key that bodies are signed with, made when there is none, for its owner alone."""
    if not file.is_file():
        text = _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
        write_whole(file, text.encode(), 0o600)
    return base64.b64decode(file.read_text().strip().removeprefix(_PREFIX))


def signature(secret: bytes, number: str, at: int, body: bytes) -> str:
    """The value of ``webhook-signature``."""
    signed = hmac.digest(secret, f"{number}.{at}.".encode() + body, hashlib.sha256)
    return "v1," + base64.b64encode(signed).decode()


def post(url: str, body: bytes, headers: Mapping[str, str]) -> int:
    """Over the network; no redirect is followed."""
    request = urllib.request.Request(url, body, dict(headers), method="POST")
    try:
        with _OPENER.open(request, timeout=TIMEOUT_S) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


class Webhook:
    """Sends what waits in a queue, in its order, from a thread of its own.

    Args:
        url: where to.
        secret: what they are signed with.
        queue: of events.
        now: seconds since 1970.
        send: carries a body.
        wait: waits so many seconds; True: it is time to end.
    """

    def __init__(
        self,
        url: str,
        secret: bytes,
        queue: WebhookQueue,
        now: Callable[[], float],
        send: Post = post,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        """Begin with what a process before has left."""
        self._url, self._secret, self._now, self._send = url, secret, now, send
        self._queue = queue
        self._some, self._over = threading.Event(), threading.Event()
        self._wait = wait or self._over.wait
        self._thread = threading.Thread(target=self._run, name="walle-webhook", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Something may wait. Any thread."""
        self._some.set()

    def close(self) -> None:
        """End; what is on its way stays in the queue."""
        self._over.set()
        self._some.set()
        self._thread.join(TIMEOUT_S + 1)

    def _run(self) -> None:
        while not self._over.is_set():
            self._some.clear()
            try:
                while not self._over.is_set() and (event := self._queue.first()) is not None:
                    if self._deliver(event):
                        self._queue.drop(event.id)
            except Exception as error:  # the database: a full disk, or another server holds it by now
                LOG.warning("webhook waits", extra={"because": str(error)})
            self._some.wait()

    def _deliver(self, event: Waiting) -> bool:
        """Again and again; the same id each time. Whether it is over with it: told, or given up."""
        pause, said = FIRST_WAIT_S, ""
        for attempt in range(ATTEMPTS):
            if self._over.is_set() or (attempt and self._wait(pause)):
                return False
            pause = min(2 * pause, MOST_WAIT_S) if attempt else pause
            try:
                status = self._send(self._url, event.body, self._headers(event.id, event.body))
            except (OSError, ValueError) as error:
                said = str(error)
                continue
            if 200 <= status < 300:
                metrics.WEBHOOKS.labels("delivered").inc()
                return True
            said = f"status {status}"
        metrics.WEBHOOKS.labels("failed").inc()
        LOG.error("webhook not delivered", extra={"event": event.kind, "id": event.id, "because": said})
        return True

    def _headers(self, number: str, body: bytes) -> dict[str, str]:
        at = int(self._now())
        return {
            "Content-Type": "application/json",
            "webhook-id": number,
            "webhook-timestamp": str(at),
            "webhook-signature": signature(self._secret, number, at, body),
        }


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
