"""Weights in blocks of few bits: what is written, here and in onnxruntime, rounded and compensated."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from build_model import model
from onnx import numpy_helper
from onnx.helper import make_node
from small_models import attention, texts, weights

import walle_rt
from walle_rt import quantize
from walle_rt.quantize.blocks import Grid, block_scales, in_bytes, rounded
from walle_rt.quantize.compensate import compensated

Array = np.ndarray[Any, Any]


def matrices(inner: int = 40, seed: int = 0) -> onnx.ModelProto:
    """A table, a product, and Gemms of both layouts; sums that no block divides."""
    rng = np.random.default_rng(seed)
    nodes = [
        make_node("Gather", ["table", "ids"], ["e"], name="embed"),
        make_node("MatMul", ["e", "w"], ["m"], name="product"),
        make_node("Gemm", ["m", "g", "b"], ["h"], name="plain", alpha=0.5, beta=2.0),
        make_node("Gemm", ["h", "t"], ["y"], name="turned", transB=1),
    ]
    given = {
        "table": weights(rng, 30, inner) * 3, "w": weights(rng, inner, 24), "g": weights(rng, 24, 20),
        "b": rng.standard_normal(20).astype(np.float32), "t": weights(rng, 6, 20),
    }  # fmt: skip
    return model(nodes, {"ids": (onnx.TensorProto.INT64, ["n"])}, {"y": ["n", 6]}, given)


IDS = {"ids": np.arange(30) % 29}


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(
    ("bits", "layout"), [(2, "packed"), (4, "packed"), (8, "packed"), (4, "dequantize"), (8, "dequantize")]
)
def test_onnxruntime_computes_the_same(bits: int, layout: str, symmetric: bool) -> None:
    ort = pytest.importorskip("onnxruntime")
    made = quantize.weights(matrices(), [IDS], bits=bits, block=16, layout=layout, symmetric=symmetric)
    kinds = {node.op_type for node in made.onnx.graph.node}
    if layout == "packed":
        assert kinds >= {"MatMulNBits"} and ("GatherBlockQuantized" in kinds) == (bits > 2)
    else:
        assert "DequantizeLinear" in kinds and "MatMulNBits" not in kinds
        onnx.checker.check_model(made.onnx, full_check=True)
    options = ort.SessionOptions()
    # Optimised, it would quantise the activations before DequantizeLinear and MatMul too.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    peer = ort.InferenceSession(made.onnx.SerializeToString(), options).run(None, IDS)[0]
    got = made.load().session(threads=1).run(IDS)["y"]
    np.testing.assert_allclose(got, peer, rtol=1e-4, atol=1e-4 * np.ptp(peer))
    assert made.report.outputs[0].snr_db > {2: 0, 4: 12, 8: 35}[bits]
    assert made.report.layers[1].form == f"{bits} bits in blocks of 16"


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_no_weight_is_further_than_half_a_step_from_its_code(bits: int, symmetric: bool) -> None:
    rows = np.random.default_rng(bits).standard_normal((7, 70)).astype(np.float32)
    rows[2] = 0
    rows[3] = np.abs(rows[3])
    found = rounded(rows, Grid(bits, 16, symmetric))
    assert found.codes.shape == (7, 5, 16) and found.codes.max() <= 2**bits - 1
    steps = np.repeat(found.scales, 16, 1)[:, :70]
    # A zero point is a code, so that the ends of a block can be half a step further off.
    assert (np.abs(found.values() - rows) <= steps * (0.5001 if symmetric else 1.0001)).all()
    assert not found.values()[2].any() and np.isfinite(found.scales).all()


def test_bytes_hold_the_first_code_lowest() -> None:
    codes = np.array([[1, 2, 3, 0, 2]], np.uint8)
    assert in_bytes(codes, 2).tolist() == [[1 | 2 << 2 | 3 << 4, 2]]
    assert in_bytes(codes, 4).tolist() == [[0x21, 0x03, 0x02]]
    assert in_bytes(codes, 8).tolist() == codes.tolist()


@pytest.mark.parametrize("symmetric", [False, True])
def test_compensation_is_rounding_where_inputs_are_independent(symmetric: bool) -> None:
    rows = np.random.default_rng(3).standard_normal((9, 50)).astype(np.float32)
    grid = Grid(4, 32, symmetric)
    plain, made = rounded(rows, grid), compensated(rows, np.eye(50) * 7, grid)
    np.testing.assert_array_equal(made.codes, plain.codes)
    np.testing.assert_array_equal(made.scales, plain.scales)


@pytest.mark.parametrize("bits", [2, 4])
def test_compensation_halves_the_error_of_dependent_inputs(bits: int) -> None:
    rng = np.random.default_rng(4)
    inputs = (
        rng.standard_normal((400, 12)) @ rng.standard_normal((12, 64)) + rng.standard_normal((400, 64)) / 9
    )
    rows = rng.standard_normal((16, 64)).astype(np.float32)
    grid = Grid(bits, 32, False)
    errors = [
        np.square(inputs @ (each.values() - rows).T).sum()
        for each in (rounded(rows, grid), compensated(rows, inputs.T @ inputs, grid))
    ]
    assert errors[1] < 0.5 * errors[0]


def test_inputs_that_are_never_used_do_no_harm() -> None:
    rng = np.random.default_rng(5)
    inputs = rng.standard_normal((100, 40))
    inputs[:, [3, 39]] = 0
    inputs[:, 5] = inputs[:, 4]
    rows = rng.standard_normal((4, 40)).astype(np.float32)
    found = compensated(rows, inputs.T @ inputs, Grid(4, 16, False))
    assert np.isfinite(found.values()).all() and np.abs(found.values() - rows)[:, [3, 39]].max() < 0.5
    assert np.isfinite(compensated(rows, np.zeros((40, 40)), Grid(4, 16, False)).values()).all()


def test_compensation_helps_a_model() -> None:
    feeds = [{"ids": ids} for ids in texts(40).reshape(8, 5, 7)]
    options: dict[str, Any] = {"bits": 2, "block": 16, "operators": ["MatMul"]}
    plain, made = (quantize.weights(attention(), feeds, method=m, **options) for m in ("rtn", "gptq"))
    assert made.report.outputs[0].snr_db > plain.report.outputs[0].snr_db + 1
    again = quantize.weights(attention(), feeds, method="gptq", **options)
    assert again.onnx.SerializeToString(deterministic=True) == made.onnx.SerializeToString(deterministic=True)


def test_moments_that_do_not_fit_take_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    feeds = [{"ids": ids} for ids in texts(20).reshape(4, 5, 7)]
    want = quantize.weights(attention(), feeds, method="gptq", block=16).onnx
    monkeypatch.setattr("walle_rt.quantize.observe._MOST_MOMENTS", 9000)
    got = quantize.weights(attention(), feeds, method="gptq", block=16).onnx
    assert got.SerializeToString(deterministic=True) == want.SerializeToString(deterministic=True)
    with pytest.raises(walle_rt.ArgumentError, match="an iterator, which can be read once"):
        quantize.weights(attention(), iter(feeds), method="gptq", block=16)


def test_layers_stay_in_float_by_name_goal_and_kind() -> None:
    made = quantize.weights(matrices(), [IDS], bits=2, block=16, leave_out=["turned"])
    reasons = {layer.name: layer.reason for layer in made.report.layers}
    assert reasons["turned"] == "left out by name"
    assert reasons["embed"] == "tables have 4 or 8 bits and the packed layout"
    wanted = made.report.outputs[0].snr_db + 3
    better = quantize.weights(matrices(), [IDS], bits=2, block=16, goal_db=wanted)
    assert better.report.outputs[0].snr_db >= wanted
    with pytest.raises(walle_rt.ArgumentError, match="a goal without inputs"):
        quantize.weights(matrices(), goal_db=20)


def test_the_written_weights_are_the_blocks() -> None:
    made = quantize.weights(matrices(), block=16, operators=["MatMul"])
    arrays = {t.name: numpy_helper.to_array(t) for t in made.onnx.graph.initializer}
    rows = numpy_helper.to_array(next(t for t in matrices().graph.initializer if t.name == "w")).T
    want = rounded(rows, Grid(4, 16, False))
    np.testing.assert_array_equal(arrays["w_codes"], in_bytes(want.codes, 4))
    np.testing.assert_array_equal(arrays["w_scales"], want.scales)
    np.testing.assert_array_equal(arrays["w_zero_points"], in_bytes(want.zeros, 4))
    assert made.report.outputs == [] and made.report.layers[1].weights_db is not None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"bits": 3}, "bits=3; expected one of 2, 4, 8"),
        ({"bits": 2, "layout": "dequantize"}, "bits=2; expected one of 4, 8"),
        ({"block": 20}, "block=20"),
        ({"method": "awq"}, "method='awq'; expected one of rtn, gptq"),
        ({"method": "gptq"}, "method='gptq' without inputs"),
        ({"operators": ["Conv"]}, "operators='Conv'"),
    ],
)
def test_options_that_are_none(options: dict[str, Any], said: str) -> None:
    with pytest.raises(walle_rt.ArgumentError, match=said):
        quantize.weights(matrices(), **options)


def test_scales_of_a_block_cover_it() -> None:
    block = np.array([[0.0, 15.0], [-3.0, 12.0], [-1.0, -4.0]], np.float32)
    scale, zero = block_scales(block, Grid(4, 16, False))
    np.testing.assert_allclose(scale, [1, 1, 4 / 15], rtol=1e-6)
    assert zero.tolist() == [0, 3, 15]
