"""Retention: which versions a scenario's role lists.

A device believes a version only while its scenario's role lists it, so a version must be listed for as long
as anything can name it, however many are published meanwhile; beside those the newest few are listed, which a
release may start. What else was published drops out: every refresh carries the whole role.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tuf.api.metadata import TargetFile

NEWEST = 3  # versions of a task that are listed though nothing names them


def number(target: Any) -> int:
    """The place of a version among those of its task, as it was published; 0: listed because it is named."""
    return int(target.unrecognized_fields.get("custom", {}).get("n", 0))


def add_version(targets: Any, path: str, content: bytes, named: Collection[str]) -> Any:
    """List a file in a role; of its task what is neither named nor among the newest drops out.

    Args:
        targets: the role's ``signed`` part.
        path: ``<scenario>/<task>/<task>-<version>.walp``.
        content: the manifest.
        named: paths that something can name.

    Returns:
        The target.
    """
    if path not in targets.targets:
        place = 1 + max(map(number, of_task(targets, path).values()), default=0)
        _add(targets, path, content, place)
        drop_old(targets, path, named)
    return targets.targets[path]


def add_named(targets: Any, path: str, content: bytes) -> None:
    """List a version again that can be named; it takes the place of no newer one."""
    if path not in targets.targets:
        _add(targets, path, content, 0)


def of_task(targets: Any, path: str) -> dict[str, Any]:
    """The targets of the task that a path is one of."""
    folder = path.rpartition("/")[0] + "/"
    return {other: target for other, target in targets.targets.items() if other.startswith(folder)}


def drop_old(targets: Any, path: str, named: Collection[str]) -> None:
    """Of a path's task take out what is neither named nor among the newest."""
    listed = of_task(targets, path)
    newest = sorted(listed, key=lambda other: number(listed[other]))[-NEWEST:]
    for other in listed:
        if other not in newest and other not in named:
            del targets.targets[other]


def _add(targets: Any, path: str, content: bytes, place: int) -> None:
    target: Any = TargetFile.from_data(path, content, ["sha256"])
    target.unrecognized_fields["custom"] = {"n": place}
    targets.targets[path] = target
