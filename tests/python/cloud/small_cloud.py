"""The device's side of a server in a folder, for tests that need no operators: signed plans and packages,
files with ranges, enrolment, and what devices told. Its replies can be spoiled.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from walle_rt import _core
from walle_rt.cloud.release.reports import Report, unpack_reports
from walle_rt.cloud.trust import KeyFolder, TaskRepository
from walle_rt.cloud.trust.authority import Authority
from walle_rt.task import Task
from walle_rt.task._package import PackedTask

SCENARIO = "shop"
WHOLE = 1 << 32


class _Listener(ThreadingHTTPServer):
    """Prints nothing about clients that went in the middle of a reply: tests kill them on purpose."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class SmallCloud:
    """Serves ``folder`` on a port of its own; the folder may hold a cloud of before."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.codes = {"a-code-of-one-device"}
        self.reports: list[Report] = []
        self.asked: list[str] = []
        self.wait_s: int | None = None  # a gray release has no place
        self.spoil: Callable[[str, bytes], bytes] = lambda path, body: body
        keys = [KeyFolder(folder / name) for name in ("offline", "online", "team")]
        known = (folder / "repository" / "metadata" / "1.root.json").exists()
        self.repository = TaskRepository(folder / "repository", keys if known else [])
        if not known:
            self.repository.create(offline=keys[0], online=keys[1])
            self.repository.add_scenario(SCENARIO, keys[2])
            self.blobs.mkdir()
        self.authority = Authority(folder)
        self._server = _Listener(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def blobs(self) -> Path:
        return self.folder / "blobs"

    @property
    def root(self) -> bytes:
        return (self.folder / "repository" / "metadata" / "1.root.json").read_bytes()

    def publish(self, task: Path | PackedTask) -> PackedTask:
        """A version becomes authentic, with its files."""
        packed = task if isinstance(task, PackedTask) else Task(task).pack(SCENARIO)
        for digest, content in packed.blobs.items():
            (self.blobs / digest).write_bytes(content)
        package = packed.package
        self.repository.publish(SCENARIO, package.task, package.version, packed.manifest)
        return packed

    def release(self, epoch: int, *wanted: tuple[str, PackedTask], gray: bool = False,
                kills: tuple[str, ...] = (), params: dict[str, Any] | None = None) -> None:  # fmt: skip
        """The plan from now on: (release id, package) each; the first gray, for all devices at once, and
        with ``params``."""
        ramp = (WHOLE, WHOLE, 0, 0, 0, 600) if gray else None
        releases = [
            (name, SCENARIO, p.package.task, p.package.version, p.package.path,
             hashlib.sha256(p.manifest).digest(), len(p.manifest), [], ramp if at == 0 else None,
             _core.task.pack_params(params or {}) if at == 0 else b"")
            for at, (name, p) in enumerate(wanted)
        ]  # fmt: skip
        plan = _core.policy.write_plan(epoch, releases, [(SCENARIO, task) for task in kills])
        self.repository.direct_plan(plan)

    def told(self) -> list[str]:
        """Statuses of the reports that came, claims among them."""
        return [report.status for report in self.reports]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    # -- what requests get -------------------------------------------------------------------------------

    def _file(self, path: str) -> bytes | None:
        for prefix, folder in (
            ("/v1/tuf/metadata/", self.folder / "repository" / "metadata"),
            ("/v1/tuf/targets/", self.folder / "repository" / "targets"),
            ("/v1/blobs/", self.blobs),
        ):
            if path.startswith(prefix) and ".." not in path:
                with contextlib.suppress(OSError):
                    return (folder / path.removeprefix(prefix)).read_bytes()
        return None

    def _enrol(self, body: bytes) -> tuple[int, dict[str, Any]]:
        given = json.loads(body)
        if given["code"] not in self.codes:
            return 403, {}
        self.codes.remove(given["code"])
        issued = self.authority.issue("d-1", given["csr"].encode(), datetime.now(UTC))
        reply = {"device": "d-1", "certificate": issued.pem, "authority": self.authority.pem, "broker": None}
        return 200, {**reply, "root": json.loads(self.root)}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        cloud = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, status: int, body: bytes, **headers: str) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self) -> None:
                cloud.asked.append(self.path)
                content = cloud._file(self.path)
                if content is None:
                    self.answer(404, b"no such file")
                    return
                content = cloud.spoil(self.path, content)
                found = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
                if found is None:
                    self.answer(200, content)
                    return
                start = int(found.group(1))
                said = f"bytes {start}-{len(content) - 1}/{len(content)}"
                self.answer(206, content[start:], Content_Range=said)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == "/v1/enrol":
                    status, reply = cloud._enrol(body)
                    self.answer(status, json.dumps(reply).encode())
                    return
                assert self.headers["Authorization"].startswith("Walle d-1:")
                batch = unpack_reports(body)
                asks = any(report.status == "claim" for report in batch)
                if asks and cloud.wait_s is not None:
                    self.answer(429, json.dumps({"granted": False, "wait_s": cloud.wait_s}).encode())
                    return
                cloud.reports += batch
                self.answer(200, b"{}")

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler
