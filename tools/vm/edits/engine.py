"""What an edit is, how it is written down, and how it is applied.

An edit names an anchor that must occur exactly as often as stated. Another CPython version therefore fails
here, loudly, and never compiles into something subtly different. Patch files were the alternative: `patch`
looks for a hunk nearby when its lines have moved, and cannot say "all fourteen places".
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence


@dataclasses.dataclass(frozen=True)
class Edit:
    """In `path`, each of the `count` occurrences of `anchor` becomes `text`."""

    path: str
    anchor: str
    text: str
    count: int = 1
    reason: str = ""


@dataclasses.dataclass(frozen=True)
class Rewrite:
    """`change` makes of the text of `path` another one, and says in how many places: `count`."""

    path: str
    change: Callable[[str], tuple[str, int]]
    count: int
    reason: str = ""


# A theme's name and its edits.
Themes = Mapping[str, Sequence[Edit | Rewrite]]


def replace(path: str, anchor: str, text: str, count: int = 1) -> Edit:
    """`anchor` becomes `text`."""
    return Edit(path, anchor, text, count)


def remove(path: str, anchor: str) -> Edit:
    """`anchor` goes."""
    return Edit(path, anchor, "")


def insert_before(path: str, anchor: str, addition: str, count: int = 1) -> Edit:
    """`addition` comes in front of `anchor`."""
    return Edit(path, anchor, addition + anchor, count)


def insert_after(path: str, anchor: str, addition: str, count: int = 1) -> Edit:
    """`addition` comes behind `anchor`."""
    return Edit(path, anchor, anchor + addition, count)


def insert_between(path: str, head: str, addition: str, tail: str, count: int = 1) -> Edit:
    """`addition` comes between `head` and `tail`, which lie side by side."""
    return Edit(path, head + tail, head + addition + tail, count)


def because(reason: str, *edits: Edit | Rewrite) -> list[Edit | Rewrite]:
    """The edits with their common reason."""
    return [dataclasses.replace(edit, reason=reason) for edit in edits]


def edited_paths(themes: Themes) -> set[str]:
    """The files that have edits."""
    return {edit.path for edits in themes.values() for edit in edits}


def apply(themes: Themes, path: str, text: str) -> str:
    """The text of `path` after its edits, theme by theme.

    SystemExit: an anchor occurs more or less often than stated.
    """
    for theme, edits in themes.items():
        for edit in edits:
            if edit.path != path:
                continue
            if isinstance(edit, Rewrite):
                text, found = edit.change(text)
                if found != edit.count:
                    raise SystemExit(
                        f"{path}: {found} places, expected {edit.count} ({theme}: {edit.reason})"
                    )
                continue
            found = text.count(edit.anchor)
            if found != edit.count:
                raise SystemExit(
                    f"{path}: anchor found {found} times, expected {edit.count}: {edit.anchor!r}"
                    f" ({theme}: {edit.reason})"
                )
            text = text.replace(edit.anchor, edit.text)
    return text
