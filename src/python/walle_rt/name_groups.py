"""Time by the first parts of nodes' names, which say the block of the model they belong to."""

from __future__ import annotations

import re
from collections.abc import Sequence

# A group with more than this share says nothing that the whole did not: one part more is looked at.
_TOO_MUCH = 0.9
_DEEPEST = 6


def prefix(name: str, depth: int) -> str:
    """The first ``depth`` parts of a name, without the node's own; of a name without parts its word.

    "/block1/conv/Conv" has the parts block1 and conv, "Conv_12" the word Conv.
    """
    path = name.strip("/")
    for separator in ("/", "."):
        parts = path.split(separator)
        if len(parts) > 1:
            return separator.join(parts[: min(depth, len(parts) - 1)])
    return re.sub(r"[_:\-]*\d+$", "", path) or path or "(no name)"


def _grouped(times: Sequence[tuple[str, float]], depth: int) -> list[tuple[str, float]]:
    groups: dict[str, float] = {}
    for name, ms in times:
        key = prefix(name, depth)
        groups[key] = groups.get(key, 0.0) + ms
    return sorted(groups.items(), key=lambda item: -item[1])


def by_prefix(times: Sequence[tuple[str, float]], depth: int | None = None) -> list[tuple[str, float]]:
    """Groups of (name, milliseconds), the costliest first; ``depth`` found when it is None."""
    if depth is not None:
        return _grouped(times, depth)
    total = sum(ms for _, ms in times)
    groups = _grouped(times, 1)
    for deeper in range(2, _DEEPEST + 1):
        if not groups or groups[0][1] <= _TOO_MUCH * total:
            break
        finer = _grouped(times, deeper)
        if len(finer) == len(groups):
            break
        groups = finer
    return groups
