"""TensorProto, SparseTensorProto and external data to arrays of bits plus a walle_rt dtype name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from onnx import SparseTensorProto, TensorProto

from ... import _core
from ..report import refuse
from .unsupported import UnsupportedTypeError

Array = np.ndarray[Any, Any]

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
_PACKED = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2}
# ONNX number -> (name, NumPy dtype of the bits in a file, walle_rt's number).
DTYPES: dict[int, tuple[str, str, int]] = {
    onnx: (name, "<" + code, number)
    for onnx, name in _NAMES.items()
    for number, code in [_core.dtypes()[name]]
}
BY_NAME = {name: number for number, (name, _, _) in DTYPES.items()}
_MAX_BYTES = _core.limits()["max_tensor_bytes"]
MAX_RANK = _core.limits()["max_rank"]


@dataclass(frozen=True)
class Bits:
    """A constant: the array of its bits and the name of its dtype."""

    array: Array
    dtype: str


def type_name(number: int) -> str:
    """The ONNX name of an element type, also for the ones walle_rt lacks."""
    try:
        return str(TensorProto.DataType.Name(number)).lower()
    except ValueError:
        return f"element type {number}"


def known_dtype(number: int) -> tuple[str, str, int]:
    """Name, NumPy dtype and walle_rt number of an ONNX element type;
    raises UnsupportedTypeError naming the others.
    """
    if number in DTYPES:
        return DTYPES[number]
    raise UnsupportedTypeError(f"element type {type_name(number)} is not supported")


def checked_dims(dims: list[int], itemsize: int, where: str) -> int:
    """The element count of a tensor in a file, within the limits, before anything is allocated for it."""
    if len(dims) > MAX_RANK:
        raise refuse(
            f"a tensor of rank {len(dims)}", f"rank at most {MAX_RANK}", where, "reshape it in the model"
        )
    if any(d < 0 for d in dims):
        raise refuse(
            f"dimensions {dims}", "non-negative sizes", where, "export the model again; the file is damaged"
        )
    count = math.prod(dims)
    if count * itemsize > _MAX_BYTES:
        raise refuse(
            f"a tensor of {count * itemsize} bytes {dims}",
            f"at most {_MAX_BYTES} bytes",
            where,
            "split the tensor",
        )
    return count


def read_tensor(tensor: TensorProto, folder: Path | None, where: str) -> Bits:
    """The bits of a TensorProto, external data included (confined to ``folder``)."""
    name, code, _ = known_dtype(tensor.data_type)
    dims = list(tensor.dims)
    dtype = np.dtype(code)
    count = checked_dims(dims, dtype.itemsize, where)
    if tensor.data_type in _PACKED:
        return Bits(_unpacked(tensor, folder, count, where).reshape(dims), name)
    if tensor.data_location == TensorProto.EXTERNAL:
        flat = _external(tensor, folder, count * dtype.itemsize, where).view(dtype)
    elif tensor.HasField("raw_data"):
        flat = _from_raw(tensor.raw_data, dtype, count, where)
    else:
        flat = _from_fields(tensor, dtype, name)
    if flat.size != count:
        raise refuse(
            f"{flat.size} elements for a tensor of shape {dims}",
            f"{count} elements",
            where,
            "export the model again; the file is damaged",
        )
    return Bits(flat.reshape(dims), name)


def read_strings(tensor: TensorProto) -> Array:
    """The strings of a TensorProto as an array of bytes objects."""
    where = f"tensor '{tensor.name}'"
    dims = list(tensor.dims)
    count = checked_dims(dims, 1, where)
    if len(tensor.string_data) != count:
        raise refuse(
            f"{len(tensor.string_data)} strings for a tensor of shape {dims}",
            f"{count} strings",
            where,
            "export the model again; the file is damaged",
        )
    flat = np.empty(count, object)
    flat[:] = list(tensor.string_data)
    return flat.reshape(dims)


def _unpacked(tensor: TensorProto, folder: Path | None, count: int, where: str) -> Array:
    """Elements below 8 bits, the first in the lowest bits of a byte, as a byte each."""
    bits = _PACKED[tensor.data_type]
    size = -(-count * bits // 8)
    if tensor.data_location == TensorProto.EXTERNAL:
        packed = np.asarray(_external(tensor, folder, size, where))
    elif tensor.HasField("raw_data"):
        packed = _from_raw(tensor.raw_data, np.dtype(np.uint8), size, where)
    else:
        packed = np.asarray(tensor.int32_data, np.int32).astype(np.uint8)
    if packed.size != size:
        raise refuse(
            f"{packed.size} bytes for {count} elements of {bits} bits", f"{size} bytes", where, "export again"
        )
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes = (packed[:, None] >> shifts) & np.uint8((1 << bits) - 1)
    return np.ascontiguousarray(codes.reshape(-1)[:count])


def _from_raw(raw: bytes, dtype: np.dtype[Any], count: int, where: str) -> Array:
    if len(raw) != count * dtype.itemsize:
        raise refuse(
            f"{len(raw)} bytes of raw data",
            f"{count * dtype.itemsize} bytes",
            where,
            "export the model again",
        )
    return np.frombuffer(raw, dtype)


def _from_fields(tensor: TensorProto, dtype: np.dtype[Any], name: str) -> Array:
    kind = tensor.data_type
    if kind == TensorProto.FLOAT:
        return np.asarray(tensor.float_data, dtype)
    if kind == TensorProto.DOUBLE:
        return np.asarray(tensor.double_data, dtype)
    if kind == TensorProto.INT64:
        return np.asarray(tensor.int64_data, dtype)
    if kind in (TensorProto.UINT32, TensorProto.UINT64):
        return np.asarray(tensor.uint64_data, np.uint64).astype(dtype)
    words = np.asarray(tensor.int32_data, np.int32)
    if kind == TensorProto.FLOAT16:
        return words.astype(np.uint16).view(dtype)
    return words.astype(dtype)


def _external(tensor: TensorProto, folder: Path | None, size: int, where: str) -> Array:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if folder is None:
        raise refuse(
            f"external data '{location}' in a model given as bytes",
            "a model with its weights inside",
            where,
            "load the model by its path",
        )
    path = _confined(folder, location, where)
    try:
        offset, length = int(entries.get("offset", 0)), int(entries.get("length", size))
    except ValueError as error:
        raise refuse(
            f"external data entries {entries}", "numbers", where, "export the model again"
        ) from error
    try:
        available = path.stat().st_size
        if offset < 0 or length != size or offset + length > available:
            raise refuse(
                f"bytes {offset}..{offset + length} of '{location}' ({available} bytes) for {size} bytes of "
                "weights",
                "a range inside the file that fits the tensor",
                where,
                "export the model again; a file is damaged",
            )
        if size == 0:
            return np.empty(0, np.uint8)
        return np.memmap(path, np.uint8, "r", offset, (length,))
    except OSError as error:
        raise refuse(
            f"external data '{location}' cannot be read: {error.strerror or error}",
            "a readable file beside the model",
            where,
            "copy the model together with its data files",
        ) from error


def _confined(folder: Path, location: str, where: str) -> Path:
    """The path of a data file; an error when it would lie outside the model's folder,
    symbolic links followed.
    """
    path = folder / location
    outside = not location or Path(location).is_absolute() or ".." in Path(location).parts or "\0" in location
    if outside or not path.resolve().is_relative_to(folder.resolve()):
        raise refuse(
            f"external data location '{location}'",
            f"a file inside the model's folder '{folder}'",
            where,
            "move the data file beside the model and export with a relative location",
        )
    return path


def read_sparse(sparse: SparseTensorProto, folder: Path | None, where: str) -> Bits:
    """A sparse tensor as a dense one."""
    values = read_tensor(sparse.values, folder, where)
    indices = read_tensor(sparse.indices, folder, where).array.astype(np.int64)
    dims = list(sparse.dims)
    count = checked_dims(dims, values.array.dtype.itemsize, where)
    dense = np.zeros(count, values.array.dtype)
    if indices.ndim == 2 and indices.shape == (values.array.size, len(dims)):
        in_range = bool(((indices >= 0) & (indices < np.asarray(dims, np.int64))).all())
        flat = (
            np.ravel_multi_index(tuple(indices.T), dims)
            if in_range and indices.size
            else np.empty(0, np.int64)
        )
    else:
        flat = indices.ravel()
        in_range = flat.size == values.array.size and bool(((flat >= 0) & (flat < count)).all())
    if not in_range:
        raise refuse(
            "sparse indices that do not fit the tensor",
            f"one index in range per value of {dims}",
            where,
            "export the model again; the file is damaged",
        )
    if indices.size:
        dense[flat] = values.array.ravel()
    return Bits(dense.reshape(dims), values.dtype)
