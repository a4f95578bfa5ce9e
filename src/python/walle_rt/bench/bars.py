"""Times beside a bar: which engines count, how long ours may take of the best one's, and why it takes longer.

A bench that has a bar keeps one :class:`Bar` per case; the tables at the end of a run and the JSON files
beside the report are made of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..session import Session
from .peers import Feeds, Unavailable
from .roof import Roof
from .why import Why, why

OURS = "walle"
MOST_CAUSES = 2  # that are named


@dataclass
class Bar:
    """One case: milliseconds by engine, those that the bar is measured by, and the most that is allowed."""

    name: str
    threads: int
    milliseconds: dict[str, float]
    limit: float  # of the fastest of `beside`
    beside: tuple[str, ...] = ("onnxruntime", "openvino")
    figures: dict[str, float] = field(default_factory=dict)  # further ones, by what they are
    missing: dict[str, str] = field(default_factory=dict)  # why an engine has no time
    cause: str = ""
    disturbed: bool = False  # other work ran on the machine

    @property
    def ratio(self) -> float | None:
        """Our time over the best one's that counts; None where none of them runs."""
        theirs = [self.milliseconds[name] for name in self.beside if name in self.milliseconds]
        return self.milliseconds[OURS] / min(theirs) if theirs else None

    @property
    def short(self) -> bool:
        """Whether it falls short of the bar."""
        return self.ratio is not None and self.ratio > self.limit

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "ratio": self.ratio, "short": self.short}


def bar_table(bars: Sequence[Bar]) -> list[str]:
    """A line per case, the cause of what falls short at its end; then what is left out and why."""
    engines = list(dict.fromkeys(name for bar in bars for name in bar.milliseconds))
    figures = list(dict.fromkeys(name for bar in bars for name in bar.figures))
    width = max(len("case"), *(len(bar.name) for bar in bars)) + 1
    columns = {name: max(len(name) + 2, 10) for name in (*engines, *figures)}
    head = f"{'case':{width}s}{'threads':>8s}" + "".join(f"{n:>{w}s}" for n, w in columns.items())
    lines = [f"{head}{'ratio':>8s}{'bar':>6s}  cause"]
    for bar in bars:
        cells = [
            f"{value:>{columns[name]}.3f}" if value is not None else f"{'-':>{columns[name]}s}"
            for name in columns
            for value in (bar.milliseconds.get(name, bar.figures.get(name)),)
        ]
        ratio = "-" if bar.ratio is None else f"{bar.ratio:.2f}{'*' if bar.disturbed else ''}"
        cause = f"  {bar.cause}" if bar.cause else ""
        lines.append(f"{bar.name:{width}s}{bar.threads:8d}{''.join(cells)}{ratio:>8s}{bar.limit:6.2f}{cause}")
    if any(bar.disturbed for bar in bars):
        lines.append("* other work ran on the machine")
    left: dict[tuple[str, str], list[str]] = {}
    for bar in bars:
        for engine, reason in bar.missing.items():
            left.setdefault((engine, reason), []).append(bar.name)
    for (engine, reason), names in left.items():
        lines.append(f"{engine} is left out of {', '.join(dict.fromkeys(names))}: {reason}")
    return lines


def cause_of(model: Path, feeds: Feeds, cache: Path, ceiling: Roof | None = None) -> str:
    """In words, what a model's loss is made of; by the profiles of one thread."""
    try:
        return caused(why(model, feeds, cache, rounds=2, ceiling=ceiling))
    except Unavailable as error:
        return f"no profile to compare with: {error}"


def costliest(session: Session) -> str:
    """In words, where a session's time is predicted to go, by kind of kernel; once it has run."""
    shares: dict[str, float] = {}
    for row in session.explain().rows:
        kind = row.choices[0].kernel if row.choices else row.algorithm
        shares[kind] = shares.get(kind, 0.0) + row.predicted_ms
    total = sum(shares.values())
    first = sorted(shares, key=lambda kind: -shares[kind])[:MOST_CAUSES]
    return ", ".join(f"{shares[kind] / total:.0%} in {kind}" for kind in first) if total else ""


def caused(found: Why) -> str:
    """The largest reasons, and the layer that loses most."""
    lost = list(found.by_reason().items())[:MOST_CAUSES]
    if not lost:
        return f"no layer is slower than {found.peer}'s on one thread"
    reasons = ", ".join(f"{reason} {ms:.2f} ms" for reason, ms in lost)
    worst = max((layer for layer, verdict in found.layers if verdict.reason), key=lambda layer: layer.lost_ms)
    return f"{reasons} beside {found.peer}; most in {worst.op} {worst.nodes[0]}, {worst.lost_ms:.2f} ms"
