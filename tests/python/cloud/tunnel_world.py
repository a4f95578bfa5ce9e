"""A broker, a sink and devices with one task that sends what it is given: for tests, faults and figures."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from certificates import Identity, TestAuthority
from waits import PATIENCE_S, until

from walle_rt.cloud.broker import Broker, BrokerSettings
from walle_rt.cloud.sink import Endpoint, FeatureTables, Sink, SinkStore
from walle_rt.device import Device
from walle_rt.device._tunnel import Tunnel
from walle_rt.stream import Catalog, ColumnType, Graph, Sensitivity
from walle_rt.task import Task

TOML = """
[task]
name = "sender"
version = "1.0.0"
breaker = 1000
[triggers]
said = "say"
[queue]
size = 65536
when_full = "drop_new"
[entry]
main = "main"
[capabilities]
host_calls = ["walle.stream"]
[limits.main]
wall_ms = 60000
[results.rows]
columns = { n = "int" }
[egress.words]
fields = { n = "int", text = { type = "text", highest = "open" }, more = { type = "text", highest = "open" } }
bytes_per_day = "16G"
sends_per_day = 1000000000
graph = "words.graph"
[events.say]
fields = { n = { type = "int", sensitivity = "open" }, text = { type = "text", sensitivity = "open" }, \
more = { type = "text", sensitivity = "open" }, secret = "text" }
"""
MAIN = 'def main(event):\n    return {"n": event["fields"]["n"]}\n'


@cache
def bundle() -> bytes:
    """The task: what an event says in its open fields leaves; its field ``secret`` does not."""
    with tempfile.TemporaryDirectory(prefix="walle-task-") as scratch:
        folder = Path(scratch)
        (folder / "task.toml").write_text(TOML)
        (folder / "main.py").write_text(MAIN)
        (folder / "words.graph").write_bytes(Graph().select("n", "text", "more").to_bytes())
        return Task(scratch).compile(sources=True).data


def catalog() -> Catalog:
    open_ = Sensitivity.OPEN
    fields = {
        "n": (ColumnType.INT, open_),
        "text": (ColumnType.TEXT, open_),
        "more": (ColumnType.TEXT, open_),
        "secret": ColumnType.TEXT,
    }
    return Catalog().declare("say", fields=fields)


class World:
    """An authority, a broker and a sink in one folder; what was opened is closed with it."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.authority = TestAuthority(folder / "ca")
        self.server = self.authority.issue("localhost", ["localhost", "127.0.0.1"])
        self.sink_identity = self.authority.issue("@sink")
        self._settings = settings
        self._identities: dict[str, Identity] = {}
        self._open: list[Callable[[], object]] = []
        self.broker = self.start_broker(0)
        self.database = folder / "sink.sqlite"

    def start_broker(self, port: int) -> Broker:
        broker = Broker(
            BrokerSettings(
                self.folder / "broker",
                self.authority.path,
                self.server.certificate,
                self.server.key,
                port=port,
                **self._settings,
            )
        )
        self._open.append(broker.close)
        return broker

    def kill_broker(self) -> None:
        """As kill -9 does; it is started again."""
        os.kill(until(lambda: self.broker.pid, "the broker does not come back"), signal.SIGKILL)

    def endpoint(self, url: str | None = None, identity: Identity | None = None) -> Endpoint:
        who = identity or self.sink_identity
        return Endpoint(url or self.broker.url, self.authority.path, who.certificate, who.key)

    def identity(self, name: str) -> Identity:
        """A device's certificate; the same each time."""
        if name not in self._identities:
            self._identities[name] = self.authority.issue(name)
        return self._identities[name]

    def sink(self, **options: Any) -> Sink:
        sink = Sink(self.endpoint(), SinkStore(self.database), **options)
        self._open.append(sink.close)
        assert sink.wait_connected(PATIENCE_S), "the sink does not connect"
        return sink

    def device(self, name: str) -> Device:
        device = Device(self.folder / "devices" / name, catalog(), workers=1, ready=1)
        self._open.append(device.close)
        if "sender" not in device.tasks():
            device.install(bundle())
        return device

    def tunnel(self, device: Device, name: str, url: str | None = None, **options: Any) -> Tunnel:
        who = self.identity(name)
        given = {"least_backoff_s": 0.05, "most_backoff_s": 0.5, "connect_s": PATIENCE_S, **options}
        tunnel = Tunnel(
            device,
            url or self.broker.url,
            name,
            authorities=self.authority.path,
            certificate=who.certificate,
            key=who.key,
            **given,
        )
        self._open.append(tunnel.close)
        return tunnel

    def stored(self) -> list[tuple[str, str, int]]:
        with FeatureTables(self.database) as tables:
            return sorted(tables.records())

    def numbers(self, device: str) -> list[int]:
        """What the events of one device said, as the sink has it."""
        with FeatureTables(self.database) as tables:
            found = [t for t in tables.tables() if (t.task, t.feature) == ("sender", "words")]
            return sorted(row[5] for t in found for row in tables.rows(t, device=device, limit=-1))

    def close(self) -> None:
        while self._open:
            self._open.pop()()


def waiting(device: Device) -> int:
    return sum(stream.waiting for stream in device.outbox().values())
