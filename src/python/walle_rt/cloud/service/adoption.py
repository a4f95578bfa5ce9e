"""Adoption: how many devices run which version of a task, now and over time, whatever state a release is in.

A device reports each version that it runs, one that failed, and what it keeps in a control cohort; with each
pull it tells what it carried out (``profiles.py``). The newest word of each device on each task is kept, in
the place of the one before: nothing per release, and nothing that grows with how often something is released.
One that has not been heard of for a month is not counted: those that live pull twice a day.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import case, delete, func, insert, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from ..model.tables import AdoptionPoint, Device, Running
from ..release import Report

EVERY_S = 3600  # between two points over time
KEPT_S = 90 * 86_400  # of these
QUIET_S = 30 * 86_400  # a device that has sent nothing for so long counts no more
MOST_VERSIONS = 50  # of a task, those with the most devices

# Of a device's word on a task: the row of its newest one.
Word = tuple[str, str, str]  # device, scenario, task


def came_to_nothing(status: str, failures: int) -> bool:
    """Whether a report says that a version was turned down before it took the place of the one that runs."""
    return status == "install_error" or (status in ("phase_error", "limit") and failures == 0)


def said(device: str, report: Report) -> tuple[Word, str] | None:
    """What a report says of what the device runs: a version, or "" where it gave one up, and tells what runs
    instead when it has carried out a plan again; None: nothing."""
    if report.status == "claim" or came_to_nothing(report.status, report.failures):
        return None
    version = "" if report.status == "rolled_back" else report.version
    return (device, report.scenario, report.task), version


def note(session: Session, words: Mapping[Word, str], now: float) -> None:
    """Keep the newest words, one statement for all of them."""
    if not words:
        return
    keys = ("device", "scenario", "task")
    rows: list[dict[str, Any]] = [
        {**dict(zip(keys, word, strict=True)), "version": version, "before": None, "at": now}
        for word, version in words.items()
    ]
    upsert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    made = upsert(Running.__table__)  # type: ignore[arg-type]  # the table: an ORM insert costs ten times as much
    changes = (Running.version != "") & (Running.version != made.excluded.version)
    before = case((changes, Running.version), else_=Running.before)
    newer = {"version": made.excluded.version, "before": before, "at": made.excluded.at}
    session.connection().execute(made.on_conflict_do_update(index_elements=list(keys), set_=newer), rows)


def now_running(session: Session, scenario: str, task: str, now: float) -> dict[str, int]:
    """Devices by version of a task, most first; without those that were removed, are out of time or quiet."""
    counted = func.count()
    chosen = (
        select(Running.version, counted)
        .join(Device, Device.id == Running.device)
        .where(Running.scenario == scenario, Running.task == task, Running.version != "")
        .where(Device.revoked.is_(False), Device.expires > now, Device.seen > now - QUIET_S)
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
