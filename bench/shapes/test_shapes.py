"""Shapes that change with every call, beside onnxruntime: time per call, and the memory held at the end.

A decoder whose cache grows by a token, an encoder over random lengths, linear layers over batches of 1 to
128 four times, convolutions over 64 picture sizes. Each engine runs in a process of its own, pass by pass in
turn, so that both see the same machine; a pass after the first meets no new shape.

A table of verdicts stands at the end: what the project aims at, and where it is missed. Only that a later
pass holds no more memory is asserted, for times depend on what else the machine does. ``--quick`` takes an
eighth of the encoder's lengths, and one thread.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import pytest
import shape_models

from results import Results

PASSES = 3
ENGINES = ["walle", "onnxruntime"]
# What is aimed at, in shares of onnxruntime's: time of the first pass and of the
# best later one, memory at the end.
TIMES = {"decoder": 0.8, "encoder": 0.9, "perceptron": 0.9, "convolutions": 0.9}
MEMORY = 1.0
# A second pass over the same shapes may not grow: beyond what an allocator keeps of small blocks.
GROWTH = 4 << 20


class Worker:
    """One engine's process."""

    def __init__(self, engine: str, model: str, threads: int, path: Path) -> None:
        line = [sys.executable, Path(__file__).with_name("shape_worker.py"), engine, model, threads, path]
        self._process = subprocess.Popen(
            list(map(str, line)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def one_pass(self, quick: bool) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write("quick\n" if quick else "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the engine's process has died"
        found: dict[str, Any] = json.loads(answer)
        return found

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


@pytest.fixture(scope="module", params=list(shape_models.MODELS))
def model(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path]]:
    path = tmp_path_factory.mktemp("shapes") / f"{request.param}.onnx"
    onnx.save(shape_models.MODELS[request.param](), path)
    yield request.param, path
    path.unlink()


def _p99(seconds: list[float]) -> float:
    return sorted(seconds)[min(len(seconds) - 1, int(0.99 * len(seconds)))]


def _verdicts(name: str, threads: int, passes: dict[str, list[dict[str, Any]]]) -> list[str]:
    """A line for each bar: the first pass, where plans are made, the best of the later ones, memory."""
    pairs = list(zip(passes["walle"], passes["onnxruntime"], strict=True))
    shares = [sum(ours["seconds"]) / sum(theirs["seconds"]) for ours, theirs in pairs]
    last, peer = pairs[-1]
    found = [
        ("time, first pass", shares[0], TIMES[name]),
        ("time, later passes", min(shares[1:]), TIMES[name]),
        ("memory", last["resident"] / peer["resident"], MEMORY),
    ]
    lines = []
    for what, share, bar in found:
        verdict = "held" if share <= bar else "missed"
        lines.append(f"{name:<13} {threads:>7} {what:<19} {share:>6.2f} {bar:>5.2f}  {verdict}")
    return lines


@pytest.fixture(scope="module")
def verdicts(results: Results) -> list[str]:
    """The lines of the table at the end of the run."""
    lines = [f"{'model':<13} {'threads':>7} {'what':<19} {'share':>6} {'bar':>5}"]
    results.sections.append(("changing shapes, shares of onnxruntime's time and memory", lines))
    return lines


@pytest.mark.parametrize("threads", [1, 2])
def test_changing_shapes(
    model: tuple[str, Path], threads: int, verdicts: list[str], request: pytest.FixtureRequest
) -> None:
    quick = request.config.getoption("--quick")
    if quick and threads > 1:
        pytest.skip("--quick: one thread")
    if not importlib.util.find_spec("onnxruntime"):
        pytest.skip("onnxruntime is not installed: make bench installs it")
    name, path = model
    workers = {engine: Worker(engine, name, threads, path) for engine in ENGINES}
    passes: dict[str, list[dict[str, Any]]] = {engine: [] for engine in ENGINES}
    for number in range(PASSES):
        for engine in ENGINES if number % 2 == 0 else reversed(ENGINES):
            passes[engine].append(workers[engine].one_pass(quick))
    for worker in workers.values():
        worker.close()
    print(f"\n{name}, {threads} threads: ms a call, MB resident")
    print(f"{'engine':<12} {'pass':>4} {'mean':>8} {'p99':>8} {'resident':>9} {'ratio':>6} {'memory':>6}")
    for number in range(PASSES):
        theirs = passes["onnxruntime"][number]
        for engine in ENGINES:
            found = passes[engine][number]
            mean = sum(found["seconds"]) / len(found["seconds"])
            print(
                f"{engine:<12} {number + 1:>4} {1e3 * mean:>8.3f} {1e3 * _p99(found['seconds']):>8.3f}"
                f" {found['resident'] / 1e6:>9.1f} {sum(found['seconds']) / sum(theirs['seconds']):>6.2f}"
                f" {found['resident'] / theirs['resident']:>6.2f}"
            )
    verdicts += _verdicts(name, threads, passes)
    first, *later = (found["resident"] for found in passes["walle"])
    assert max(later) <= first + GROWTH, "memory grew over shapes that were met before"
