"""How long each bench took the last time, to say beforehand what a run will take."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

FILE = "durations.json"
# Seconds of a bench that never ran here, by what its id begins with; of two cores of an x86-64 server.
GUESSES = {
    "bench/test_peers.py": 14.0,
    "bench/test_curves.py": 12.0,
    "bench/test_sessions.py": 60.0,
    "bench/test_startup.py": 30.0,
    "bench/test_memory.py": 60.0,
    "bench/test_operators.py": 4.0,
}
GUESS = 5.0
ROUNDS = 10  # that the guesses of comparisons are made for


def read(folder: Path) -> dict[str, float]:
    """Seconds by the test's id; empty without a usable file."""
    try:
        found = json.loads((folder / FILE).read_text())
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {k: float(v) for k, v in found.items() if isinstance(v, int | float) and v >= 0}


def add(folder: Path, test: str, seconds: float, *, first: bool) -> None:
    """Add a phase's time to a test's; ``first`` begins it anew."""
    known = read(folder)
    known[test] = seconds if first else known.get(test, 0.0) + seconds
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f"{FILE}.part"
    unfinished.write_text(json.dumps(known, indent=0))
    unfinished.rename(folder / FILE)


def guess(test: str, rounds: int) -> float:
    """Seconds of a test that never ran here."""
    for start, seconds in GUESSES.items():
        if test.startswith(start) or test.startswith(start.removeprefix("bench/")):
            # Half of a first comparison is the peers' conversions and first runs.
            return seconds * (0.5 + 0.5 * rounds / ROUNDS)
    return GUESS


def announcement(tests: Iterable[str], known: Mapping[str, float], rounds: int) -> str:
    """One line: how many benches, how long."""
    names = list(tests)
    seconds = sum(known.get(name, guess(name, rounds)) for name in names)
    new = sum(name not in known for name in names)
    how = "as the last time" if not new else f"{new} of them by a guess, since they never ran here"
    return f"{len(names)} benches, about {max(1, round(seconds / 60))} minutes ({how})"
