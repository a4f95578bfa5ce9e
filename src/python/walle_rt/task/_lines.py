"""Where in a TOML file each key stands: tomllib reads values and forgets lines."""

from __future__ import annotations

import re

Path = tuple[str, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_QUOTES = ('"""', "'''", '"', "'")


class Lines:
    """Line numbers, from 1, of the keys of a text that tomllib has accepted.

    Keys inside an inline table stand where the table begins.
    """

    def __init__(self, text: str) -> None:
        """Read the places of all keys and headers."""
        self._of: dict[Path, int] = {}
        table: Path = ()
        for number, line in _logical_lines(text):
            if line.startswith("["):
                table = tuple(_keys(line.lstrip("["))[0])
                self._note(table, number)
            else:
                self._note(table + tuple(_keys(line)[0]), number)

    def of(self, path: Path) -> int:
        """The line of a key, or of the nearest table around it; 1 where there is none."""
        for length in range(len(path), 0, -1):
            if path[:length] in self._of:
                return self._of[path[:length]]
        return 1

    def has(self, path: Path) -> bool:
        """Whether the text itself names this key."""
        return path in self._of

    def _note(self, path: Path, number: int) -> None:
        for length in range(1, len(path) + 1):
            self._of.setdefault(path[:length], number)


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Lines on which a key or a header begins: not those inside a value, comments or empty ones."""
    found = []
    depth, quote = 0, ""
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if depth == 0 and not quote and stripped and not stripped.startswith("#"):
            found.append((number, stripped))
        change, quote = _open_after(line, quote)
        depth += change
    return found


def _open_after(line: str, quote: str) -> tuple[int, str]:
    """How many brackets a line leaves open, and which multi-line quote."""
    depth, at = 0, 0
    while at < len(line):
        if quote:
            if line[at] == "\\" and quote[0] == '"':
                at += 2
            elif line.startswith(quote, at):
                at += len(quote)
                quote = ""
            else:
                at += 1
            continue
        if line[at] == "#":
            break
        quote = next((q for q in _QUOTES if line.startswith(q, at)), "")
        depth += (line[at] in "[{") - (line[at] in "]}")
        at += len(quote) or 1
    return depth, quote if len(quote) == 3 else ""


def _keys(text: str) -> tuple[list[str], int]:
    """The dotted key that a text begins with, and where it ends."""
    keys, at = [], 0
    while True:
        at += len(text[at:]) - len(text[at:].lstrip())
        if text[at : at + 1] in ("'", '"'):
            end = text.index(text[at], at + 1)
            keys.append(text[at + 1 : end])
            at = end + 1
        else:
            bare = _BARE.match(text, at)
            if bare is None:
                return keys, at
            keys.append(bare.group())
            at = bare.end()
        at += len(text[at:]) - len(text[at:].lstrip())
        if text[at : at + 1] != ".":
            return keys, at
        at += 1
