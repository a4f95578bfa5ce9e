"""The engines a case can be run on: ours, and peers to check the suite's own reading of its files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx

Runner = Callable[[Path, onnx.ModelProto, dict[str, Any]], dict[str, Any]]


def _bfloat16(model: onnx.ModelProto) -> set[str]:
    values = [*model.graph.input, *model.graph.output]
    return {v.name for v in values if v.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16}


def walle(path: Path, model: onnx.ModelProto, inputs: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Run on walle_rt, by default on one thread; bfloat16 values travel as their 16 bits."""
    import walle_rt

    half = _bfloat16(model)
    feeds = {
        name: (np.ascontiguousarray(value).view("<u4") >> 16).astype("<u2") if name in half else value
        for name, value in inputs.items()
    }
    outputs = walle_rt.load(str(path)).session(**{"threads": 1, **options}).run(feeds)
    return {
        name: (np.asarray(value).view("<u2").astype("<u4") << 16).view("<f4") if name in half else value
        for name, value in outputs.items()
    }


def onnxruntime(path: Path, model: onnx.ModelProto, inputs: dict[str, Any]) -> dict[str, Any]:
    """Run on onnxruntime; a case it fails too is not the suite reader's fault in ours."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


# The planner's switches, for comparison with the default: every optimisation must leave the results alone.
SWITCHES: dict[str, dict[str, Any]] = {
    "no-search": {"search": False},
    "no-merge": {"merge": False},
    "no-fuse": {"fuse": False},
    "no-claim": {"claim": False},
    "two-threads": {"threads": 2},
    "plain": {"search": False, "merge": False, "fuse": False, "claim": False, "fold": False},
}

ENGINES: dict[str, Runner] = {
    "walle": walle,
    "onnxruntime": onnxruntime,
    **{name: partial(walle, **options) for name, options in SWITCHES.items()},
}
