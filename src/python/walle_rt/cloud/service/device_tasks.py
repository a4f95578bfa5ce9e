"""Device tasks: what one device runs, and what was taken back from it, for whoever looks at its page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from ..model.tables import ReportDetail, Running
from ..release import Why
from .adoption import came_to_nothing

MOST = 1000

# (why, release) of a version of a task that was taken back; ("", "") of any other.
WhyTakenBack = Callable[[str, str, str], tuple[str, str]]


@dataclass(frozen=True)
class DeviceTask:
    """A task of a device, as it has told.

    Attributes:
        scenario, task: whose and which.
        version: that runs; "" while none does.
        at: since when, seconds since 1970.
        taken_back: a version that it had, or was to have; "".
        why: a word of `walle_rt.cloud.release.Why`; "".
        release: of what was taken back; "" of a kill.
    """

    scenario: str
    task: str
    version: str
    at: float
    taken_back: str = ""
    why: str = ""
    release: str = ""


def tasks_of(
    session: Session, device: str, failures: Sequence[ReportDetail], why_taken_back: WhyTakenBack
) -> list[DeviceTask]:
    """All of a device; ``failures`` are its newest."""
    running = session.scalars(select(Running).where(Running.device == device).limit(MOST))
    return [_task(row, failures, why_taken_back) for row in running]


def _task(row: Running, failures: Sequence[ReportDetail], why_taken_back: WhyTakenBack) -> DeviceTask:
    """What the device has given up itself since, or else what was taken back from it before."""
    known = (row.scenario, row.task, row.version, row.at)
    for each in failures:
        given_up = each.status == "rolled_back" or came_to_nothing(each.status, each.failures)
        if each.task == row.task and given_up and each.version != row.version and each.at >= row.at:
            return DeviceTask(*known, each.version, str(Why.REFUSED), each.release_id)
    if row.before is not None:
        why, release = why_taken_back(row.scenario, row.task, row.before)
        if why:
            return DeviceTask(*known, row.before, why, release)
    return DeviceTask(*known)
