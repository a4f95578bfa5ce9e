"""Sink: records from the broker into the database, and back what devices are to hear."""

from __future__ import annotations

import contextlib
import logging
import random
import select
import socket
import sqlite3
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from ... import _core
from ..._core import mqtt
from ...errors import Error
from ._mqtt import Endpoint, Packet, Reader
from ._store import Message, SinkStore

LOG = logging.getLogger("walle_rt.cloud.sink")

_KEEPALIVE_S = 30
_ANSWER_S = 15.0
_LEAST_BACKOFF_S, _MOST_BACKOFF_S = 0.1, 10.0
_MOST_PACKET = 8 << 20
_READ = 1 << 18
_MOST_AT_ONCE = 4 << 20  # bytes that are read before they are written down
_MOST_SAID = 10_000  # messages that wait to be published
_ONLINE = "$SYS/broker/clients/connected"
_SUBSCRIBE_ID = 0xFFFF


class QuestionHandler(Protocol):
    """Who answers questions (``walle_rt.cloud.phase``)."""

    def asked(self) -> None:
        """There are new ones, durably."""

    def heard(self, device: str, payload: bytes) -> None:
        """A device says which answers it has."""


@dataclass(frozen=True)
class SinkStats:
    """Since the sink was started.

    ``online`` is the number of devices that the broker holds a connection with, a few seconds old.
    """

    connected: bool
    connections: int
    online: int
    messages: int
    records: int
    rows: int
    bytes: int
    duplicates: int
    refused: int
    damaged: int
    unknown_dictionaries: int
    questions: int
    commits: int
    failed_commits: int


