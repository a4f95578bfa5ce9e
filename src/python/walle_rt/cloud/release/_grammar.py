"""Policy text to a tree of conditions: docs/reference/release-policy.md is its reference.

any  := all ("or" all)*
all  := one ("and" one)*
one  := "not" one | "(" any ")" | "bucket" "(" string ")" compare share
      | field compare value | field ["not"] "in" ("{" value ("," value)* "}" | range)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..._core import policy as native
from ...errors import ArgumentError
from ...task._mistakes import nearest
from ._spans import Key, Spans, normal, others
from ._tokens import Token, place, tokens
from ._versions import APP, OS, BadVersionError, compared, ranged, wrong

COMPARES = ("==", "!=", "<", "<=", ">", ">=")
DEEPEST = 64  # levels of parentheses and "not"
MOST_BUCKET = native.WHOLE - 1
FIELDS = {name: (number, most) for number, (name, most) in enumerate(native.FIELDS)}
_VERSIONS = {"app_version": APP, "os_version": OS}
_MANUAL = "see docs/reference/release-policy.md"


@dataclass(frozen=True)
class Leaf:
    """A condition: the values for which it holds."""

    key: Key
    spans: Spans
    most: int

    def negated(self) -> Leaf:
        """Where it does not hold."""
        return Leaf(self.key, others(self.spans, self.most), self.most)


@dataclass(frozen=True)
class Branch:
    """Conditions of which all, or any, must hold."""

    all: bool
    parts: tuple[Node, ...]

    def negated(self) -> Branch:
        """De Morgan's rule."""
        return Branch(not self.all, tuple(part.negated() for part in self.parts))


Node = Leaf | Branch


def _against(operator: str, value: Fraction, most: int) -> Spans:
    """Whole numbers of 0..most for which ``number operator value`` holds."""
    below = value.numerator // value.denominator  # the largest that is not above it
    exact = value.denominator == 1
    up_to = below - exact  # the largest that is below it
    return normal(
        {
            "==": [(below, below)] if exact and 0 <= below <= most else [],
            "!=": [(0, min(up_to, most)), (below + 1, most)],
            "<": [(0, min(up_to, most))],
            "<=": [(0, min(below, most))],
            ">": [(below + 1, most)],
            ">=": [(max(up_to + 1, 0), most)],
        }[operator]
    )


