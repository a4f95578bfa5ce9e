"""MNN through its own converter.

The wheel's ``mnnconvert`` script is not used: importing it installs packages. The native converter behind it
is called in a child process whose PATH is empty, so that nothing it might start can be found.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from ..builder import Array
from . import Feeds, Run, Unavailable, need

_CONVERT = "import sys, _tools; _tools.mnnconvert(sys.argv)"
SETTINGS = "CPU, module API, precision high (float32), power high, memory high (Winograd may use more of it)"


def convert(model: Path, cache: Path) -> Path:
    """The .mnn twin of an ONNX file, made once."""
    out = cache / f"{model.stem}.mnn"
    if not out.exists():
        arguments = ["-f", "ONNX", "--modelFile", str(model), "--MNNModel", str(out), "--bizCode", "bench"]
        done = subprocess.run(
            [sys.executable, "-c", _CONVERT, *arguments],
            env={"PATH": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        if not out.exists():
            raise Unavailable(f"its converter failed: {(done.stdout + done.stderr).strip()[-200:]}")
    return out


def prepare(model: Path, feeds: Feeds, threads: int, cache: Path) -> Run:
    """Load through the module API, which also runs models with sub-graphs."""
    need("MNN", "MNN")
    from MNN import expr, nn  # type: ignore[import-not-found,import-untyped,unused-ignore]

    graph = onnx.load(str(model), load_external_data=False).graph
    inputs, outputs = [v.name for v in graph.input], [v.name for v in graph.output]
    options: dict[str, Any] = {
        "backend": 0,
        "precision": "high",
        "memory": 1,
        "power": 1,
        "numThread": threads,
    }
    runtime = nn.create_runtime_manager((options,))
    module = nn.load_module_from_file(str(convert(model, cache)), inputs, outputs, runtime_manager=runtime)
    variables = []
    for name in inputs:
        array = feeds[name].astype(np.int32) if feeds[name].dtype == np.int64 else feeds[name]
        layout = expr.NCHW
        kind = expr.int if array.dtype == np.int32 else expr.float
        variables.append(expr.const(np.ascontiguousarray(array), list(array.shape), layout, kind))

    def run() -> list[Array]:
        return [np.array(value.read(), copy=True) for value in module.forward(variables)]

    return run
