"""Single operators, ours and ONNX Runtime's on the same one-node file: the table kernels are tuned by.

Weights do not stay in a cache between repeats, as they do not in a network: a ring of sessions is run.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from cases import Cases
from results import Results
from walle_rt.bench import accuracy
from walle_rt.bench.peers import Unavailable, prepare
from walle_rt.bench.reference import evaluate
from walle_rt.bench.rounds import measure

MOST_SESSIONS = 32  # of small weights fewer bytes than the cache holds: they are a small part of the work


@dataclass(frozen=True)
class Convolution:
    """A square convolution with "same" padding and a Relu."""

    channels: int
    out: int
    size: int
    kernel: int
    stride: int = 1
    groups: int = 1

    @property
    def flops(self) -> float:
        side = (self.size - 1) // self.stride + 1
        return 2.0 * self.out * side * side * self.channels / self.groups * self.kernel**2

    def model(self) -> onnx.ModelProto:
        rng = np.random.default_rng(0)
        shape = (self.out, self.channels // self.groups, self.kernel, self.kernel)
        weights = rng.uniform(-1, 1, shape).astype(np.float32)
        pad = self.kernel // 2
        attributes = {"pads": [pad] * 4, "strides": [self.stride] * 2, "group": self.groups}
        nodes = [
            helper.make_node("Conv", ["x", "w"], ["c"], **attributes),
            helper.make_node("Relu", ["c"], ["y"]),
        ]
        return _model(nodes, (1, self.channels, self.size, self.size), weights)


@dataclass(frozen=True)
class Product:
    """Rows times a constant matrix."""

    m: int
    k: int
    n: int

    @property
    def flops(self) -> float:
        return 2.0 * self.m * self.k * self.n

    def model(self) -> onnx.ModelProto:
        weights = np.random.default_rng(0).uniform(-1, 1, (self.k, self.n)).astype(np.float32)
        return _model([helper.make_node("MatMul", ["x", "w"], ["y"])], (self.m, self.k), weights)


@dataclass(frozen=True)
class IntegerProduct:
    """Rows of uint8 times a constant matrix of int8 or uint8, in int32."""

    m: int
    k: int
    n: int
    signed: bool = True

    @property
    def flops(self) -> float:
        return 2.0 * self.m * self.k * self.n

    def model(self) -> onnx.ModelProto:
        codes = np.random.default_rng(0).integers(0, 256, (self.k, self.n)).astype(np.uint8)
        nodes = [helper.make_node("MatMulInteger", ["x", "w"], ["y"])]
        weights = codes.view(np.int8) if self.signed else codes
        return _model(nodes, (self.m, self.k), weights, TensorProto.UINT8, TensorProto.INT32)


def _model(
    nodes: list[onnx.NodeProto],
    shape: tuple[int, ...],
    weights: np.ndarray,
    given: int = TensorProto.FLOAT,
    result: int = TensorProto.FLOAT,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "operator",
        [helper.make_tensor_value_info("x", given, shape)],
        [helper.make_tensor_value_info("y", result, None)],
        [numpy_helper.from_array(weights, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


CASES = {
    "conv7x7s2_3-64_224": Convolution(3, 64, 224, 7, 2),
    "conv3x3s2_3-32_224": Convolution(3, 32, 224, 3, 2),
    "conv3x3_64-64_56": Convolution(64, 64, 56, 3),
    "conv3x3_128-128_28": Convolution(128, 128, 28, 3),
    "conv3x3_256-256_14": Convolution(256, 256, 14, 3),
    "conv3x3_512-512_7": Convolution(512, 512, 7, 3),
    "conv3x3s2_64-128_56": Convolution(64, 128, 56, 3, 2),
    "conv1x1_16-96_112": Convolution(16, 96, 112, 1),
    "conv1x1_64-256_56": Convolution(64, 256, 56, 1),
    "conv1x1_512-2048_7": Convolution(512, 2048, 7, 1),
    "depthwise3x3_144_56": Convolution(144, 144, 56, 3, 1, 144),
    "depthwise3x3s2_96_112": Convolution(96, 96, 112, 3, 2, 96),
    "depthwise5x5_240_14": Convolution(240, 240, 14, 5, 1, 240),
    "gemm_128x768x768": Product(128, 768, 768),
    "gemm_128x768x3072": Product(128, 768, 3072),
    "gemm_128x3072x768": Product(128, 3072, 768),
    "gemm_1x2048x1000": Product(1, 2048, 1000),
    "int8_1x768x768": IntegerProduct(1, 768, 768),
    "int8_32x768x768": IntegerProduct(32, 768, 768),
    "int8_128x768x3072": IntegerProduct(128, 768, 3072),
    "uint8_128x768x3072": IntegerProduct(128, 768, 3072, signed=False),
}


def last_level_bytes() -> int:
    """The largest cache of the first processor, as the kernel says it; 32 MB where it does not."""
    found = []
    for file in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = file.read_text().strip()
        if text.endswith("K") and text[:-1].isdecimal():
            found.append(int(text[:-1]) << 10)
    return max(found, default=32 << 20)


def ring(engine: str, path: Path, feeds: dict[str, np.ndarray], threads: int, cache: Path, count: int) -> Any:
    """So many sessions in turn, each with weights of its own, as a network reads others in between."""
    turn = itertools.cycle([prepare(engine, path, feeds, threads, cache) for _ in range(count)])
    return lambda: next(turn)()


@pytest.mark.parametrize("name", CASES)
def test_operator(name: str, cache: Path, cases: Cases, results: Results, peak_gflops: float) -> None:
    threads, case = min(cases.threads), CASES[name]
    cache.mkdir(parents=True, exist_ok=True)
    path = cache / f"operator.{name}.onnx"
    model = case.model()
    path.write_bytes(model.SerializeToString())
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    rng = np.random.default_rng(1)
    integers = model.graph.input[0].type.tensor_type.elem_type == TensorProto.UINT8
    x = rng.integers(0, 256, shape).astype(np.uint8) if integers else rng.uniform(-1, 1, shape)
    feeds = {"x": x if integers else x.astype(np.float32)}
    weights = len(model.graph.initializer[0].raw_data)
    count = min(MOST_SESSIONS, -(-2 * last_level_bytes() // weights))
    wanted = evaluate(model, feeds)
    runs = {"walle": ring("walle", path, feeds, threads, cache, count)}
    try:
        runs["onnxruntime"] = ring("onnxruntime", path, feeds, threads, cache, count)
    except Unavailable as reason:
        print(f"without onnxruntime: {reason}")
    errors = {engine: accuracy.error(run(), wanted) for engine, run in runs.items()}
    found = measure(runs, cases.rounds)
    # The least call of a ring would be that of the luckiest set of weights: medians here.
    ms = {engine: found.median_ms(engine) for engine in runs}
    peak = 1e9 * peak_gflops * threads
    text = ", ".join(
        f"{engine} {v * 1e3:.0f} us ({case.flops / v / 1e6:.0f} GFLOP/s,"
        f" {case.flops / v * 1e3 / peak:.0%} of peak, error {errors[engine]:.1e})"
        for engine, v in ms.items()
    )
    print(f"\n{name}, {count} sets of weights in turn, {found.thrown} rounds thrown away: {text}")
    results.operators.append(
        {
            "name": name,
            "flops": case.flops,
            "bytes": feeds["x"].nbytes + wanted[0].nbytes + weights,
            "milliseconds": ms,
            "errors": errors,
            "thrown": found.thrown,
            "sets": count,
            "threads": threads,
        }
    )
    assert errors["walle"] <= 1e-5, f"{name}: {errors}"