class Parser:
    """One policy's text, read once from left to right."""

    def __init__(self, text: str) -> None:
        """Split the text into words."""
        self._text = text
        self._tokens = tokens(text)
        self._at = 0
        self._depth = 0

    def tree(self) -> Node:
        """The whole text."""
        if self._now.kind == "end":
            return Branch(True, ())
        out = self._any()
        if self._now.kind != "end":
            raise self._wrong(f"'{self._now.text}'", "'and', 'or' or the end")
        return out

    @property
    def _now(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._now
        self._at += 1
        return token

    def _is(self, *words: str) -> bool:
        return self._now.kind in ("name", "symbol") and self._now.text in words

    def _expect(self, word: str) -> None:
        if not self._is(word):
            raise self._wrong(self._shown(self._now), f"'{word}'")
        self._take()

    def _wrong(
        self, given: str, expected: str, next_step: str = _MANUAL, at: Token | None = None
    ) -> ArgumentError:
        return ArgumentError.of(given, expected, place(self._text, (at or self._now).at), next_step)

    @staticmethod
    def _shown(token: Token) -> str:
        return "the end" if token.kind == "end" else f"'{token.text}'"

    def _joined(self, word: str, part: Callable[[], Node]) -> Node:
        parts = [part()]
        while self._is(word):
            self._take()
            parts.append(part())
        return parts[0] if len(parts) == 1 else Branch(word == "and", tuple(parts))

    def _any(self) -> Node:
        return self._joined("or", self._all)

    def _all(self) -> Node:
        return self._joined("and", self._one)

    def _one(self) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._wrong(f"{self._depth} levels", f"at most {DEEPEST} of parentheses and 'not'")
        try:
            if self._is("not"):
                self._take()
                return self._one().negated()
            if self._is("("):
                self._take()
                inner = self._any()
                self._expect(")")
                return inner
            return self._condition()
        finally:
            self._depth -= 1

    def _condition(self) -> Node:
        field = self._take()
        if field.kind != "name":
            raise self._wrong(self._shown(field), "a field, 'not' or '('", at=field)
        if field.text == "bucket":
            return self._bucket()
        if field.text not in FIELDS:
            near = nearest(field.text, [*FIELDS, "bucket", "not"])
            raise self._wrong(
                f"'{field.text}'",
                f"a field: {', '.join(FIELDS)} or bucket(...)",
                f"did you mean '{near}'?" if near else _MANUAL,
                field,
            )
        if self._is("not", "in"):
            return self._membership(field)
        operator = self._operator(field)
        return self._leaf(field, self._values(field, operator, self._take()))

    def _operator(self, field: Token) -> str:
        token = self._take()
        if token.kind != "symbol" or token.text not in COMPARES:
            near = {"=": "==", "<>": "!="}.get(token.text, "")
            raise self._wrong(
                f"{self._shown(token)} behind '{field.text}'",
                "==, !=, <, <=, >, >=, 'in' or 'not in'",
                f"did you mean '{near}'?" if near else _MANUAL,
                token,
            )
        return token.text

    def _leaf(self, field: Token, spans: Spans) -> Leaf:
        number, most = FIELDS[field.text]
        return Leaf((number, 0), spans, most)

    def _membership(self, field: Token) -> Leaf:
        negated = self._is("not")
        if negated:
            self._take()
        self._expect("in")
        if self._is("{"):
            spans = self._set(field)
        else:
            token = self._take()
            kind = _VERSIONS.get(field.text)
            if kind is None or token.kind != "string":
                what = "a set {...}" if kind is None else "a set {...} or a range in quotes"
                raise self._wrong(self._shown(token), what, at=token)
            spans = self._checked(token, lambda: ranged(token.text, kind))
        leaf = self._leaf(field, spans)
        return leaf.negated() if negated else leaf

    def _set(self, field: Token) -> Spans:
        self._take()
        spans: list[tuple[int, int]] = []
        while True:
            spans += self._values(field, "==", self._take())
            if self._is("}"):
                self._take()
                return normal(spans)
            self._expect(",")

    def _checked(self, token: Token, read: Callable[[], Spans]) -> Spans:
        try:
            return read()
        except BadVersionError as error:
            raise wrong(error, place(self._text, token.at)) from None

    def _values(self, field: Token, operator: str, value: Token) -> Spans:
        """The header's values for which ``field operator value`` holds."""
        name = field.text
        if name in _VERSIONS:
            if value.kind not in ("string", "number"):
                raise self._wrong(self._shown(value), f"a version for '{name}'", at=value)
            return self._checked(value, lambda: compared(operator, value.text, _VERSIONS[name]))
        if name == "ram_mb":
            return self._memory(operator, value)
        if operator not in ("==", "!="):
            raise self._wrong(f"'{operator}' between names", "==, !=, 'in' or 'not in'", at=field)
        if value.kind != "string" or not value.text:
            raise self._wrong(self._shown(value), f"a name in quotes for '{name}'", at=value)
        _, most = FIELDS[name]
        one = self._system(value) if name == "os" else native.name_hash(value.text) & most
        spans = ((one, one),)
        return spans if operator == "==" else others(spans, most)

    def _system(self, value: Token) -> int:
        names: Sequence[str] = native.OS_NAMES
        if value.text in names:
            return names.index(value.text)
        near = nearest(value.text.lower(), names)
        raise self._wrong(
            f"os '{value.text}'",
            f"one of {', '.join(names)}",
            f"did you mean '{near}'?" if near else _MANUAL,
            value,
        )

    def _memory(self, operator: str, value: Token) -> Spans:
        most = FIELDS["ram_mb"][1]
        largest = most * native.RAM_STEP_MB
        if value.kind != "number" or not value.text.isdecimal() or int(value.text) > largest:
            expected = f"MiB, a whole number up to {largest}: headers carry no more"
            raise self._wrong(self._shown(value), expected, at=value)
        return _against(operator, Fraction(int(value.text), native.RAM_STEP_MB), most)

    def _bucket(self) -> Leaf:
        self._expect("(")
        salt = self._take()
        if salt.kind != "string" or not salt.text:
            raise self._wrong(self._shown(salt), "a salt in quotes: any name", at=salt)
        self._expect(")")
        token = self._take()
        if token.kind != "symbol" or token.text not in ("<", "<=", ">", ">="):
            raise self._wrong(self._shown(token), "<, <=, > or >= and a share", at=token)
        spans = _against(token.text, self._share() * native.WHOLE, MOST_BUCKET)
        return Leaf((native.BUCKET_FIELD, native.salt_of(salt.text)), spans, MOST_BUCKET)

    def _share(self) -> Fraction:
        token = self._take()
        try:
            share = Fraction(token.text.removesuffix("%")) if token.kind == "number" else Fraction(-1)
        except (ValueError, ZeroDivisionError):
            share = Fraction(-1)
        if token.text.endswith("%"):
            share /= 100
        if not 0 <= share <= 1:
            raise self._wrong(self._shown(token), "a share: 0 to 1, or 0% to 100%", at=token)
        return share
