"""What one core could do at best: the rate of a large product and of reading memory, measured here.

Arithmetic: the best of engines at a product that stays in the cache, of float32 or of 8-bit integers. No
kernel of a real layer beats that except by doing less of it. Memory: a copy of what no cache holds, counted
once read and once written. Steps that touch less than that find it in a cache, whose rate is that of a copy
of CACHED_BYTES.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import walle_rt

ROWS, DEPTH, COLUMNS = 384, 512, 512
CACHED_BYTES = 1 << 20  # read; with what is written more than most second-level caches
COPIED_BYTES = 96 << 20  # read; larger than the last-level caches of servers' single cores
SECONDS = 0.25


@dataclass(frozen=True)
class Roof:
    """Of one thread: floating-point operations and bytes per second."""

    flops: float
    bytes: float  # of memory
    cached: float  # of the outer caches

    def as_dict(self) -> dict[str, float]:
        """For JSON: 10^9 per second."""
        rates = {"gflops": self.flops, "gbytes": self.bytes, "cached_gbytes": self.cached}
        return {name: rate / 1e9 for name, rate in rates.items()}

    def rate(self, moved: float) -> float:
        """Bytes per second for a step that touches so many."""
        return self.cached if moved <= 4 * CACHED_BYTES else self.bytes

    def seconds(self, flops: float, moved: float) -> float:
        """The least time for so much work."""
        return max(flops / self.flops, moved / self.rate(moved))

    def bound(self, flops: float, moved: float) -> str:
        """Which of the two it is: "arithmetic" or "memory"."""
        return "arithmetic" if flops / self.flops >= moved / self.rate(moved) else "memory"


def _least(work: Callable[[], object]) -> float:
    work()
    least, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        begin = time.perf_counter()
        work()
        least = min(least, time.perf_counter() - begin)
    return least


def product(integers: bool = False) -> onnx.ModelProto:
    """Rows times a constant matrix: of float32, or of uint8 and int8."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((DEPTH, COLUMNS), np.float32)
    if integers:
        weights = rng.integers(-128, 128, weights.shape, np.int8)
    given = TensorProto.UINT8 if integers else TensorProto.FLOAT
    made = TensorProto.INT32 if integers else TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger" if integers else "MatMul", ["x", "w"], ["y"])],
        "roof",
        [helper.make_tensor_value_info("x", given, [ROWS, DEPTH])],
        [helper.make_tensor_value_info("y", made, [ROWS, COLUMNS])],
        [numpy_helper.from_array(weights, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@cache
def measured(integers: bool = False) -> Roof:
    """This machine's, once per process; half a second to a second."""
    model = product(integers)
    rng = np.random.default_rng(1)
    x = rng.integers(0, 256, (ROWS, DEPTH), np.uint8) if integers else None
    feeds = {"x": rng.standard_normal((ROWS, DEPTH), np.float32) if x is None else x}
    session = walle_rt.load(model).session(threads=1)
    least = _least(lambda: session.run(feeds))
    try:
        import onnxruntime as ort
    except ImportError:
        pass
    else:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        peer = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        least = min(least, _least(lambda: peer.run(None, feeds)))
    memory, cached = (_copied(size) for size in (COPIED_BYTES, CACHED_BYTES))
    return Roof(2.0 * ROWS * DEPTH * COLUMNS / least, memory, max(memory, cached))


def _copied(size: int) -> float:
    source = np.ones(size // 4, np.float32)
    target = np.empty_like(source)
    return 2.0 * size / _least(lambda: np.copyto(target, source))
