"""One row by packed weights, beside onnxruntime and beside what memory delivers.

Weights do not stay in a cache between runs, as they do not in a decoder: a ring of sessions is run, whose
weights are together more than twice the last-level cache.
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import walle_rt
from cases import Cases
from results import Results
from walle_rt.bench.bars import OURS, Bar
from walle_rt.bench.rounds import measure

ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

DEPTH, COLUMNS, BLOCK, SETS = 4096, 11008, 32, 3
BAR = 0.8  # of onnxruntime's time
LEAST_SHARE = 0.7  # of the measured bandwidth
READ_BYTES = 256 << 20


def product(bits: int, level: int, seed: int) -> onnx.ModelProto:
    """x [1, k] times a constant matrix of `bits` in blocks of 32."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 256, (COLUMNS, DEPTH // BLOCK, BLOCK * bits // 8), np.uint8)
    scales = rng.uniform(0.01, 0.02, codes.shape[0] * codes.shape[1]).astype(np.float32)
    attributes = {"K": DEPTH, "N": COLUMNS, "bits": bits, "block_size": BLOCK, "accuracy_level": level}
    node = helper.make_node("MatMulNBits", ["x", "b", "s"], ["y"], domain="com.microsoft", **attributes)
    graph = helper.make_graph(
        [node],
        "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, DEPTH])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, COLUMNS])],
        [numpy_helper.from_array(codes, "b"), numpy_helper.from_array(scales, "s")],
    )
    known = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=known, ir_version=9)


def read_gbytes(threads: int) -> float:
    """What so many threads read at best: the engine's own sum over memory that no cache holds."""
    nodes = [helper.make_node("ReduceMax", ["x", "axes"], ["y"], keepdims=0)]
    graph = helper.make_graph(
        nodes,
        "read",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, READ_BYTES // 256])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.array([1]), "axes")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    session = walle_rt.load(model).session(threads=threads)
    feeds = {"x": np.ones((64, READ_BYTES // 256), np.float32)}
    run = partial(session.run, feeds)
    copy = partial(np.copyto, np.empty_like(feeds["x"]), feeds["x"])
    found = measure({"read": run, "copy": copy}, 5, slot_seconds=0.2)
    # A copy on one thread writes as much as it reads; the better of the two is what there is.
    least = min(found.least_ms("read"), found.least_ms("copy") / 2 if threads == 1 else np.inf)
    return READ_BYTES / least / 1e6


def turns(runs: list[Any]) -> Any:
    turn = itertools.cycle(runs)
    return lambda: next(turn)()


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("bits", "level"), [(4, 0), (4, 4), (8, 0), (8, 4)])
def test_one_row_by_packed_weights(bits: int, level: int, cases: Cases, results: Results) -> None:
    models = [product(bits, level, seed) for seed in range(SETS)]
    feeds = {"x": np.random.default_rng(9).standard_normal((1, DEPTH), np.float32)}
    for threads in cases.threads:
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        ours, theirs = [], []
        for model in models:
            ours.append(partial(walle_rt.load(model).session(threads=threads).run, feeds))
            peer = ort.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
            theirs.append(partial(peer.run, None, feeds))
        # Least calls would be those of the luckiest set of weights.
        found = measure({OURS: turns(ours), "onnxruntime": turns(theirs)}, cases.rounds)
        ms = {engine: found.median_ms(engine) for engine in found.slots}
        weights = DEPTH * COLUMNS * bits // 8 + DEPTH // BLOCK * COLUMNS * 4
        speed, most = weights / ms[OURS] / 1e6, read_gbytes(threads)
        bar = Bar(
            f"{bits} bits, level {level}", threads, ms, BAR, ("onnxruntime",), disturbed=found.disturbed
        )
        bar.figures = {"GB/s": speed, "memory GB/s": most}
        causes = []
        if bar.short:
            causes.append("both wait for memory" if speed > LEAST_SHARE * most else "the products themselves")
        if speed < LEAST_SHARE * most:
            causes.append(f"{speed / most:.0%} of the bandwidth, bar {LEAST_SHARE:.0%}")
        bar.cause = "; ".join(causes)
        results.bar("packed", f"MatMulNBits 1 x {DEPTH} x {COLUMNS}: milliseconds, median of rounds", bar)
