"""A repository of tasks in a folder, served over HTTP, and devices that read it."""

from __future__ import annotations

import os
import subprocess
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from waits import PATIENCE_S

pytest.importorskip("tuf", reason="no package 'tuf' (the extra [cloud])")
pytest.importorskip("securesystemslib", reason="no package 'securesystemslib' (the extra [cloud])")
pytest.importorskip("cryptography", reason="no package 'cryptography' (the extra [cloud])")

from tuf.ngclient import Updater, UpdaterConfig
from tuf.ngclient.fetcher import FetcherInterface

from walle_rt.cloud.trust import Expiry, KeyFolder, TaskRepository

ROOT = Path(__file__).resolve().parents[3]
NATIVE = Path(os.environ.get("WALLE_TUF") or ROOT / "build" / "release" / "walle-tuf")


@dataclass
class Clock:
    """A clock that a test turns."""

    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **by: float) -> None:
        self.now += timedelta(**by)


class Server:
    """Serves a folder and remembers what was asked for and how many bytes were sent."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[tuple[str, int]] = []
        outer = self

        class Handler(SimpleHTTPRequestHandler):
            def do_GET(self) -> None:
                file = Path(self.translate_path(self.path))
                outer.asked.append((self.path, file.stat().st_size if file.is_file() else 0))
                super().do_GET()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class Files(FetcherInterface):
    """The repository's folder as python-tuf's client reads it: no network."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bytes = 0

    def _fetch(self, url: str) -> Any:
        from tuf.api.exceptions import DownloadHTTPError

        file = self.folder / url.removeprefix("file:///")
        if not file.is_file():
            raise DownloadHTTPError("no such file", 404)
        content = file.read_bytes()
        self.bytes += len(content)
        yield content


class Device:
    """python-tuf's own client, with its metadata in a folder."""

    def __init__(self, repository: Path, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.files, self.folder = Files(repository), folder
        self._root = (repository / "metadata" / "1.root.json").read_bytes()

    def updater(self) -> Updater:
        self.files.bytes = 0
        config = UpdaterConfig(prefix_targets_with_hash=True)
        made = Updater(
            str(self.folder), "file:///metadata/", str(self.folder), "file:///targets/", self.files, config,
            bootstrap=self._root,
        )  # fmt: skip
        made.refresh()
        return made

    def read(self, path: str) -> bytes | None:
        """What the device gets as ``path``; None where nobody lists it."""
        updater = self.updater()
        info = updater.get_targetinfo(path)
        return Path(updater.download_target(info)).read_bytes() if info else None


class NativeDevice:
    """walle-tuf, with its metadata in a folder."""

    def __init__(self, repository: Path, folder: Path, url: str) -> None:
        (folder / "files").mkdir(parents=True)
        self.folder, self.url = folder, url
        self._run("init", repository / "metadata" / "1.root.json")

    def _run(self, *words: object) -> subprocess.CompletedProcess[str]:
        line = [str(NATIVE), "--metadata-dir", str(self.folder / "metadata"), *map(str, words)]
        return subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    def refresh(self) -> str:
        """What it says against the repository; empty where all is well."""
        return self._run("--metadata-url", f"{self.url}/metadata", "refresh").stderr

    def read(self, path: str) -> bytes | None:
        words = ["--metadata-url", f"{self.url}/metadata", "--target-base-url", f"{self.url}/targets"]
        words += ["--target-name", path, "--target-dir", str(self.folder / "files")]
        done = self._run(*words, "download")
        if done.returncode:
            assert f"no target '{path}'" in done.stderr, done.stderr
            return None
        return (self.folder / "files" / path.replace("/", "%2F")).read_bytes()


@dataclass
class World:
    """A repository with its keys."""

    folder: Path
    clock: Clock = field(default_factory=Clock)
    expiry: Expiry | None = None

    def __post_init__(self) -> None:
        self.offline, self.online = KeyFolder(self.folder / "offline"), KeyFolder(self.folder / "online")
        self.team = KeyFolder(self.folder / "team")
        self.path = self.folder / "repository"
        self.opened().create(offline=self.offline, online=self.online)

    def opened(self, *keys: KeyFolder) -> TaskRepository:
        """The repository for somebody who has these keys; all of them by default."""
        given = keys or (self.offline, self.online, self.team)
        return TaskRepository(self.path, given, now=self.clock, expiry=self.expiry)
