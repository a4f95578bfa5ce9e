"""Real devices that follow a server of this process: their requests go straight into its application."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cloud.servers import LocalServer

from walle_rt.device import Device
from walle_rt.task import Task
from walle_rt.task._package import PackedTask
from walle_rt.vm import VM

URL = "http://127.0.0.1:1"
TASK = "rank"
HAS_VM = VM.available("device") and VM.available("full")
_TOML = """
[task]
name = "rank"
version = "{version}"
[triggers]
seen = "see"
[entry]
main = "main"
[results.seen]
columns = {{ n = "int" }}
[events.see]
fields = {{ n = {{ type = "int", sensitivity = "open" }} }}
"""
_MAIN = 'def main(event):\n    return {"n": event["fields"]["n"]}\n'


class InProcess:
    """The transport of such a device."""

    name = "in process"

    def __init__(self, local: LocalServer) -> None:
        self._local = local

    def get(self, url: str, start: int, headers: list[tuple[str, str]], sink: Callable[[bytes], None]) -> int:
        wanted = dict(headers)
        if start:
            wanted["Range"] = f"bytes={start}-"
        return self._ask("GET", url, b"", wanted, sink)

    def post(
        self, url: str, content_type: str, body: bytes, headers: list[tuple[str, str]],
        sink: Callable[[bytes], None],
    ) -> int:  # fmt: skip
        return self._ask("POST", url, body, {**dict(headers), "Content-Type": content_type}, sink)

    def cancel(self) -> None:
        """Nothing waits for long."""

    def _ask(
        self, method: str, url: str, body: bytes, headers: dict[str, str], sink: Callable[[bytes], None]
    ) -> int:
        path = urlsplit(url).path
        status, _, content = self._local.wait(self._local.raw(method, path, body, headers))
        if status // 100 == 2 or status == 429:
            sink(content)
        return int(status)


def packed(folder: Path, version: str, main: str = _MAIN) -> PackedTask:
    """A version of the task."""
    made = folder / f"task-{version}"
    made.mkdir(parents=True)
    (made / "task.toml").write_text(_TOML.format(version=version))
    (made / "main.py").write_text(f"# {version}\n{main}")
    return Task(made).pack("shop")


def publish(local: LocalServer, made: PackedTask) -> None:
    """A version over HTTP."""
    for digest, content in made.blobs.items():
        where = f"/api/v1/scenarios/shop/blobs/{digest}"
        assert local.ask("PUT", where, local.admin, content=content).is_success
    where = f"/scenarios/shop/tasks/{TASK}/versions/{made.package.version}"
    local.done("PUT", where, content=made.manifest)


class Follower:
    """A device that pulls when it is told to."""

    def __init__(self, device: Device) -> None:
        self.device = device

    def pulled(self) -> str:
        """Pull; the version that runs then, and why another one does not."""
        state = self.device.pull()
        troubles = [state.error, *(step.error for step in state.steps), *self._turned_down(state)]
        running = self.device.tasks().get(TASK)
        return " ".join([running.version if running else "nothing", *filter(None, troubles)])

    @staticmethod
    def _turned_down(state: Any) -> list[str]:
        return [f"{step.version} was turned down" for step in state.steps if step.what == "turned_down"]


@contextmanager
def followers(
    local: LocalServer, folder: Path, count: int, transport: type[InProcess] = InProcess
) -> Iterator[list[Follower]]:
    """Enrolled devices; each is known by its folder, ``folder/0`` ..."""
    codes = local.done("POST", "/device-codes", json={"count": count})["codes"]
    root = (local.state.settings.folder / "repository" / "metadata" / "1.root.json").read_bytes()
    devices: list[Device] = []
    try:
        for at, code in enumerate(codes):
            devices.append(Device(folder / str(at)))
            devices[-1].connect(
                URL, root=root, app="com.example.shop", app_version="1.0.0", enrol_code=code,
                transport=transport(local), report_after_s=0.05, broker="",
            )  # fmt: skip
        yield [Follower(device) for device in devices]
    finally:
        for device in devices:
            device.close()
