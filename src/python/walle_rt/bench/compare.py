"""Several engines on one ONNX file: time in interleaved rounds and error against float64, in one run.

An engine's first run is made in a child process: one that crashes, hangs or answers wrongly is left out with
that reason, and cannot take the others with it. What came of it is kept for the same model and version of the
engine.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from . import accuracy, zoo
from .builder import Array
from .peers import PEERS, Run, Unavailable, prepare, version
from .reference import reference
from .rounds import Rounds, interleave, measure

__all__ = ["Comparison", "compare", "geometric_mean", "interleave", "probe"]

PROBE_SECONDS = 180.0
ERROR_LIMIT = 2.0  # our error over the best peer's; more is told at the end


@dataclass
class Comparison:
    """Milliseconds and error per engine for one model, and why an engine has none."""

    model: str
    threads: int
    milliseconds: dict[str, float] = field(default_factory=dict)  # the fastest call of the rounds that count
    medians: dict[str, float] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)  # against float64, in parts of the output's range
    rounds: dict[str, list[float]] = field(default_factory=dict)  # milliseconds of each round that counts
    reasons: dict[str, str] = field(default_factory=dict)
    thrown: int = 0  # rounds with other load on the machine
    disturbed: bool = False  # too few were without: all count
    resolution: float = 1e-7  # below it errors say nothing
    no_reference: str = ""  # why errors are against our own result instead of float64
    cause: str = ""  # of what is slower than the best peer

    def take(self, found: Rounds) -> None:
        """Keep the figures of these rounds."""
        for name in found.slots:
            self.milliseconds[name] = found.least_ms(name)
            self.medians[name] = found.median_ms(name)
            self.rounds[name] = found.rounds_ms(name)
        self.thrown, self.disturbed = found.thrown, found.disturbed

    def improve(self, other: Comparison) -> None:
        """Take over what another run of the same comparison measured faster."""
        for ours, theirs in ((self.milliseconds, other.milliseconds), (self.medians, other.medians)):
            for engine, value in theirs.items():
                ours[engine] = min(value, ours.get(engine, value))
        for engine, values in other.rounds.items():
            self.rounds.setdefault(engine, []).extend(values)
        self.thrown += other.thrown
        self.disturbed = self.disturbed and other.disturbed

    @property
    def best_peer(self) -> str | None:
        """The fastest engine that is not ours."""
        peers = {name: value for name, value in self.milliseconds.items() if name != "walle"}
        return min(peers, key=lambda name: peers[name]) if peers else None

    @property
    def ratio(self) -> float | None:
        """Our latency divided by the best peer's."""
        return self._over_best(self.milliseconds)

    @property
    def median_ratio(self) -> float | None:
        """The same of medians, each with its own best peer."""
        return self._over_best(self.medians)

    @property
    def error_ratio(self) -> float | None:
        """Our error divided by the best peer's."""
        return accuracy.ratio(self.errors, least=self.resolution)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            **vars(self),
            "best_peer": self.best_peer,
            "ratio": self.ratio,
            "median_ratio": self.median_ratio,
            "error_ratio": self.error_ratio,
        }

    def _over_best(self, times: dict[str, float]) -> float | None:
        peers = [value for name, value in times.items() if name != "walle"]
        return times["walle"] / min(peers) if peers and "walle" in times else None


def geometric_mean(values: Iterable[float | None]) -> float | None:
    """Of those that there are; None without any."""
    logs = [math.log(value) for value in values if value is not None]
    return math.exp(sum(logs) / len(logs)) if logs else None


def answer_file(engine: str, model: Path, threads: int, cache: Path) -> Path:
    """Where a child leaves the outputs; named by the version that computed them."""
    return cache / f"{model.stem}.{engine}-{version(engine)}.t{threads}.npz"


def probe(engine: str, model: Path, name: str, threads: int, cache: Path) -> str | None:
    """Run once in a child; None when all is well, otherwise what happened."""
    answer = answer_file(engine, model, threads, cache)
    refusal = answer.with_suffix(".txt")
    for known in (answer, refusal):
        if known.exists() and known.stat().st_mtime > model.stat().st_mtime:
            return known.read_text() if known is refusal else None
    reason = _first_run(engine, model, name, threads, cache)
    # A converter takes its time to fail, too; what is not installed may be so the next time.
    if reason is not None and "not installed" not in reason:
        cache.mkdir(parents=True, exist_ok=True)
        refusal.write_text(reason)
    return reason


def _first_run(engine: str, model: Path, name: str, threads: int, cache: Path) -> str | None:
    answer = answer_file(engine, model, threads, cache)
    given = [engine, str(model), name, str(threads), str(cache), str(answer)]
    command = [sys.executable, "-m", __name__, *given]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"hangs for more than {PROBE_SECONDS:.0f} s"
    if done.returncode == 3:
        return done.stdout.strip().splitlines()[-1]
    if done.returncode < 0:
        return f"crashes with signal {-done.returncode}"
    if done.returncode != 0:
        return f"fails: {(done.stderr.strip().splitlines() or ['no message'])[-1][:160]}"
    return None


def compare(
    name: str, cache: Path, threads: int = 1, rounds: int = 10, peers: Iterable[str] = PEERS
) -> Comparison:
    """Time ours and these peers on one model.

    Raises:
        real.Absent: a trained model's file is not on this machine.
    """
    model = zoo.path(name, cache)
    feeds = zoo.inputs(name, model)
    result = Comparison(name, threads)
    runs: dict[str, Run] = {"walle": prepare("walle", model, feeds, threads, cache)}
    ours = [np.array(value) for value in runs["walle"]()]
    try:
        wanted = reference(model, feeds, cache)
        result.errors["walle"] = accuracy.error(ours, wanted)
        result.resolution = accuracy.resolution(wanted)
    except Exception as error:  # the evaluator raises whatever NumPy does
        result.no_reference = f"{type(error).__name__}: {str(error)[:160]}"
        wanted = ours
    for engine in peers:
        reason = probe(engine, model, name, threads, cache)
        if reason is None:
            run = prepare(engine, model, feeds, threads, cache)
            found = accuracy.error([np.array(value) for value in run()], wanted)
            if found <= accuracy.WRONG:
                runs[engine], result.errors[engine] = run, found
            else:
                reason = f"computes something else: {found:.2g} of the output's range beside the reference"
        if reason is not None:
            result.reasons[engine] = reason
    result.take(measure(runs, rounds))
    return result


def _child(engine: str, model: str, name: str, threads: str, cache: str, answer: str) -> int:
    try:
        run = prepare(engine, Path(model), zoo.inputs(name, Path(model)), int(threads), Path(cache))
        outputs: list[Array] = run()
    except Unavailable as error:
        print(error)
        return 3
    unfinished = Path(f"{answer}.part.npz")
    np.savez(unfinished, *outputs)
    unfinished.rename(answer)
    return 0


if __name__ == "__main__":
    sys.exit(_child(*sys.argv[1:]))
