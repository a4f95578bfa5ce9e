"""The element types of ONNX and what they are here."""

from __future__ import annotations

from onnx import TensorProto

from ... import _core
from .unsupported import UnsupportedTypeError

_NAMES: dict[int, str] = {
    TensorProto.FLOAT: "float32",
    TensorProto.DOUBLE: "float64",
    TensorProto.FLOAT16: "float16",
    TensorProto.BFLOAT16: "bfloat16",
    TensorProto.INT8: "int8",
    TensorProto.INT16: "int16",
    TensorProto.INT32: "int32",
    TensorProto.INT64: "int64",
    TensorProto.UINT8: "uint8",
    TensorProto.UINT16: "uint16",
    TensorProto.UINT32: "uint32",
    TensorProto.UINT64: "uint64",
    TensorProto.BOOL: "bool",
    TensorProto.COMPLEX64: "complex64",
    TensorProto.COMPLEX128: "complex128",
    TensorProto.FLOAT8E4M3FN: "float8e4m3fn",
    TensorProto.FLOAT8E4M3FNUZ: "float8e4m3fnuz",
    TensorProto.FLOAT8E5M2: "float8e5m2",
    TensorProto.FLOAT8E5M2FNUZ: "float8e5m2fnuz",
    # By number: the oldest onnx package that converts has no names for them.
    21: "uint4",
    22: "int4",
    23: "float4e2m1",
    24: "float8e8m0",
    25: "uint2",
    26: "int2",
}
# Bits of an element where several share a byte of a file; in memory each has a byte of its own.
PACKED = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2}
# ONNX number -> (name, NumPy dtype of the bits in a file, walle_rt's number).
DTYPES: dict[int, tuple[str, str, int]] = {
    onnx: (name, "<" + code, number)
    for onnx, name in _NAMES.items()
    for number, code in [_core.dtypes()[name]]
}
BY_NAME = {name: number for number, (name, _, _) in DTYPES.items()}


def type_name(number: int) -> str:
    """The ONNX name of an element type, also for the ones walle_rt lacks."""
    try:
        return str(TensorProto.DataType.Name(number)).lower()
    except ValueError:
        return f"element type {number}"


def known_dtype(number: int) -> tuple[str, str, int]:
    """Name, NumPy dtype and walle_rt number of an ONNX element type; UnsupportedTypeError without them."""
    if number in DTYPES:
        return DTYPES[number]
    raise UnsupportedTypeError(f"element type {type_name(number)} is not supported")
