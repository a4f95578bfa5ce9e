"""What was taken back: for devices that had it, which say why an older version runs, or none."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from .release import LIVE, Release, State

KEPT = 4  # of a task, the newest: for a device that was away during more of them the older ones say no more
MOST = 2048  # in a plan


class Why(StrEnum):
    """Why something was taken back: the names of the plan's numbers, in their order."""

    HALTED = "halted"  # by an operator
    GUARD = "guard"
    ROLLED_BACK = "rolled_back"
    KILLED = "killed"  # a task: a plan says so by its kills
    REFUSED = "refused"  # by the device: it failed there


def taken_back(releases: Iterable[Release]) -> list[Release]:
    """The releases that were taken back and have not been succeeded since, newest first.

    Succeeded is one by a newer release that was full, other than what a rollback made, and by any release of
    the same content.
    """
    found: list[Release] = []
    left: dict[tuple[str, str], int] = {}
    live: dict[tuple[str, str], list[Release]] = {}
    newest_first = sorted(releases, key=lambda each: -each.number)
    for release in newest_first:
        if release.state in LIVE:
            live.setdefault(release.task_key, []).append(release)
    for release in newest_first:
        key = release.task_key
        if release.state in (State.FULL, State.RETIRED) and not release.replaces:
            left[key] = 0
        elif (
            release.taken
            and left.setdefault(key, KEPT) > 0
            and release.content not in [other.content for other in live.get(key, [])]
        ):
            found.append(release)
            left[key] -= 1
    return found[:MOST]


def native_taken_back(releases: Iterable[Release]) -> list[tuple[str, str, str, str, int]]:
    """As `_core.policy.write_plan` takes them."""
    reasons = list(Why)
    return [
        (each.id, *each.task_key, each.package.version, reasons.index(Why(each.taken)))
        for each in taken_back(releases)
    ]
