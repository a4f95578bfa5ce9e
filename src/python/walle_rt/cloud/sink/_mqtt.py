"""Endpoint and packets: where the sink finds its broker, and what comes from there.

For a client of one thread that handles all that has come at once: what it says of a thousand messages leaves
in one write. Libraries hand over one message at a time. The packets themselves are ``_core.mqtt``'s, which
reads and writes those of devices, too.
"""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from ... import _core
from ...errors import ArgumentError


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


class Packet(NamedTuple):
    """What the broker said; ``number`` 0: none."""

    kind: int
    number: int
    topic: str
    payload: bytes
    codes: bytes


class Reader:
    """Bytes in, packets out; at most ``most`` bytes each."""

    def __init__(self, most: int) -> None:
        """Empty."""
        self._most = most
        self._bytes = bytearray()

    def add(self, data: bytes) -> None:
        """Bytes came."""
        self._bytes += data

    def packets(self) -> list[Packet]:
        """Every packet that is whole.

        Raises:
            NetworkError: bytes that are no MQTT.
        """
        found, used = _core.mqtt.read(self._bytes, self._most)
        del self._bytes[:used]
        return [Packet(*packet) for packet in found]
