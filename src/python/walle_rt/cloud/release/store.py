"""Store: the seam to the database in which a controller keeps what must outlive the process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from .release import Release

# Device's pseudonym, whether it is control, time until which it must report.
ClaimRow = tuple[int, bool, float]
Detail = Mapping[str, str | int | float | bool]  # of an act


class Store(Protocol):
    """What a controller asks of its database.

    A controller reads once, when it is made, and writes as it goes: what one of its calls writes belongs into
    one transaction. After a write that failed the controller is ahead of the store; make a new one.
    """

    def epoch(self) -> int:
        """Of the newest plan; 0 before the first."""
        ...

    def put_epoch(self, epoch: int) -> None:
        """Remember it."""
        ...

    def kills(self) -> Iterable[tuple[str, str]]:
        """(scenario, task) of everything that is killed."""
        ...

    def put_kills(self, kills: list[tuple[str, str]]) -> None:
        """All of them, in place of those before."""
        ...

    def releases(self) -> Iterable[Release]:
        """All there ever were."""
        ...

    def put_release(self, release: Release) -> None:
        """Add it, or replace the one of its id."""
        ...

    def counts(self, release: str) -> Mapping[str, Any]:
        """What `put_counts` wrote; empty where it never did."""
        ...

    def put_counts(self, release: str, counts: Mapping[str, Any]) -> None:
        """A small table of numbers; called with every report."""
        ...

    def claims(self, release: str) -> Iterable[ClaimRow]:
        """Devices that were let in and have not reported."""
        ...

    def put_claim(self, release: str, device: int, control: bool, until_s: float) -> None:
        """One more."""
        ...

    def drop_claim(self, release: str, device: int, control: bool) -> None:
        """One less."""
        ...

    def counted(self, release: str, failed: bool) -> Iterable[bytes]:
        """Devices that were counted, or those of them that failed: what `put_counted` wrote, in its order."""
        ...

    def put_counted(self, release: str, failed: bool, chunk: int, devices: bytes) -> None:
        """A chunk of them, new or in place of the one of its number."""
        ...

    def drop_counted(self, release: str) -> None:
        """All of both kinds, and the claims: the release is gray no more."""
        ...

    def note(self, at_s: float, actor: str, act: str, subject: str, detail: Detail) -> None:
        """An act for the audit log; ``actor`` is an operator, "guard" or "policy"."""
        ...