class Sink:
    """Takes records of every device of one broker while it is open.

    It owns one thread, which owns the store. ``announce`` and ``answer`` are for any thread.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        store: SinkStore,
        name: str = "@sink",
        handler: QuestionHandler | None = None,
        full: Callable[[], bool] = lambda: False,
        saw: Callable[[str], None] = lambda device: None,
    ) -> None:
        """Start; connects, and connects again, by itself.

        Args:
            endpoint: the broker, and the certificate whose common name is ``name``.
            store: used by this sink alone from here on, and closed with it.
            name: client id and user name at the broker.
            handler: of questions; its methods return at once. None: nobody.
            full: whether the disk has no room for records: the broker keeps them, and sends them again.
            saw: told of each device whose records were stored; returns at once.
        """
        endpoint.address()
        self._endpoint, self._store, self._name, self._handler = endpoint, store, name, handler
        self._full, self._saw = full, saw
        self._lock = threading.Lock()
        self._said: deque[tuple[str, bytes, bool]] = deque()  # to publish: topic, payload, retain
        self._epoch: bytes | None = None
        self._epoch_sent: bytes | None = None
        self._closing = threading.Event()
        self._bell, self._ring = socket.socketpair()
        self._bell.setblocking(False)
        self._ring.setblocking(False)
        self._online = self._connections = self._messages = self._commits = self._failed = 0
        self._connected = False
        self._thread = threading.Thread(target=self._run, name="walle-sink", daemon=True)
        self._thread.start()

    def announce(self, epoch: int, jitter_s: int = 0) -> None:
        """Tell every device, now and whenever one connects, the number of the newest plan.

        Args:
            epoch: grows; a device that has it does nothing.
            jitter_s: seconds within which each picks a moment to ask for the plan; 0 for a kill.
        """
        with self._lock:
            self._epoch = _core.tunnel.pack_epoch(epoch, min(jitter_s, 0xFFFF))
        self._wake()

    def answer(self, device: str, payload: bytes) -> bool:
        """Send an answer of the cloud phase to a device; kept by the broker while it is away for a while.

        Returns:
            False where too much waits already: the answer is dropped.
        """
        with self._lock:
            if len(self._said) >= _MOST_SAID:
                return False
            self._said.append((f"w/{device}/down", payload, False))
        self._wake()
        return True

    def stats(self) -> SinkStats:
        """What happened so far."""
        c = self._store.counts
        return SinkStats(
            connected=self._connected,
            connections=self._connections,
            online=max(0, self._online - 1),  # one of them is the sink
            messages=self._messages,
            records=c.records,
            rows=c.rows,
            bytes=c.bytes,
            duplicates=c.duplicates,
            refused=c.refused,
            damaged=c.damaged,
            unknown_dictionaries=c.unknown_dictionaries,
            questions=c.questions,
            commits=self._commits,
            failed_commits=self._failed,
        )

    def by_schema(self) -> dict[str, int]:
        """Records stored since the sink was started, by ``task/feature``."""
        return dict(self._store.counts.by_schema)

    def wait_connected(self, timeout_s: float) -> bool:
        """Wait until the broker has taken the sink's subscriptions; False: not within that time."""
        until = time.monotonic() + timeout_s
        while not self._connected and time.monotonic() < until:
            time.sleep(0.005)
        return self._connected

    def close(self) -> None:
        """End it. What devices have sent and was not stored they send again."""
        self._closing.set()
        self._wake()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def __enter__(self) -> Sink:
        """The sink runs."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        self.close()

    def _wake(self) -> None:
        # A full socket rings as well, and a closed one has nobody behind it.
        with contextlib.suppress(OSError):
            self._ring.send(b"\0")

    def _run(self) -> None:
        wait = _LEAST_BACKOFF_S
        while not self._closing.is_set():
            began = time.monotonic()
            try:
                _Conversation(self).hold()
            except (OSError, Error) as error:
                LOG.warning("the connection with the broker ended: %s", error)
            except sqlite3.Error as error:
                self._failed += 1
                LOG.error("records were not stored: %s; the broker sends them again", error)
            except Exception:
                LOG.exception("the sink failed, and goes on")
            self._connected = False
            if time.monotonic() - began > 10:
                wait = _LEAST_BACKOFF_S
            wait = random.uniform(_LEAST_BACKOFF_S, min(_MOST_BACKOFF_S, wait * 3))
            self._closing.wait(wait)
        self._store.close()
        self._bell.close()
        self._ring.close()


class _Conversation:
    """One connection of the sink."""

    def __init__(self, sink: Sink) -> None:
        """Connect."""
        self._sink = sink
        self._socket: ssl.SSLSocket = sink._endpoint.connect(_ANSWER_S)
        # Not select(): it takes no descriptor above 1,023, and a server holds a connection for each device.
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self._poll.register(sink._bell, select.POLLIN)
        self._reader = Reader(_MOST_PACKET)
        self._out = bytearray()
        self._number = 0
        self._heard = self._spoke = time.monotonic()
        self._pinged = False

    def hold(self) -> None:
        """Talk until the sink is closed or the connection ends.

        Raises:
            OSError: it ended.
            NetworkError: the broker refused, or broke the protocol.
            sqlite3.Error: the batch could not be stored.
        """
        sink = self._sink
        try:
            self._socket.setblocking(False)
            self._out += mqtt.connect(sink._name, _KEEPALIVE_S)
            self._out += mqtt.subscribe(_SUBSCRIBE_ID, [("w/+/up", 1), ("w/+/got", 1), (_ONLINE, 0)])
            while not sink._closing.is_set():
                self._send()
                self._wait()
                self._take(self._receive())
                if sink._connected:
                    self._publish()
                self._keep_alive()
            self._out += mqtt.disconnect()
            self._send()
        finally:
            self._socket.close()

    def _wait(self) -> None:
        # What TLS has decrypted already nobody's poll sees.
        timeout = 0.0 if self._socket.pending() else 1.0
        self._poll.modify(self._socket, select.POLLIN | (select.POLLOUT if self._out else 0))
        ready = {number for number, _ in self._poll.poll(timeout * 1000)}
        if self._sink._bell.fileno() in ready:
            with contextlib.suppress(BlockingIOError):
                self._sink._bell.recv(4096)

    def _receive(self) -> list[Packet]:
        packets: list[Packet] = []
        size = 0
        while size < _MOST_AT_ONCE:
            try:
                data = self._socket.recv(_READ)
            except (ssl.SSLWantReadError, BlockingIOError):
                break
            except ssl.SSLWantWriteError:
                break
            if not data:
                raise ConnectionError("the broker closed the connection")
            self._heard, self._pinged = time.monotonic(), False
            size += len(data)
            self._reader.add(data)
            packets += self._reader.packets()
        return packets

    def _send(self) -> None:
        while self._out:
            try:
                sent = self._socket.send(self._out)
            except (ssl.SSLWantWriteError, ssl.SSLWantReadError, BlockingIOError):
                return
            self._spoke = time.monotonic()
            del self._out[:sent]

    def _take(self, packets: list[Packet]) -> None:
        sink = self._sink
        messages: list[Message] = []
        numbers = bytearray()
        for packet in packets:
            if packet.kind == mqtt.PUBLISH:
                if packet.topic == _ONLINE:
                    sink._online = int(packet.payload) if packet.payload.isdigit() else 0
                elif packet.topic.startswith("w/") and packet.topic.endswith("/up"):
                    messages.append(Message(packet.topic[2:-3], packet.payload))
                elif packet.topic.startswith("w/") and packet.topic.endswith("/got") and sink._handler:
                    sink._handler.heard(packet.topic[2:-4], packet.payload)
                if packet.number:
                    numbers += mqtt.puback(packet.number)
            elif packet.kind == mqtt.CONNACK and packet.codes != b"\0":
                raise ConnectionError(f"the broker refused the sink, code {packet.codes[0]}")
            elif packet.kind == mqtt.SUBACK:
                if 0x80 in packet.codes:
                    raise ConnectionError("the broker refused a subscription of the sink")
                sink._epoch_sent = None  # another broker may not know it
                sink._connections += 1
                sink._connected = True
        if messages:
            before = sink._store.counts.questions
            if sink._full():
                raise sqlite3.OperationalError("too little of the disk is free")
            said = sink._store.write(messages)
            if sink._handler and sink._store.counts.questions != before:
                sink._handler.asked()
            sink._commits += 1
            sink._messages += len(messages)
            for device in {message.device for message in messages}:
                sink._saw(device)
            for device, payloads in said.items():
                for payload in payloads:
                    self._out += mqtt.publish(f"w/{device}/ack", payload)
        # Behind the commit: until then the broker keeps them for the next connection.
        self._out += numbers

    def _publish(self) -> None:
        sink = self._sink
        with sink._lock:
            epoch, said = sink._epoch, list(sink._said)
            sink._said.clear()
        if epoch is not None and epoch != sink._epoch_sent:
            self._out += mqtt.publish("w/epoch", epoch, number=self._next(), retain=True)
            sink._epoch_sent = epoch
        for topic, payload, retain in said:
            self._out += mqtt.publish(topic, payload, number=self._next(), retain=retain)

    def _next(self) -> int:
        self._number = self._number % 0xFFFE + 1
        return self._number

    def _keep_alive(self) -> None:
        now = time.monotonic()
        if self._pinged and now - self._spoke > _ANSWER_S:
            raise TimeoutError("the broker does not answer")
        if not self._pinged and now - min(self._heard, self._spoke) > _KEEPALIVE_S / 2:
            self._out += mqtt.pingreq()
            self._pinged, self._spoke = True, now
