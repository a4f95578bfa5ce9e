"""Profiles: what devices say with each pull that they have carried out.

A device that only pulls sends no reports; its device header says the digest of what it carried out, signed
with its key. Where that is what the plan wants of it now, what it runs is known, and what it runs no more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping

from sqlalchemy import select
from sqlalchemy.orm import Session

from ..._core import policy
from ...errors import Error
from .. import metrics
from ..model.tables import Running
from ..release import Package, Plan
from .adoption import Word

MOST = 20_000  # that wait; of more the oldest go: those devices say it again with their next pull
TOGETHER = 1000  # looked at in one turn, in one transaction


class Profiles:
    """The newest header of each device that has told one and was not looked at. Any thread."""

    def __init__(self) -> None:
        """None."""
        self._lock = threading.Lock()
        self._told: dict[str, str] = {}  # told last is last

    def note(self, device: str, header: str) -> None:
        """A device has signed this header."""
        with self._lock:
            self._told.pop(device, None)
            self._told[device] = header
            if len(self._told) > MOST:
                del self._told[next(iter(self._told))]
                metrics.PROFILES_DROPPED.inc()

    def take(self) -> dict[str, str]:
        """Some, the oldest first; they are not given again."""
        with self._lock:
            taken = {device: self._told[device] for device in list(self._told)[:TOGETHER]}
            for device in taken:
                del self._told[device]
            return taken


def words(
    session: Session, plan: Plan, told: Mapping[str, str], package_of: Callable[[str], Package], now: float
) -> dict[Word, str]:
    """What of it is new: the version of a task that a device runs, or "" of one that it runs no more."""
    known: dict[str, dict[tuple[str, str], str]] = {device: {} for device in told}
    for row in session.scalars(select(Running).where(Running.device.in_(list(told)))):
        known[row.device][row.scenario, row.task] = row.version
    found: dict[Word, str] = {}
    for device, header in told.items():
        runs = _carried_out(plan, header, int(now))
        if runs is None:
            continue
        packages = [package_of(release) for release in runs]
        versions = {(each.scenario, each.task): each.version for each in packages}
        for task in {*known[device], *versions}:
            version = versions.get(task, "")
            if known[device].get(task, "") != version:
                found[device, *task] = version
    return found


def _carried_out(plan: Plan, header: str, now_s: int) -> Iterable[str] | None:
    """The releases by which the device runs all that it runs; None: it has not carried out this plan, or not
    all of it, and what it runs instead its reports say."""
    try:
        fields = policy.header_fields(header)
        digest, choices = plan.decide(header, now_s)
    except Error:
        return None
    if fields["active"] != digest or fields["flags"] & policy.PARTLY:
        return None
    return [release for release, _, _ in choices if release is not None]
