"""The triggers and events every matching benchmark runs on: 8 events x 25 pages, patterns of 2 to 4 steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from _bench import Matching

from walle_rt.stream import Catalog, ColumnType

EVENTS, PAGES = 8, 25
T0 = 1_700_000_000_000_000
Pattern = list[tuple[int, int]]


def world() -> Catalog:
    """200 tokens."""
    c = Catalog()
    for e in range(EVENTS):
        c.declare(f"e{e}")
    return c.page(*[f"p{p}" for p in range(PAGES)])


def patterns(n: int, seed: int = 7) -> list[Pattern]:
    """Return n random patterns."""
    rng = np.random.default_rng(seed)
    return [
        [(int(rng.integers(EVENTS)), int(rng.integers(PAGES))) for _ in range(int(rng.integers(2, 5)))]
        for _ in range(n)
    ]


def strict_texts(all_patterns: list[Pattern], suffix: str = "") -> list[str]:
    """Every step follows at once."""
    return [" > ".join(f"e{e}@p{p}" for e, p in pattern) + suffix for pattern in all_patterns]


def relaxed_texts(all_patterns: list[Pattern]) -> list[str]:
    """Any gap between the steps; all with windows, a fifth of the edges guarded,
    a tenth with a gap of their own.
    """
    rng = np.random.default_rng(11)
    out = []
    for pattern in all_patterns:
        text = ""
        for i, (e, page) in enumerate(pattern):
            if i and rng.random() < 0.2:
                text += f" !e{(e + 1 + rng.integers(EVENTS - 1)) % EVENTS}@p{rng.integers(PAGES)}"
            if i:
                text += " ~(1m) " if rng.random() < 0.1 else " ~ "
            text += f"e{e}@p{page}"
        out.append(text + f" within {int(rng.integers(5, 120))}s")
    return out


@dataclass(frozen=True)
class Stream:
    """Events as columns: numbers of events and pages from 0, times in microseconds."""

    events: npt.NDArray[np.int64]
    pages: npt.NDArray[np.int64]
    ts: npt.NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of events."""
        return len(self.ts)

    def tokens(self, count: int | None = None) -> list[tuple[int, int]]:
        """Return (event, page) of the first ``count`` events."""
        return list(zip(self.events[:count].tolist(), self.pages[:count].tolist(), strict=True))


def stream(n: int = 100_000) -> Stream:
    """Return n random events, one a second on average."""
    rng = np.random.default_rng(3)
    events, pages = rng.integers(EVENTS, size=n), rng.integers(PAGES, size=n)
    return Stream(events, pages, T0 + np.cumsum(rng.integers(0, 2_000_000, size=n)))


HOT_TOKENS = 36


def hot_patterns(n: int) -> list[Pattern]:
    """Patterns over few tokens, as a learning platform's log has them: each token in one place of 36."""
    rng = np.random.default_rng(23)
    return [
        [divmod(int(t), HOT_TOKENS // EVENTS + 1) for t in rng.integers(HOT_TOKENS, size=rng.integers(2, 5))]
        for _ in range(n)
    ]


def hot_stream(n: int = 20_000) -> Stream:
    """Events of 36 tokens, the k-th as frequent as 1/k: four tokens are half of all events."""
    rng = np.random.default_rng(29)
    weights = 1 / np.arange(1, HOT_TOKENS + 1)
    tokens = rng.choice(HOT_TOKENS, size=n, p=weights / weights.sum())
    events, pages = np.divmod(tokens, HOT_TOKENS // EVENTS + 1)
    return Stream(events, pages, T0 + np.cumsum(rng.integers(0, 2_000_000, size=n)))


def asking_texts(n: int) -> list[str]:
    """One event, n tasks that ask for one item each."""
    return [f"shown[item == {i}]" for i in range(n)]


def asked_world() -> Catalog:
    """The event of ``asking_texts``."""
    return Catalog().declare("shown", fields={"item": ColumnType.INT})


class Run:
    """A trigger set that is given the same events again and again, each time later."""

    def __init__(
        self,
        texts: list[str],
        given: Stream,
        catalog: Catalog | None = None,
        values: npt.NDArray[np.int64] | None = None,
    ) -> None:
        self.triggers = Matching((catalog or world()).to_bytes(), texts)
        # Of the event's first field; empty for events without contents.
        self.values = np.zeros(0, np.int64) if values is None else values
        # The catalogue has its five basic kinds, app_state and timer first; page 0 is "no page".
        self.ids = (given.events + 7).astype(np.uint16), (given.pages + 1).astype(np.uint16)
        self.ts, self.span = given.ts, int(given.ts[-1] - given.ts[0]) + 1
        self.fired, self.best_ns = 0, float("inf")

    def __call__(self) -> None:
        """Match all events once; keeps the fastest round in CPU nanoseconds per event."""
        self.fired, seconds = self.triggers.run(*self.ids, self.ts, self.values)
        self.ts = self.ts + self.span
        self.best_ns = min(self.best_ns, seconds * 1e9 / len(self.ts))
