"""A chain of products of one size as files of each kind, and what a process that runs it says of memory."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

# Run in a process of its own: peak memory in bytes and seconds of the steps named on the command line.
PROGRAM = """
import json, sys, time
import numpy as np

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))

engine, path, rows, saved = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
seconds = {}
began = time.perf_counter()
if engine == "walle":
    import walle_rt
    began = time.perf_counter()
    model = walle_rt.load(path)
    session = model.session(threads=1)
    size = model.inputs[0].shape[1]
    run = lambda x: session.run({"x": x})["y"]
else:
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    began = time.perf_counter()
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    size = session.get_inputs()[0].shape[1]
    run = lambda x: session.run(None, {"x": x})[0]
seconds["load"] = time.perf_counter() - began
x = np.full((rows, size), 0.01, np.float32)
began = time.perf_counter()
y = run(x)
seconds["first run"] = time.perf_counter() - began
began = time.perf_counter()
run(x)
seconds["run"] = time.perf_counter() - began
ran = peak()
if saved:
    began = time.perf_counter()
    model.save(saved)
    seconds["save"] = time.perf_counter() - began
print(json.dumps({"peak": peak(), "ran": ran, "seconds": seconds, "sum": float(np.abs(y).sum())}))
"""


def command(engine: str, path: Path, rows: int, saved: Path | None = None) -> list[object]:
    """What runs PROGRAM; `saved`: where it saves the model again."""
    return [sys.executable, "-c", PROGRAM, engine, path, rows, saved or ""]


def _proto(layers: int, size: int, weights: list[onnx.TensorProto]) -> onnx.ModelProto:
    names = ["x", *(f"h{i}" for i in range(1, layers)), "y"]
    nodes = [helper.make_node("MatMul", [names[i], f"w{i}"], [names[i + 1]]) for i in range(layers)]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["m", size]) for name in "xy"]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _weight(index: int, size: int) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(index)
    return (random.random((size, size), np.float32) - 0.5) * np.float32(2 / size**0.5)


def write_inside(path: Path, layers: int, size: int) -> None:
    """An ONNX file with its weights in it."""
    weights = [onnx.numpy_helper.from_array(_weight(i, size), f"w{i}") for i in range(layers)]
    onnx.save(_proto(layers, size, weights), path)


def write_beside(path: Path, layers: int, size: int) -> None:
    """An ONNX file with its weights beside it; never more than one of them is in memory."""
    weights = []
    with path.with_suffix(".data").open("wb") as data:
        for i in range(layers):
            t = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[size, size])
            t.data_location = TensorProto.EXTERNAL
            entries = {
                "location": path.with_suffix(".data").name,
                "offset": data.tell(),
                "length": size * size * 4,
            }
            for key, value in entries.items():
                t.external_data.add(key=key, value=str(value))
            data.write(_weight(i, size))
            weights.append(t)
    path.write_bytes(_proto(layers, size, weights).SerializeToString())
