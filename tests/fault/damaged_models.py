"""Load and run thousands of damaged copies of a small model; none may crash or hang the process.

Half of the cases damage the .walle file, half the .onnx file. A case ends in an error of walle_rt or in a
result; both are fine, because some damage only changes a weight. Workers are forked so that a case costs no
start of an interpreter, and each one reports through a pipe which case it is in: when it dies, that case is
the finding, is written to tests/fault/findings/, and a fresh worker goes on behind it.

    python tests/fault/damaged_models.py --cases 3000
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from multiprocessing.connection import Connection, wait
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from damage import damage
from seal import seal
from thirteen import FEEDS, model

import walle_rt

SECONDS_PER_CASE = 20.0
# Address space per worker: an unbounded allocation fails instead of taking the machine down.
MEMORY_BYTES = 6 << 30
FINDINGS = Path(__file__).parent / "findings"


def originals(folder: Path) -> dict[str, bytes]:
    """The undamaged files by suffix; both load and run,
    in a child so that no thread exists here when workers fork.
    """
    files = {".onnx": folder / "thirteen.onnx", ".walle": folder / "thirteen.walle"}

    def make() -> None:
        files[".onnx"].write_bytes(model().SerializeToString())
        walle_rt.load(str(files[".onnx"])).save(str(files[".walle"]))
        for file in files.values():
            walle_rt.load(str(file)).session(threads=1).run(FEEDS)

    child = multiprocessing.get_context("fork").Process(target=make)
    child.start()
    child.join()
    if child.exitcode != 0:
        raise SystemExit(f"the undamaged model does not run (status {child.exitcode})")
    return {suffix: file.read_bytes() for suffix, file in files.items()}


def damaged(files: dict[str, bytes], seed: int) -> tuple[str, str, bytes]:
    """Suffix, kind of damage and the bytes of a case;
    half of the .walle ones have their checksums made valid again.
    """
    suffix = (".walle", ".onnx")[(seed // 4) % 2]
    kind, data = damage(files[suffix], seed)
    if suffix == ".walle" and (seed // 8) % 2:
        return suffix, f"{kind}, sealed", seal(data)
    return suffix, kind, data


def run_case(data: bytes, suffix: str, folder: Path) -> str:
    """Load and run one file: the name of the error's class, or 'ran'."""
    file = folder / f"case_{os.getpid()}{suffix}"
    file.write_bytes(data)
    try:
        walle_rt.load(str(file)).session(threads=1).run(FEEDS)
    except walle_rt.Error as error:
        return type(error).__name__
    except MemoryError:
        return "MemoryError (not ours)"
    except Exception as error:
        return f"{type(error).__name__} (not ours)"
    return "ran"


def worker(channel: Connection, files: dict[str, bytes], seeds: list[int], folder: Path) -> None:
    """Announce each seed, run its case, report how it ended."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for seed in seeds:
        channel.send(("begin", seed))
        suffix, kind, data = damaged(files, seed)
        channel.send(("end", seed, f"{suffix} {kind}", run_case(data, suffix, folder)))
    channel.close()


class Lane:
    """One worker, the seeds it has not announced yet, and the case it is in."""

    def __init__(self, files: dict[str, bytes], seeds: list[int], folder: Path) -> None:
        """Start a worker on the seeds."""
        self.files, self.seeds, self.folder = files, collections.deque(seeds), folder
        self.current: int | None = None
        self.start()

    def start(self) -> None:
        """Fork a worker for what is left."""
        context = multiprocessing.get_context("fork")
        self.channel, child = context.Pipe(duplex=False)
        arguments = (child, self.files, list(self.seeds), self.folder)
        self.process = context.Process(target=worker, args=arguments, daemon=True)
        self.process.start()
        child.close()
        self.since = time.monotonic()

    def advance(self) -> tuple[str, str] | str | None:
        """Handle one report: (what was damaged, how it ended), the text of a death, or None."""
        try:
            report = self.channel.recv()
        except EOFError:
            return self._ended()
        self.since = time.monotonic()
        if report[0] == "begin":
            self.current = self.seeds.popleft()
            return None
        self.current = None
        return report[2], report[3]

    def _ended(self) -> str | None:
        self.process.join()
        code = self.process.exitcode
        self.channel.close()
        if self.current is None:
            return None if not self.seeds else f"a worker ended between cases with {code}"
        return f"crash with {code}"


def run(cases: int, workers: int) -> tuple[collections.Counter[str], dict[int, str]]:
    """How many cases ended how, and the seeds that crashed or hung."""
    counts: collections.Counter[str] = collections.Counter()
    findings: dict[int, str] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = originals(folder)
        lanes = [Lane(files, list(range(i, cases, workers)), folder) for i in range(workers)]
        live = {lane.channel: lane for lane in lanes}
        while live:
            for channel in wait(list(live), timeout=1.0):
                lane = live[channel]  # type: ignore[index]
                report = lane.advance()
                if isinstance(report, tuple):
                    counts[f"{report[0]:24s} {report[1]}"] += 1
                elif channel.closed:  # type: ignore[union-attr]
                    del live[channel]  # type: ignore[arg-type]
                    if report:
                        _record(lane, report, findings, live)
            for lane in [lane for lane in live.values() if time.monotonic() - lane.since > SECONDS_PER_CASE]:
                lane.process.kill()
                lane.process.join()
                del live[lane.channel]
                lane.channel.close()
                _record(lane, f"hang of more than {SECONDS_PER_CASE:.0f} s", findings, live)
        for seed in findings:
            keep(files, seed)
    return counts, findings


def _record(lane: Lane, what: str, findings: dict[int, str], live: dict[Connection, Lane]) -> None:
    findings[-1 if lane.current is None else lane.current] = what
    lane.current = None
    if lane.seeds:
        lane.start()
        live[lane.channel] = lane


def keep(files: dict[str, bytes], seed: int) -> None:
    """Write a finding's file for a look at it."""
    if seed < 0:
        return
    suffix, _, data = damaged(files, seed)
    FINDINGS.mkdir(exist_ok=True)
    (FINDINGS / f"seed_{seed}{suffix}").write_bytes(data)


def main() -> int:
    """Run, print the table, fail on any crash or hang."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--workers", type=int, default=min(4, os.cpu_count() or 1))
    given = parser.parse_args()
    start = time.monotonic()
    counts, findings = run(given.cases, given.workers)
    for what, count in sorted(counts.items()):
        print(f"  {count:5d}  {what}")
    crashes = sum(what.startswith(("crash", "a worker")) for what in findings.values())
    foreign = sum(count for what, count in counts.items() if "(not ours)" in what)
    print(
        f"{sum(counts.values()) + len(findings)} damaged files in {time.monotonic() - start:.0f} s: "
        f"{crashes} crashes, "
        f"{len(findings) - crashes} hangs, {foreign} exceptions that are not walle_rt.Error"
    )
    for seed, what in sorted(findings.items()):
        print(f"  seed {seed}: {what}")
    return 1 if findings or foreign else 0


if __name__ == "__main__":
    sys.exit(main())
