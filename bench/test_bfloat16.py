"""Networks whose products are of bfloat16, beside OpenVINO's bfloat16 and this engine's own float32."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import walle_rt
from cases import Cases
from results import Results
from walle_rt.bench import zoo
from walle_rt.bench.bars import OURS, Bar, costliest
from walle_rt.bench.peers import Unavailable, need
from walle_rt.bench.rounds import measure

MODELS = ("bert_base_128", "minilm", "resnet50")
BAR = 1.0  # of OpenVINO's bfloat16
BAR_OF_FLOAT = 0.6
FLOATS, PEER = "our float32", "openvino"
WRONG = 0.05  # of the largest of the result: 8 bits of mantissa and sums of thousands


def peer(path: Path, feeds: dict[str, Any], threads: int) -> Any:
    """OpenVINO, told to compute in bfloat16."""
    ov = need("openvino", "openvino")
    options = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "INFERENCE_PRECISION_HINT": "bf16",
    }
    core = ov.Core()
    request = core.compile_model(core.read_model(str(path)), "CPU", options).create_infer_request()
    for name, array in feeds.items():
        request.set_tensor(name, ov.Tensor(array))
    return request.infer


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", MODELS)
def test_bfloat16(name: str, cache: Path, cases: Cases, results: Results) -> None:
    if "avx512_bf16" not in walle_rt._core.machine()["capabilities"]:
        pytest.skip("this processor multiplies no bfloat16")
    if cases.models and name not in cases.models:
        pytest.skip("not among --models")
    path = zoo.path(name, cache)
    feeds = zoo.feeds(onnx.load(path))
    for threads in cases.threads:
        model = walle_rt.load(path)
        session = model.session(threads=threads, precision="bf16")
        runs = {
            OURS: partial(session.run, feeds),
            FLOATS: partial(model.session(threads=threads).run, feeds),
        }
        missing = {}
        try:
            runs[PEER] = peer(path, feeds, threads)
        except Unavailable as reason:
            missing[PEER] = str(reason)
        wanted, got = (next(iter(runs[engine]().values())) for engine in (FLOATS, OURS))
        off = float(np.max(np.abs(got - wanted)) / np.max(np.abs(wanted)))
        found = measure(runs, cases.rounds)
        ms = {engine: found.least_ms(engine) for engine in runs}
        floats = ms.pop(FLOATS)
        title = "networks in bfloat16: milliseconds, minimum of rounds"
        bar = Bar(name, threads, ms, BAR, (PEER,), {"off": off}, missing, disturbed=found.disturbed)
        bar.cause = costliest(session) if bar.short else ""
        results.bar("bfloat16", title, bar)
        own = Bar(name, threads, {OURS: ms[OURS], FLOATS: floats}, BAR_OF_FLOAT, (FLOATS,))
        own.cause = costliest(session) if own.short else ""
        results.bar("bfloat16_and_float32", f"{title}, beside our float32", own)
        assert off <= WRONG, f"{name}: our result is wrong"
