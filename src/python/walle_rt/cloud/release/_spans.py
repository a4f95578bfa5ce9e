"""Sets of whole numbers as sorted spans, and conjunctions of them: what policies become."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

# Both ends belong to a span.
Spans = tuple[tuple[int, int], ...]
# What a condition asks: a field of the header by its number, or a bucket by its salt.
Key = tuple[int, int]


def normal(spans: Iterable[tuple[int, int]]) -> Spans:
    """Sorted, and joined where they touch."""
    out: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if low > high:
            continue
        if out and low <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], high))
        else:
            out.append((low, high))
    return tuple(out)


def both(a: Spans, b: Spans) -> Spans:
    """What lies in both."""
    out = []
    i = j = 0
    while i < len(a) and j < len(b):
        low, high = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if low <= high:
            out.append((low, high))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return tuple(out)


def others(spans: Spans, most: int) -> Spans:
    """What of 0..most lies in none of them."""
    out = []
    start = 0
    for low, high in spans:
        if start < low:
            out.append((start, low - 1))
        start = high + 1
    if start <= most:
        out.append((start, most))
    return tuple(out)


@dataclass(frozen=True)
class Segment:
    """Conditions that must all hold, at most one of each key; without any it holds for everybody."""

    conditions: Mapping[Key, Spans]

    def and_(self, other: Segment) -> Segment | None:
        """Both at once, or None where no device can meet them."""
        out = dict(self.conditions)
        for key, spans in other.conditions.items():
            out[key] = both(out[key], spans) if key in out else spans
            if not out[key]:
                return None
        return Segment(out)

    def joined(self, other: Segment, most: Mapping[Key, int]) -> Segment | None:
        """One that holds where either does, if they differ in one key at most; ``most``: largest values."""
        if self.conditions.keys() != other.conditions.keys():
            return None
        apart = [k for k in self.conditions if self.conditions[k] != other.conditions[k]]
        if len(apart) > 1:
            return None
        out = dict(self.conditions)
        for key in apart:
            out[key] = normal((*out[key], *other.conditions[key]))
            if out[key] == ((0, most[key]),):
                del out[key]
        return Segment(out)
