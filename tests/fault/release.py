"""Releases on trial in the real server, with 2,000 simulated devices that report after a mean of 20 s.

    python -m tests.fault.release --failing 20 --healthy 200 --incident 200 --attacked 200

*Failing*: in 5 % of its reports; it must be halted, with a median of at most 250 devices exposed. *Healthy*:
in 0.2 %, as everything before it; it must never be halted. *Incident*: the whole app fails in 3 to 50 % for
five minutes; at most one in ten may be blamed on the release.

*Attacked*: 1, 3 or 10 of 300 devices lie as much as they can (tests/python/cloud/attackers.py), against the
controller alone. Where they hide a release that fails on 5 or 10 % of the devices, it must be halted; where
they make failures up against a good one, no more devices than lie may count as failed beside the honest, one
liar must never halt it, and nobody may where fewer devices failed and lied than the guard needs.

Otherwise each seed is a server of its own: the ASGI application, database, routes and inbox, and the bytes of
the wire (tests/python/cloud/served_fleet.py). The clock alone is made up. A failing seed costs about two
seconds of a core, an attacked one a tenth, the others ten.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))

from cloud.attackers import LyingFleet
from cloud.fleet import FailureRate
from cloud.served_fleet import Outcome, Stage, failing, healthy, incident, tried

from walle_rt.cloud.release import State

DEVICES = 2000
MOST_EXPOSED = 250  # median of the failing seeds
MOST_BLAMED = 0.1  # of the incidents
LIARS = (1, 3, 10)
LEAST_FAILURES = 6  # devices that must fail before a release is halted, with the default guard
GOOD = 0.002  # share of devices that a good release fails on

_STORIES: dict[str, Callable[[int], FailureRate]] = {
    "failing": lambda seed: failing,
    "healthy": lambda seed: healthy,
    "incident": incident,
}


# Set before processes are forked: it holds a private key, which no queue carries.
_stages: list[Stage] = []


def _one(given: tuple[str, int]) -> Outcome:
    story, seed = given
    return tried(_stages[-1], seed, _STORIES[story](seed))


def run(seeds: dict[str, int], first: int = 0, jobs: int = 1) -> dict[str, list[Outcome]]:
    """So many seeds of each story, in so many processes."""
    with tempfile.TemporaryDirectory(prefix="walle-release-") as folder:
        _stages.append(Stage(Path(folder) / "server", DEVICES))
        wanted = [(story, seed) for story, count in seeds.items() for seed in range(first, first + count)]
        if jobs > 1:
            with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
                outcomes = list(pool.map(_one, wanted))
        else:
            outcomes = [_one(each) for each in wanted]
        _stages.pop()
    found: dict[str, list[Outcome]] = {story: [] for story in seeds}
    for (story, _), outcome in zip(wanted, outcomes, strict=True):
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


def _attacked(given: tuple[int, float, bool, int]) -> tuple[bool, int, int]:
    """Whether it was halted, devices that counted as failed, and honest ones that failed."""
    liars, share, cry, seed = given
    fleet = LyingFleet(seed=seed, liars=liars, share=share, cry=cry)
    controller = fleet.run()
    release = controller.releases()[0]
    halted = release.state == State.HALTED
    return halted, controller.trial(release.id).counts().bad, fleet.honest_failures


def attacked(seeds: int, first: int = 0, jobs: int = 1) -> tuple[list[str], bool]:
    """So many seeds of each number of liars and each aim; a line for each, and whether all held."""
    lines, held = [], True
    for liars in LIARS if seeds else ():
        for share, cry in ((0.05, False), (0.1, False), (GOOD, True)):
            wanted = [(liars, share, cry, seed) for seed in range(first, first + seeds)]
            with ProcessPoolExecutor(jobs) as pool:
                found = list(pool.map(_attacked, wanted, chunksize=4))
            halted = sum(each[0] for each in found)
            if cry:
                bound = all(failed <= honest + liars for _, failed, honest in found)
                good = bound and not any(h and n + liars < LEAST_FAILURES for h, _, n in found)
                what = f"against a good release: halted {halted}"
            else:
                good = halted == seeds
                what = f"for a release that fails on {share:.0%}: missed {seeds - halted}"
            lines.append(f"{'' if good else 'FAILED: '}{liars} of 300 lie {what} of {seeds}")
            held = held and good
    return lines, held


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--failing", type=int, default=20)
    parser.add_argument("--healthy", type=int, default=2)
    parser.add_argument("--incident", type=int, default=4)
    parser.add_argument("--attacked", type=int, default=2, help="seeds for each number of liars and each aim")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    given = parser.parse_args()
    began = time.monotonic()
    seeds = {story: getattr(given, story) for story in _STORIES}
    lines, held = report(run(seeds, given.first, given.jobs), given.first)
    more, bounded = attacked(given.attacked, given.first, given.jobs)
    held = held and bounded
    for line in lines + more:
        print(line)
    print(f"release: {DEVICES} devices, {time.monotonic() - began:.0f} s")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
