"""A task with two halves, and a server's part that answers it: for tests of the cloud phase.

As a program it is that part alone, or a device, in a process that can be killed:

    python -m asking FOLDER URL AUTHORITY CERTIFICATE KEY
    python -m asking FOLDER URL AUTHORITY CERTIFICATE KEY NAME FIRST COUNT
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from waits import PATIENCE_S

from walle_rt import ResourceError
from walle_rt.cloud.phase import AnswerStore, CloudPhase
from walle_rt.cloud.sink import Endpoint, Sink, SinkStore
from walle_rt.device import Device
from walle_rt.device._tunnel import Tunnel
from walle_rt.stream import Catalog, ColumnType, Graph, Sensitivity
from walle_rt.task import Task
from walle_rt.task._package import PackedTask

TOML = """
[task]
name = "asker"
version = "{version}"
breaker = 1000
[triggers]
said = "say"
[queue]
size = 65536
when_full = "drop_new"
[entry]
main = "main"
[capabilities]
host_calls = ["walle.stream", "walle.engine"]
[cloud]
question = "doubt"
answers = "answers"
resources = ["large.bin"]
wall_ms = {wall_ms}
[limits.main]
wall_ms = 60000
[results.rows]
columns = {{ n = "int" }}
[results.answers]
columns = {{ n = "int", said = "text", version = "text" }}
[egress.doubt]
fields = {{ n = "int", text = {{ type = "text" }} }}
bytes_per_day = "16G"
sends_per_day = 1000000000
[events.say]
fields = {{ n = {{ type = "int", sensitivity = "open" }}, text = {{ type = "text", sensitivity = "open" }}, \
secret = "text" }}
"""
# It asks about odd numbers.
MAIN = """
import walle

def main(event):
    n = event["fields"]["n"]
    if n % 2:
        walle.stream.send("doubt", walle.stream.run("doubt.graph", event))
    return {"n": n}
"""
CLOUD = """
import walle

def answer(question):
    (n,) = [int(each) for each in question["columns"]["n"]]
    (text,) = question["columns"]["text"]
    if text == "raise":
        raise ValueError("this one I do not know")
    if text == "hang":
        while True:
            pass
    if text == "wrong":
        return {"nowhere": 1}
    large = len(walle.engine.read("large.bin"))
    return {"n": n, "said": text + " " + str(large), "version": question["version"]}
"""
LARGE = b"large" * 1000


def pack(scratch: Path, version: str = "1.0.0", cloud: str = CLOUD, wall_ms: int = 60_000) -> PackedTask:
    folder = scratch / f"asker-{version}"
    folder.mkdir(parents=True)
    (folder / "task.toml").write_text(TOML.format(version=version, wall_ms=wall_ms))
    (folder / "main.py").write_text(MAIN)
    (folder / "cloud.py").write_text(cloud)
    (folder / "large.bin").write_bytes(LARGE)
    (folder / "doubt.graph").write_bytes(Graph().select("n", "text").to_bytes())
    return Task(folder).pack("shop")


def catalog() -> Catalog:
    open_ = Sensitivity.OPEN
    fields = {"n": (ColumnType.INT, open_), "text": (ColumnType.TEXT, open_), "secret": ColumnType.TEXT}
    return Catalog().declare("say", fields=fields)


class FolderShelf:
    """Packages in a folder: manifests and files by digest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def publish(self, packed: PackedTask) -> None:
        for digest, data in {**packed.blobs, **packed.cloud_blobs, packed.digest: packed.whole}.items():
            (self.folder / digest).write_bytes(data)

    def manifest(self, digest: str) -> bytes:
        try:
            return (self.folder / digest).read_bytes()
        except FileNotFoundError:
            raise ResourceError.of("no package", "one", "shelf", "publish it") from None

    def file(self, scenario: str, digest: str) -> Path:
        return self.folder / digest


class Server:
    """Sink and cloud phase of one folder."""

    def __init__(self, folder: Path, endpoint: Endpoint, **options: Any) -> None:
        database = folder / "sink.sqlite"
        self._out: Sink | None = None
        self.phase = CloudPhase(
            AnswerStore(folder / "answers.db", database), FolderShelf(folder / "shelf"), self._send, **options
        )
        self._out = self.sink = Sink(endpoint, SinkStore(database), handler=self.phase)
        assert self.sink.wait_connected(PATIENCE_S), "the sink does not connect"

    def _send(self, device: str, payload: bytes) -> bool:
        return self._out is not None and self._out.answer(device, payload)

    def close(self) -> None:
        self.phase.close()
        self.sink.close()


def main(folder: str, url: str, authority: str, certificate: str, key: str) -> None:
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    with contextlib.closing(
        Server(Path(folder), Endpoint(url, Path(authority), Path(certificate), Path(key)))
    ):
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        over.wait()


def ask(folder: str, url: str, authority: str, certificate: str, key: str, *given: str) -> None:
    """A device that records odd numbers, and goes on until it is killed."""
    name, first, count = given[0], int(given[1]), int(given[2])
    device = Device(folder, catalog(), workers=1, ready=1)
    files = {"authorities": authority, "certificate": certificate, "key": key}
    with Tunnel(device, url, name, least_backoff_s=0.05, most_backoff_s=0.5, connect_s=PATIENCE_S, **files):
        for n in range(first, first + 2 * count, 2):
            device.record("say", contents={"n": n, "text": "what", "secret": "s"})
        sys.stdout.write("said\n")
        sys.stdout.flush()
        threading.Event().wait()


if __name__ == "__main__":
    (main if len(sys.argv) == 6 else ask)(*sys.argv[1:])
