"""Mosquitto, supervised: found, started, started again when it ends, and ended."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from ...errors import ResourceError
from ...whole_files import write_whole
from ._settings import BrokerSettings

LOG = logging.getLogger("walle_rt.cloud.broker")

_START_S = 20.0
_STOP_S = 10.0
_RELOAD_S = 5.0
_RELOADS = "Reloading config"  # said before it happens, in the turn of its one thread in which it does
_PLACES = ("/usr/sbin", "/usr/local/sbin", "/opt/homebrew/sbin")  # not on everybody's PATH
# Of rules and users as they are meant - epochs are everybody's - and of devices whose networks end.
_EXPECTED = (
    "Warning: ACL pattern 'w/epoch'",
    "Warning: Mosquitto should not be run as root",
    "OpenSSL Error[0]: error:0A000126:SSL routines::unexpected eof",
)
_REMEDY = "install it (Debian: apt-get install mosquitto), or name another broker with mqtt_url"


def find_mosquitto() -> str:
    """Path of the program.

    Raises:
        ResourceError: there is none, or one before 2.0.
    """
    path = shutil.which("mosquitto") or shutil.which("mosquitto", path=os.pathsep.join(_PLACES))
    if path is None:
        raise ResourceError.of("no program 'mosquitto'", "Mosquitto 2.0 or later", "the broker", _REMEDY)
    said = subprocess.run([path, "-h"], capture_output=True, text=True, timeout=_STOP_S, check=False).stdout
    found = re.search(r"version (\d+)\.(\d+)", said)
    if found is None or int(found[1]) < 2:
        version = found[0] if found else "no version"
        raise ResourceError.of(f"'{path}' with {version}", "Mosquitto 2.0 or later", "the broker", _REMEDY)
    return path


class Broker:
    """One Mosquitto that runs while this object is open.

    Threads: any. A broker that a killed process left behind in the same folder is ended first.
    """

    def __init__(self, settings: BrokerSettings) -> None:
        """Start it; returns when it takes connections.

        Raises:
            ResourceError: no Mosquitto, or one that does not start; the message has its last words.
        """
        self.settings = settings
        self.restarts = 0
        self._program = find_mosquitto()
        self._closing = threading.Event()
        self._reading_anew = threading.Event()
        self._words: deque[str] = deque(maxlen=20)
        self._process: subprocess.Popen[str] | None = None
        folder = settings.folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _end_leftover(folder)
        self.port = settings.port or _free_port(settings.host)
        self._write_settings()
        self._start()
        self._watch = threading.Thread(target=self._supervise, name="walle-broker", daemon=True)
        self._watch.start()

    @property
    def url(self) -> str:
        """Its address on this machine, as a device takes it."""
        return f"mqtts://{self.settings.host or '127.0.0.1'}:{self.port}"

    @property
    def pid(self) -> int | None:
        """Of the process that runs now."""
        process = self._process
        return process.pid if process and process.poll() is None else None

    def close(self) -> None:
        """End it; what it holds for clients that are away is on the disk."""
        self._closing.set()
        process = self._process
        if process is not None and process.poll() is None:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._watch is not threading.current_thread():
            self._watch.join()

    def refuse(self, removed: Iterable[str]) -> None:
        """These names, and only these, are let have and say nothing; revoked certificates are read anew.

        Connections stay. Returns when it is so.
        """
        self.settings = replace(self.settings, removed=tuple(removed))
        self._write_settings()
        self.read_again()

    def read_again(self) -> None:
        """Have the broker read its certificate, its rules and the revoked ones anew; connections stay."""
        process = self._process
        if process is None or process.poll() is not None:
            return  # the next one reads them
        self._reading_anew.clear()
        process.send_signal(signal.SIGHUP)
        if not self._reading_anew.wait(_RELOAD_S):
            LOG.warning("the broker has not said within %.0f s that it reads its rules anew", _RELOAD_S)

    def _write_settings(self) -> None:
        # Others may not read them: Mosquitto will refuse that in time.
        folder, settings = self.settings.folder, self.settings
        write_whole(folder / "access", settings.access_rules().encode(), 0o600)
        write_whole(folder / "mosquitto.conf", settings.configuration(self.port).encode(), 0o600)

    def __enter__(self) -> Broker:
        """The broker runs."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        self.close()

    def _start(self) -> None:
        command = [self._program, "-c", str(self.settings.folder / "mosquitto.conf")]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        _open_files(self._process.pid, self.settings.most_connections)
        threading.Thread(
            target=self._listen, args=(self._process,), name="walle-broker-log", daemon=True
        ).start()
        until = time.monotonic() + _START_S
        while time.monotonic() < until:
            if self._process.poll() is not None:
                break
            if _answers(self.settings.host, self.port):
                return
            time.sleep(0.01)
        self._process.kill()
        self._process.wait()
        words = "; ".join(self._words) or "nothing"
        raise ResourceError.of(
            f"Mosquitto that does not start; it said: {words}",
            f"a broker on port {self.port}",
            str(self.settings.folder / "mosquitto.conf"),
            "look whether the port is free and the certificates can be read",
        )

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        for line in process.stderr:
            text = re.sub(r"^\d+: ", "", line.strip())
            self._words.append(text)
            if text.startswith(_RELOADS):
                self._reading_anew.set()
            serious = ("Error" in text or "Warning" in text) and not text.startswith(_EXPECTED)
            (LOG.warning if serious else LOG.debug)("%s", text)

    def _supervise(self) -> None:
        wait = 0.1
        while not self._closing.is_set():
            process = self._process
            assert process is not None
            began = time.monotonic()
            code = process.wait()
            if self._closing.is_set():
                return
            LOG.error("the broker ended with status %d and is started again", code)
            wait = 0.1 if time.monotonic() - began > 60 else min(wait * 2, 10.0)
            if self._closing.wait(wait):
                return
            try:
                self._start()
                self.restarts += 1
            except ResourceError as error:
                LOG.error("%s", error)


def _open_files(pid: int, wanted: int) -> None:
    """As many as the process may have: Mosquitto takes the limit that it finds, often 1,024 connections."""
    if not hasattr(resource, "prlimit"):  # not on macOS
        return
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with contextlib.suppress(OSError, ValueError):
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (hard, hard))
    if hard != resource.RLIM_INFINITY and hard < wanted:
        LOG.info("the broker holds %d connections at most: that many files may be open (ulimit -Hn)", hard)


def _free_port(host: str) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host or "127.0.0.1", port), timeout=1.0):
            return True
    except OSError:
        return False


def _end_leftover(folder: Path) -> None:
    """End the broker of a process that was killed: it would hold the port and the database."""
    try:
        pid = int((folder / "mosquitto.pid").read_text())
        began = _running_since(pid)
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return
    # The number may be another process's by now: only one that runs this very configuration is ours.
    if began is None or os.fsencode(folder / "mosquitto.conf") not in command:
        return
    LOG.warning("ending the broker %d that another process left behind", pid)
    until = time.monotonic() + _STOP_S
    while _running_since(pid) == began:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM if time.monotonic() < until else signal.SIGKILL)
        time.sleep(0.02)


def _running_since(pid: int) -> int | None:
    """When a process began, which tells it from another one with its number; None: it has ended.

    One that has ended keeps its number until whoever has inherited it asks for its status: the first process
    of a container does so late or never, and signals to such a number are no error.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])
