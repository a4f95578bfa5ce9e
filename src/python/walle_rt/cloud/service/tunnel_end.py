"""The server's end of the tunnel: broker, sink, and what they tell the rest of the server.

Without Mosquitto the server runs all the same: devices then pull every twelve hours, or when a reply of the
app's own service tells them to.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...errors import Error
from ...whole_files import write_whole
from ..broker import Broker, BrokerSettings
from ..phase import PackageShelf
from ..phase._phase import open_phase
from ..sink import Endpoint, FeatureTables, Sink, SinkStore
from ..trust.authority import Authority

LOG = logging.getLogger("walle_rt.cloud")

SINK_NAME = "@sink"
_PER_SECOND = 500  # devices that ask for a plan at a time, at most
_MOST_JITTER_S = 5
_EVERY_S = 10.0  # between two points of the plot
_POINTS = 360


def jitter_s(online: int, urgent: bool) -> int:
    """Within how many seconds devices are to ask for a new plan: 0 for a kill."""
    return 0 if urgent else min(_MOST_JITTER_S, online // _PER_SECOND)


class TunnelEnd:
    """Broker and sink while this object is open. Threads: any.

    Args:
        folder: of the server.
        authority: signs the certificates of both.
        hosts: names that devices reach the broker by.
        host: address to listen on.
        shelf: where the cloud phase finds packages.
        mqtt_url: of another broker, which is not ours to start.
        removed: devices that are let have and say nothing.
        full: whether the disk has no room for records.
        port: of a broker of ours; None: the one of before, or any that is free.
        saw: told of each device whose records were stored; returns at once.
    """

    def __init__(
        self,
        folder: Path,
        authority: Authority,
        hosts: list[str],
        host: str,
        shelf: PackageShelf,
        mqtt_url: str | None,
        removed: Sequence[str] = (),
        full: Callable[[], bool] = lambda: False,
        port: int | None = None,
        saw: Callable[[str], None] = lambda device: None,
    ) -> None:
        """Start both.

        Raises:
            ResourceError: no Mosquitto, or one that does not start.
            ArgumentError: an address that is none.
        """
        self.database = folder / "features.db"
        self._authority, self._hosts = authority, hosts
        now, authorities = datetime.now(UTC), authority.folder / "ca.pem"
        self._broker: Broker | None = None
        self._open = False  # answers that wait from before may be brought while this is being made
        if mqtt_url is None:
            chain, key = authority.server_certificate("broker", hosts, now)
            port = _kept_port(folder / "broker" / "port") if port is None else port
            if not authority.revoked.is_file():
                authority.revoke([], now)
            more: dict[str, Any] = {"revoked": authority.revoked, "removed": tuple(removed)}
            settings = BrokerSettings(
                folder / "broker", authorities, chain, key, host=host, port=port, **more
            )
            self._broker = Broker(settings)
            write_whole(folder / "broker" / "port", str(self._broker.port).encode())
        self.url = mqtt_url or (self._broker.url if self._broker else "")
        chain, key = authority.client_certificate("sink", SINK_NAME, now)
        try:
            store = SinkStore(self.database)
            self.phase = open_phase(folder, self.database, shelf, self.answer)
            endpoint = Endpoint(self.url, authorities, chain, key)
            self._sink = Sink(endpoint, store, SINK_NAME, self.phase, full, saw)
            self._open = True
        except BaseException:
            self._close_broker()
            raise
        self._lock = threading.Lock()
        self._points: dict[str, deque[tuple[float, float]]] = {}
        self._before: tuple[float, dict[str, int]] = (0.0, {})

    def close(self) -> None:
        """End both; what devices have sent and was not stored they send again."""
        self.phase.close()
        self._sink.close()
        self._close_broker()

    def _close_broker(self) -> None:
        if self._broker is not None:
            self._broker.close()

    def renew_certificates(self, now: datetime) -> None:
        """Certificates of broker and sink that are about to expire are made anew; connections stay."""
        if self._broker is not None:
            chain = self._authority.folder / "broker.pem"
            before = chain.read_bytes()
            self._authority.server_certificate("broker", self._hosts, now)
            if chain.read_bytes() != before:
                self._broker.read_again()
        self._authority.client_certificate("sink", SINK_NAME, now)  # read at each connection

    def refuse(self, removed: Sequence[str]) -> None:
        """These devices were removed: the broker takes nothing from them and gives them nothing.

        Another broker than ours has to be told by whoever runs it: ``keys/ca/ca.crl``.
        """
        if self._broker is not None:
            self._broker.refuse(removed)

    def announce(self, epoch: int, urgent: bool) -> None:
        """Tell devices that there is a new plan."""
        self._sink.announce(epoch, jitter_s(self._sink.stats().online, urgent))

    def answer(self, device: str, payload: bytes) -> bool:
        """Send a device an answer of the cloud phase."""
        return self._open and self._sink.answer(device, payload)

    def address(self) -> dict[str, Any]:
        """Where devices find the broker."""
        host, port = Endpoint(self.url, Path(), Path(), Path()).address()
        return {"url": self.url, "host": host, "port": port}

    def stats(self) -> dict[str, Any]:
        """What came so far, and how many devices are there."""
        return vars(self._sink.stats()).copy()

    def note(self, now: float) -> None:
        """A point for the plot, every ten seconds."""
        counts = {"all": self._sink.stats().records, **self._sink.by_schema()}
        with self._lock:
            then, before = self._before
            if now - then < _EVERY_S:
                return
            self._before = (now, counts)
            if not then:
                return
            for name, count in counts.items():
                rate = (count - before.get(name, 0)) / (now - then)
                self._points.setdefault(name, deque(maxlen=_POINTS)).append((now, rate))

    def rates(self) -> dict[str, list[tuple[float, float]]]:
        """Records per second of each schema over the last hour."""
        with self._lock:
            return {name: list(points) for name, points in self._points.items()}

    def tables(self) -> FeatureTables:
        """What devices have sent, to be read beside the sink."""
        return FeatureTables(self.database)


def _kept_port(file: Path) -> int:
    """The port of before: devices were told it when they enrolled. 0 where there was none."""
    try:
        return int(file.read_text())
    except (FileNotFoundError, ValueError):
        return 0


def open_tunnel(mqtt_url: str | None, open_end: Callable[[], TunnelEnd]) -> TunnelEnd | None:
    """The tunnel's end, or None where this machine cannot have one: the log says why."""
    try:
        return open_end()
    except Error as error:
        if mqtt_url is not None:  # somebody has asked for this broker
            raise
        LOG.warning("no tunnel: devices pull now and then", extra={"because": str(error)})
        return None
