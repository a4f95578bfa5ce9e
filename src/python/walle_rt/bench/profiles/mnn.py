"""MNN's profile: its session calls back before and behind every operator."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from ..peers import Feeds, Unavailable, need
from ..peers.mnn import convert
from . import Nodes, Row

_MOVES = ("Raster", "ConvertTensor", "Reshape", "Concat")


def profile(model: Path, nodes: Nodes, feeds: Feeds, cache: Path, runs: int) -> list[Row]:
    """The least times of the runs behind a first one, what a call of Python takes included (about 1 us)."""
    mnn = need("MNN", "MNN")
    net = mnn.Interpreter(str(convert(model, cache)))
    session = net.createSession({"numThread": 1, "backend": "CPU", "precision": "high"})
    inputs = net.getSessionInputAll(session)
    for value in onnx.load(str(model), load_external_data=False).graph.input:
        if value.name not in inputs:
            raise Unavailable("MNN's session does not know the model's inputs")
        array = feeds[value.name]
        if array.dtype != np.float32:
            raise Unavailable("MNN's profile is taken of float32 inputs alone")
        held = mnn.Tensor(array.shape, mnn.Halide_Type_Float, array, mnn.Tensor_DimensionType_Caffe)
        inputs[value.name].copyFrom(held)
    rows: dict[str, Row] = {}
    began = [0.0]

    def before(_tensors: Any, _info: Any) -> bool:
        began[0] = time.perf_counter()
        return True

    def behind(_tensors: Any, info: Any) -> bool:
        ms = (time.perf_counter() - began[0]) * 1e3
        name = info.getName()
        if name not in rows:
            found, kind = nodes.find(name), info.getType()
            rows[name] = Row((found,) if found else (), kind, float("inf"), kind in _MOVES)
        rows[name].ms = min(rows[name].ms, ms)
        return True

    net.runSessionWithCallBackInfo(session, before, behind)
    rows.clear()
    for _ in range(runs):
        net.runSessionWithCallBackInfo(session, before, behind)
    return list(rows.values())
