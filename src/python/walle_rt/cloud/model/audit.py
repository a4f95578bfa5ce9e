"""The audit log: every act of an operator, chained by hashes.

An entry's hash covers the one before, so an entry that is changed, taken out or put in breaks the chain from
there on. Who can write the database can forge the whole rest of the chain: keep the newest hash elsewhere
(``GET /api/v1/audit``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from .tables import AuditEntry

FIRST = "0" * 64  # the hash before the first entry


def append(
    session: Session, at: float, who: str, act: str, subject: str, detail: Mapping[str, Any] | None = None
) -> None:
    """Add one entry in the transaction of what it tells about: both are there, or neither."""
    last = session.scalars(select(AuditEntry).order_by(AuditEntry.n.desc()).limit(1)).first()
    entry = AuditEntry(
        n=last.n + 1 if last else 1,
        at=at,
        who=who,
        act=act,
        subject=subject,
        detail=json.dumps(dict(detail or {}), sort_keys=True, default=str),
        before=last.hash if last else FIRST,
        hash="",
    )
    entry.hash = hash_of(entry)
    session.add(entry)
    session.flush()


def hash_of(entry: AuditEntry) -> str:
    """SHA-256 over the entry as one line of JSON."""
    fields = [entry.n, entry.at, entry.who, entry.act, entry.subject, entry.detail, entry.before]
    return hashlib.sha256(json.dumps(fields, separators=(",", ":")).encode()).hexdigest()


def first_broken(session: Session) -> int | None:
    """The number of the first entry that does not follow from those before; None where all do."""
    before = FIRST
    chosen = select(AuditEntry).order_by(AuditEntry.n).execution_options(yield_per=1000)
    for n, entry in enumerate(session.scalars(chosen), 1):
        if entry.n != n or entry.before != before or entry.hash != hash_of(entry):
            return n
        before = entry.hash
    return None
