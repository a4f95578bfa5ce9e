"""The store of the release controller over the server's database.

The controller writes as it goes; here that is held back until the transaction's end where it would be written
often: a batch of 256 reports of one release changes its counts 256 times, and the row once. Places that were
claimed or given back go the same way, as one statement for all: a statement of its own for each device was
half of what a report cost. Devices that were counted are written a chunk at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import bindparam, delete, func, insert, select, update
from sqlalchemy.orm import Session

from ..model.audit import append
from ..model.tables import Claim, CountedDevices, Epoch, Kill
from ..model.tables import Release as Row
from ..release import Release
from ..release.store import Detail

_Place = tuple[str, str, bool]  # release, device, whether it is control
_Chunk = tuple[str, bool, int]  # release, whether of failed devices, number
_GONE = delete(Claim).where(
    Claim.release_id == bindparam("r"), Claim.device == bindparam("d"), Claim.control == bindparam("c")
)


def _row(place: _Place) -> dict[str, Any]:
    return {"release_id": place[0], "device": place[1], "control": place[2]}


class DatabaseStore:
    """Reads and writes in the session that its owner has opened (``enter``)."""

    def __init__(self) -> None:
        """No session yet."""
        self._session: Session | None = None
        self._counts: dict[str, Mapping[str, Any]] = {}
        self._claims: dict[_Place, float | None] = {}  # until when; None: given back
        self._counted: dict[_Chunk, bytes] = {}
        self._epoch: int | None = None
        self.raised = False  # the epoch, since ``enter``
        self.noted: list[tuple[str, str, str, Detail]] = []  # actor, act, subject, detail; since then
        self.actor, self.at_s = "", 0.0

    def enter(self, session: Session, actor: str, at_s: float) -> None:
        """What follows belongs to this transaction."""
        self._session, self.actor, self.at_s = session, actor, at_s
        self._counts, self._claims, self._counted, self.raised = {}, {}, {}, False
        self.noted = []

    def leave(self) -> None:
        """Write what was held back."""
        for release, counts in self._counts.items():
            text = json.dumps(counts)
            self._open.execute(update(Row).where(Row.id == release).values(counts=text))
        self._counts = {}
        self._write_places()

    def _write_places(self) -> None:
        """All that were held back go, those that stay come anew."""
        claims, self._claims = self._claims, {}
        if claims:
            keys = [{"r": place[0], "d": place[1], "c": place[2]} for place in claims]
            self._open.connection().execute(_GONE, keys)
        rows = [{**_row(place), "until": until} for place, until in claims.items() if until is not None]
        if rows:
            self._open.execute(insert(Claim), rows)
        counted, self._counted = self._counted, {}
        for (release, failed, chunk), devices in counted.items():
            key = {"release_id": release, "failed": failed, "chunk": chunk}
            self._open.merge(CountedDevices(**key, devices=devices))
        self._open.flush()

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
        self._write_places()
        rows = self._open.scalars(select(Claim).where(Claim.release_id == release))
        return [(int(row.device, 16), row.control, row.until) for row in rows]

    def put_claim(self, release: str, device: int, control: bool, until_s: float) -> None:
        """One more."""
        self._claims[release, f"{device:016x}", control] = until_s

    def drop_claim(self, release: str, device: int, control: bool) -> None:
        """One less."""
        self._claims[release, f"{device:016x}", control] = None

    def counted(self, release: str, failed: bool) -> Iterable[bytes]:
        """What was put, in its order."""
        self._write_places()
        of = (CountedDevices.release_id == release, CountedDevices.failed.is_(failed))
        chosen = select(CountedDevices.devices).where(*of).order_by(CountedDevices.chunk)
        return list(self._open.scalars(chosen))

    def put_counted(self, release: str, failed: bool, chunk: int, devices: bytes) -> None:
        """At the transaction's end."""
        self._counted[release, failed, chunk] = devices

    def drop_counted(self, release: str) -> None:
        """With the claims."""
        self._counted = {key: devices for key, devices in self._counted.items() if key[0] != release}
        self._claims = {place: until for place, until in self._claims.items() if place[0] != release}
        self._open.execute(delete(CountedDevices).where(CountedDevices.release_id == release))
        self._open.execute(delete(Claim).where(Claim.release_id == release))

    def note(self, at_s: float, actor: str, act: str, subject: str, detail: Detail) -> None:
        """Into the server's audit log, which has others' entries between the controller's."""
        append(self._open, at_s, actor, f"release.{act}", subject, detail)
        self.noted.append((actor, act, subject, detail))
