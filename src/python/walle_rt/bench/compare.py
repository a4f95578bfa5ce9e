"""Interleaved timing of several engines on one ONNX file.

Rounds go through all engines in turn, so that a slow minute of the machine hits everybody; the figure is the
minimum over the rounds, the only one that a busy machine cannot lower. An engine's first run is made in a
child process: one that crashes, hangs or answers wrongly is left out with that reason, and cannot take the
others with it.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx

from . import zoo
from .builder import Array
from .peers import PEERS, Run, Unavailable, prepare

SLOT_SECONDS = 0.04  # one engine's share of a round: long enough to warm caches up again after the others
PROBE_SECONDS = 180.0


@dataclass
class Comparison:
    """Milliseconds per engine for one model, and why an engine has none."""

    model: str
    threads: int
    milliseconds: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def improve(self, other: Comparison) -> None:
        """Take over what another run of the same comparison measured faster."""
        for engine, value in other.milliseconds.items():
            self.milliseconds[engine] = min(value, self.milliseconds.get(engine, value))

    @property
    def best_peer(self) -> str | None:
        """The fastest engine that is not ours."""
        peers = {name: value for name, value in self.milliseconds.items() if name != "walle"}
        return min(peers, key=lambda name: peers[name]) if peers else None

    @property
    def ratio(self) -> float | None:
        """Our latency divided by the best peer's."""
        best = self.best_peer
        if best is None or "walle" not in self.milliseconds:
            return None
        return self.milliseconds["walle"] / self.milliseconds[best]


def agree(got: list[Array], want: list[Array]) -> bool:
    """Whether two engines computed the same thing: 1 % of the output's range, in any layout of unit axes."""
    if len(got) != len(want):
        return False
    for g, w in zip(got, want, strict=True):
        if g.size != w.size:
            return False
        spread = float(np.ptp(w)) or 1.0
        if not np.all(np.abs(g.ravel() - w.ravel()) <= 1e-2 * max(spread, 1e-3)):
            return False
    return True


def probe(engine: str, model: Path, threads: int, cache: Path) -> str | None:
    """Run once in a child; None when all is well, otherwise what happened."""
    answer = cache / f"{model.stem}.{engine}.npz"
    command = [sys.executable, "-m", __name__, engine, str(model), str(threads), str(cache), str(answer)]
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


def compare(name: str, cache: Path, threads: int = 1, rounds: int = 10) -> Comparison:
    """Time ours and every peer on one generated model."""
    model = zoo.path(name, cache)
    feeds = zoo.feeds(onnx.load(str(model)))
    result = Comparison(name, threads)
    runs: dict[str, Run] = {"walle": prepare("walle", model, feeds, threads, cache)}
    wanted = [np.array(value) for value in runs["walle"]()]
    for engine in PEERS:
        reason = probe(engine, model, threads, cache)
        if reason is None:
            with np.load(cache / f"{model.stem}.{engine}.npz") as arrays:
                if not agree([arrays[key] for key in arrays.files], wanted):
                    reason = "computes something else"
        if reason is None:
            runs[engine] = prepare(engine, model, feeds, threads, cache)
        else:
            result.reasons[engine] = reason
    result.milliseconds = interleave(runs, rounds)
    return result


def interleave(runs: dict[str, Run], rounds: int) -> dict[str, float]:
    """Minimum milliseconds per run over the rounds; the order turns by one each round."""
    best = dict.fromkeys(runs, float("inf"))
    names = list(runs)
    for run in runs.values():
        run()
    gc.disable()
    try:
        for turn in range(rounds):
            shift = turn % len(names)
            for name in names[shift:] + names[:shift]:
                best[name] = min(best[name], _slot(runs[name]))
    finally:
        gc.enable()
    return {name: seconds * 1e3 for name, seconds in best.items()}


def _slot(run: Run) -> float:
    end = time.perf_counter() + SLOT_SECONDS
    best = float("inf")
    while True:
        start = time.perf_counter()
        run()
        stop = time.perf_counter()
        best = min(best, stop - start)
        if stop >= end:
            return best


def table(results: list[Comparison]) -> list[str]:
    """The results as lines of text: one model per row, one engine per column, reasons below."""
    engines = ["walle", *[peer for peer in PEERS if any(peer in r.milliseconds for r in results)]]
    lines = [f"{'model':20s}" + "".join(f"{engine:>13s}" for engine in engines) + f"{'ratio':>8s}  best peer"]
    for r in results:
        cells = "".join(
            f"{r.milliseconds[e]:13.3f}" if e in r.milliseconds else f"{'-':>13s}" for e in engines
        )
        ratio = f"{r.ratio:8.2f}" if r.ratio is not None else f"{'-':>8s}"
        lines.append(f"{r.model:20s}{cells}{ratio}  {r.best_peer or 'none'}")
    for peer in PEERS:
        by_reason: dict[str, list[str]] = {}
        for r in results:
            if peer in r.reasons:
                by_reason.setdefault(r.reasons[peer], []).append(r.model)
        for reason, models in by_reason.items():
            where = "all models" if len(models) == len(results) else ", ".join(models)
            lines.append(f"{peer} is left out of {where}: {reason}")
    return lines


def _child(engine: str, model: str, threads: str, cache: str, answer: str) -> int:
    try:
        run = prepare(engine, Path(model), zoo.feeds(onnx.load(model)), int(threads), Path(cache))
        np.savez(answer, *run())
    except Unavailable as error:
        print(error)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(_child(*sys.argv[1:]))
