"""A device's connection with its broker: what waits in the outbox leaves on it."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike, fspath
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .. import _core

if TYPE_CHECKING:
    from ._device import Device


@dataclass(frozen=True)
class Answer:
    """What the cloud phase made of a question; it is durable on this device.

    Attributes:
        task: whose question it was.
        stream, seq: the record that asked.
        trace: number of the record in traces of device and server.
        error: why no row of it is stored: the cloud phase failed, or they do not fit the table; "".
        rows: what it brought.
        stored: how many of them are in the task's table of answers.
    """

    task: str
    stream: str
    seq: int
    trace: int
    error: str
    rows: list[dict[str, Any]]
    stored: int


@dataclass(frozen=True)
class TunnelStats:
    """Counters since the tunnel was opened, and what it does now.

    Attributes:
        state: "offline", "connecting", "online", "refused" or "stopped".
        connections: that the broker accepted; ``resumed`` of them without a full handshake.
        failures: connections that failed or broke; ``last_error`` says why the newest did.
        acknowledged: records that the sink holds durably.
        refused: records that it can never take; they left the outbox.
        resent: records that were sent again.
        in_flight: messages without an acknowledgement.
        record_bytes: of the records that were sent, before they were deflated.
        sent_bytes, received_bytes: of MQTT, before TLS.
        wire_sent_bytes, wire_received_bytes: of TCP; ``handshake_bytes`` of them, both ways, for TLS.
        handshake_s: seconds that the newest connection took, TCP and TLS.
        epochs, answers: that came; ``damaged_answers`` of them could not be read.
    """

    state: str
    connections: int
    resumed: int
    failures: int
    acknowledged: int
    refused: int
    resent: int
    in_flight: int
    record_bytes: int
    sent_bytes: int
    received_bytes: int
    wire_sent_bytes: int
    wire_received_bytes: int
    handshake_bytes: int
    handshake_s: float
    epochs: int
    answers: int
    damaged_answers: int
    last_error: str


def _end(native: _core.tunnel.Tunnel, process: int) -> None:
    if os.getpid() == process:
        native.stop()


class Tunnel:
    """Sends what waits in a device's outbox, on a native thread, while it is open.

    A record leaves the outbox when the sink has said that it is durable; whatever happens in between - the
    connection breaks, the broker restarts, the device is killed - it is sent again, and stored once. Every
    method may be called from any thread. Close it before its device.
    """

    def __init__(
        self,
        device: Device,
        broker: str,
        device_id: str,
        *,
        authorities: str | PathLike[str],
        certificate: str | PathLike[str],
        key: str | PathLike[str],
        session: str | PathLike[str] | None = None,
        moved: str | PathLike[str] | None = None,
        on_epoch: Callable[[tuple[int, int]], object] | None = None,
        on_down: Callable[[bytes], object] | None = None,
        on_state: Callable[[str], object] | None = None,
        on_answer: Callable[[Answer], object] | None = None,
        keepalive_s: int = 120,
        connect_s: float = 15.0,
        resend_s: float = 30.0,
        least_backoff_s: float = 0.5,
        most_backoff_s: float = 120.0,
    ) -> None:
        """Open it; it connects, and connects again, by itself.

        Args:
            device: whose outbox it empties.
            broker: ``mqtts://host:port``; the port is 8883 where none is said.
            device_id: the certificate's common name (docs/reference/names.md).
            authorities: PEM file; who signs the broker's certificate.
            certificate: PEM file with the device's chain.
            key: PEM file with its key, without a passphrase.
            session: file in which the TLS session is kept, so that the next connection is resumed; by default
                in the device's folder.
            moved: file that may come to hold another address, which is gone to from the next connection on.
            on_epoch: called with (epoch, seconds of jitter) when the broker tells of a new plan, and at every
                connection. The callbacks run on the tunnel's thread, which waits for them.
            on_down: called with the bytes of everything that comes for this device.
            on_answer: called with each answer of the cloud phase, behind its commit.
            on_state: called with each new state.
            keepalive_s: seconds of silence after which the device says that it is there.
            connect_s: seconds that a connection may take, and the broker's answers.
            resend_s: seconds without any acknowledgement after which what is on its way is sent again.
            least_backoff_s: between two connections, at least.
            most_backoff_s: between two connections, at most.

        Raises:
            ArgumentError: an address or id that is none, a key of another certificate, a closed device.
            ResourceError: no OpenSSL on this machine, or a file that cannot be read.
        """
        options = {
            "keepalive_s": keepalive_s,
            "connect_s": connect_s,
            "resend_s": resend_s,
            "least_backoff_s": least_backoff_s,
            "most_backoff_s": most_backoff_s,
        }
        kept = device.path / "tunnel.session" if session is None else session
        self._native = _core.tunnel.Tunnel.open(
            device._native,
            broker,
            device_id,
            authorities=fspath(authorities),
            certificate=fspath(certificate),
            key=fspath(key),
            session=fspath(kept),
            address="" if moved is None else fspath(moved),
            options=options,
            on_epoch=on_epoch,
            on_down=on_down,
            on_state=on_state,
            on_answer=None if on_answer is None else lambda fields: on_answer(Answer(**fields)),
        )
        self._finalizer = weakref.finalize(self, _end, self._native, os.getpid())

    def drain(self, timeout_s: float = 30.0) -> bool:
        """Wait until the sink has everything that waits now; False: not within that time."""
        return self._native.drain(timeout_s)

    def network_changed(self) -> None:
        """The device is on another network: connect anew, at once."""
        self._native.network_changed()

    def stats(self) -> TunnelStats:
        """Counters since it was opened."""
        return TunnelStats(**self._native.stats())

    def close(self) -> None:
        """Stop. What was not acknowledged stays in the outbox."""
        self._finalizer.detach()
        self._native.stop()

    def __enter__(self) -> Tunnel:
        """The tunnel is open."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self.close()
