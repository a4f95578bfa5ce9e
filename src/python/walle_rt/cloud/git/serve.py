"""Repositories of scenarios over smart HTTP: what ``git clone`` and ``git push`` speak."""

from __future__ import annotations

import base64
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from dulwich.errors import GitProtocolError, NotGitRepository
from dulwich.server import Backend
from dulwich.web import HTTPGitApplication

from ..._core import names
from ...errors import ArgumentError, Error, ResourceError
from ..blobs import BlobStore
from . import lfs
from .body import TooLargeError, body_of
from .pack_scan import check_push
from .repository import ScenarioRepository

Environ = dict[str, Any]
Start = Callable[..., Any]
Blobs = Callable[[str], BlobStore]  # of a scenario
# What may somebody do: called with the request, the scenario and whether it writes; the status of the answer,
# 200 for yes.
Authorize = Callable[[Environ, str, bool], int]

_SERVICES = ("git-upload-pack", "git-receive-pack")
_BLOB = "blobs/"
_REASONS = {
    200: "OK",
    206: "Partial Content",
    304: "Not Modified",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    413: "Content Too Large",
    409: "Conflict",
    415: "Unsupported Media Type",
    416: "Range Not Satisfiable",
    422: "Unprocessable Content",
    507: "Insufficient Storage",
}
_CHUNK = 256 * 1024
_MOST_BODY = 80 << 20  # bytes of a push: of 64 MiB, and what is around it
_MOST_ASKED = 4 << 20  # bytes of a fetch's request, which names commits


class GitApp:
    """A WSGI application with one repository per scenario below it: ``<mounted at>/<scenario>.git``.

    ``<scenario>.git/blobs/<SHA-256>`` are the files that its pointers stand for; ``git lfs`` finds them, too.

    Pushes keep the rules of ``rules.py``: branches go forward, versions are made once, large files are
    pointers to what was uploaded. ``git`` asks for a name and password after a 401; an API token is the
    password.

    Threads: any. Each request opens the repository anew.

    Args:
        folder: of all scenarios.
        authorize: called with the WSGI environment, the scenario and whether the request pushes; returns 200,
            401, 403 or 404.
        blobs: where the large files of a scenario lie; None: pointers are not looked at.
        mounted: the path before a scenario's, which addresses in answers need.
        https: whether clients come by https, however the request looks here.
    """

    def __init__(
        self,
        folder: Path | str,
        authorize: Authorize,
        blobs: Blobs | None = None,
        mounted: str = "",
        https: bool = False,
    ) -> None:
        """Keep them."""
        self._folder, self._authorize, self._blobs = Path(folder), authorize, blobs
        self._mounted, self._https = mounted, https
        self._git = HTTPGitApplication(_Scenarios(self._folder, blobs))

    def __call__(self, environ: Environ, start_response: Start) -> Iterable[bytes]:
        """Serve one request."""
        scenario, _, path = environ.get("PATH_INFO", "").removeprefix("/").partition(".git/")
        service = _service(environ, path) if names.valid("scenario", scenario) else ""
        if service in (lfs.BATCH, lfs.OBJECT):
            return self._lfs(environ, scenario, path, start_response)
        if service not in (*_SERVICES, _BLOB):
            return _refuse(start_response, 404)
        status = self._authorize(environ, scenario, service == "git-receive-pack")
        if status != 200:
            return _refuse(start_response, status)
        if service == _BLOB:
            return self._blob(environ, scenario, path.removeprefix(_BLOB), start_response)
        if service == "git-receive-pack" and environ["REQUEST_METHOD"] == "POST":
            return self._receive(environ, scenario, start_response)
        return self._serve(environ, body_of(environ, _MOST_ASKED), start_response)

    def _receive(self, environ: Environ, scenario: str, start_response: Start) -> Iterable[bytes]:
        """A push, read to its end first: a slow sender keeps nobody else from writing."""
        with tempfile.TemporaryFile() as spooled:
            try:
                shutil.copyfileobj(body_of(environ, _MOST_BODY), spooled)
                check_push(spooled)
                repository = ScenarioRepository(self._folder, scenario, self._blobs_of(scenario))
            except TooLargeError:
                yield from _refuse(start_response, 413)
                return
            except (GitProtocolError, AssertionError, ValueError):
                yield from _refuse(start_response, 400)
                return
            except (ArgumentError, ResourceError):
                yield from _refuse(start_response, 404)
                return
            with repository.writing():
                yield from self._serve(environ, spooled, start_response)

    def _blobs_of(self, scenario: str) -> BlobStore | None:
        return None if self._blobs is None else self._blobs(scenario)

    def _blob(self, environ: Environ, scenario: str, digest: str, start_response: Start) -> Iterable[bytes]:
        """The file that a pointer stands for, or a range of it."""
        try:
            blobs = self._blobs_of(scenario)
        except ArgumentError:  # no such scenario
            blobs = None
        if blobs is None or digest not in blobs:
            return _refuse(start_response, 404)
        part = blobs.part(
            digest,
            range_=environ.get("HTTP_RANGE", ""),
            if_range=environ.get("HTTP_IF_RANGE", ""),
            if_none_match=environ.get("HTTP_IF_NONE_MATCH", ""),
        )
        headers = {"Content-Type": "application/octet-stream", **part.headers}
        start_response(f"{part.status} {_REASONS[part.status]}", list(headers.items()))
        return blobs.chunks(digest, part.start, part.stop)

    def _lfs(self, environ: Environ, scenario: str, called: str, start_response: Start) -> Iterable[bytes]:
        """A request of ``git lfs``."""
        try:
            status, answer = self._lfs_answer(environ, scenario, called)
        except lfs.MistakeError as error:
            status, answer = error.status, {"message": str(error)}
        except TooLargeError:
            status, answer = 413, {"message": "a body that is too large"}
        except ArgumentError:  # no such scenario
            status, answer = 404, {}
        if status in (401, 403, 404):
            return _refuse(start_response, status)
        content = json.dumps(answer).encode()
        headers = [("Content-Type", lfs.TYPE), ("Content-Length", str(len(content)))]
        start_response(f"{status} {_REASONS[status]}", headers)
        return [content]

    def _lfs_answer(self, environ: Environ, scenario: str, called: str) -> lfs.Answer:
        if self._blobs is None:
            return 404, {}
        if called != lfs.BATCH:
            status = self._authorize(environ, scenario, True)
            if status == 200:
                if environ.get("HTTP_CONTENT_ENCODING", "identity") != "identity":
                    # git-lfs sends none, and a megabyte may stand for all that a blob may have.
                    raise lfs.MistakeError(415, "expected the bytes of the file, not packed")
                blobs = self._blobs(scenario)
                body = body_of(environ, blobs.most_blob_bytes)
                lfs.store(blobs, called.rpartition("/")[2], iter(partial(body.read, _CHUNK), b""))
            return status, {}
        status = self._authorize(environ, scenario, False)  # before anything is read
        if status != 200:
            return status, {}
        body = body_of(environ, lfs.MOST_BATCH)
        given = lfs.read_batch(b"".join(iter(partial(body.read, _CHUNK), b"")))
        if given["operation"] == "upload" and (status := self._authorize(environ, scenario, True)) != 200:
            return status, {}
        scheme = "https" if self._https else environ["wsgi.url_scheme"]
        base = f"{scheme}://{environ.get('HTTP_HOST', '')}{self._mounted}/{scenario}.git"
        header = {"Authorization": str(environ.get("HTTP_AUTHORIZATION", ""))}
        return 200, lfs.answer_batch(given, self._blobs(scenario), base, header)

    def _serve(self, environ: Environ, body: Any, start_response: Start) -> Iterable[bytes]:
        plain = {**environ, "wsgi.input": body, "CONTENT_LENGTH": ""}
        for name in ("HTTP_CONTENT_ENCODING", "HTTP_TRANSFER_ENCODING"):
            plain.pop(name, None)
        reply = _Reply(start_response)
        try:
            for chunk in self._git(plain, reply.start):
                reply.write(chunk)
        except (NotGitRepository, Error):
            yield from reply.refuse(404)
        except TooLargeError:
            yield from reply.refuse(413)
        except (GitProtocolError, AssertionError, ValueError, KeyError, EOFError):
            yield from reply.refuse(400)
        yield from reply.end()


