"""A store of releases that ends with the process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from walle_rt.cloud.release import Release
from walle_rt.cloud.release.store import ClaimRow, Detail


class Act(NamedTuple):
    """What `Store.note` was given."""

    at_s: float
    actor: str
    what: str
    subject: str
    detail: Detail


class MemoryStore:
    """A `Store` in memory."""

    def __init__(self) -> None:
        """Empty."""
        self._epoch = 0
        self._kills: list[tuple[str, str]] = []
        self._releases: dict[str, Release] = {}
        self._counts: dict[str, Mapping[str, Any]] = {}
        self._claims: dict[str, dict[tuple[int, bool], float]] = {}
        self._counted: dict[tuple[str, bool], dict[int, bytes]] = {}
        self.acts: list[Act] = []

    def epoch(self) -> int:
        """Of the newest plan."""
        return self._epoch

    def put_epoch(self, epoch: int) -> None:
        """Remember it."""
        self._epoch = epoch

    def kills(self) -> Iterable[tuple[str, str]]:
        """All that are killed."""
        return list(self._kills)

    def put_kills(self, kills: list[tuple[str, str]]) -> None:
        """Replace them."""
        self._kills = list(kills)

    def releases(self) -> Iterable[Release]:
        """All there ever were."""
        return list(self._releases.values())

    def put_release(self, release: Release) -> None:
        """Add or replace it."""
        self._releases[release.id] = release

    def counts(self, release: str) -> Mapping[str, Any]:
        """What was put last."""
        return self._counts.get(release, {})

    def put_counts(self, release: str, counts: Mapping[str, Any]) -> None:
        """Replace them."""
        self._counts[release] = dict(counts)

    def claims(self, release: str) -> Iterable[ClaimRow]:
        """Devices without a report."""
        return [
            (device, control, until) for (device, control), until in self._claims.get(release, {}).items()
        ]

    def put_claim(self, release: str, device: int, control: bool, until_s: float) -> None:
        """One more."""
        self._claims.setdefault(release, {})[device, control] = until_s

    def drop_claim(self, release: str, device: int, control: bool) -> None:
        """One less."""
        self._claims.get(release, {}).pop((device, control), None)

    def counted(self, release: str, failed: bool) -> Iterable[bytes]:
        """What was put, in its order."""
        return [devices for _, devices in sorted(self._counted.get((release, failed), {}).items())]

    def put_counted(self, release: str, failed: bool, chunk: int, devices: bytes) -> None:
        """Add or replace a chunk."""
        self._counted.setdefault((release, failed), {})[chunk] = devices

    def drop_counted(self, release: str) -> None:
        """With the claims."""
        self._claims.pop(release, None)
        for failed in (False, True):
            self._counted.pop((release, failed), None)

    def note(self, at_s: float, actor: str, act: str, subject: str, detail: Detail) -> None:
        """Behind all others."""
        self.acts.append(Act(at_s, actor, act, subject, detail))
