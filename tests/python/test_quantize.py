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
