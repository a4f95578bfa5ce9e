"""Running: how many devices have told that they run a release, for whoever asks before an act."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import select
from sqlalchemy.orm import Session

from ..model.tables import Counter

_RUNS, _RUNS_NO_MORE = "ok", "rolled_back"


def devices_running(session: Session, releases: Collection[str]) -> dict[str, int]:
    """Devices by release id, as their reports say: each tells once that a version runs, and once that it gave
    way. Whoever has not reported yet is not among them."""
    found = dict.fromkeys(releases, 0)
    chosen = select(Counter).where(Counter.release_id.in_(releases), Counter.cohort == "treated")
    for row in session.scalars(chosen):
        if row.status in (_RUNS, _RUNS_NO_MORE):
            found[row.release_id] += row.count if row.status == _RUNS else -row.count
    return {release: max(0, count) for release, count in found.items()}
