"""Server: its parts put together, for routes and for the loop."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Any

from sqlalchemy.orm import Session

from .. import metrics
from ..sink import Maintenance, read_limits
from .catalogue import PublishedPackages
from .enrolment import DeviceAuth, note_seen, removed
from .expiry import Expiries
from .inbox import Inbox
from .lane import Lane
from .passwords import PasswordQueue
from .releases import ReleaseService
from .state import ServerState, Settings
from .troubles import Troubles
from .tunnel_end import TunnelEnd, open_tunnel
from .watch import Watch
from .webhook import Webhook, read_url, secret_of
from .webhook_queue import Event, WebhookQueue

_SWEEP_S = 60.0
_RENEW_S = 3600.0
LOG = logging.getLogger("walle_rt.cloud")

Stop = Callable[[], None]


class Server(ServerState):
    """A server's folder with everything that works on it."""

    def __init__(self, settings: Settings, now: Callable[[], float] = time.time) -> None:
        """Open the folder; goes on where a process before was stopped."""
        super().__init__(settings, now)
        self.tunnel: TunnelEnd | None = None
        self.troubles = Troubles()
        self.device_auth = DeviceAuth(self, self.troubles)
        self.releases = ReleaseService(self, self._announce)
        self.lane, self.passwords = Lane(), PasswordQueue()
        self.expiries = Expiries(self)
        given = (self.releases.decode, self.releases.store, self.now)
        self.inbox = Inbox(*given, self.lane, self.troubles)
        folder = settings.folder
        self.webhook: Webhook | None = None
        self._events = WebhookQueue(self.database)
        if url := read_url(folder / "webhook.toml"):
            self.webhook = Webhook(url, secret_of(folder / "keys" / "webhook.secret"), self._events, now)
        self.watch = Watch(self._tell_webhook, now)
        self.releases.on_act = self.watch.act
        self.maintenance = Maintenance(folder / "features.db", read_limits(folder / "retention.toml"))
        self._swept_at = -_SWEEP_S
        self._renewed_at = -_RENEW_S
        self._seen_lock = threading.Lock()
        self._seen: dict[str, float] = {}
        self._refusing = threading.Lock()

    def close(self) -> None:
        """Let go of the folder."""
        self.passwords.close()
        if self.webhook is not None:
            self.webhook.close()
        super().close()

    def turn(self) -> None:
        """One turn of the loop.

        Raises:
            LeaseLostError: another server has taken over the database; this one has to end.
        """
        self.reserve.give()
        self.lease.renew()
        self.releases.turn()
        self.expiries.look()
        self.watch.expiries(self.expiries.found)
        self.watch.disk(self.reserve.low())
        if self.webhook is not None:
            self.webhook.wake()
        with self._seen_lock:
            seen, self._seen = self._seen, {}
        if seen:
            note_seen(self, seen)
        self._sweep()
        self._renew_certificates()
        if self.tunnel is not None:
            self.tunnel.note(self.now())
            metrics.tunnel(self.tunnel.stats())
            self.watch.sink(self.tunnel.stats())
            metrics.cloud_phase(self.tunnel.phase.stats().figures())

    def _sweep(self) -> None:
        """Once a minute: rows of features that lie behind their limit."""
        now = self.now()
        if abs(now - self._swept_at) < _SWEEP_S:
            return
        self.reserve.refill()
        if self.reserve.low():
            return  # what is deleted is written first
        self._swept_at, before = now, dict(self.maintenance.deleted)
        try:
            if self.maintenance.sweep(now):
                LOG.info("rows deleted", extra={"rows": self.maintenance.deleted})
        except sqlite3.Error as error:  # a full disk, a writer that takes long: the next one goes on
            LOG.warning("rows not deleted", extra={"reason": str(error)})
        for name, rows in self.maintenance.deleted.items():
            metrics.DELETED.labels(name).inc(rows - before.get(name, 0))

    def _renew_certificates(self) -> None:
        """Once an hour: those that broker and sink show each other."""
        now = self.now()
        if self.tunnel is not None and abs(now - self._renewed_at) >= _RENEW_S:
            self._renewed_at = now
            self.tunnel.renew_certificates(self.utc())

    def _tell_webhook(self, event: Event, session: Session | None) -> None:
        if self.webhook is None:
            return
        if session is not None:  # the webhook is woken by the next turn, when this is durable
            self._events.add(session, event)
        else:
            with self.database.writing() as own:
                self._events.add(own, event)
            self.webhook.wake()

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
        shelf = PublishedPackages(self)
        given = self.settings
        where, broker = (given.folder, self.authority, given.names(), given.host), given.mqtt_url
        full = self.reserve.low
        with self._refusing:
            gone = self._write_removed()
            end = (*where, shelf, broker, gone, full, given.mqtt_port, self.saw)
            self.tunnel = open_tunnel(broker, lambda: TunnelEnd(*end))
        if self.tunnel is None:
            return []
        with self.signing:
            self.repository.direct_broker(self.tunnel.url)
        self.releases.announce_again()
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
