"""What operators did, in a chain of hashes: a change, an entry taken out or put in, is seen."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ...errors import ResourceError

BEGINNING = "0" * 64  # what the first entry follows

Detail = Mapping[str, str | int | float | bool]


@dataclass(frozen=True)
class AuditEntry:
    """One act.

    Attributes:
        number: from 1, without gaps.
        at_s: s since 1970.
        actor: who: an operator's name, or "guard" for what the server did by itself.
        act: "start", "halt", "kill" ...
        subject: the release or task.
        detail: what else is worth knowing.
        previous: hash of the entry before.
        hash: SHA-256 of everything above as JSON, keys sorted, no blanks, ASCII.
    """

    number: int
    at_s: float
    actor: str
    act: str
    subject: str
    detail: Detail = field(default_factory=dict)
    previous: str = BEGINNING
    hash: str = ""

    def sealed(self) -> AuditEntry:
        """The same with its hash."""
        return AuditEntry(**{**asdict(self), "hash": self._digest()})

    def _digest(self) -> str:
        content: dict[str, Any] = {k: v for k, v in asdict(self).items() if k != "hash"}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def whole(self) -> bool:
        """Whether the hash is that of the content."""
        return self.hash == self._digest()


def verify(entries: Iterable[AuditEntry], head: str | None = None) -> str:
    """The hash of the newest entry, if the chain is whole.

    Args:
        entries: all of them, oldest first.
        head: a hash remembered elsewhere, of any entry that must still be there: without one, entries cut off
            the end are not missed.

    Raises:
        ResourceError: an entry was changed, removed, added or moved; it names the first that does not fit.
    """
    newest, seen = BEGINNING, head in (None, BEGINNING)
    for number, entry in enumerate(entries, 1):
        if entry.number != number or entry.previous != newest or not entry.whole:
            raise _broken(f"entry {entry.number} of {entry.actor!r} in place {number}", f"entry {number}")
        newest = entry.hash
        seen = seen or newest == head
    if not seen:
        raise _broken(f"a log that ends with {newest[:16]}", f"one that holds {str(head)[:16]}")
    return newest


def _broken(given: str, expected: str) -> ResourceError:
    return ResourceError.of(
        given,
        f"{expected}, as it was written, behind the entry before it",
        "audit log",
        "keep the database as it is and compare with a backup: the log was changed past the server",
    )
