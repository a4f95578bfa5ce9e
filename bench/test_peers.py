"""Our engine and every installed peer on the same ONNX files;
none of ours takes more than 3x the best peer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest

from results import RESULTS
from walle_rt.bench import zoo
from walle_rt.bench.compare import compare
from walle_rt.bench.peers import prepare

LIMIT = 3.0  # at one thread; with more the table is printed and nothing is asserted


@pytest.mark.timeout(900)
@pytest.mark.parametrize("model", list(zoo.MODELS))
def test_model(model: str, benchmark: Any, cache: Path, request: pytest.FixtureRequest) -> None:
    threads = request.config.getoption("--threads")
    rounds = request.config.getoption("--rounds")
    result = compare(model, cache, threads, rounds)
    if threads == 1 and result.ratio is not None and result.ratio > LIMIT:
        # Once more: a busy moment of the machine can hit one engine in every round of a short run.
        result.improve(compare(model, cache, threads, rounds))
    request.config.stash[RESULTS].append(result)
    path = zoo.path(model, cache)
    run = prepare("walle", path, zoo.feeds(onnx.load(str(path))), threads, cache)
    benchmark.extra_info.update(peers=result.milliseconds, left_out=result.reasons, threads=threads)
    benchmark.pedantic(run, rounds=5, iterations=1, warmup_rounds=1)
    if result.ratio is None:
        pytest.skip(f"no peer runs {model}: {result.reasons}")
    if threads == 1:
        assert result.ratio <= LIMIT, f"{model}: {result.ratio:.2f}x {result.best_peer}"
