"""``python -m tests.vm_attacks [--every N] [--groups a,b] [NAME...]``: run attacks, two at a time.

Says which did harm; exit code 1 where one did.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from .groups import GROUPS
from .runner import Report, run


def chosen(groups: list[str], every: int, names: list[str]) -> list[tuple[str, str]]:
    """(name, source) of the attacks asked for."""
    everything = [
        (f"{group}: {name}", source)
        for group, scripts in GROUPS.items()
        for name, source in scripts.items()
        if not groups or group in groups
    ]
    named = [each for each in everything if not names or any(part in each[0] for part in names)]
    return named[::every]


def run_all(attacks: list[tuple[str, str]]) -> list[Report]:
    """Their reports, in order."""
    workers = min(2, os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return list(pool.map(run, *zip(*attacks, strict=True)))


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.vm_attacks", description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="only every so manieth")
    parser.add_argument("--groups", default="", help="of these groups: " + ", ".join(GROUPS))
    parser.add_argument("--verbose", action="store_true", help="how each of them ended")
    parser.add_argument("names", nargs="*", help="parts of names")
    options = parser.parse_args()
    groups = [group for group in options.groups.split(",") if group]
    reports = run_all(chosen(groups, options.every, options.names))
    for report in reports:
        if report.fault or options.verbose:
            print(
                f"{report.name}: {report.fault or report.ended}, {report.seconds:.2f} s, "
                f"+{report.grown >> 20} MB"
            )
    harmful = sum(bool(report.fault) for report in reports)
    print(f"{len(reports)} attacks, {harmful} did harm")
    return 1 if harmful else 0


if __name__ == "__main__":
    sys.exit(main())
