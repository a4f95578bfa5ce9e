"""Policies: whom a release is for."""

from __future__ import annotations

from collections.abc import Mapping

from ..._core import policy as native
from ...errors import ArgumentError
from ._grammar import MOST_BUCKET, Leaf, Node, Parser
from ._spans import Key, Segment

MOST_SEGMENTS = 256
_NEVER = "a policy that suits no device"


def _most(key: Key) -> int:
    field = key[0]
    return MOST_BUCKET if field == native.BUCKET_FIELD else int(native.FIELDS[field][1])


def _joined(segments: list[Segment]) -> list[Segment]:
    """The same devices in fewer segments, where two differ in one condition alone."""
    out: list[Segment] = []
    for segment in segments:
        at = 0
        while at < len(out):
            most: Mapping[Key, int] = {key: _most(key) for key in segment.conditions}
            both = out[at].joined(segment, most)
            if both is None:
                at += 1
            else:  # a larger one may meet those that were passed
                del out[at]
                segment, at = both, 0
        out.append(segment)
    return out


def _segments(node: Node) -> list[Segment]:
    """The alternatives of a tree (its disjunctive normal form)."""
    if isinstance(node, Leaf):
        if not node.spans:
            return []
        everything = node.spans == ((0, node.most),)
        return [Segment({} if everything else {node.key: node.spans})]
    if not node.all:
        either: list[Segment] = []
        for part in node.parts:
            either = _limited(_joined([*either, *_segments(part)]))
        return either
    out = [Segment({})]
    for part in node.parts:
        others = _segments(part)
        _limited(others, len(out))
        met = [a.and_(b) for a in out for b in others]
        out = _joined([segment for segment in met if segment is not None])
    return _limited(out)


def _limited(segments: list[Segment], times: int = 1) -> list[Segment]:
    if len(segments) * times > MOST_SEGMENTS:
        raise ArgumentError.of(
            f"a policy of {len(segments) * times} alternatives",
            f"at most {MOST_SEGMENTS}",
            "policy",
            "join alternatives into sets: device in {...}",
        )
    return segments


class Policy:
    """Whom a release is for, as text and as the segments that devices and servers evaluate.

    ``Policy('os == "android" and app_version in ">=2.1 <3"')``; the empty text is everybody. The fields and
    operators are those of docs/reference/release-policy.md.

    Raises:
        ArgumentError: a mistake in the text, with its line and column and, where a name was misspelt, the
            nearest one; a policy that suits no device; one with more than 256 alternatives.
    """

    def __init__(self, text: str = "") -> None:
        """Read and compile ``text``."""
        self._text = text.strip()
        self._segments = _segments(Parser(text).tree())
        if not self._segments:
            raise ArgumentError.of(
                _NEVER, "one that some device could meet", "policy", "look for contradictions"
            )

    @property
    def text(self) -> str:
        """As it was written."""
        return self._text

    @property
    def everybody(self) -> bool:
        """Whether it suits every device."""
        return any(not segment.conditions for segment in self._segments)

    @property
    def segments(self) -> list[list[tuple[int, int, list[tuple[int, int]]]]]:
        """Alternatives, each a list of (field number, salt, spans) that must all hold.

        The form of schemas/plan.fbs: fields count from 0, 255 is a bucket; both ends belong to a span.
        """
        if self.everybody:
            return []
        return [
            [(key[0], key[1], list(spans)) for key, spans in sorted(segment.conditions.items())]
            for segment in self._segments
        ]

    def __repr__(self) -> str:
        """As it was written."""
        return f"Policy({self._text!r})"
