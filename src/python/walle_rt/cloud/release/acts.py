"""Acts: what an act makes of a release, as a function alone; doing it and previewing it ask the same one."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from ...errors import ArgumentError
from .named import behind
from .release import LIVE, Release, State
from .taken_back import Why

# What an operator may do with a release, in which states.
ALLOWED: dict[str, tuple[State, ...]] = {
    "start": (State.DRAFT,),
    "pause": (State.GRAY,),
    "resume": (State.PAUSED,),
    "full": (State.GRAY, State.PAUSED),
    "halt": (State.DRAFT, State.GRAY, State.PAUSED),
    "rollback": (State.GRAY, State.PAUSED, State.FULL, State.HALTED),
}


def after_act(
    act: str, release: Release, releases: Collection[Release], now_s: float, reason: str = ""
) -> tuple[Release, ...]:
    """The releases that an act changes or makes, as they are behind it; the last is the one to look at.

    Args:
        act: a key of `ALLOWED`.
        release: that it is done to.
        releases: all there are.
        now_s: when, in seconds since 1970.
        reason: why it stands as it stands from then on.

    Raises:
        ArgumentError: its state, or another release of its task, does not allow it.
    """
    if release.state not in ALLOWED[act]:
        states = " or ".join(ALLOWED[act])
        raise _refused(f"release '{release.id}', which is {release.state}", f"one that is {states}", act)
    if act == "start":
        _refuse_second(release, releases)
        return (release.moved(State.GRAY, reason, started_s=int(now_s)),)
    if act == "pause":
        return (release.moved(State.PAUSED, reason, held_share=release.share(now_s)),)
    if act == "resume":
        rest = release.ramp.resumed(release.held_share)
        return (release.moved(State.GRAY, reason, ramp=rest, started_s=int(now_s)),)
    if act == "rollback":
        return _rolled_back(release, releases, now_s, reason)
    if act == "full":
        return (release.moved(State.FULL, reason),)
    # A draft was in no plan.
    taken = str(Why.HALTED) if release.state != State.DRAFT else ""
    return (release.moved(State.HALTED, reason, taken=taken),)


def of_task(release: Release, releases: Iterable[Release]) -> list[Release]:
    """The others of its task."""
    key = (release.package.scenario, release.package.task)
    return [
        other
        for other in releases
        if (other.package.scenario, other.package.task) == key and other.id != release.id
    ]


def _refuse_second(release: Release, releases: Iterable[Release]) -> None:
    for other in of_task(release, releases):
        if other.gray:
            raise ArgumentError.of(
                f"release '{other.id}' of the same task is {other.state}",
                "one gray release of a task at a time",
                "start",
                f"walle release halt {other.id}, or walle release full {other.id}",
            )


def _rolled_back(
    release: Release, releases: Collection[Release], now_s: float, reason: str
) -> tuple[Release, ...]:
    """Taken back, and a new one, full at once, of the newest older content that was full.

    The newest alone: taking back an older one would bring everybody to what was before that one, past all
    that came since.
    """
    # A halted one is in no plan: whatever came behind it is what devices go by now.
    counting = LIVE if release.state in LIVE else tuple(state for state in State if state != State.DRAFT)
    newer = [
        other
        for other in of_task(release, releases)
        if other.number > release.number and other.state in counting
    ]
    if newer:
        newest = max(newer, key=lambda other: other.number)
        raise _refused(
            f"release '{release.id}', behind which '{newest.id}' came",
            "the newest release of its task",
            "rollback",
            f"look at that one: walle release status {newest.id}",
        )
    old = behind(release, releases)
    if old is None:
        raise _refused(
            f"release '{release.id}', before which nothing was full",
            "an older one to go back to",
            "rollback",
            f"take the task off every device: walle release kill {release.id}",
        )
    number = 1 + max(other.number for other in releases)
    made = replace(
        release,
        id=f"{release.package.task}-{number}",
        number=number,
        package=old.package,
        params=old.params,
        state=State.FULL,
        created_s=int(now_s),
        reason=reason,
        replaces=release.id,
        taken="",
    )
    return release.moved(State.ROLLED_BACK, reason, taken=str(Why.ROLLED_BACK)), made


def _refused(given: str, expected: str, act: str, next_step: str = "") -> ArgumentError:
    look = "look at it first: walle release status " + given.split("'")[1]
    return ArgumentError.of(given, expected, act, next_step or look)
