"""What one call of a session costs beside the work itself: a graph of two operators on three numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info

import walle_rt

BAR_US = 10


def smallest() -> onnx.ModelProto:
    """z = relu(x) + x."""
    nodes = [make_node("Relu", ["x"], ["y"]), make_node("Add", ["x", "y"], ["z"])]
    ends = [make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3]) for name in "xz"]
    graph = make_graph(nodes, "smallest", ends[:1], ends[1:])
    return make_model(graph, opset_imports=[make_opsetid("", 21)])


def test_a_call_costs_little(benchmark: Any) -> None:
    session = walle_rt.load(smallest()).session(threads=1)
    feeds = {"x": np.ones((1, 3), np.float32)}
    benchmark.pedantic(session.run, args=(feeds,), rounds=200, iterations=50, warmup_rounds=1)
    best = benchmark.stats.stats.min * 1e6
    print(f"\nfastest of 200 rounds: {best:.1f} us per call (bar {BAR_US})")
    assert best <= BAR_US


def test_a_call_with_every_option_costs_little(benchmark: Any) -> None:
    """A deadline, a token and an own array, each of which is free where it is left out."""
    session = walle_rt.load(smallest()).session(threads=1)
    feeds = {"x": np.ones((1, 3), np.float32)}
    options = {"timeout": 60.0, "cancel": walle_rt.CancelToken(), "out": {"z": np.empty((1, 3), np.float32)}}
    benchmark.pedantic(session.run, args=(feeds,), kwargs=options, rounds=200, iterations=50, warmup_rounds=1)
    best = benchmark.stats.stats.min * 1e6
    print(f"\nfastest of 200 rounds: {best:.1f} us per call (bar {BAR_US})")
    assert best <= BAR_US
