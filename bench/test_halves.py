"""Products by weights that are stored in float16, beside our float32 and onnxruntime's float16."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import walle_rt
from cases import Cases
from results import Results
from walle_rt.bench.bars import OURS, Bar, costliest
from walle_rt.bench.peers import Unavailable, need
from walle_rt.bench.rounds import measure

# Rows, depth, columns: a decoder's step and its prompt, an encoder's layer, the head of a classifier.
SIZES = ((1, 2048, 8192), (4, 2048, 8192), (32, 2048, 2048), (128, 768, 3072), (1, 1280, 1000))
BAR_OF_FLOAT = 1.05  # where weights come from a cache, widening them is what it costs
PEER, FLOATS = "onnxruntime float16", "our float32"


def product(size: tuple[int, int, int], dtype: int, casts: bool) -> onnx.ModelProto:
    """x times a constant: in `dtype`, or in float32 with the constant behind a Cast."""
    _, k, n = size
    w = (np.random.default_rng(0).standard_normal((k, n)) / k**0.5).astype(np.float16)
    given = dtype if not casts else TensorProto.FLOAT
    stored = TensorProto.FLOAT16 if casts else dtype
    weight = numpy_helper.from_array(w.astype(helper.tensor_dtype_to_np_dtype(stored)), "w")
    nodes = [helper.make_node("MatMul", ["x", "v" if casts else "w"], ["y"])]
    if casts:
        nodes.insert(0, helper.make_node("Cast", ["w"], ["v"], to=TensorProto.FLOAT))
    ends = [helper.make_tensor_value_info(name, given, ["m", None]) for name in "xy"]
    graph = helper.make_graph(nodes, "product", ends[:1], ends[1:], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def peer(size: tuple[int, int, int], x: Any, threads: int) -> Any:
    """onnxruntime by float16 weights and rows: what a model exported in half precision is to it."""
    ort = need("onnxruntime", "onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    text = product(size, TensorProto.FLOAT16, False).SerializeToString()
    session = ort.InferenceSession(text, options, providers=["CPUExecutionProvider"])
    return partial(session.run, None, {"x": x.astype(np.float16)})


@pytest.mark.timeout(600)
@pytest.mark.parametrize("size", SIZES, ids=lambda s: "x".join(map(str, s)))
def test_halves(size: tuple[int, int, int], cases: Cases, results: Results) -> None:
    x = np.random.default_rng(1).standard_normal((size[0], size[1])).astype(np.float32)
    stored = walle_rt.load(product(size, TensorProto.FLOAT16, True))
    floats = walle_rt.load(product(size, TensorProto.FLOAT, False))
    for threads in cases.threads:
        session = stored.session(threads=threads)
        runs = {
            OURS: partial(session.run, {"x": x}),
            FLOATS: partial(floats.session(threads=threads).run, {"x": x}),
        }
        missing = {}
        try:
            runs[PEER] = peer(size, x, threads)
        except Unavailable as reason:
            missing[PEER] = str(reason)
        wanted, got = runs[FLOATS]()["y"], runs[OURS]()["y"]
        found = measure(runs, cases.rounds)
        ms = {engine: found.least_ms(engine) for engine in runs}
        name = "x".join(map(str, size))
        title = "products by weights stored in float16: milliseconds, minimum of rounds"
        bar = Bar(name, threads, ms, BAR_OF_FLOAT, (FLOATS,), {}, missing, disturbed=found.disturbed)
        bar.cause = costliest(session) if bar.short else ""
        results.bar("halves", title, bar)
        assert np.array_equal(wanted, got), f"{name}: widening is exact, and these sums are not float32's"
