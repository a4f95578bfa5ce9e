"""What a converted model is compared with: onnxruntime, or onnx's own evaluator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx

Runner = Callable[[onnx.ModelProto, dict[str, Any]], dict[str, Any]]


def reference_runner() -> tuple[str, Runner]:
    """onnxruntime without optimisations where it is installed, else onnx.reference."""
    try:
        import onnxruntime as ort  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        from onnx.reference import ReferenceEvaluator

        def evaluate(model: onnx.ModelProto, feeds: dict[str, Any]) -> dict[str, Any]:
            names = [o.name for o in model.graph.output]
            return dict(zip(names, ReferenceEvaluator(model).run(None, feeds), strict=True))

        return "onnx.reference", evaluate

    def run(model: onnx.ModelProto, feeds: dict[str, Any]) -> dict[str, Any]:
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        names = [o.name for o in session.get_outputs()]
        return dict(zip(names, session.run(names, feeds), strict=True))

    return f"onnxruntime {ort.__version__}", run
