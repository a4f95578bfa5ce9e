"""The admin API as commands use it: the standard library's HTTP, and where the token lies.

A command asks the server of WALLE_SERVER with the token of WALLE_TOKEN; without them that of the last `walle
operator login`, kept in ``$XDG_CONFIG_HOME/walle/server.json``, which its owner alone may read.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

import typer

from ..errors import ArgumentError, Error, InternalError, NetworkError, ResourceError

TIMEOUT_S = 30.0

Server = Annotated[
    str | None,
    typer.Option("--server", help="The server's address; default: WALLE_SERVER, or that of the last login."),
]


@dataclass(frozen=True)
class Login:
    """Where to ask, and with which token."""

    url: str
    token: str


def login_file() -> Path:
    """Where the last login is kept."""
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "walle" / "server.json"


def keep_login(login: Login | None) -> None:
    """Keep it for the next command; None forgets it."""
    path = login_file()
    if login is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".new")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        json.dump({"url": login.url, "token": login.token}, file)
    draft.replace(path)


def find_login(server: str | None) -> Login:
    """The server and token of this command.

    Raises:
        ArgumentError: there is none.
    """
    try:
        kept = json.loads(login_file().read_text())
    except (FileNotFoundError, ValueError):
        kept = {}
    url = server or os.environ.get("WALLE_SERVER") or kept.get("url")
    token = os.environ.get("WALLE_TOKEN") or (kept.get("token") if url == kept.get("url") else None)
    if not url or not token:
        raise ArgumentError.of(
            "no server" if not url else f"no token for {url}",
            "WALLE_SERVER and WALLE_TOKEN, or a login",
            "--server",
            "log in: walle operator login URL NAME",
        )
    return Login(url, token)


class ServerApi:
    """Requests to one server."""

    def __init__(self, url: str, token: str = "") -> None:
        """Nothing is asked yet.

        Raises:
            ArgumentError: the address is none.
        """
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
            raise ArgumentError.of(
                f"'{url}'",
                "an address as http://127.0.0.1:8470",
                "--server",
                "see what `walle serve` printed",
            )
        self.url, self._token = url.rstrip("/"), token
        self._host, self._port, self._secure = parts.hostname, port, parts.scheme == "https"
        self._base = parts.path.rstrip("/")

    @classmethod
    def of(cls, server: str | None) -> ServerApi:
        """With the login that holds."""
        login = find_login(server)
        return cls(login.url, login.token)

    def get(self, path: str) -> Any:
        """GET of a path below /api/v1."""
        return self._ask("GET", path)

    def post(self, path: str, given: Any = None) -> Any:
        """POST of JSON."""
        return self._ask("POST", path, json.dumps(given or {}).encode(), "application/json")

    def put(self, path: str, given: Any) -> Any:
        """PUT of JSON."""
        return self._ask("PUT", path, json.dumps(given).encode(), "application/json")

    def patch(self, path: str, given: Any) -> Any:
        """PATCH of JSON."""
        return self._ask("PATCH", path, json.dumps(given).encode(), "application/json")

    def delete(self, path: str) -> Any:
        """DELETE."""
        return self._ask("DELETE", path)

    def put_bytes(self, path: str, content: bytes) -> Any:
        """PUT of bytes."""
        return self._ask("PUT", path, content, "application/octet-stream")

    def _ask(self, method: str, path: str, body: bytes | None = None, kind: str = "") -> Any:
        headers = {"Accept": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if body is not None:
            headers["Content-Type"] = kind
        connection = self._connection()
        try:
            connection.request(method, self._base + "/api/v1" + path, body=body, headers=headers)
            reply = connection.getresponse()
            content = reply.read()
        except (OSError, http.client.HTTPException) as error:
            raise NetworkError.of(
                f"no answer ({type(error).__name__}: {error})",
                "a server that runs",
                self.url,
                "start it: walle serve; or check --server",
            ) from None
        finally:
            connection.close()
        return _told(reply.status, content, f"{method} {path}")

    def _connection(self) -> http.client.HTTPConnection:
        if self._secure:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(self._host, self._port, timeout=TIMEOUT_S, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_S)


def _told(status: int, content: bytes, where: str) -> Any:
    """What the server said.

    Raises:
        Error: of the kind that the status stands for, with the server's own words.
    """
    try:
        said = json.loads(content) if content else None
    except ValueError:
        raise NetworkError.of(
            f"status {status} with something else than JSON", "walle_rt's server", where, "check --server"
        ) from None
    if status < 300:
        return said
    kinds: dict[int, type[Error]] = {409: ResourceError, 429: ResourceError, 500: InternalError}
    kind = kinds.get(status, NetworkError if status > 500 else ArgumentError)
    parts = said if isinstance(said, dict) else {}
    raise kind.of(
        str(parts.get("given", f"status {status}")),
        str(parts.get("expected", "success")),
        str(parts.get("where", where)),
        str(parts.get("next", "look into the server's log")),
    )


def part(name: str) -> str:
    """A name as a part of a path."""
    return quote(name, safe="")
