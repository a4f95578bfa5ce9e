"""Releases on trial in the real server, with 2,000 simulated devices that report after a mean of 20 s.

    python -m tests.fault.release --failing 20 --healthy 200 --incident 200

*Failing*: in 5 % of its reports; it must be halted, with a median of at most 250 devices exposed. *Healthy*:
in 0.2 %, as everything before it; it must never be halted. *Incident*: the whole app fails in 3 to 50 % for
five minutes; at most one in ten may be blamed on the release.

Each seed is a server of its own: the ASGI application, database, routes and inbox, and the bytes of the wire
(tests/python/cloud/served_fleet.py). The clock alone is made up. A failing seed costs about two seconds of a
core, the others ten.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))

from cloud.fleet import FailureRate
from cloud.served_fleet import Outcome, Stage, failing, healthy, incident, tried

DEVICES = 2000
MOST_EXPOSED = 250  # median of the failing seeds
MOST_BLAMED = 0.1  # of the incidents

_STORIES: dict[str, Callable[[int], FailureRate]] = {
    "failing": lambda seed: failing,
    "healthy": lambda seed: healthy,
    "incident": incident,
}


def _one(given: tuple[Stage, str, int]) -> Outcome:
    stage, story, seed = given
    return tried(stage, seed, _STORIES[story](seed))


def run(seeds: dict[str, int], first: int = 0, jobs: int = 1) -> dict[str, list[Outcome]]:
    """So many seeds of each story, in so many processes."""
    with tempfile.TemporaryDirectory(prefix="walle-release-") as folder:
        stage = Stage(Path(folder) / "server", DEVICES)
        wanted = [
            (stage, story, seed) for story, count in seeds.items() for seed in range(first, first + count)
        ]
        if jobs > 1:
            with ProcessPoolExecutor(jobs) as pool:
                outcomes = list(pool.map(_one, wanted))
        else:
            outcomes = [_one(each) for each in wanted]
    found: dict[str, list[Outcome]] = {story: [] for story in seeds}
    for (_, story, _), outcome in zip(wanted, outcomes, strict=True):
        found[story].append(outcome)
    return found


def report(found: dict[str, list[Outcome]], first: int = 0) -> tuple[list[str], bool]:
    """A line for each story, and whether all held."""
    lines, held = [], True
    for story, outcomes in found.items():
        if not outcomes:
            continue
        halted = [(seed, o) for seed, o in enumerate(outcomes, first) if o.state == "halted"]
        exposed = sorted(o.claimed for _, o in halted)
        if story == "failing":
            median = statistics.median(exposed) if exposed else None
            good = len(halted) == len(outcomes) and median is not None and median <= MOST_EXPOSED
            figures = f"halted {len(halted)} of {len(outcomes)}, exposed: median {median}, {exposed}"
        else:
            good = not halted if story == "healthy" else len(halted) <= MOST_BLAMED * len(outcomes)
            figures = f"halted {len(halted)} of {len(outcomes)}"
            figures += f", seeds {[seed for seed, _ in halted]}" if halted else ""
        requests = sum(o.requests for o in outcomes)
        lines.append(f"{'' if good else 'FAILED: '}release {story}: {figures}; {requests} requests")
        held = held and good
    return lines, held


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--failing", type=int, default=20)
    parser.add_argument("--healthy", type=int, default=2)
    parser.add_argument("--incident", type=int, default=4)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    given = parser.parse_args()
    began = time.monotonic()
    seeds = {story: getattr(given, story) for story in _STORIES}
    lines, held = report(run(seeds, given.first, given.jobs), given.first)
    for line in lines:
        print(line)
    print(f"release: {DEVICES} devices, {time.monotonic() - began:.0f} s")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
