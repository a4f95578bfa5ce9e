"""The server's parts put together: what routes use and what the loop turns."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from .desk import Desk
from .enrolment import Doorman, note_seen, removed
from .inbox import Inbox
from .state import ServerState, Settings
from .tunnel_end import TunnelEnd, open_tunnel
from .web import metrics

LOG = logging.getLogger("walle_rt.cloud")

Stop = Callable[[], None]


class Companion(ServerState):
    """A server's folder with everything that works on it."""

    def __init__(self, settings: Settings, now: Callable[[], float] = time.time) -> None:
        """Open the folder; goes on where a process before was stopped."""
        super().__init__(settings, now)
        self.tunnel: TunnelEnd | None = None
        self.doorman = Doorman(self)
        self.desk = Desk(self, self._announce)
        self.inbox = Inbox(self.desk.decode, self.desk.store)
        self._seen_lock = threading.Lock()
        self._seen: dict[str, float] = {}
        self._refusing = threading.Lock()

    def turn(self) -> None:
        """One turn of the loop."""
        self.desk.turn()
        self.sign_again_if_due()
        with self._seen_lock:
            seen, self._seen = self._seen, {}
        if seen:
            note_seen(self, seen)
        if self.tunnel is not None:
            self.tunnel.note(self.now())
            metrics.tunnel(self.tunnel.stats())

    def saw(self, device: str) -> None:
        """A device was heard of."""
        with self._seen_lock:
            self._seen[device] = self.now()

    def broker_address(self) -> dict[str, Any] | None:
        """Where devices find the broker; None where there is none."""
        return self.tunnel.address() if self.tunnel else None

    def tunnel_rates(self) -> dict[str, list[tuple[float, float]]]:
        """Records per second of each schema over the last hour, for the plot."""
        return self.tunnel.rates() if self.tunnel else {}

    def start_beside(self) -> list[Stop]:
        """Start broker and sink; returns what stops them."""
        hosts = self.settings.hosts or sorted(
            {"localhost", "127.0.0.1", self.settings.host} - {"0.0.0.0", "::"}
        )
        given = (self.settings.folder, self.authority, hosts, self.settings.host, self.settings.mqtt_url)
        with self._refusing:
            self.tunnel = open_tunnel(*given, removed=self._write_removed())
        if self.tunnel is None:
            return []
        self.desk.announce_again()
        return [self.tunnel.close]

    def refuse_removed(self) -> None:
        """The broker is to know which devices were removed, and which certificates count no more."""
        with self._refusing:
            devices = self._write_removed()
            if self.tunnel is not None:
                self.tunnel.refuse(devices)

    def _write_removed(self) -> list[str]:
        gone = removed(self)
        self.authority.revoke((serial for serials in gone.values() for serial in serials), self.utc())
        return list(gone)

    def _announce(self, epoch: int, urgent: bool) -> None:
        """Tell devices on the tunnel that there is a new plan."""
        if self.tunnel is not None:
            self.tunnel.announce(epoch, urgent)
