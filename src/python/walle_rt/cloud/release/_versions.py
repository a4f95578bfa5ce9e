"""Versions and ranges of them as spans of the numbers that device headers carry.

Order is semver's: a pre-release comes before its version. A part that is left out stands for any, so "1.2"
is every 1.2.x, and ``<1.2``, ``1.2`` and ``>1.2`` together are all versions. ``^``, ``~``, ``x`` and
``a - b`` leave out the pre-releases of the version they end before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..._core import names
from ...errors import ArgumentError
from ._spans import Spans, both, normal

_ANY = ("x", "X", "*")  # instead of a number
_COMPARATOR = re.compile(r"\s*(\^|~|<=|>=|<|>|==|=|)\s*([^\s|^~<>=]+)")
_HYPHEN = re.compile(r"\s*(\S+)\s+-\s+(\S+)\s*")


class BadVersionError(Exception):
    """A text that is no version or range: what is wrong with it, what was expected."""


@dataclass(frozen=True)
class Kind:
    """How a field's versions are numbered: bits of each part, and whether the lowest bit tells releases."""

    bits: tuple[int, ...]
    tells_pre_releases: bool

    @property
    def most(self) -> int:
        """The largest number."""
        return (1 << (sum(self.bits) + self.tells_pre_releases)) - 1

    def key(self, parts: tuple[int, ...], release: bool = True) -> int:
        """The number of a version, or of its pre-releases."""
        out = 0
        for part, bits in zip(parts, self.bits, strict=True):
            out = out << bits | part
        return out << 1 | release if self.tells_pre_releases else out

    def after(self, parts: tuple[int, ...], given: int) -> int:
        """The number of the first version, pre-releases too, beyond all that begin with ``given`` parts."""
        if given == 0:
            return self.most + 1
        below = sum(self.bits[given:])
        head = 0
        for part, bits in zip(parts[:given], self.bits[:given], strict=True):
            head = head << bits | part
        return (head + 1) << (below + self.tells_pre_releases)


APP = Kind((11, 10, 10), True)
OS = Kind((8, 8), False)


@dataclass(frozen=True)
class _Version:
    parts: tuple[int, ...]
    given: int  # how many of them
    pre: bool


def _parse(text: str, kind: Kind) -> _Version:
    words, rest = _words(text)
    parts: list[int] = []
    for word in words:
        if word in _ANY:
            break
        parts.append(int(word))
    if any(word not in _ANY for word in words[len(parts) :]):
        raise BadVersionError(f"'{text}'", "no number behind an 'x'")
    if len(parts) > len(kind.bits):
        raise BadVersionError(f"'{text}'", f"at most {len(kind.bits)} parts: headers carry no more")
    for part, bits in zip(parts, kind.bits, strict=False):
        if part >= 1 << bits:
            largest = ".".join(str((1 << b) - 1) for b in kind.bits)
            raise BadVersionError(f"'{text}'", f"parts up to {largest}: headers carry no larger ones")
    pre = rest.partition("+")[0]
    if pre and not kind.tells_pre_releases:
        raise BadVersionError(f"'{text}'", "numbers alone")
    if pre and (pre != "-0" or len(parts) < len(kind.bits)):
        raise BadVersionError(
            f"'{text}'",
            "'-0' behind three numbers: headers say that a version is a pre-release, not which one",
        )
    filled = tuple(parts) + (0,) * (len(kind.bits) - len(parts))
    return _Version(filled, len(parts), bool(pre))


def _words(text: str) -> tuple[list[str], str]:
    """What stands between the dots of a version that may leave out its end, and what follows its numbers."""
    body = text.removeprefix("v")
    end = min((at for at in (body.find("-"), body.find("+")) if at >= 0), default=len(body))
    words = body[:end].split(".")
    filled = ["0" if word in _ANY else word for word in words] + ["0"] * (3 - len(words))
    if not names.valid("version", ".".join(filled) + body[end:]):
        raise BadVersionError(f"'{text}'", "a version, as 1.2.3 or 1.2")
    return words, body[end:]


def compared(operator: str, text: str, kind: Kind) -> Spans:
    """The versions for which ``operator text`` holds: one of ``== != < <= > >=``."""
    version = _parse(text, kind)
    # Everything the text stands for is first..last.
    if version.pre:
        first = last = kind.key(version.parts, release=False)
    elif version.given == len(kind.bits):
        first = last = kind.key(version.parts)
    else:
        first, last = kind.key(version.parts), kind.after(version.parts, version.given) - 1
        if version.given == 0:
            first = 0
    spans = {
        "==": [(first, last)],
        "!=": [(0, first - 1), (last + 1, kind.most)],
        "<": [(0, first - 1)],
        "<=": [(0, last)],
        ">": [(last + 1, kind.most)],
        ">=": [(first, kind.most)],
    }[operator]
    return normal(spans)


def _caret(version: _Version, kind: Kind) -> tuple[int, int]:
    # Up to the next change of the leftmost part that is not 0, of those given.
    fixed = next((i for i in range(version.given) if version.parts[i]), version.given - 1) + 1
    return kind.key(version.parts, not version.pre), kind.after(version.parts, max(fixed, 0)) - 1


def _tilde(version: _Version, kind: Kind) -> tuple[int, int]:
    return kind.key(version.parts, not version.pre), kind.after(version.parts, min(version.given, 2)) - 1


def _comparators(text: str, kind: Kind) -> Spans:
    hyphen = _HYPHEN.fullmatch(text)
    if hyphen is not None:
        low, high = hyphen.groups()
        return both(compared(">=", low, kind), compared("<=", high, kind))
    out: Spans = ((0, kind.most),)
    at = 0
    while text[at:].strip():
        found = _COMPARATOR.match(text, at)
        if found is None:
            raise BadVersionError(f"'{text[at:].strip()}'", "a comparison, as >=1.2 or ^1.2.3")
        operator, version = found.groups()
        if operator in ("^", "~"):
            parsed = _parse(version, kind)
            span = (_caret if operator == "^" else _tilde)(parsed, kind)
            out = both(out, normal([span]))
        else:
            out = both(out, compared({"": "==", "=": "=="}.get(operator, operator), version, kind))
        at = found.end()
    return out


def ranged(text: str, kind: Kind) -> Spans:
    """The versions in a range, as ``>=1.2 <3 || ^4.1``."""
    spans: list[tuple[int, int]] = []
    for alternative in text.split("||"):
        if not alternative.strip():
            raise BadVersionError(f"'{text}'", "a version or a comparison on each side of '||'")
        spans += _comparators(alternative, kind)
    return normal(spans)


def wrong(error: BadVersionError, where: str) -> ArgumentError:
    """The error for whoever wrote it."""
    given, expected = error.args
    return ArgumentError.of(given, expected, where, "see docs/reference/release-policy.md")
