"""A server for tests: in this process over ASGI, on SQLite and PostgreSQL, or `walle serve` as a child."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from waits import PATIENCE_S

pytest.importorskip("fastapi", reason="no package 'fastapi' (the extra [cloud])")
pytest.importorskip("sqlalchemy", reason="no package 'sqlalchemy' (the extra [cloud])")
pytest.importorskip("httpx", reason="no package 'httpx' (the extra [dev])")

import httpx
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from sqlalchemy import create_engine

from walle_rt.cloud.broker._mosquitto import _end_leftover
from walle_rt.cloud.model.accounts import hash_password, make_token
from walle_rt.cloud.model.tables import Grant, Operator
from walle_rt.cloud.service.enrolment import signed_bytes
from walle_rt.cloud.service.server import Server
from walle_rt.cloud.service.state import Settings
from walle_rt.cloud.web.app import build

SOURCES = Path(__file__).resolve().parents[3] / "src" / "python"
PASSWORD = "correct horse battery"
_HASH = hash_password(PASSWORD)  # once: it is slow by design


@dataclass
class Clock:
    """Seconds that a test turns."""

    now: float = field(default_factory=time.time)

    def __call__(self) -> float:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += seconds


class LocalServer:
    """A server in this process, asked over ASGI from an event loop of its own thread."""

    def __init__(
        self, folder: Path, clock: Clock | None = None, admin: str | None = None, **settings: Any
    ) -> None:
        self.clock, self._settings = clock or Clock(), Settings(folder, **settings)
        self.state = Server(self._settings, self.clock)
        self.app = build(self.state)
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://server", timeout=PATIENCE_S)
        self.admin = admin or self.operator("boss", admin=True)

    def reopen(self) -> None:
        """As after a restart: what is not on the disk is gone."""
        self.wait(self._client.aclose())
        self.state.close()
        self.state = Server(self._settings, self.clock)
        self.app = build(self.state)
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://server", timeout=PATIENCE_S)

    def close(self) -> None:
        self.wait(self._client.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self.state.close()

    def wait(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(60)

    def wait_long(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(600)

    async def raw(
        self,
        method: str,
        path: str,
        body: bytes,
        headers: dict[str, str],
        client: str = "127.0.0.1",
        scheme: str = "http",
    ) -> tuple[int, dict[str, str], bytes]:
        """A request straight into the application, in its event loop: a tenth of what a client costs."""
        sent: list[dict[str, Any]] = []
        given = [(k.lower().encode(), v.encode()) for k, v in headers.items()]
        given.append((b"content-length", str(len(body)).encode()))
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "headers": given,
            "query_string": b"", "scheme": scheme, "server": ("server", 80), "client": (client, 1),
            "http_version": "1.1", "root_path": "",
        }  # fmt: skip
        asked = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> dict[str, Any]:
            return next(asked, {"type": "http.disconnect"})

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        told = {k.decode().lower(): v.decode() for k, v in sent[0]["headers"]}
        return int(sent[0]["status"]), told, b"".join(part.get("body", b"") for part in sent[1:])

    def ask(self, method: str, path: str, token: str | None = None, **more: Any) -> httpx.Response:
        headers = dict(more.pop("headers", {}))
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        reply: httpx.Response = self.wait(self._client.request(method, path, headers=headers, **more))
        return reply

    def done(self, method: str, path: str, token: str | None = None, **more: Any) -> Any:
        """The JSON of a request that must succeed; /api/v1 is added."""
        reply = self.ask(method, "/api/v1" + path, self.admin if token is None else token, **more)
        assert reply.status_code < 300, (reply.status_code, reply.text)
        return reply.json() if reply.content else None

    def status_of(self, method: str, path: str) -> int:
        """The status for a path that clients would tidy up before they send it."""
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        scope = {"type": "http", "method": method, "path": path, "headers": [], "query_string": b""}
        self.wait(self.app(scope, receive, send))
        return int(sent[0]["status"])

    def operator(self, name: str, *, admin: bool = False, one_time: bool = False, **roles: str) -> str:
        """An operator with roles; returns a token."""
        with self.state.database.writing() as session:
            made = Operator(
                name=name,
                password=_HASH,
                one_time=one_time,
                admin=admin,
                disabled=False,
                created=self.clock(),
            )
            session.add(made)
            session.flush()
            for scenario, role in roles.items():
                session.add(Grant(operator_id=made.id, scenario=scenario, role=role))
            return make_token(session, made, self.clock())[0]

    def device(self) -> Device:
        """An enrolled device."""
        code = self.done("POST", "/device-codes", json={})["codes"][0]
        made = Device()
        reply = self.ask("POST", "/v1/enrol", json={"code": code, "csr": made.request()})
        assert reply.status_code == 200, reply.text
        made.id, made.enrolled = reply.json()["device"], reply.json()
        return made


@contextmanager
def opened_server(folder: Path, database: str | None = None, **settings: Any) -> Iterator[LocalServer]:
    """A server on an empty database."""
    if database is not None:
        fresh = create_engine(database.replace("postgresql:", "postgresql+psycopg:"))
        with fresh.begin() as connection:
            connection.exec_driver_sql("DROP SCHEMA public CASCADE")
            connection.exec_driver_sql("CREATE SCHEMA public")
        fresh.dispose()
    made = LocalServer(folder / "server", db=database, **settings)
    try:
        yield made
    finally:
        made.close()


class Device:
    """The key of a device, and what it signs."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.id = ""
        self.enrolled: dict[str, Any] = {}

    def request(self, key: Any = None) -> str:
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "anything")])
        builder = x509.CertificateSigningRequestBuilder().subject_name(name)
        return builder.sign(key or self.key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()

    def proof(self, method: str, path: str, body: bytes, now: float) -> dict[str, str]:
        signed = signed_bytes(method, path, int(now), body)
        signature = self.key.sign(signed, ec.ECDSA(hashes.SHA256()))
        text = base64.urlsafe_b64encode(signature).rstrip(b"=").decode()
        return {"Authorization": f"Walle {self.id}:{int(now)}:{text}"}


# -- PostgreSQL --------------------------------------------------------------------------------------------


def postgres_tools() -> Path | None:
    """The newest server that Debian has installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


def _as_postgres(words: list[str]) -> list[str]:
    """The server refuses to run as root."""
    return ["runuser", "-u", "postgres", "--", *words] if os.geteuid() == 0 else words


@contextmanager
def postgres() -> Iterator[str]:
    """A server of its own, on a socket alone; yields the URL. Skips where there is none."""
    tools = postgres_tools()
    if tools is None:
        pytest.skip("no PostgreSQL (apt-get install postgresql)")
    pytest.importorskip("psycopg", reason="no package 'psycopg' (the extra [dev])")
    folder = Path(tempfile.mkdtemp(prefix="walle-pg"))  # pytest's folders are closed to other users
    data = folder / "data"
    if os.geteuid() == 0:
        if shutil.which("runuser") is None:
            pytest.skip("PostgreSQL does not run as root, and there is no runuser")
        shutil.chown(folder, "postgres")
        folder.chmod(0o755)
    run = {"check": True, "stdout": subprocess.DEVNULL, "timeout": 120}
    make = [str(tools / "initdb"), "-D", str(data), "-A", "trust", "-U", "walle", "--no-sync"]
    subprocess.run(_as_postgres(make), **run)
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    control = [str(tools / "pg_ctl"), "-D", str(data), "-w", "-t", "60"]
    subprocess.run(_as_postgres([*control, "-o", options, "-l", str(folder / "log"), "start"]), **run)
    try:
        yield f"postgresql://walle@/postgres?host={folder}"
    finally:
        subprocess.run(_as_postgres([*control, "-m", "immediate", "stop"]), **run)
        shutil.rmtree(folder)


# -- child processes ---------------------------------------------------------------------------------------


class Child:
    """`walle serve` in a child process."""

    def __init__(self, folder: Path, *words: str, within: float = PATIENCE_S) -> None:
        environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
        line = [sys.executable, "-m", "walle_rt", "serve", str(folder), "--port", "0", "--json", *words]
        self.log = folder.with_name(folder.name + ".log")
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=log, env=environment)
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], within)
        line_read = self.process.stdout.readline() if ready else b""
        if not line_read:
            self.process.kill()
            raise AssertionError(f"no address within {within} s: {self.log.read_text()[-3000:]}")
        self.told = json.loads(line_read)
        self.url = self.told["address"]

    def kill(self) -> None:
        """As the machine's power does; its broker, which outlives a killed server, too."""
        self.process.kill()
        self.process.wait(PATIENCE_S)
        broker = self.log.with_suffix("") / "broker"
        if broker.is_dir():
            _end_leftover(broker)

    def stop(self) -> int:
        """As an operator does; the exit code."""
        self.process.terminate()
        return self.process.wait(PATIENCE_S)
