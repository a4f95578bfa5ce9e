"""python -m tools.insns compare [--all] [NAME...]   our counts against bench/insns.json: more than 2 % fails
python -m tools.insns write [--peers=P,P] [NAME...] count anew, ours and these peers', and keep it
python -m tools.insns steps NAME [--precision=fp16]  what each step of a run takes
python -m tools.insns fit [--count=400]            the table of costs of a core, search/tables/neoverse_n1.inc
python -m tools.insns show                         the table with ratios and bars
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
from collections.abc import Iterator

import numpy as np

from walle_rt.bench import real

from . import fit, ours, peers, table
from .emulator import CPU, MACHINE, Absent, version
from .subjects import KINDS, Subject

# Of the output's range: peers round otherwise, and what is further off computes something else.
_SAME = 1e-3


def chosen(names: list[str], everything: bool) -> Iterator[tuple[str, Subject]]:
    """Subjects of these names with their kinds; without a name all, or the quick ones."""
    known = {s.name for subjects in KINDS.values() for s in subjects}
    if unknown := [n for n in names if n not in known]:
        raise Absent(f"no model or operator '{unknown[0]}'; there are: {', '.join(sorted(known))}")
    for kind, subjects in KINDS.items():
        for subject in subjects:
            if subject.name in names or (not names and (everything or subject.quick)):
                yield kind, subject


def our_counts(subject: Subject) -> dict[str, ours.Run]:
    """By the column of the table."""
    runs = {table.FLOATS: ours.count(subject)}
    if subject.half:
        runs[table.HALVES] = ours.count(subject, precision="fp16")
    return runs


def compare(names: list[str], everything: bool) -> int:
    """Status 1 where a count grew."""
    kept, wrong = table.read(), []
    for kind, subject in chosen(names, everything):
        try:
            runs = our_counts(subject)
        except real.Absent as absent:
            print(f"{subject.name:32s} left out: {absent}")
            continue
        for column, run in runs.items():
            was = kept[kind].get(subject.name, {}).get(column, 0)
            told = f"{subject.name:32s} {column:10s} {run.count:>12,}"
            print(f"{told}  {run.count / was - 1:+.2%}" if was else told, flush=True)
            if reason := table.grown(kind, subject.name, run.count, kept, column):
                wrong.append(reason)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


def header() -> dict[str, object]:
    """How the table is made."""
    compiler = subprocess.run(
        ["aarch64-linux-gnu-g++", "--version"], capture_output=True, text=True, check=True
    )
    return {
        "what": "instructions of one run of a float32 model on one thread after two others, counted in "
        "qemu's user emulator; not time",
        "made_by": "python -m tools.insns write",
        "ours": "the C library of preset arm64, calls included",
        "peers": "through Python, less what a run takes that computes one number",
        "compiler": compiler.stdout.splitlines()[0],
        "emulator": f"qemu-aarch64 {version()}",
        "cpu": CPU,
        "machine": MACHINE,
        "versions": peers.versions(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def _differs(mine: ours.Run, theirs: peers.Peer) -> bool:
    """Whether results of as many numbers are further apart than rounding is."""
    for a, b in zip(mine.results, theirs.results, strict=False):
        want = np.asarray(b, np.float32).ravel()
        if a.size != want.size or np.abs(a - want).max(initial=0) > _SAME * max(np.ptp(want), 1e-3):
            return True
    return False


def counted_row(subject: Subject, row: dict[str, object], engines: list[str]) -> dict[str, object]:
    """A row with new counts; its cause stays."""
    runs = our_counts(subject)
    mine = runs[table.FLOATS]
    counts: dict[str, object] = {column: run.count for column, run in runs.items()}
    for name in engines:
        found = peers.count(name, subject)
        if not found.reason and _differs(mine, found):
            found = peers.Peer(reason="its result is another one")
        counts[name] = f"none: {found.reason}" if found.reason else found.count
    return {**row, **counts}


def write(names: list[str], engines: list[str]) -> int:
    """Row by row, so that what was stopped goes on where it was."""
    made = header()
    for kind, subject in chosen(names, True):
        row = counted_row(subject, table.read()[kind].get(subject.name, {}), engines)
        kept = table.read()  # anew: others may be counted beside
        kept[kind][subject.name] = row
        kept[kind] = {s.name: kept[kind][s.name] for s in KINDS[kind] if s.name in kept[kind]}
        kept["header"] = {**kept["header"], **made}
        table.write(kept)
        print(subject.name, row, flush=True)
    return 0


def steps(names: list[str], precision: str) -> int:
    """The costliest steps first."""
    for _, subject in chosen(names, False):
        run = ours.count(subject, precision=precision)
        print(f"{subject.name}: {run.count:,}")
        for step in sorted((s for s in run.steps if s.op != "run"), key=lambda s: -s.count):
            print(f"{step.count:>12,} {step.op:16s} {step.algorithm:36s} {step.node}")
    return 0


def write_costs(count: int) -> int:
    """A quarter as many shapes, of another seed, judge what was fitted."""
    learned, judged = (
        fit.measured(fit.counted_choices(n, seed)) for n, seed in ((count, 0), (count // 4, 1))
    )
    text = fit.table(learned, judged, datetime.datetime.now(datetime.UTC).date().isoformat())
    (fit.TABLES / f"{fit.NAME}.inc").write_text(text)
    print(text)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.insns",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("action", choices=("compare", "write", "steps", "fit", "show"))
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--all", action="store_true", help="all subjects, not the quick ones alone")
    parser.add_argument("--peers", default=",".join(peers.NAMES), help="that are counted, too; ''")
    parser.add_argument("--count", type=int, default=400, help="random shapes that costs are fitted to")
    parser.add_argument("--precision", default="float32", help="of the session whose steps are told")
    options = parser.parse_intermixed_args()
    try:
        if options.action == "compare":
            return compare(options.names, options.all)
        if options.action == "write":
            return write(options.names, [name for name in options.peers.split(",") if name])
        if options.action == "steps":
            return steps(options.names, options.precision)
        if options.action == "fit":
            return write_costs(options.count)
    except Absent as absent:
        print(f"insns: {absent}", file=sys.stderr)
        return 2
    print(*table.lines(table.read()), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
