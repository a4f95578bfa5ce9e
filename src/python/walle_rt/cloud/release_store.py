"""The store of the release controller over the server's database.

The controller writes as it goes; here that is held back until the transaction's end where it would be written
often: a batch of 256 reports of one release changes its counts 256 times, and the row once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from .model.audit import append
from .model.tables import Claim, Epoch, FailedDevice, Kill
from .model.tables import Release as Row
from .release import AuditEntry, Release


class DatabaseStore:
    """Reads and writes in the session that its owner has opened (``enter``)."""

    def __init__(self) -> None:
        """No session yet."""
        self._session: Session | None = None
        self._counts: dict[str, Mapping[str, Any]] = {}
        self._epoch: int | None = None
        self.raised = False  # the epoch, since ``enter``
        self.actor, self.at_s = "", 0.0

    def enter(self, session: Session, actor: str, at_s: float) -> None:
        """What follows belongs to this transaction."""
        self._session, self.actor, self.at_s = session, actor, at_s
        self._counts, self.raised = {}, False

    def leave(self) -> None:
        """Write what was held back."""
        for release, counts in self._counts.items():
            text = json.dumps(counts)
            self._open.execute(update(Row).where(Row.id == release).values(counts=text))
        self._counts = {}

    @property
    def _open(self) -> Session:
        assert self._session is not None, "no transaction"
        return self._session

    # -- what the controller asks for ----------------------------------------------------------------------

    def epoch(self) -> int:
        """Of the newest plan."""
        if self._epoch is None:
            self._epoch = self._open.scalar(select(func.max(Epoch.number))) or 0
        return self._epoch

    def put_epoch(self, epoch: int) -> None:
        """The plan itself is stored when the transaction ends, once for several acts."""
        self._epoch, self.raised = epoch, True

    def kills(self) -> Iterable[tuple[str, str]]:
        """All that are killed."""
        return [(row.scenario, row.task) for row in self._open.scalars(select(Kill))]

    def put_kills(self, kills: list[tuple[str, str]]) -> None:
        """Replace them."""
        self._open.execute(delete(Kill))
        self._open.add_all(Kill(scenario=scenario, task=task) for scenario, task in kills)
        self._open.flush()

    def releases(self) -> Iterable[Release]:
        """All there ever were."""
        return [Release.from_dict(json.loads(text)) for text in self._open.scalars(select(Row.body))]

    def put_release(self, release: Release) -> None:
        """Add or replace it."""
        row = self._open.get(Row, release.id)
        if row is None:
            row = Row(id=release.id, by=self.actor, created=self.at_s, counts="{}")
            self._open.add(row)
        row.number, row.scenario, row.task = release.number, release.package.scenario, release.package.task
        row.version, row.state, row.reason = release.package.version, str(release.state), release.reason
        row.policy, row.replaces, row.changed = release.policy, release.replaces, self.at_s
        row.body = json.dumps(release.to_dict())
        self._open.flush()

    def counts(self, release: str) -> Mapping[str, Any]:
        """What was put last."""
        text = self._open.scalar(select(Row.counts).where(Row.id == release))
        kept: Mapping[str, Any] = json.loads(text or "{}")
        return self._counts.get(release, kept)

    def put_counts(self, release: str, counts: Mapping[str, Any]) -> None:
        """Replace them, at the transaction's end."""
        self._counts[release] = dict(counts)

    def claims(self, release: str) -> Iterable[tuple[int, bool, float]]:
        """Devices without a report."""
        rows = self._open.scalars(select(Claim).where(Claim.release_id == release))
        return [(int(row.device, 16), row.control, row.until) for row in rows]

    def put_claim(self, release: str, device: int, control: bool, until_s: float) -> None:
        """One more."""
        self._open.add(Claim(release_id=release, device=f"{device:016x}", control=control, until=until_s))
        self._open.flush()

    def drop_claim(self, release: str, device: int, control: bool) -> None:
        """One less."""
        self._open.execute(
            delete(Claim).where(
                Claim.release_id == release, Claim.device == f"{device:016x}", Claim.control.is_(control)
            )
        )

    def failed(self, release: str) -> Iterable[int]:
        """Devices that have failed."""
        rows = self._open.scalars(select(FailedDevice.device).where(FailedDevice.release_id == release))
        return [int(device, 16) for device in rows]

    def add_failed(self, release: str, device: int) -> None:
        """One more."""
        self._open.merge(FailedDevice(release_id=release, device=f"{device:016x}"))
        self._open.flush()

    def audit(self) -> Iterable[AuditEntry]:
        """None: the log has other entries between the controller's, so the chain is made here."""
        return []

    def add_audit(self, entry: AuditEntry) -> None:
        """Behind all others of the server."""
        append(self._open, entry.at_s, entry.actor, f"release.{entry.act}", entry.subject, entry.detail)
