"""Weights in 16 bits: rounding, range, and the model around them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from build_model import model
from onnx.helper import make_node
from small_models import attention, texts, weights

import walle_rt
from walle_rt import quantize
from walle_rt.quantize.short_floats import from_bits, to_bits

NUMBERS = np.array(
    [0.0, -0.0, 1.0, 1.00390625, 1.01171875, 65504, 65519, 65520, 3e38, 1e-40, np.inf, -np.inf, np.nan],
    np.float32,
)


def test_bfloat16_is_rounded_half_to_even() -> None:
    rng = np.random.default_rng(0)
    many = rng.integers(0, 2**32, 100_000, np.uint32).view(np.float32)
    values = np.concatenate([NUMBERS, many[np.isfinite(many)]])
    with np.errstate(over="ignore"):
        want = values.astype(ml_dtypes.bfloat16)
    got = from_bits(to_bits(values, "bfloat16"), "bfloat16")
    np.testing.assert_array_equal(got, want.astype(np.float32))
    assert np.isnan(from_bits(to_bits(np.array([np.nan], np.float32), "bfloat16"), "bfloat16"))


@pytest.mark.parametrize(("dtype", "least"), [("bfloat16", 45), ("float16", 65)])
def test_half_the_bytes_and_the_same_results(dtype: str, least: float) -> None:
    ort = pytest.importorskip("onnxruntime")
    made = quantize.storage(attention(width=64), [{"ids": texts()}], dtype=dtype)
    onnx.checker.check_model(made.onnx, full_check=True)
    assert made.report.bytes < 0.65 * made.report.float_bytes and made.report.outputs[0].snr_db > least
    assert {layer.form for layer in made.report.layers} == {dtype}
    got = made.load().session(threads=1).run({"ids": texts()})["y"]
    want = ort.InferenceSession(made.onnx.SerializeToString()).run(None, {"ids": texts()})[0]
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_weights_beyond_float16_stay_in_float32() -> None:
    large = weights(np.random.default_rng(0), 40, 40)
    large[3, 3] = 70000
    given: dict[str, Any] = {"w": large, "v": weights(np.random.default_rng(1), 40, 40)}
    nodes = [
        make_node("MatMul", ["x", "w"], ["a"], name="large"),
        make_node("MatMul", ["a", "v"], ["y"], name="small"),
    ]
    made = model(nodes, {"x": ["n", 40]}, ["y"], given)
    layers = quantize.storage(made, dtype="float16").report.layers
    assert [layer.form for layer in layers] == ["float32", "float16"]
    assert layers[0].reason == "a weight of 7e+04 is beyond float16"
    assert [layer.form for layer in quantize.storage(made).report.layers] == ["bfloat16"] * 2
    assert [la.form for la in quantize.storage(made, leave_out=["small"]).report.layers] == [
        "bfloat16",
        "float32",
    ]
    with pytest.raises(walle_rt.ArgumentError, match="dtype='int8'"):
        quantize.storage(made, dtype="int8")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_weights_lie_in_sixteen_bits_in_files_and_in_memory(dtype: str, tmp_path: Path) -> None:
    feeds = {"ids": texts()}
    made = quantize.storage(attention(width=64), [feeds], dtype=dtype)
    as_floats = walle_rt.load(widened(made.onnx)).session(threads=1).run(feeds)["y"]
    made.save(tmp_path / "stored.walle")
    made.save(tmp_path / "stored.onnx")
    for path in (tmp_path / "stored.walle", tmp_path / "stored.onnx"):
        session = walle_rt.load(path).session(threads=1)
        np.testing.assert_array_equal(session.run(feeds)["y"], as_floats)
        lies = {row.node: row.weights for row in session.explain().rows if row.weights}
        # The last one's 192 numbers are fewer than stay in 16 bits, and packed for one tile of 32 columns.
        assert lies == {"embed": dtype, "query": dtype, "key": dtype, "out": "float32"}
        assert session.memory().packed <= 64 * 32 * 4
    walle_rt.load(tmp_path / "stored.walle").save(tmp_path / "again.walle")
    assert (tmp_path / "again.walle").read_bytes() == (tmp_path / "stored.walle").read_bytes()


def widened(stored: onnx.ModelProto) -> onnx.ModelProto:
    """The same numbers as float32 constants, without Casts."""
    made = onnx.ModelProto()
    made.CopyFrom(stored)
    casts = {n.input[0]: n for n in stored.graph.node if n.op_type == "Cast"}
    for weight in made.graph.initializer:
        if weight.name not in casts:
            continue
        array = onnx.numpy_helper.to_array(weight).astype(np.float32)
        weight.CopyFrom(onnx.numpy_helper.from_array(array, casts[weight.name].output[0]))
    kept = [n for n in made.graph.node if n not in list(casts.values())]
    del made.graph.node[:]
    made.graph.node.extend(kept)
    return made


@pytest.mark.parametrize("rows", [1, 2, 7, 40])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_models_that_compute_in_sixteen_bits_round_as_they_say(rows: int, dtype: Any) -> None:
    rng = np.random.default_rng(rows)
    w = weights(rng, 90, 70).astype(dtype)
    x = rng.standard_normal((rows, 90)).astype(dtype)
    code = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = onnx.helper.make_graph(
        [make_node("MatMul", ["x", "w"], ["p"]), make_node("Relu", ["p"], ["y"])], "half",
        [onnx.helper.make_tensor_value_info("x", code, ["n", 90])],
        [onnx.helper.make_tensor_value_info("y", code, ["n", 70])],
        [onnx.numpy_helper.from_array(w, "w")],
    )  # fmt: skip
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    session = walle_rt.load(made).session(threads=1)
    got = np.asarray(session.run({"x": x})["y"]).astype(np.float32)
    want = np.maximum(x.astype(np.float64) @ w.astype(np.float64), 0).astype(dtype).astype(np.float32)
    # One rounding at the end, where both may stand on either side of a tie.
    np.testing.assert_allclose(got, want, rtol=2 * float(ml_dtypes.finfo(dtype).eps), atol=1e-6)
    held = {row.weights for row in session.explain().rows if row.op == "MatMul"}
    assert held == ({"float32"} if rows == 1 else {np.dtype(dtype).name})


def test_convolutions_pack_from_sixteen_bits() -> None:
    made = quantize.storage(convolutions_of(64), dtype="bfloat16")
    x = {"x": np.random.default_rng(3).standard_normal((2, 64, 9, 9)).astype(np.float32)}
    wide = walle_rt.load(widened(made.onnx)).session(threads=2)
    session = made.load().session(threads=2)
    np.testing.assert_array_equal(session.run(x)["y"], wide.run(x)["y"])
    assert session.memory().packed == wide.memory().packed
    assert session.memory().folded <= wide.memory().folded


def convolutions_of(channels: int) -> onnx.ModelProto:
    rng = np.random.default_rng(2)
    nodes = [
        make_node("Conv", ["x", "w"], ["a"], pads=[1] * 4),
        make_node("Conv", ["a", "v"], ["b"]),
        make_node("Conv", ["b", "d"], ["y"], group=channels, pads=[1] * 4),
    ]
    given = {
        "w": weights(rng, channels, channels, 3, 3),
        "v": weights(rng, channels, channels, 1, 1),
        "d": weights(rng, channels, 1, 3, 3),
    }
    return model(nodes, {"x": ["n", channels, "h", "w"]}, ["y"], given)
