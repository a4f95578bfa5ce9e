"""An application that owns no Python follows a server: a C99 program with an HTTP stack of its own."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from waits import PATIENCE_S

pytest.importorskip("tuf", reason="no package 'tuf' (the extra [cloud])")
pytest.importorskip("cryptography", reason="no package 'cryptography' (the extra [cloud])")

sys.path.insert(0, str(Path(__file__).parents[1] / "python" / "cloud"))

from small_cloud import SmallCloud

from walle_rt.vm import VM, library_path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
TOML = """
[task]
name = "shop"
version = "1.0.0"
[triggers]
bought = "buy"
[entry]
main = "main"
[limits.main]
wall_ms = 60000
[events.buy]
fields = { price = "int" }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = next(BUILD.rglob("libwalle.so"), None)
    assert library is not None, "build first (make build)"
    out = tmp_path_factory.mktemp("program") / "consumer_cloud"
    source = Path(__file__).parent / "consumer" / "cloud.c"
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    link = [library, f"-Wl,-rpath,{library.parent}"]
    include = ROOT / "src" / "cpp" / "include"
    subprocess.run(["cc", *strict, source, "-I", include, *link, "-o", out], check=True)
    return out


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[SmallCloud]:
    (tmp_path / "cloud").mkdir()
    made = SmallCloud(tmp_path / "cloud")
    yield made
    made.close()


def test_mistakes_are_refused(program: Path) -> None:
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.count("ok  ") == 20


def pump(source: Any, sink: Any) -> None:
    """Bytes of one socket to another, until either ends."""
    with contextlib.suppress(OSError):
        while data := source.recv(4096):
            sink.sendall(data)
    for end in (source, sink):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


class TlsBeside:
    """What does the program's TLS: a connection says where to and with which files; OpenSSL does it."""

    def __init__(self) -> None:
        self.peers: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                plain, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(plain,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        lines = plain.makefile("rb", buffering=0)
        host, port, authorities, certificate, key = (lines.readline().decode().rstrip() for _ in range(5))
        context = ssl.create_default_context(cafile=authorities)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(certificate, key)
        try:
            wire = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
            sealed = context.wrap_socket(wire, server_hostname=host)
        except OSError as error:
            self.peers.append(str(error))
            plain.sendall(b"n")
            return
        self.peers.append(f"{host}:{port}")
        plain.sendall(b"y")
        threading.Thread(target=pump, args=(plain, sealed), daemon=True).start()
        pump(sealed, plain)

    def close(self) -> None:
        self._listener.close()


class TlsBroker:
    """Says yes to whoever has a certificate of the authority, by MQTT over OpenSSL; no more than that."""

    def __init__(self, authority: Path, certificate: Path, key: Path) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.load_verify_locations(authority)
        context.verify_mode = ssl.CERT_REQUIRED
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"mqtts://127.0.0.1:{self._listener.getsockname()[1]}"
        self.names: list[str] = []
        self.first = b""
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                wire, _ = self._listener.accept()
            except OSError:
                return
            with contextlib.suppress(OSError), self._context.wrap_socket(wire, server_side=True) as sealed:
                self._serve(sealed)

    def _serve(self, sealed: ssl.SSLSocket) -> None:
        shown: Any = sealed.getpeercert()
        self.names.append(dict(pair[0] for pair in shown["subject"])["commonName"])
        self.first = sealed.recv(4096)
        sealed.sendall(b"\x20\x02\x00\x00")  # CONNACK
        while sealed.recv(4096):
            pass

    def close(self) -> None:
        self._listener.close()


def test_a_program_without_python_follows_a_server(program: Path, tmp_path: Path, cloud: SmallCloud) -> None:
    if not VM.available("full") or not VM.available("device"):
        pytest.skip(f"no VM library at {library_path()}")
    task = tmp_path / "task"
    task.mkdir()
    (task / "task.toml").write_text(TOML)
    (task / "main.py").write_text("def main(event):\n    return None\n")
    cloud.release(1, ("r1", cloud.publish(task)))
    root = tmp_path / "root.json"
    root.write_bytes(cloud.root)
    code = next(iter(cloud.codes))
    (tmp_path / "ca").mkdir()
    authority = tmp_path / "ca" / "devices.pem"
    authority.write_text(cloud.authority.pem)
    server = cloud.authority.server_certificate("broker", ["127.0.0.1"], datetime.now(UTC))
    broker, beside = TlsBroker(authority, *server), TlsBeside()
    command = [program, library_path("device"), tmp_path / "device", cloud.url, root, code]
    command += [broker.url, str(beside.port)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=PATIENCE_S
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert "FAILED" not in done.stdout and done.stdout.count("ok  ") == 46
    assert cloud.codes == set(), "the code was used, once"
    assert broker.names == ["d-1"] and broker.first[:1] == b"\x10", "MQTT, by the device's own certificate"
    assert beside.peers == [broker.url.removeprefix("mqtts://")]
    broker.close()
    beside.close()
