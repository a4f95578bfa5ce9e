"""The plan of an epoch: what devices are told of all releases."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..._core import policy as native
from .release import LIVE, Release
from .taken_back import native_taken_back


def write_plan(epoch: int, releases: Collection[Release], kills: Iterable[tuple[str, str]]) -> bytes:
    """The plan of live releases, those of a task behind each other, newest first; and what was taken back."""
    live = sorted((each for each in releases if each.state in LIVE), key=lambda r: (*r.task_key, -r.number))
    given = [release.native() for release in live]
    return native.write_plan(epoch, given, sorted(kills), native_taken_back(releases))
