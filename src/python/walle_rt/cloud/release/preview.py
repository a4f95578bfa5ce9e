"""Preview: whom an act on a release changes, said before it is done.

The act is done on a copy of what is in the plan; what devices run before and after is compared release by
release. How many devices run which version is told from outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .policy import Policy
from .release import LIVE, Release, State

NOTHING = "nothing"  # instead of a version


@dataclass(frozen=True)
class Change:
    """What happens to the devices of one version.

    Attributes:
        devices: that have told that they run it.
        before, after: versions; ``NOTHING`` for none.
        up_to: share of those devices that the change comes to, 0 to 1.
        seconds: within which it comes to them, as the ramp grows; 0: at once.
    """

    devices: int
    before: str
    after: str
    up_to: float = 1.0
    seconds: int = 0

    def text(self) -> str:
        """``3 devices: 1.7.0 -> 1.4.0``."""
        count = f"{self.devices} device{'' if self.devices == 1 else 's'}"
        return f"{count}: {self.before} -> {self.after}{_slowly(self.up_to, self.seconds)}"


@dataclass(frozen=True)
class Preview:
    """Whom an act changes.

    Attributes:
        changes: of devices that have the task.
        newcomers: what devices without it get from then on, one sentence each.
    """

    changes: list[Change]
    newcomers: list[str]

    def lines(self) -> list[str]:
        """As people read it."""
        said = [*(change.text() for change in self.changes), *self.newcomers]
        return said or ["no device changes"]


@dataclass(frozen=True)
class Standing:
    """A task's releases and whether it is killed."""

    releases: tuple[Release, ...]
    killed: bool = False

    @classmethod
    def of(cls, releases: Iterable[Release], killed: bool) -> Standing:
        """Those in the plan, newest first."""
        live = [release for release in releases if release.state in LIVE]
        return cls(tuple(sorted(live, key=lambda release: -release.number)), killed)

    def behind(self, policy: str) -> list[Release]:
        """What devices of a policy may run, newest first, to the first release that suits all of them."""
        found: list[Release] = []
        for release in () if self.killed else self.releases:
            found.append(release)
            if release.state == State.FULL and _covers(release.policy, policy):
                break
        return found


def previewed(before: Standing, after: Standing, devices: Mapping[str, int], now_s: float) -> Preview:
    """Whom the step from one standing of a task to the other changes.

    Args:
        before, after: of one task.
        devices: how many run each version of the task; what is not there is 0.
        now_s: when.
    """
    grown = [release for release in after.releases if _grows(release, before, now_s)]
    found: list[Change] = []
    left = dict(devices)
    for release in before.releases if not before.killed else ():
        runs = release.package.version
        count = left.pop(runs, 0)
        if after.killed or release.id not in [other.id for other in after.releases]:
            found.append(Change(count, runs, _lands(after, release.policy)))
            continue
        for newer in after.behind(release.policy):
            if newer.number > release.number and newer in grown and newer.content != release.content:
                found.append(Change(count, runs, newer.package.version, *_pace(newer)))
    if after.killed and not before.killed:  # whatever else devices still run goes, too
        found += [Change(count, version, NOTHING) for version, count in left.items()]
    wider = after.releases if before.killed else grown
    return Preview(_merged(found), [_newcomers(release) for release in wider if not after.killed])


def _merged(found: Iterable[Change]) -> list[Change]:
    """Releases of one version are one line: devices are counted by versions."""
    rows: dict[tuple[str, str, float, int], int] = {}
    for change in found:
        key = (change.before, change.after, change.up_to, change.seconds)
        rows[key] = rows.get(key, 0) + change.devices
    return [Change(count, *key) for key, count in rows.items()]


def _grows(release: Release, before: Standing, now_s: float) -> bool:
    """Whether the step brings a release to more devices; its ramp, which grows by itself, is no step."""
    was = next((other for other in before.releases if other.id == release.id), None)
    return release != was and _pace(release)[0] > (was.share(now_s) if was else 0.0)


def _newcomers(release: Release) -> str:
    whom = "every device" if Policy(release.policy).everybody else "every device that its policy suits"
    return f"{whom} may get {release.package.version}{_slowly(*_pace(release))}"


def _slowly(up_to: float, seconds: int) -> str:
    share = "" if up_to == 1 else f", up to {100 * up_to:.3g} % of them"
    return share + (f", within {seconds} s" if seconds else "")


def _lands(after: Standing, policy: str) -> str:
    """The version that a device of a release with this policy runs now."""
    found = [release.package.version for release in after.behind(policy)]
    if not found:
        return NOTHING
    last = after.behind(policy)[-1]
    sure = last.state == State.FULL and _covers(last.policy, policy)
    return " or ".join(dict.fromkeys([*found, *([] if sure else [NOTHING])]))


def _covers(policy: str, other: str) -> bool:
    return policy == other or bool(Policy(policy).everybody)


def _pace(release: Release) -> tuple[float, int]:
    """The largest share of devices that it comes to by itself, and within how many seconds."""
    if release.state == State.PAUSED:
        return release.held_share, 0
    return (release.ramp.end_share, release.ramp.seconds) if release.gray else (1.0, 0)
