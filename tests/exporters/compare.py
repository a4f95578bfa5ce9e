"""Our results beside onnxruntime's on the same file: numbers within 1e-4, labels and words exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

TOLERANCE = 1e-4


def reference(path: Path, feeds: dict[str, Any]) -> dict[str, Any]:
    """Run on onnxruntime, node by node as the file says: its optimiser computes in integers what a quantised
    file says in float32.

    On one thread: DynamicQuantizeLSTM rounds the state over the batch then, and over each thread's part of it
    otherwise (5e-4 between its own results on one thread and on two).
    """
    import onnxruntime as ort

    ort.set_default_logger_severity(4)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds), strict=True))


def difference(got: Any, want: Any, where: str) -> str | None:
    """Say what differs, or None."""
    if isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            return f"{where}: not a list of {len(want)}"
        found = (difference(g, w, f"{where}[{i}]") for i, (g, w) in enumerate(zip(got, want, strict=True)))
        return next(filter(None, found), None)
    if isinstance(want, dict):
        if not isinstance(got, dict) or got.keys() != want.keys():
            return f"{where}: other keys"
        return difference(np.array([got[key] for key in want]), np.array(list(want.values())), where)
    return _arrays(np.asarray(got), np.asarray(want), where)


def _arrays(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any], where: str) -> str | None:
    if got.shape != want.shape:
        return f"{where}: shape {got.shape}, want {want.shape}"
    if want.dtype.kind != "f":
        same = np.array_equal(got.astype(str), want.astype(str)) if want.dtype.kind in "OU" else None
        if same or (same is None and got.dtype == want.dtype and np.array_equal(got, want)):
            return None
        wrong = f"{int(np.sum(got != want))} of {want.size}"
        return f"{where}: {wrong} differ ({got.dtype}, want {want.dtype})"
    if got.dtype != want.dtype:
        return f"{where}: dtype {got.dtype}, want {want.dtype}"
    if np.allclose(got, want, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
        return None
    return f"{where}: differs by up to {np.nanmax(np.abs(got.astype(float) - want.astype(float))):.3g}"
