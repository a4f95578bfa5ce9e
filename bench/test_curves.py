"""How time grows with resolution and length, ours beside the peers that take every size."""

from __future__ import annotations

from pathlib import Path

import pytest

from cases import Cases
from results import Results
from walle_rt.bench import accuracy, curves
from walle_rt.bench.compare import compare

ROUNDS = 4  # a point beside its neighbours says more than one more round


@pytest.mark.timeout(900)
@pytest.mark.parametrize("model", list(curves.CURVES))
def test_curve(model: str, cache: Path, cases: Cases, results: Results) -> None:
    if cases.quick and model not in curves.QUICK:
        pytest.skip("left out by --quick")
    if cases.models and model not in cases.models:
        pytest.skip("left out by --models")
    sizes = curves.CURVES[model]
    for size in sizes[::2] if cases.quick else sizes:
        found = compare(f"{model}:s{size}", cache, 1, min(ROUNDS, cases.rounds), curves.PEERS)
        results.curves.append(curves.Point(model, size, found))
        assert found.errors.get("walle", 0.0) <= accuracy.WRONG, f"{model} at {size}: our result is wrong"
