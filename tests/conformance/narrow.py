"""bfloat16 and float8, which NumPy lacks: their bits, which walle_rt takes and gives,
and their values as float32.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from onnx import ModelProto, TensorProto, TypeProto

_FLOAT8: dict[int, Any] = {
    TensorProto.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn,
    TensorProto.FLOAT8E4M3FNUZ: ml_dtypes.float8_e4m3fnuz,
    TensorProto.FLOAT8E5M2: ml_dtypes.float8_e5m2,
    TensorProto.FLOAT8E5M2FNUZ: ml_dtypes.float8_e5m2fnuz,
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
        return (np.asarray(value, np.float32, order="C").view(np.uint32) >> 16).astype(np.uint16)
    if kind in _FLOAT8:
        return np.asarray(value).astype(np.float32).astype(_FLOAT8[kind]).view(np.uint8)
    return value


def to_values(value: Any, kind: int) -> Any:
    """Bits as float32 values; what is float32 already (the suite
    stores both forms) and other types as they are.
    """
    if kind != TensorProto.BFLOAT16 and kind not in _FLOAT8:
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "iu":  # float32, or a type of ml_dtypes
        return array.astype(np.float32)
    if kind == TensorProto.BFLOAT16:
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.uint8).view(_FLOAT8[kind]).astype(np.float32)
