"""Adoption: how many devices run which version of a task, now and over time, whatever state a release is in.

A device tells of each version that it runs, of one that failed, and of what it keeps in a control cohort. The
newest word of each device on each task is kept, in the place of the one before: nothing per release, and
nothing that grows with how often something is released. A device that pulls tells nothing of itself, and one
whose tasks are good may be silent for months: it is counted while its certificate counts, which a device that
lives renews.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import delete, func, insert, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from ..model.tables import AdoptionPoint, Device, Running
from ..release import Report

EVERY_S = 3600  # between two points over time
KEPT_S = 90 * 86_400  # of these
MOST_VERSIONS = 50  # of a task, those with the most devices
_GAVE_WAY = ("rolled_back", "install_error")  # of these versions; what runs instead it tells next

# Of a device's word on a task: the row of its newest one.
Word = tuple[str, str, str]  # device, scenario, task


def said(device: str, report: Report) -> tuple[Word, str] | None:
    """What a report says of what the device runs: a version, or "" where it gave one up; None: nothing."""
    if report.status == "claim":
        return None
    version = "" if report.status in _GAVE_WAY else report.version
    return (device, report.scenario, report.task), version


def note(session: Session, words: Mapping[Word, str], now: float) -> None:
    """Keep the newest words, one statement for all of them."""
    if not words:
        return
    keys = ("device", "scenario", "task")
    rows: list[dict[str, Any]] = [
        {**dict(zip(keys, word, strict=True)), "version": version, "at": now}
        for word, version in words.items()
    ]
    upsert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    made = upsert(Running.__table__)  # type: ignore[arg-type]  # the table: an ORM insert costs ten times as much
    newer = {"version": made.excluded.version, "at": made.excluded.at}
    session.connection().execute(made.on_conflict_do_update(index_elements=list(keys), set_=newer), rows)


def now_running(session: Session, scenario: str, task: str, now: float) -> dict[str, int]:
    """Devices by version of a task, most first; without those that were removed or are out of time."""
    counted = func.count()
    chosen = (
        select(Running.version, counted)
        .join(Device, Device.id == Running.device)
        .where(Running.scenario == scenario, Running.task == task, Running.version != "")
        .where(Device.revoked.is_(False), Device.expires > now)
        .group_by(Running.version)
        .order_by(counted.desc(), Running.version)
        .limit(MOST_VERSIONS)
    )
    return {version: count for version, count in session.execute(chosen)}


def draw(session: Session, now: float) -> None:
    """A point over time for each task that any device runs; those that are old go."""
    hour = int(now // EVERY_S)
    session.execute(delete(AdoptionPoint).where(AdoptionPoint.hour.in_((hour,))))
    session.execute(delete(AdoptionPoint).where(AdoptionPoint.hour < hour - KEPT_S // EVERY_S))
    tasks = session.execute(select(Running.scenario, Running.task).distinct()).all()
    rows = [
        {"scenario": scenario, "task": task, "version": version, "hour": hour, "devices": count}
        for scenario, task in tasks
        for version, count in now_running(session, scenario, task, now).items()
    ]
    if rows:
        session.execute(insert(AdoptionPoint), rows)


def over_time(session: Session, scenario: str, task: str) -> dict[str, list[tuple[float, float]]]:
    """(seconds since 1970, devices) of each version, oldest first."""
    chosen = (
        select(AdoptionPoint)
        .where(AdoptionPoint.scenario == scenario, AdoptionPoint.task == task)
        .order_by(AdoptionPoint.hour)
    )
    return _by_version(session.scalars(chosen))


def _by_version(points: Iterable[AdoptionPoint]) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        found.setdefault(point.version, []).append((float(point.hour * EVERY_S), float(point.devices)))
    return found
