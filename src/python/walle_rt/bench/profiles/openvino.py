"""OpenVINO's profile: get_profiling_info, and the runtime model for the names that were fused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..peers import Feeds, Unavailable, need
from . import Nodes, Row

_MOVES = ("Reorder", "Transpose", "Reshape", "Concatenation", "Concat", "Split", "StridedSlice")
_OPTIONS: dict[str, Any] = {
    "PERF_COUNT": True,
    "PERFORMANCE_HINT": "LATENCY",
    "INFERENCE_NUM_THREADS": 1,
    "NUM_STREAMS": 1,
    "INFERENCE_PRECISION_HINT": "f32",
}


def profile(model: Path, nodes: Nodes, feeds: Feeds, cache: Path, runs: int) -> list[Row]:
    """The least times of the runs behind a first one; it counts whole microseconds."""
    ov = need("openvino", "openvino")
    core = ov.Core()
    try:
        compiled = core.compile_model(core.read_model(str(model)), "CPU", _OPTIONS)
    except RuntimeError as error:
        raise Unavailable(f"openvino cannot compile this model: {str(error)[:160]}") from error
    request = compiled.create_infer_request()
    for name, array in feeds.items():
        request.set_tensor(name, ov.Tensor(array))
    fused = {
        op.get_friendly_name(): _text(op.get_rt_info(), "originalLayersNames")
        for op in compiled.get_runtime_model().get_ordered_ops()
    }
    request.infer()
    rows: dict[str, Row] = {}
    for _ in range(runs):
        request.infer()
        for info in request.get_profiling_info():
            seconds = info.real_time.total_seconds()
            if seconds <= 0:
                continue
            if info.node_name not in rows:
                rows[info.node_name] = Row(
                    origins(info.node_name, fused.get(info.node_name, ""), nodes),
                    info.node_type,
                    float("inf"),
                    info.node_type in _MOVES,
                    algorithm=info.exec_type,
                )
            rows[info.node_name].ms = min(rows[info.node_name].ms, seconds * 1e3)
    return list(rows.values())


def origins(name: str, fused: str, nodes: Nodes) -> tuple[str, ...]:
    """The nodes of the file behind a step: what it was fused from, else what its name says."""
    found = {node for part in fused.split(",") if (node := nodes.producer(part)) is not None}
    if not found and (node := nodes.find(name)) is not None:
        found = {node}
    return tuple(sorted(found, key=nodes.place.__getitem__))


def _text(info: Any, key: str) -> str:
    if key not in info:
        return ""
    value = info[key]
    return str(value.astype(str) if hasattr(value, "astype") else value)
