"""Math operators where the ONNX suite has few or no cases, against NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
import pytest
from layers import Array, feeds, one_node
from onnx import helper, numpy_helper

import walle_rt


def run(
    op: str, inputs: dict[str, Array | None], outputs: int = 1, domain: str = "", **attributes: Any
) -> list[Array]:
    model = one_node(op, inputs, outputs, opset=21, **attributes)
    if domain:
        model.graph.node[0].domain = domain
        model.opset_import.append(helper.make_opsetid(domain, 4 if op == "LabelEncoder" else 5))
    return list(walle_rt.load(model).session(threads=2).run(feeds(inputs)).values())


@pytest.mark.parametrize("n", [1, 2, 7, 96, 509, 600, 1024, 4096, 6000])
@pytest.mark.parametrize("parts", [1, 2])
def test_dft_of_any_length(n: int, parts: int) -> None:
    x = np.random.default_rng(n).standard_normal((2, n, parts)).astype(np.float64)
    signal = x[..., 0] if parts == 1 else x[..., 0] + 1j * x[..., 1]
    (y,) = run("DFT", {"x": x, "length": None, "axis": np.array(1, np.int64)})
    np.testing.assert_allclose(y[..., 0] + 1j * y[..., 1], np.fft.fft(signal), atol=1e-9 * n)
    (back,) = run("DFT", {"x": y, "length": None, "axis": np.array(1, np.int64)}, inverse=1)
    np.testing.assert_allclose(back[..., 0], x[..., 0], atol=1e-9)


@pytest.mark.parametrize("length", [5, 30, 700])
def test_dft_cuts_and_pads(length: int) -> None:
    x = np.random.default_rng(length).standard_normal((3, 20, 1)).astype(np.float32)
    inputs = {"x": x, "length": np.array(length, np.int64), "axis": np.array(1, np.int64)}
    (y,) = run("DFT", inputs, onesided=1)
    want = np.fft.rfft(x[..., 0], length)
    np.testing.assert_allclose(y[..., 0] + 1j * y[..., 1], want, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
        ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
        ("bij,bkj->bik", [(3, 2, 4), (3, 5, 4)]),
        ("ii->i", [(4, 4)]),
        ("iij->j", [(3, 3, 2)]),
        ("i,j->ij", [(3,), (4,)]),
        ("ij,ij->", [(3, 4), (3, 4)]),
        ("ba,c", [(2, 3), (4,)]),
        ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("ij->", [(3, 4)]),
        ("ij,kl->ik", [(2, 3), (4, 5)]),
    ],
)
def test_einsum(equation: str, shapes: list[tuple[int, ...]]) -> None:
    rng = np.random.default_rng(len(equation))
    operands = [rng.standard_normal(s) for s in shapes]
    (y,) = run("Einsum", {f"x{i}": a for i, a in enumerate(operands)}, equation=equation)
    np.testing.assert_allclose(y, np.einsum(equation, *operands), atol=1e-10)


def test_seeded_random_numbers_are_numpys() -> None:
    (y,) = run("RandomNormal", {}, shape=[3, 5], seed=7.0, mean=1.0, scale=2.0)
    np.testing.assert_allclose(y, np.random.RandomState(7).normal(1, 2, (3, 5)), rtol=1e-6)
    (y,) = run("RandomUniform", {}, shape=[4], seed=3.0, low=-1.0, high=1.0)
    np.testing.assert_allclose(y, np.random.RandomState(3).uniform(-1, 1, 4), rtol=1e-6)


def test_multinomial_follows_its_distribution() -> None:
    p = np.array([[0.1, 0.6, 0.3], [1.0, 1e-30, 1e-30]], np.float32)
    (y,) = run("Multinomial", {"x": np.log(p)}, sample_size=20000)
    share = [np.mean(y[0] == k) for k in range(3)]
    np.testing.assert_allclose(share, p[0], atol=0.02)
    assert not y[1].any()


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint64])
def test_integer_division_by_zero_and_overflow_do_not_trap(dtype: Any) -> None:
    info = np.iinfo(dtype)
    a = np.array([info.min, 7, info.max, 5], dtype)
    b = np.array([-1 if info.min < 0 else 1, 0, 1, 3], dtype)
    (y,) = run("Div", {"a": a, "b": b})
    np.testing.assert_array_equal(y, np.array([info.min, 0, info.max, 1], dtype))
    (y,) = run("Mod", {"a": a, "b": b})
    np.testing.assert_array_equal(y, np.array([0, 0, 0, 2], dtype))


@pytest.mark.parametrize(
    "op", ["ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceLogSumExp", "ReduceL2"]
)
@pytest.mark.parametrize("axes", [[], [0], [-1], [0, 2], [1, 2], [0, 1, 2]])
def test_reductions(op: str, axes: list[int]) -> None:
    x = np.random.default_rng(1).standard_normal((3, 4, 5))
    over = tuple(axes) or None
    want = {
        "ReduceSum": lambda: x.sum(over),
        "ReduceProd": lambda: x.prod(over),
        "ReduceMax": lambda: x.max(over),
        "ReduceMin": lambda: x.min(over),
        "ReduceMean": lambda: x.mean(over),
        "ReduceLogSumExp": lambda: np.log(np.exp(x).sum(over)),
        "ReduceL2": lambda: np.sqrt((x * x).sum(over)),
    }[op]()
    (y,) = run(op, {"x": x, "axes": np.array(axes, np.int64)}, keepdims=0)
    np.testing.assert_allclose(y, want, rtol=1e-12)


def test_log_sum_exp_of_infinities() -> None:
    x = np.array([[-np.inf, -np.inf], [np.inf, 0], [1000, 1000]], np.float32)
    (y,) = run("ReduceLogSumExp", {"x": x, "axes": np.array([1], np.int64)}, keepdims=0)
    np.testing.assert_allclose(y, [-np.inf, np.inf, 1000 + np.log(2)], rtol=1e-6)


@pytest.mark.parametrize(
    ("a", "b"),
    [(np.float32, np.int64), (np.int32, np.float32), (np.int64, np.int8), (np.float64, np.float32)],
)
def test_pow_of_mixed_dtypes(a: Any, b: Any) -> None:
    x, e = np.array([1, 2, 3, 4], a), np.array([0, 3, 2, 1], b)
    (y,) = run("Pow", {"x": x, "e": e})
    assert y.dtype == np.dtype(a)
    np.testing.assert_allclose(y, [1, 8, 9, 4])


@pytest.mark.parametrize("op", ["Exp", "Tanh", "Softmax", "Sqrt", "Gelu"])
def test_float16_is_computed_in_float32(op: str) -> None:
    x = np.linspace(0.1, 3, 32, dtype=np.float16).reshape(4, 8)
    (narrow,) = run(op, {"x": x})
    (wide,) = run(op, {"x": x.astype(np.float32)})
    np.testing.assert_array_equal(narrow, wide.astype(np.float16))


@pytest.mark.parametrize(
    "shape", [(2, 3, 20), (7, 16, 5), (3, 70, 33), (0, 4, 2), (3, 4, 0), (3, 0, 2), (5, 9, 1)]
)
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
def test_softmax_of_every_axis(op: str, axis: int, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(sum(shape)).normal(0, 20, shape).astype(np.float32)
    (y,) = run(op, {"x": x}, axis=axis)
    assert y.shape == shape
    if x.size:
        away = x.astype(np.float64) - x.max(axis, keepdims=True)
        total = np.exp(away).sum(axis, keepdims=True)
        want = np.exp(away) / total if op == "Softmax" else away - np.log(total)
        np.testing.assert_allclose(y, want, rtol=2e-6, atol=1e-6)


FUNCTIONS = {
    "Exp": np.exp,
    "Sigmoid": lambda x: np.where(x < 0, np.exp(x), 1) / (1 + np.exp(-np.abs(x))),
    "Tanh": np.tanh,
    "Erf": np.vectorize(math.erf),
}


@pytest.mark.parametrize("op", FUNCTIONS)
def test_functions_are_exact_to_a_few_units_in_the_last_place(op: str) -> None:
    x = np.concatenate([np.linspace(-87, 88, 20_001), np.linspace(-4, 4, 20_001)]).astype(np.float32)
    (y,) = run(op, {"x": x})
    want = FUNCTIONS[op](x.astype(np.float64))
    normal = np.abs(want) > np.finfo(np.float32).tiny
    np.testing.assert_allclose(y[normal], want[normal], rtol=5e-7, atol=0)


@pytest.mark.parametrize(
    ("op", "want"),
    [
        ("Exp", [1, 1, np.inf, 0, np.nan]),
        ("Sigmoid", [0.5, 0.5, 1, 0, np.nan]),
        ("Tanh", [0, -0.0, 1, -1, np.nan]),
        ("Erf", [0, -0.0, 1, -1, np.nan]),
    ],
)
def test_functions_at_zeros_and_beyond_numbers(op: str, want: list[float]) -> None:
    x = np.array([0, -0.0, np.inf, -np.inf, np.nan], np.float32)
    (y,) = run(op, {"x": np.tile(x, 8)})
    np.testing.assert_array_equal(y, np.tile(np.array(want, np.float32), 8))
    zeros = np.signbit(want[:2])
    np.testing.assert_array_equal(np.signbit(y[:2]), zeros)


def test_numeric_label_encoder() -> None:
    x = np.array([[3, 9], [5, 4]], np.int64)
    (y,) = run(
        "LabelEncoder",
        {"x": x},
        domain="ai.onnx.ml",
        keys_int64s=[3, 4, 5],
        values_floats=[0.5, 1.5, 2.5],
        default_float=-7.0,
    )
    np.testing.assert_array_equal(y, np.array([[0.5, -7], [2.5, 1.5]], np.float32))


@pytest.mark.parametrize(
    ("aggregate", "want"), [(0, [[1.5], [11]]), (1, [[3], [22]]), (2, [[1], [2]]), (3, [[2], [20]])]
)
def test_trees_aggregate(aggregate: int, want: list[list[float]]) -> None:
    # Two stumps on feature 0: x <= 1 gives 1 and 2, otherwise 2 and 20.
    x = np.array([[0.0], [5.0]], np.float32)
    (y,) = run(
        "TreeEnsemble",
        {"x": x},
        domain="ai.onnx.ml",
        aggregate_function=aggregate,
        n_targets=1,
        leaf_targetids=[0, 0, 0, 0],
        leaf_weights=numpy_helper.from_array(np.array([1, 2, 2, 20], np.float32)),
        nodes_featureids=[0, 0],
        nodes_modes=numpy_helper.from_array(np.zeros(2, np.uint8)),
        nodes_splits=numpy_helper.from_array(np.ones(2, np.float32)),
        nodes_truenodeids=[0, 2],
        nodes_trueleafs=[1, 1],
        nodes_falsenodeids=[1, 3],
        nodes_falseleafs=[1, 1],
        tree_roots=[0, 1],
    )
    np.testing.assert_array_equal(y, np.array(want, np.float32))


@pytest.mark.parametrize("block", [1, 2, 3])
def test_blocked_quantisation_with_a_cut_last_block(block: int) -> None:
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    scale = np.random.default_rng(0).uniform(0.1, 1, (3, -(-5 // block))).astype(np.float32)
    whole = np.repeat(scale, block, 1)[:, :5]
    (y,) = run(
        "QuantizeLinear",
        {"x": x, "scale": scale},
        axis=1,
        block_size=block,
        output_dtype=onnx.TensorProto.INT16,
    )
    np.testing.assert_array_equal(y, np.rint(x / whole).astype(np.int16))
    (back,) = run("DequantizeLinear", {"x": y, "scale": scale}, axis=1, block_size=block)
    np.testing.assert_allclose(back, y * whole, rtol=1e-6)


@pytest.mark.parametrize("isa", ["scalar", "sse4", "avx2", "avx512"])
@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin"])
def test_extremes_of_rows_of_any_length(op: str, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALLE_CPU", isa)
    random = np.random.default_rng(3)
    for n in (1, 2, 15, 16, 17, 63, 64, 65, 200):
        x = random.standard_normal((5, n)).astype(np.float32)
        x[1, random.integers(n)] = np.nan
        x[2, random.integers(n)] = np.inf
        x[3] = -np.inf
        try:
            (y,) = run(op, {"x": x, "axes": np.array([1], np.int64)}, keepdims=0)
        except walle_rt.ArgumentError as error:
            pytest.skip(f"this machine cannot run {isa}: {error}")
        np.testing.assert_array_equal(y, x.max(1) if op == "ReduceMax" else x.min(1))


@pytest.mark.parametrize("isa", ["scalar", "sse4", "avx2", "avx512"])
@pytest.mark.parametrize("n", [1, 5, 33, 768, 12_544])
@pytest.mark.parametrize("scale", ["row", "number"])
@pytest.mark.parametrize("op", ["LayerNormalization", "RMSNormalization"])
def test_norms_of_long_rows_and_shared_scales(
    op: str, scale: str, n: int, isa: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WALLE_CPU", isa)
    random = np.random.default_rng(n)
    x = (random.standard_normal((3, n)) * 2 + 7).astype(np.float32)
    s = random.standard_normal(n if scale == "row" else 1).astype(np.float32)
    inputs: dict[str, Array | None] = {"x": x, "scale": s}
    wide = x.astype(np.float64)
    centred = wide - (wide.mean(1, keepdims=True) if op == "LayerNormalization" else 0)
    want = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * s
    model = one_node(op, inputs, 1, opset=23, epsilon=1e-5)
    try:
        (y,) = walle_rt.load(model).session(threads=1).run(feeds(inputs)).values()
    except walle_rt.ArgumentError as error:
        pytest.skip(f"this machine cannot run {isa}: {error}")
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("to", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64])
def test_float_to_integers_is_the_same_beside_values_that_do_not_fit(to: Any) -> None:
    x = (np.random.default_rng(0).standard_normal(5000) * 50).astype(np.float32)
    (alone,) = run("Cast", {"x": x}, to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))
    np.testing.assert_array_equal(alone, x.astype(np.int64).astype(to))
    beside = x.copy()
    beside[[7, 1500, 4999]] = [np.nan, 3e9, -1e30]
    (y,) = run("Cast", {"x": beside}, to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))
    same = np.delete(np.arange(5000), [7, 1500, 4999])
    np.testing.assert_array_equal(y[same], alone[same])
    assert y[7] == 0
    assert y[1500] == np.array(3_000_000_000, np.int64).astype(to)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("size", [(1, 1), (3, 5), (0, 4), (17, 33)])
@pytest.mark.parametrize("factor", [2, 3])
def test_nearest_of_whole_factors(factor: int, size: tuple[int, int], dtype: Any) -> None:
    x = np.random.default_rng(1).integers(0, 99, (2, 3, *size)).astype(dtype)
    scales = np.array([1, 1, factor, factor], np.float32)
    (y,) = run(
        "Resize", {"x": x, "roi": None, "scales": scales}, mode="nearest",
        coordinate_transformation_mode="asymmetric", nearest_mode="floor",
    )  # fmt: skip
    np.testing.assert_array_equal(y, x.repeat(factor, 2).repeat(factor, 3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64])
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
def test_places_of_extremes_among_equals(op: str, last: int, dtype: Any) -> None:
    random = np.random.default_rng(5)
    for shape in ((3, 1), (4, 15), (4, 16), (4, 37), (2, 300), (3, 5, 2), (2, 40, 300)):
        x = random.integers(-4, 5, shape).astype(dtype)
        if np.issubdtype(dtype, np.floating):
            x[random.random(shape) < 0.02] = np.nan
            x[random.random(shape) < 0.05] = np.inf
            x[0] = -np.inf
        find = np.argmax if op == "ArgMax" else np.argmin
        want = x.shape[1] - 1 - find(np.flip(x, 1), 1) if last else find(x, 1)
        (y,) = run(op, {"x": x}, axis=1, keepdims=0, select_last_index=last)
        np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("shape", [(2, 7), (2, 7, 3), (1, 1, 5), (2, 0, 3), (3, 4, 0)])
def test_cum_sum_of_rows_and_columns(
    shape: tuple[int, ...], reverse: int, exclusive: int, dtype: Any
) -> None:
    x = np.random.default_rng(2).integers(-9, 9, shape).astype(dtype)
    turned = np.flip(x, 1) if reverse else x
    want = np.cumsum(turned, 1, dtype=dtype)
    if exclusive:
        want = want - turned
    want = np.flip(want, 1) if reverse else want
    (y,) = run("CumSum", {"x": x, "axis": np.array(1, np.int64)}, reverse=reverse, exclusive=exclusive)
    np.testing.assert_array_equal(y, want)
