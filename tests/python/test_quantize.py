"""What QuantizeLinear makes of numbers that no code stands for, on every instruction set."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from build_model import F, model
from onnx import TensorProto, helper

import walle_rt

NUMBERS = [np.nan, -np.nan, np.inf, -np.inf, 1e30, -1e30, 1.0]
BOUNDS = {
    TensorProto.INT8: (-128, 127),
    TensorProto.UINT8: (0, 255),
    TensorProto.INT16: (-32768, 32767),
    TensorProto.UINT16: (0, 65535),
    TensorProto.INT4: (-8, 7),
    TensorProto.UINT4: (0, 15),
}
SMALL_FLOATS = [TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2]


def quantised(kind: int, x: np.ndarray[Any, Any], monkeypatch: pytest.MonkeyPatch, isa: str) -> list[float]:
    """The codes as numbers; 17 of each, so that whole vectors and rests are met."""
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale"], ["codes"], output_dtype=kind),
        helper.make_node("Cast", ["codes"], ["y"], to=F),
    ]
    element = int(helper.np_dtype_to_tensor_dtype(x.dtype))
    scale = np.asarray(1, x.dtype)
    made = model(nodes, {"x": (element, [None])}, {"y": (F, [None])}, {"scale": scale}, opset=21)
    monkeypatch.setenv("WALLE_CPU", isa)
    try:
        session = walle_rt.load(made).session(threads=1)
    except walle_rt.ArgumentError as error:
        pytest.skip(f"this machine cannot run {isa}: {error}")
    y = session.run({"x": x.repeat(17)})["y"].reshape(x.size, 17)
    assert (y == y[:, :1]).all() or np.isnan(y).any()
    return [float(v) for v in y[:, 0]]


@pytest.mark.parametrize("isa", ["scalar", "sse4", "avx2", "avx512"])
@pytest.mark.parametrize("kind", BOUNDS, ids=TensorProto.DataType.Name)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_nan_gives_the_lowest_code_as_in_onnxruntime(
    dtype: Any, kind: int, isa: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    low, high = BOUNDS[kind]
    with np.errstate(over="ignore"):  # 1e30 in float16
        x = np.asarray(NUMBERS).astype(dtype)
    assert quantised(kind, x, monkeypatch, isa) == [low, low, high, low, high, low, 1]


@pytest.mark.parametrize("kind", SMALL_FLOATS, ids=TensorProto.DataType.Name)
def test_nan_stays_in_small_floats(kind: int, monkeypatch: pytest.MonkeyPatch) -> None:
    got = quantised(kind, np.asarray(NUMBERS, np.float32), monkeypatch, "scalar")
    assert np.isnan(got[:2]).all() and not np.isnan(got[2:]).any()


def formula(x: Any, scale: Any, zero: Any, kind: int) -> np.ndarray[Any, Any]:
    """What the operator is defined by, every step in float32."""
    low, high = BOUNDS[kind]
    with np.errstate(all="ignore"):
        found = np.rint(x / scale) + np.asarray(zero, np.float32)
    return np.where(np.isnan(found), low, np.clip(found, low, high))


# Shape of x, axis, block size: per tensor, per axis of every place, blocks with a shorter last one.
LAYOUTS = [
    ((3, 5, 70), None, 0),
    ((3, 5, 70), 0, 0),
    ((3, 5, 70), 1, 0),
    ((3, 5, 70), 2, 0),
    ((2, 3, 1, 1), 1, 0),
    ((4, 37), 1, 16),
    ((37, 9), 0, 16),
    ((2, 37, 40), 1, 8),
    ((0, 5), 1, 0),
    ((300, 300), 1, 0),
]


@pytest.mark.parametrize("isa", ["scalar", "sse4", "avx2", "avx512"])
@pytest.mark.parametrize("threads", [1, 2])
def test_claimed_quantisation_is_its_formula(isa: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALLE_CPU", isa)
    rng = np.random.default_rng(7)
    for shape, axis, block in LAYOUTS:
        scale_shape: tuple[int, ...] = () if axis is None else (shape[axis],)
        if block:
            scale_shape = tuple(-(-n // block) if i == axis else n for i, n in enumerate(shape))
        scale = rng.uniform(0.01, 2, scale_shape).astype(np.float32)
        for kind, (low, high) in BOUNDS.items():
            zero = rng.integers(low, high + 1, scale_shape)
            attributes = {"axis": axis or 0, "block_size": block} if axis is not None else {}
            nodes = [
                helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["codes"], **attributes),
                helper.make_node("Cast", ["codes"], ["whole"], to=F),
                helper.make_node("DequantizeLinear", ["codes", "scale", "zero"], ["y"], **attributes),
            ]
            zero_of = zero.astype(helper.tensor_dtype_to_np_dtype(kind))
            made = model(
                nodes,
                {"x": (F, list(shape))},
                {"whole": (F, None), "y": (F, None)},
                {"scale": scale, "zero": zero_of},
                opset=21,
            )
            try:
                session = walle_rt.load(made).session(threads=threads)
            except walle_rt.ArgumentError as error:
                pytest.skip(f"this machine cannot run {isa}: {error}")
            # As many as there are halves between codes, which rounding decides.
            x = (rng.integers(2 * low - 9, 2 * high + 9, shape) / 2).astype(np.float32)
            x.reshape(-1)[:7] = NUMBERS[: min(7, x.size)]
            by, point = scale, zero.astype(np.float32)
            if axis is not None and not block:
                lined = [1] * len(shape)
                lined[axis] = shape[axis]
                by, point = by.reshape(lined), point.reshape(lined)
            elif block:
                by, point = (np.repeat(v, block, axis).take(range(shape[axis]), axis) for v in (by, point))
            got = session.run({"x": x})
            np.testing.assert_array_equal(got["whole"], formula(x, by, point, kind), str((shape, axis, kind)))
            np.testing.assert_array_equal(got["y"], (got["whole"] - point) * by, str((shape, axis, kind)))
            if x.size:
                assert "Div" not in session.explain().program and "Round" not in session.explain().program


@pytest.mark.parametrize("isa", ["scalar", "sse4", "avx2", "avx512"])
@pytest.mark.parametrize("threads", [1, 2])
def test_dynamic_quantisation_is_its_formula(isa: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALLE_CPU", isa)
    nodes = [helper.make_node("DynamicQuantizeLinear", ["x"], ["codes", "scale", "zero"])]
    outputs: Any = {"codes": (TensorProto.UINT8, None), "scale": (F, None), "zero": (TensorProto.UINT8, None)}
    made = model(nodes, {"x": (F, [None])}, outputs, {}, opset=21)
    try:
        session = walle_rt.load(made).session(threads=threads)
    except walle_rt.ArgumentError as error:
        pytest.skip(f"this machine cannot run {isa}: {error}")
    rng = np.random.default_rng(8)
    for n in (1, 2, 17, 4096, 4097, 100_000):
        for low, high in ((-1, 2), (3, 4), (-7, -2), (0, 0), (-1e-40, 1e-41), (-1, np.nan), (-np.inf, 1)):
            x = rng.uniform(-1, 1, n).astype(np.float32) if n > 2 else np.zeros(n, np.float32)
            x[0], x[-1] = low, high
            with np.errstate(all="ignore"):
                top = np.maximum(x.max(), np.float32(0))
                least = np.minimum(x.min(), np.float32(0))
                scale = (top - least) / np.float32(255)
                scale = np.float32(1) if scale == 0 else scale
                zero = formula(-least, scale, 0, TensorProto.UINT8).astype(np.float32)
                codes = formula(x, scale, zero, TensorProto.UINT8)
            got = session.run({"x": x})
            np.testing.assert_array_equal(got["scale"], scale)
            np.testing.assert_array_equal(got["zero"], zero)
            np.testing.assert_array_equal(got["codes"], codes)
