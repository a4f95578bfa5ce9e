"""A server is killed and its folder gone; one that is restored elsewhere is followed by all of its devices.

`walle serve`, `walle backup` and `walle restore` are processes; the devices are real ones, of this process,
with tunnels. What devices saw after the backup - plans, metadata, another version - lies above what the
backup knows.
"""

from __future__ import annotations

import shutil
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from cloud.followers import TASK, packed
from cloud.servers import Child
from commands import run_walle
from waits import PATIENCE_S

from walle_rt.device import Device

_NEW = "a password of one's own"
_EVERYBODY = "[ramp]\nfrom = 1.0\nto = 1.0\nseconds = 0\n"


@dataclass
class Drill:
    """What came of it.

    Attributes:
        devices: that were there before.
        by_tunnel: that followed the new release without being told to pull.
        by_pull: the others, that followed it with their next pull.
        online: whose tunnels found the broker at its new port.
        seconds: from the start of the restore until all ran the new release.
    """

    devices: int
    by_tunnel: int = 0
    by_pull: int = 0
    online: int = 0
    seconds: float = 0.0


class Operating:
    """What an operator does with a server in another process."""

    def __init__(self, child: Child, password: str | None = None) -> None:
        """Log in; without a password with the one-time one, which is changed."""
        self.child = child
        self._client = httpx.Client(base_url=child.url + "/api/v1", timeout=PATIENCE_S)
        first = password or child.told["login"]["password"]
        self._log_in(first)
        if password is None:
            self.done("PUT", "/me/password", json={"old": first, "new": _NEW})
            self._log_in(_NEW)

    def _log_in(self, password: str) -> None:
        token = self.done("POST", "/login", json={"name": "admin", "password": password})["token"]
        self._client.headers["Authorization"] = f"Bearer {token}"

    def done(self, method: str, path: str, **more: Any) -> Any:
        reply = self._client.request(method, path, **more)
        assert reply.status_code < 300, (reply.status_code, reply.text)
        return reply.json() if reply.content else None

    def release(self, work: Path, version: str) -> None:
        """Publish a version and release it to everybody."""
        made = packed(work, version)
        for digest, content in made.blobs.items():
            self.done("PUT", f"/scenarios/shop/blobs/{digest}", content=content)
        self.done("PUT", f"/scenarios/shop/tasks/{TASK}/versions/{version}", content=made.manifest)
        given = {"task": TASK, "version": version, "policy": _EVERYBODY}
        number = self.done("POST", "/scenarios/shop/releases", json=given)["id"]
        self.done("POST", f"/releases/{number}/full", json={"reason": "drill"})


def versions(devices: list[Device]) -> list[str]:
    """What each runs."""
    return [device.tasks()[TASK].version if TASK in device.tasks() else "" for device in devices]


def wait_until(holds: Callable[[], bool], within_s: float = PATIENCE_S) -> bool:
    until = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def serving(folder: Path, *words: str) -> Any:
    child = Child(folder, *words)
    try:
        yield child
    finally:
        child.kill()


def connect(device: Device, url: str, **more: Any) -> None:
    device.connect(url, app="com.example.shop", app_version="1.0.0", report_after_s=0.05, **more)


def drill(work: Path, count: int) -> Drill:
    """The whole of it, with so many devices."""
    found, archive = Drill(count), work / "backup.tar"
    with ExitStack() as closing:
        devices = [closing.enter_context(Device(work / f"device-{at}")) for at in range(count)]
        with serving(work / "server") as child:
            operating = Operating(child)
            operating.done("POST", "/scenarios", json={"name": "shop"})
            codes = operating.done("POST", "/device-codes", json={"count": count})["codes"]
            root = (work / "server" / "repository" / "metadata" / "1.root.json").read_bytes()
            for device, code in zip(devices, codes, strict=True):
                connect(device, child.url, root=root, enrol_code=code)
            operating.release(work / "tasks", "1.0.0")
            assert _all_run(devices, "1.0.0"), versions(devices)
            run_walle("backup", str(work / "server"), "-o", str(archive), folder=work)
            for version in ("1.1.0", "1.2.0"):
                operating.release(work / "tasks", version)
                assert _all_run(devices, version), versions(devices)
        shutil.rmtree(work / "server")

        began = time.monotonic()
        words = ("--mqtt-port", str(free_port()))
        run_walle("restore", str(archive), str(work / "restored"), *words, folder=work)
        with serving(work / "restored") as child:
            for device in devices:  # its name leads elsewhere now
                device.disconnect()
                connect(device, child.url, root=root)
            operating = Operating(child, _NEW)
            operating.release(work / "tasks", "1.3.0")
            wait_until(lambda: set(versions(devices)) == {"1.3.0"}, 10.0)
            found.by_tunnel = versions(devices).count("1.3.0")
            assert _all_run(devices, "1.3.0"), versions(devices)
            found.by_pull, found.seconds = count - found.by_tunnel, time.monotonic() - began
            wait_until(lambda: _online(devices) == count)
            found.online = _online(devices)
    return found


def _online(devices: list[Device]) -> int:
    return sum(device.tunnel is not None and device.tunnel.stats().state == "online" for device in devices)


def _all_run(devices: list[Device], version: str) -> bool:
    """Each pulls once where nothing has told it to."""
    for device in devices:
        if versions([device]) != [version]:
            device.pull()
    return wait_until(lambda: set(versions(devices)) == {version})
