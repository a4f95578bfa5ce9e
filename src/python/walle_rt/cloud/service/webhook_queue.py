"""Webhook queue: what waits to be told, in the server's database, so that no end of the process loses it.

What is told of an act is written with the act, in its transaction: both are there, or neither.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from .. import metrics
from ..model.database import Database
from ..model.tables import WebhookEvent

MOST_WAITING = 1000  # beyond them the oldest go


@dataclass(frozen=True)
class Event:
    """Something that happened.

    Attributes:
        kind: as docs/how-to/run-a-server.md lists them: "release.halt", "disk.full" ...
        subject: a release, a role; "" where it is the server.
        text: a sentence for people.
        at: seconds since 1970.
        detail: more, by name.
    """

    kind: str
    subject: str
    text: str
    at: float
    detail: Mapping[str, Any]

    def body(self) -> bytes:
        """As it is sent."""
        told = {"type": self.kind, "timestamp": self.at, "subject": self.subject, "text": self.text}
        return json.dumps({**told, "data": dict(self.detail)}, sort_keys=True).encode()


@dataclass(frozen=True)
class Waiting:
    """One that waits: its id, by which whoever gets it twice can know, its kind, and what is sent."""

    id: str
    kind: str
    body: bytes


class WebhookQueue:
    """Events in their order. Any thread."""

    def __init__(self, database: Database) -> None:
        """What the process before has left is there."""
        self._database = database

    def add(self, session: Session, event: Event) -> None:
        """One more, durable with the transaction of ``session``."""
        session.add(WebhookEvent(id=f"msg_{secrets.token_hex(12)}", kind=event.kind, body=event.body()))
        session.flush()
        newest = select(func.max(WebhookEvent.n)).scalar_subquery()
        old = delete(WebhookEvent).where(WebhookEvent.n <= newest - MOST_WAITING)
        gone = session.connection().execute(old).rowcount
        if gone:
            metrics.WEBHOOKS.labels("dropped").inc(gone)

    def first(self) -> Waiting | None:
        """The oldest; None: nothing waits."""
        with self._database.reading() as session:
            row = session.scalars(select(WebhookEvent).order_by(WebhookEvent.n).limit(1)).first()
            return Waiting(row.id, row.kind, row.body) if row else None

    def drop(self, number: str) -> None:
        """It was told, or given up."""
        with self._database.writing() as session:
            session.execute(delete(WebhookEvent).where(WebhookEvent.id == number))

    def __len__(self) -> int:
        """How many wait."""
        with self._database.reading() as session:
            return int(session.scalar(select(func.count()).select_from(WebhookEvent)) or 0)
