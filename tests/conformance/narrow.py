"""bfloat16 and float8, which NumPy lacks: their bits, which walle_rt takes and gives, and their values as float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, TypeProto, helper, numpy_helper

_ENCODE: dict[int, Callable[[float], int]] = {
    TensorProto.FLOAT8E4M3FN: lambda v: helper.float32_to_float8e4m3(v),
    TensorProto.FLOAT8E4M3FNUZ: lambda v: helper.float32_to_float8e4m3(v, uz=True),
    TensorProto.FLOAT8E5M2: lambda v: helper.float32_to_float8e5m2(v),
    TensorProto.FLOAT8E5M2FNUZ: lambda v: helper.float32_to_float8e5m2(v, fn=True, uz=True),
}
_DECODE: dict[int, Callable[[Any], Any]] = {
    TensorProto.FLOAT8E4M3FN: lambda a: numpy_helper.float8e4m3_to_float32(a),
    TensorProto.FLOAT8E4M3FNUZ: lambda a: numpy_helper.float8e4m3_to_float32(a, uz=True),
    TensorProto.FLOAT8E5M2: lambda a: numpy_helper.float8e5m2_to_float32(a),
    TensorProto.FLOAT8E5M2FNUZ: lambda a: numpy_helper.float8e5m2_to_float32(a, fn=True, uz=True),
}


def element(kind: TypeProto) -> int:
    """The element type of a tensor; 0 for everything else."""
    return int(kind.tensor_type.elem_type)


def elements(model: ModelProto) -> dict[str, int]:
    """The element types of a model's inputs and outputs."""
    return {v.name: element(v.type) for v in [*model.graph.input, *model.graph.output]}


def to_bits(value: Any, kind: int) -> Any:
    """float32 values as bits; other types as they are."""
    if kind == TensorProto.BFLOAT16:
        return (np.ascontiguousarray(value, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if kind in _ENCODE:
        array = np.asarray(value, np.float32)
        return np.array([_ENCODE[kind](v) for v in array.ravel()], np.uint8).reshape(array.shape)
    return value


def to_values(value: Any, kind: int) -> Any:
    """Bits as float32 values; what is float32 already (the suite stores both forms) and other types as they are."""
    if kind != TensorProto.BFLOAT16 and kind not in _DECODE:
        return value
    array = np.asarray(value)
    if array.dtype.kind == "f":
        return array
    if kind == TensorProto.BFLOAT16:
        return (np.ascontiguousarray(array).astype(np.uint32) << 16).view(np.float32)
    return np.asarray(_DECODE[kind](array.astype(np.int32)), np.float32).reshape(array.shape)
