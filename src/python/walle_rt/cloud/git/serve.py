"""Repositories of scenarios over smart HTTP: what ``git clone`` and ``git push`` speak."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from dulwich.errors import GitProtocolError, NotGitRepository
from dulwich.server import Backend
from dulwich.web import HTTPGitApplication

from ...errors import Error
from ..blobs import BlobStore
from .body import TooLargeError, body_of
from .repository import ScenarioRepository

Environ = dict[str, Any]
Start = Callable[..., Any]
# What may somebody do: called with the request, the scenario and whether it writes; the status of the answer,
# 200 for yes.
Authorize = Callable[[Environ, str, bool], int]

_PATH = re.compile(r"/([a-z0-9][a-z0-9_-]{0,63})\.git/(info/refs|git-upload-pack|git-receive-pack)")
_SERVICES = ("git-upload-pack", "git-receive-pack")
_REASONS = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    413: "Content Too Large",
}
_MOST_BODY = 80 << 20  # bytes of one request: a push of 64 MiB and what is around it


class GitApp:
    """A WSGI application with one repository per scenario below it: ``<mounted at>/<scenario>.git``.

    Pushes keep the rules of ``rules.py``: branches go forward, versions are made once, large files are
    pointers to what was uploaded. ``git`` asks for a name and password after a 401; an API token is the
    password.

    Threads: any. Each request opens the repository anew.

    Args:
        folder: of all scenarios.
        authorize: called with the WSGI environment, the scenario and whether the request pushes; returns 200,
            401, 403 or 404.
        blobs: where large files lie; None: pointers are not looked at.
    """

    def __init__(self, folder: Path | str, authorize: Authorize, blobs: BlobStore | None = None) -> None:
        """Keep them."""
        self._authorize = authorize
        self._git = HTTPGitApplication(_Scenarios(Path(folder), blobs))

    def __call__(self, environ: Environ, start_response: Start) -> Iterable[bytes]:
        """Serve one request."""
        match = _PATH.fullmatch(environ.get("PATH_INFO", ""))
        service = _service(environ, match[2]) if match else ""
        if match is None or service not in _SERVICES:
            return _refuse(start_response, 404)
        status = self._authorize(environ, match[1], service == "git-receive-pack")
        if status != 200:
            return _refuse(start_response, status)
        return self._serve(environ, start_response)

    def _serve(self, environ: Environ, start_response: Start) -> Iterable[bytes]:
        plain = {**environ, "wsgi.input": body_of(environ, _MOST_BODY), "CONTENT_LENGTH": ""}
        for name in ("HTTP_CONTENT_ENCODING", "HTTP_TRANSFER_ENCODING"):
            plain.pop(name, None)
        try:
            yield from self._git(plain, start_response)
        except (NotGitRepository, Error):
            yield from _refuse(start_response, 404)
        except TooLargeError:
            yield from _refuse(start_response, 413)
        except (GitProtocolError, AssertionError, ValueError, KeyError, EOFError):
            # Where the reply has begun git tells of a broken one.
            yield from _refuse(start_response, 400)


class _Scenarios(Backend):
    """Repositories by the path of the request."""

    def __init__(self, folder: Path, blobs: BlobStore | None) -> None:
        self._folder, self._blobs = folder, blobs

    def open_repository(self, path: Any) -> Any:
        """As dulwich asks for one."""
        name = (path.decode() if isinstance(path, bytes) else str(path)).strip("/")
        if not name.endswith(".git"):
            raise NotGitRepository(name)
        return ScenarioRepository(self._folder, name.removesuffix(".git"), self._blobs).repo


def _service(environ: Environ, called: str) -> str:
    """Which of git's two services a request is for; the first one only names it in its query."""
    if called != "info/refs":
        return called if environ.get("REQUEST_METHOD") == "POST" else ""
    if environ.get("REQUEST_METHOD") != "GET":
        return ""
    return parse_qs(environ.get("QUERY_STRING", "")).get("service", [""])[0]


def _refuse(start_response: Start, status: int) -> list[bytes]:
    reason = _REASONS.get(status, "Forbidden")
    headers = [("Content-Type", "text/plain; charset=utf-8")]
    if status == 401:
        headers.append(("WWW-Authenticate", 'Basic realm="walle"'))
    start_response(f"{status} {reason}", headers)
    return [f"{reason}\n".encode()]


def token_of(environ: Environ) -> str:
    """The token that a request comes with: a bearer's, or the password that ``git`` was given; else empty."""
    kind, _, given = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    if kind.lower() == "bearer":
        return str(given.strip())
    if kind.lower() != "basic":
        return ""
    try:
        return base64.b64decode(given, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""
