"""Short ways to write ONNX models for tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import walle_rt

F = TensorProto.FLOAT
Kind = tuple[int, Any] | list[Any] | onnx.TypeProto


def value(name: str, kind: Kind) -> onnx.ValueInfoProto:
    """A float32 value of a shape, or (element type, shape), or a whole TypeProto."""
    if isinstance(kind, onnx.TypeProto):
        return helper.make_value_info(name, kind)
    element, shape = kind if isinstance(kind, tuple) else (F, kind)
    return helper.make_tensor_value_info(name, element, shape)


def model(
    nodes: list[onnx.NodeProto],
    inputs: dict[str, Kind],
    outputs: list[str] | dict[str, Kind],
    weights: dict[str, Any] | None = None,
    opset: int = 17,
    **more: Any,
) -> onnx.ModelProto:
    """A model that nobody has checked."""
    results = outputs if isinstance(outputs, dict) else dict.fromkeys(outputs)
    graph = helper.make_graph(
        nodes,
        "graph",
        [value(k, v) for k, v in inputs.items()],
        [onnx.ValueInfoProto(name=k) if v is None else value(k, v) for k, v in results.items()],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in (weights or {}).items()],
    )
    imports = [helper.make_opsetid("", opset), *more.pop("imports", [])]
    return helper.make_model(graph, opset_imports=imports, ir_version=8, **more)


def run(made: onnx.ModelProto, **feeds: Any) -> dict[str, Any]:
    """Load and run once."""
    return walle_rt.load(made).session(threads=1).run(feeds)
