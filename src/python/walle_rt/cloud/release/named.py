"""What releases can name: the packages that a device may be told to run now, or by the next act.

The trust lists these for as long as they stand here, and files of what stands here are kept: one rule, as a
release that devices do not believe is no release, and one whose files are gone is none either.
"""

from __future__ import annotations

from collections.abc import Iterable

from .release import LIVE, Package, Release, State

# Contents of a task that were full, newest first: what is full, what a rollback goes back to, and what one of
# that one would.
KEPT_FULL = 3
WERE_FULL = (State.FULL, State.RETIRED)
NAMING = (*LIVE, State.RETIRED)


def named(releases: Iterable[Release]) -> set[Package]:
    """The packages of what is live, and of the newest contents of each task that were full."""
    found: set[Package] = set()
    full: dict[tuple[str, str], list[Release]] = {}
    for release in sorted(releases, key=lambda each: -each.number):
        if release.state in LIVE:
            found.add(release.package)
        if release.state in WERE_FULL:
            before = full.setdefault((release.package.scenario, release.package.task), [])
            if len(before) < KEPT_FULL and release.content not in [other.content for other in before]:
                before.append(release)
    return found | {release.package for before in full.values() for release in before}


def behind(release: Release, releases: Iterable[Release]) -> Release | None:
    """The newest older one of other content that was full: what a rollback of ``release`` goes back to."""
    package = release.package
    older = [
        other
        for other in releases
        if (other.package.scenario, other.package.task) == (package.scenario, package.task)
        and other.number < release.number
        and other.state in WERE_FULL
        and other.content != release.content
    ]
    return max(older, key=lambda other: other.number, default=None)
