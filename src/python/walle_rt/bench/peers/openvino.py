"""OpenVINO's CPU plug-in, held to float32: on machines with bfloat16 it would otherwise use that."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..builder import Array
from . import Feeds, Run, need

SETTINGS = "CPU, performance hint LATENCY, one stream, f32 inference precision, inputs bound once"


def prepare(model: Path, feeds: Feeds, threads: int, cache: Path) -> Run:
    """Compile for latency with one stream."""
    ov = need("openvino", "openvino")
    core = ov.Core()
    options = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "INFERENCE_PRECISION_HINT": "f32",
    }
    compiled = core.compile_model(core.read_model(str(model)), "CPU", options)
    request = compiled.create_infer_request()
    for name, array in feeds.items():
        request.set_tensor(name, ov.Tensor(array))

    def run() -> list[Array]:
        request.infer()
        return [np.asarray(output.data) for output in request.output_tensors]

    return run
