"""Epilogue fusion: what follows a convolution or matrix product becomes part of it,
and the result stays the same.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import walle_rt

RNG = np.random.default_rng(7)


class Net:
    """A small graph: one input, constants as needed, nodes in a chain."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.outputs: list[str] = []

    def constant(self, value: np.ndarray | float) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
        return name

    def weights(self, *shape: int) -> str:
        return self.constant(RNG.uniform(-1, 1, shape))

    def op(self, kind: str, *inputs: str, **attributes: object) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def conv(self, x: str, channels: int, out: int, bias: bool = True) -> str:
        inputs = [x, self.weights(out, channels, 3, 3)] + ([self.weights(out)] if bias else [])
        return self.op("Conv", *inputs, pads=[1, 1, 1, 1])

    def model(self, *outputs: str) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "fusion",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs],
            self.constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def batch_norm(net: Net, x: str, channels: int) -> str:
    mean, variance = net.weights(channels), net.constant(RNG.uniform(0.5, 2, channels))
    return net.op("BatchNormalization", x, net.weights(channels), net.weights(channels), mean, variance)


def conv_bn_relu(net: Net) -> str:
    return net.op("Relu", batch_norm(net, net.conv("x", 5, 6, bias=False), 6))


def conv_bn_add_relu(net: Net) -> str:
    side = batch_norm(net, net.conv("x", 5, 6), 6)
    return net.op("Relu", net.op("Add", side, net.conv("x", 5, 6)))


def conv_clip(net: Net) -> str:
    return net.op("Clip", net.conv("x", 5, 6), net.constant(0.0), net.constant(6.0))


def conv_silu(net: Net) -> str:
    y = net.conv("x", 5, 6)
    return net.op("Mul", y, net.op("Sigmoid", y))


def conv_mish_spelled_out(net: Net) -> str:
    y = net.conv("x", 5, 6)
    return net.op("Mul", net.op("Tanh", net.op("Softplus", y)), y)


def conv_softplus_that_is_read_twice_stays(net: Net) -> str:
    y = net.conv("x", 5, 6)
    gate = net.op("Softplus", y)
    return net.op("Add", net.op("Mul", net.op("Tanh", gate), y), gate)


def conv_elu(net: Net) -> str:
    return net.op("Elu", net.conv("x", 5, 6), alpha=0.7)


def conv_sub_div_hard_swish(net: Net) -> str:
    y = net.op("Sub", net.conv("x", 5, 6), net.weights(6, 1, 1))
    return net.op("HardSwish", net.op("Div", y, net.constant(2.5)))


def matmul_bias_erf_gelu(net: Net) -> str:
    y = net.op("Add", net.op("MatMul", "x", net.weights(10, 7)), net.weights(7))
    inner = net.op("Add", net.op("Erf", net.op("Div", y, net.constant(2.0**0.5))), net.constant(1.0))
    return net.op("Mul", net.op("Mul", y, inner), net.constant(0.5))


def matmul_halved_gelu(net: Net) -> str:
    y = net.op("MatMul", "x", net.weights(10, 7))
    inner = net.op("Add", net.op("Erf", net.op("Mul", y, net.constant(0.5**0.5))), net.constant(1.0))
    return net.op("Mul", net.op("Mul", net.constant(0.5), y), inner)


def matmul_scale_tanh(net: Net) -> str:
    y = net.op("Mul", net.op("MatMul", "x", net.weights(10, 7)), net.weights(7))
    return net.op("Tanh", net.op("Add", net.weights(1, 7), y))


def matmul_residual_leaky(net: Net) -> str:
    y = net.op("Add", net.op("MatMul", "x", net.weights(10, 10)), "x")
    return net.op("LeakyRelu", y, alpha=0.2)


def bias_per_row_stays(net: Net) -> str:
    return net.op("Relu", net.op("Add", net.op("MatMul", "x", net.weights(10, 7)), net.weights(9, 1)))


# Builder -> nodes left in the plan.
CASES: dict[Callable[[Net], str], int] = {
    conv_bn_relu: 1, conv_bn_add_relu: 2, conv_clip: 1, conv_silu: 1, conv_mish_spelled_out: 1,
    conv_softplus_that_is_read_twice_stays: 5, conv_elu: 1, conv_sub_div_hard_swish: 1,
    matmul_bias_erf_gelu: 1, matmul_halved_gelu: 1, matmul_scale_tanh: 1, matmul_residual_leaky: 1,
    bias_per_row_stays: 3,
}  # fmt: skip


def run(model: onnx.ModelProto, x: np.ndarray, debug: str = "") -> tuple[np.ndarray, int]:
    session = walle_rt.load(model).session(debug=debug)
    result = next(iter(session.run({"x": x}).values()))
    return np.asarray(result), len(session.explain().rows)


@pytest.mark.parametrize("isa", ["scalar", "sse4", "avx2", "avx512"])
@pytest.mark.parametrize("build", CASES, ids=lambda f: f.__name__)
def test_fused_equals_unfused(build: Callable[[Net], str], isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shape = (2, 5, 9, 11) if build.__name__.startswith("conv") else (3, 9, 10)
    net = Net(shape)
    model = net.model(build(net))
    x = RNG.uniform(-2, 2, shape).astype(np.float32)
    want, plain_nodes = run(model, x, debug="fuse=off,search=off")
    monkeypatch.setenv("WALLE_CPU", isa)
    try:
        got, nodes = run(model, x, debug="layouts=off")  # conversions between layouts are steps, too
        blocked, _ = run(model, x)
    except walle_rt.ArgumentError as error:
        pytest.skip(f"this machine cannot run {isa}: {error}")
    assert nodes == CASES[build], f"{plain_nodes} nodes before fusion"
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(blocked, want, rtol=2e-5, atol=2e-5)


def test_a_value_with_other_readers_is_kept() -> None:
    net = Net((2, 5, 9, 11))
    y = net.conv("x", 5, 6)
    model = net.model(y, net.op("Relu", y))
    x = RNG.uniform(-2, 2, net.shape).astype(np.float32)
    fused = walle_rt.load(model).session().run({"x": x})
    plain = walle_rt.load(model).session(debug="fuse=off").run({"x": x})
    for name in plain:
        np.testing.assert_allclose(fused[name], plain[name], rtol=1e-5, atol=1e-5)
    assert np.min(fused[y]) < 0 <= np.min(fused["v1"])


def test_a_factor_before_rounding_stays_behind_the_exact_sum() -> None:
    """A tenth of a sum of integers is often a tie, and a sum of tenths is beside it."""
    net = Net((3, 9, 10))
    weights = RNG.integers(-9, 10, (10, 8)).astype(np.float32)
    product = net.op("Mul", net.op("MatMul", "x", net.constant(weights)), net.constant(0.1))
    model = net.model(net.op("Round", product))
    x = RNG.integers(-9, 10, net.shape).astype(np.float32)
    got, _ = run(model, x)
    np.testing.assert_array_equal(got, np.rint((x @ weights) * np.float32(0.1)))


def test_an_unknown_instruction_set_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Net((2, 5, 9, 11))
    model = walle_rt.load(net.model(conv_bn_relu(net)))
    monkeypatch.setenv("WALLE_CPU", "avx1024")
    with pytest.raises(walle_rt.ArgumentError, match="avx1024"):
        model.session()