class _Reply:
    """Begins with the first byte: until then a request that turns out to be wrong can be told so."""

    def __init__(self, start_response: Start) -> None:
        self._start = start_response
        self._head: tuple[str, list[tuple[str, str]]] | None = None
        self._write: Callable[[bytes], Any] | None = None

    def start(
        self, status: str, headers: list[tuple[str, str]], exc_info: Any = None
    ) -> Callable[[bytes], Any]:
        """As WSGI's start_response."""
        self._head = (status, headers)
        return self.write

    def write(self, data: bytes) -> Any:
        """As what start_response returns."""
        if self._write is None:
            assert self._head is not None
            self._write = self._start(*self._head)
        return self._write(data)

    def refuse(self, status: int) -> list[bytes]:
        """Say so; where the reply has begun it ends early, and git tells of that."""
        if self._write is not None:
            return []
        self._head, self._write = None, lambda _: None
        return _refuse(self._start, status)

    def end(self) -> list[bytes]:
        """A reply without a byte begins, too."""
        if self._write is None and self._head is not None:
            self._start(*self._head)
        return []


class _Scenarios(Backend):
    """Repositories by the path of the request."""

    def __init__(self, folder: Path, blobs: Blobs | None) -> None:
        self._folder, self._blobs = folder, blobs

    def open_repository(self, path: Any) -> Any:
        """As dulwich asks for one."""
        name = (path.decode() if isinstance(path, bytes) else str(path)).strip("/")
        if not name.endswith(".git"):
            raise NotGitRepository(name)
        scenario = name.removesuffix(".git")
        blobs = None if self._blobs is None else self._blobs(scenario)
        return ScenarioRepository(self._folder, scenario, blobs).repo


def _service(environ: Environ, called: str) -> str:
    """Which of git's two services a request is for, or a blob; ``info/refs`` names it in its query."""
    method = environ.get("REQUEST_METHOD")
    if called in (lfs.BATCH, *_SERVICES):
        return called if method == "POST" else ""
    for folder, its_method in ((lfs.OBJECT, "PUT"), (_BLOB, "GET")):
        if called.startswith(folder) and names.valid("sha256", called.removeprefix(folder)):
            return folder if method == its_method else ""
    asked = parse_qs(environ.get("QUERY_STRING", "")).get("service", [""])[0]
    return asked if called == "info/refs" and method == "GET" and asked in _SERVICES else ""


def _refuse(start_response: Start, status: int) -> list[bytes]:
    reason = _REASONS.get(status, "Forbidden")
    headers = [("Content-Type", "text/plain; charset=utf-8")]
    if status == 401:
        headers.append(("WWW-Authenticate", 'Basic realm="walle"'))
    start_response(f"{status} {reason}", headers)
    return [f"{reason}\n".encode()]


def token_of(environ: Environ) -> str:
    """The token that a request comes with: a bearer's, or the password that ``git`` was given; else empty."""
    kind, _, given = str(environ.get("HTTP_AUTHORIZATION", "")).partition(" ")
    if kind.lower() == "bearer":
        return given.strip()
    if kind.lower() != "basic":
        return ""
    try:
        return base64.b64decode(given, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""
