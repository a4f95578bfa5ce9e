"""What each stage of `make test` takes, beside what it took when tools/stages.json was written.

stages.py stage NAME        a stage begins; the one before it ends
stages.py end               print the table, and keep it as build/stages.json

Told and not refused: machines differ, and so does what runs beside.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BEGUN = ROOT / "build" / "stages.txt"
KEPT = ROOT / "build" / "stages.json"
USUAL = ROOT / "tools" / "stages.json"
# A stage that grew by more than a fifth is named; below a quarter of a minute it is noise.
GROWN, LEAST_MINUTES = 1.2, 0.25


def stage(name: str) -> None:
    """Print the stage's heading and note when it began."""
    print(f"\n== {name}", flush=True)
    BEGUN.parent.mkdir(exist_ok=True)
    with BEGUN.open("a") as file:
        file.write(f"{time.time():.1f}\t{name}\n")


def minutes(lines: list[str], end: float) -> dict[str, float]:
    """Minutes of each stage from the lines of a run; a name that comes twice counts once."""
    begun = [(float(at), name) for at, name in (line.split("\t", 1) for line in lines)]
    ends = [at for at, _ in begun[1:]] + [end]
    taken: dict[str, float] = {}
    for (at, name), until in zip(begun, ends, strict=True):
        taken[name] = taken.get(name, 0) + (until - at) / 60
    return taken


def table(taken: dict[str, float], usual: dict[str, float]) -> list[str]:
    """A line per stage, and one for each that grew."""
    lines = [f"{'stage':60s} {'minutes':>8s} {'usual':>8s}"]
    grown = []
    for name, took in taken.items():
        before = usual.get(name)
        lines.append(f"{name:60s} {took:8.1f} {'-' if before is None else f'{before:.1f}':>8s}")
        if before is not None and took > max(GROWN * before, LEAST_MINUTES):
            grown.append(f"grown: {name}: {took:.1f} min, usually {before:.1f}")
    return [*lines, f"{'all':60s} {sum(taken.values()):8.1f} {sum(usual.values()):8.1f}", *grown]


def end() -> None:
    """Print and keep the table."""
    if not BEGUN.exists():
        return
    taken = minutes(BEGUN.read_text().splitlines(), time.time())
    usual: dict[str, float] = json.loads(USUAL.read_text())["minutes"] if USUAL.exists() else {}
    KEPT.write_text(json.dumps({"minutes": {n: round(m, 2) for n, m in taken.items()}}, indent=2) + "\n")
    print("\n".join(["", *table(taken, usual)]))


def main() -> int:
    match sys.argv[1:]:
        case ["stage", name]:
            stage(name)
        case ["end"]:
            end()
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
