"""The words of a policy, each with where it stands."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...errors import ArgumentError

MOST_TEXT = 64 * 1024  # characters of a policy; 2,000 device models take 30,000

_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<string>\"[^\"\n]*\"|'[^'\n]*')"
    r"|(?P<number>\d[0-9A-Za-z.+*-]*%?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<symbol><=|>=|==|!=|<>|[<>=(){},])"
)


@dataclass(frozen=True)
class Token:
    """A word, its kind - string (without quotes), number, name, symbol or end - and its place."""

    kind: str
    text: str
    at: int


def place(text: str, at: int) -> str:
    """Where a character of a policy stands: "policy, line 2, column 5"; one line needs no number."""
    before = text[:at]
    column = at - (before.rfind("\n") + 1) + 1
    line = f"line {before.count(chr(10)) + 1}, " if "\n" in text.strip() else ""
    return f"policy, {line}column {column}"


def tokens(text: str) -> list[Token]:
    """All words of a policy, and an end.

    Raises:
        ArgumentError: a character that begins no word, a string without an end, or too long a text.
    """
    if len(text) > MOST_TEXT:
        raise ArgumentError.of(
            f"a policy of {len(text)} characters",
            f"at most {MOST_TEXT}",
            "policy",
            "make groups of devices part of the app's version",
        )
    out = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            quote = text[at] in "\"'"
            raise ArgumentError.of(
                "a string without an end" if quote else f"'{text[at]}'",
                "the same quote at its end, on one line" if quote else "a name, a value or an operator",
                place(text, at),
                "see docs/reference/release-policy.md",
            )
        kind = found.lastgroup or ""
        if kind == "string":
            out.append(Token(kind, found.group()[1:-1], at))
        elif kind != "space":
            out.append(Token(kind, found.group(), at))
        at = found.end()
    out.append(Token("end", "", len(text)))
    return out
