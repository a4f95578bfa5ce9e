"""Process start to first result and peak memory, ours beside every peer's, a process per figure."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from cases import Cases
from results import Results
from walle_rt.bench import zoo
from walle_rt.bench.startup import start_table, starts

ROUNDS = 5


@pytest.mark.timeout(600)
@pytest.mark.parametrize("model", ["mobilenet_v2", "resnet50"])
def test_first_result(model: str, cache: Path, cases: Cases, results: Results) -> None:
    file = zoo.path(model, cache)
    output = onnx.load(str(file)).graph.output[0].name
    found = starts(model, file, zoo.inputs(model, file), output, cache, min(ROUNDS, cases.rounds))
    results.startup += [start.as_dict() for start in found]
    results.sections.append((f"cold start and peak memory, {model}", start_table(found)))
    assert not any(start.reason for start in found if start.engine.startswith("walle"))
