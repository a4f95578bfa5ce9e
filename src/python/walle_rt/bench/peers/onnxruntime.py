"""ONNX Runtime, CPU execution provider, all optimisations."""

from __future__ import annotations

from pathlib import Path

from ..builder import Array
from . import Feeds, Run, need

SETTINGS = (
    "CPUExecutionProvider, all graph optimisations (layout among them), sequential, threads that spin, "
    "memory arena"
)


def prepare(model: Path, feeds: Feeds, threads: int, cache: Path) -> Run:
    """Open a session with the given intra-op threads."""
    ort = need("onnxruntime", "onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.add_session_config_entry("session.intra_op.allow_spinning", "1")
    options.log_severity_level = 3
    session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    def run() -> list[Array]:
        return list(session.run(None, feeds))

    return run
