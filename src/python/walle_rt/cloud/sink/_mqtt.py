"""The sink's half of MQTT 3.1.1: what it says and hears of the broker, as bytes.

For a client of one thread that handles all that has come at once: what it says of a thousand messages leaves
in one write. Libraries hand over one message at a time.
"""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from ...errors import ArgumentError, NetworkError

CONNACK, PUBLISH, PUBACK, SUBACK, PINGRESP = 2, 3, 4, 9, 13
_RECEIVE = 1 << 18


@dataclass(frozen=True)
class Endpoint:
    """A broker and the certificate with which the sink connects.

    Attributes:
        url: ``mqtts://host:port``.
        authorities: PEM; who signs the broker.
        certificate: PEM, the sink's chain.
        key: PEM, its key.
    """

    url: str
    authorities: Path
    certificate: Path
    key: Path

    def address(self) -> tuple[str, int]:
        """Host and port.

        Raises:
            ArgumentError: another kind of address.
        """
        parts = urlsplit(self.url)
        if parts.scheme != "mqtts" or not parts.hostname or parts.username or parts.path not in ("", "/"):
            raise ArgumentError.of(
                f"mqtt_url {self.url!r}",
                "mqtts://host:port",
                "the broker's address",
                "name it so; TLS is no choice",
            )
        return parts.hostname, parts.port or 8883

    def connect(self, timeout_s: float) -> ssl.SSLSocket:
        """A connection that both sides have authenticated.

        Raises:
            OSError: none could be made.
        """
        host, port = self.address()
        context = ssl.create_default_context(cafile=str(self.authorities))
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(self.certificate, self.key)
        plain = socket.create_connection((host, port), timeout_s)
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return context.wrap_socket(plain, server_hostname=host)
        except BaseException:
            plain.close()
            raise


def _packet(head: int, body: bytes) -> bytes:
    size, out = len(body), bytearray([head])
    while True:
        size, digit = size >> 7, size & 0x7F
        out.append(digit | 0x80 if size else digit)
        if not size:
            return bytes(out) + body


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">H", len(data)) + data


def connect(client: str, keepalive_s: int) -> bytes:
    """A session that the broker keeps while the sink is away."""
    return _packet(0x10, _text("MQTT") + bytes([4, 0]) + struct.pack(">H", keepalive_s) + _text(client))


def subscribe(number: int, filters: list[tuple[str, int]]) -> bytes:
    """Subscribe to (filter, QoS)."""
    body = b"".join(_text(name) + bytes([qos]) for name, qos in filters)
    return _packet(0x82, struct.pack(">H", number) + body)


def publish(topic: str, payload: bytes, *, number: int = 0, retain: bool = False) -> bytes:
    """A message; of QoS 1 with a number."""
    head = 0x30 | (2 if number else 0) | (1 if retain else 0)
    return _packet(head, _text(topic) + (struct.pack(">H", number) if number else b"") + payload)


def puback(number: int) -> bytes:
    """A message has arrived."""
    return b"\x40\x02" + number.to_bytes(2, "big")


PINGREQ = b"\xc0\x00"
DISCONNECT = b"\xe0\x00"


@dataclass(frozen=True, slots=True)
class Packet:
    """What the broker said; ``number`` 0: none."""

    kind: int
    number: int = 0
    topic: str = ""
    payload: bytes = b""
    codes: bytes = b""


class Reader:
    """Bytes in, packets out; at most ``most`` bytes each."""

    def __init__(self, most: int) -> None:
        """Empty."""
        self._most = most
        self._bytes = bytearray()

    def add(self, data: bytes) -> None:
        """Bytes came."""
        self._bytes += data

    def packets(self) -> Iterator[Packet]:
        """Every packet that is whole.

        Raises:
            NetworkError: bytes that are no MQTT.
        """
        data, at, end = self._bytes, 0, len(self._bytes)
        try:
            while True:
                size, shift, body = 0, 0, at + 1
                while body < end:
                    digit = data[body]
                    size |= (digit & 0x7F) << shift
                    body, shift = body + 1, shift + 7
                    if digit < 0x80 or shift > 21:
                        break
                else:
                    return
                if digit >= 0x80 or size > self._most:
                    raise _bad(f"a packet of {size} bytes or more")
                if body + size > end:
                    return
                yield _read(data[at], bytes(memoryview(data)[body : body + size]))
                at = body + size
        finally:
            del self._bytes[:at]


def _read(head: int, body: bytes) -> Packet:
    kind = head >> 4
    try:
        if kind == PUBLISH:
            start = 2 + int.from_bytes(body[:2], "big")
            topic = body[2:start].decode()
            if head & 6 == 2:
                number = struct.unpack_from(">H", body, start)[0]
                return Packet(PUBLISH, number, topic, body[start + 2 :])
            if head & 6 or start > len(body):
                raise _bad("a PUBLISH of QoS 2 or without its topic")
            return Packet(PUBLISH, 0, topic, body[start:])
        if kind in (PUBACK, SUBACK):
            return Packet(kind, struct.unpack_from(">H", body)[0], codes=body[2:])
        if kind == CONNACK and len(body) == 2:
            return Packet(kind, codes=body[1:])
    except (struct.error, UnicodeDecodeError) as error:
        raise _bad(f"packet type {kind} that ends too early") from error
    if kind == PINGRESP:
        return Packet(kind)
    raise _bad(f"packet type {kind} of {len(body)} bytes")


def _bad(given: str) -> NetworkError:
    return NetworkError.of(given, "MQTT 3.1.1", "the broker", "look at what answers at this address")
