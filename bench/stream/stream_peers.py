"""Other ways to match the same patterns: CPU nanoseconds per event of each."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from stream_workload import EVENTS, PAGES, Pattern, Stream


def _ns_per_event(run: Callable[[], Any], events: int) -> float:
    start = time.process_time()
    run()
    return (time.process_time() - start) * 1e9 / events


def naive_ns(patterns: list[Pattern], given: Stream, count: int) -> float:
    """Every pattern looks at every event: one pending position each."""
    at = [0] * len(patterns)
    keys = given.tokens(count)

    def run() -> None:
        for key in keys:
            for i, p in enumerate(patterns):
                if p[at[i]] == key:
                    at[i] = (at[i] + 1) % len(p)

    return _ns_per_event(run, len(keys))


def pending_ns(patterns: list[Pattern], given: Stream) -> float:
    """Linear pending lists: what waits for a token is scanned when it comes."""
    waiting: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for i, p in enumerate(patterns):
        waiting[p[0]].append((i, 0))
    keys = given.tokens()

    def run() -> None:
        for key in keys:
            moved = waiting.get(key)
            if not moved:
                continue
            waiting[key] = []
            for i, step in moved:
                nxt = (step + 1) % len(patterns[i])
                waiting[patterns[i][nxt]].append((i, nxt))

    return _ns_per_event(run, len(keys))


def asking_ns(count: int, items: npt.NDArray[np.int64]) -> float:
    """Every task asks each event for its own item."""
    predicates: list[Callable[[dict[str, int]], bool]] = [lambda e, i=i: e["item"] == i for i in range(count)]
    events = [{"item": item} for item in items.tolist()]
    return _ns_per_event(lambda: sum(p(e) for e in events for p in predicates), len(events))


def re_ns(patterns: list[Pattern], given: Stream, count: int) -> float:
    """Strict patterns as one regular expression of Python's ``re`` over a string of tokens."""
    token = [[chr(0x100 + e * PAGES + p) for p in range(PAGES)] for e in range(EVENTS)]
    joined = re.compile("|".join("".join(token[e][p] for e, p in pattern) for pattern in patterns))
    keys = given.tokens(count)
    text = "".join(token[e][p] for e, p in keys)
    return _ns_per_event(lambda: sum(1 for _ in joined.finditer(text)), len(keys))


class Hyperscan:
    """Strict patterns as byte strings, one byte per token (Intel's Hyperscan through its Python package)."""

    def __init__(self, patterns: list[Pattern], given: Stream) -> None:
        import hyperscan

        self.data = bytes(1 + e * PAGES + p for e, p in given.tokens())
        words = [bytes(1 + e * PAGES + p for e, p in pattern) for pattern in patterns]
        expressions = ["".join(f"\\x{b:02x}" for b in word).encode() for word in words]
        flags = [hyperscan.HS_FLAG_DOTALL] * len(words)
        self.block, self.streaming = (
            hyperscan.Database(mode=mode) for mode in (hyperscan.HS_MODE_BLOCK, hyperscan.HS_MODE_STREAM)
        )
        for database in (self.block, self.streaming):
            database.compile(
                expressions=expressions, ids=list(range(len(words))), elements=len(words), flags=flags
            )
        self.matches = 0

    def _count(self, *_match: object) -> None:
        self.matches += 1

    def block_ns(self) -> float:
        """All events at once, as nobody who must answer each event can: the best it can do."""
        self.matches = 0
        return _ns_per_event(
            lambda: self.block.scan(self.data, match_event_handler=self._count), len(self.data)
        )

    def event_ns(self, count: int) -> float:
        """One event at a time; the package's call from Python is part of it."""
        single = [self.data[i : i + 1] for i in range(count)]

        def run() -> None:
            with self.streaming.stream(match_event_handler=self._count) as s:
                for byte in single:
                    s.scan(byte)

        return _ns_per_event(run, count)
